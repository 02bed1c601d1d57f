//! Another host as an agent: a file that asks its `/chat`, made from an address.

use crate::starter::{NewAgent, class_name, file_name_of, write_agent};
use roost_protocol::{Failure, HostPort, Language, Reason};
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("starter/peer.py.template");

/// The address of another host's chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAddress {
    /// As it was given.
    url: String,
    chat: String,
    target: HostPort,
}

impl PeerAddress {
    /// Reads `http://host:port`, with or without a path; without one it is the host's `/chat`.
    pub fn parse(url: &str) -> Result<Self, Failure> {
        let refuse = |what: &str| Failure::new(Reason::WrongUse, format!("`{url}` {what}"));
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\{}".contains(&byte));
        if !is_plain {
            return Err(refuse("has characters an address cannot have"));
        }
        let (usual_port, rest) = if let Some(rest) = url.strip_prefix("http://") {
            (80, rest)
        } else if let Some(rest) = url.strip_prefix("https://") {
            (443, rest)
        } else {
            return Err(refuse("does not begin with http:// or https://"));
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        if authority.contains('@') {
            return Err(refuse("has a password in it; a peer is called without one"));
        }
        let mut target = HostPort::parse(authority).map_err(|error| refuse(&error.to_string()))?;
        target.port.get_or_insert(usual_port);
        let chat = match path {
            "" | "/" => format!("{}/chat", url.trim_end_matches('/')),
            _ => url.to_owned(),
        };
        Ok(Self { url: url.to_owned(), chat, target })
    }

    /// The right its agent needs.
    #[must_use]
    pub fn target(&self) -> &HostPort {
        &self.target
    }
}

/// Writes the agent file of a peer, and says where.
pub fn new_peer(folder: &Path, agent: &NewAgent, address: &PeerAddress) -> Result<PathBuf, Failure> {
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let text = TEMPLATE
        .replace("{{name}}", agent.name.as_str())
        .replace("{{class}}", &class_name(&agent.name))
        .replace("{{target}}", &address.target.to_string())
        .replace("{{chat_url}}", &quoted(&address.chat))
        .replace("{{url}}", &address.url)
        .replace("{{description}}", &quoted(&agent.description));
    write_agent(folder, &file_name_of(&agent.name, Language::Python), &text)
}

#[cfg(test)]
mod tests {
    use super::PeerAddress;

    #[test]
    fn an_address_names_the_chat_and_the_computer() {
        for (url, chat, target) in [
            ("http://10.0.0.7:7071", "http://10.0.0.7:7071/chat", "10.0.0.7:7071"),
            ("http://peer.example/", "http://peer.example/chat", "peer.example:80"),
            ("https://peer.example/api/x", "https://peer.example/api/x", "peer.example:443"),
        ] {
            let address = PeerAddress::parse(url).unwrap();
            assert_eq!((address.chat.as_str(), address.target.to_string().as_str()), (chat, target));
        }
        for bad in
            ["", "peer", "ftp://x", "http://", "http://a b", "http://u:p@x", "http://x\"", "http://x\n"]
        {
            assert!(PeerAddress::parse(bad).is_err(), "{bad}");
        }
    }
}
