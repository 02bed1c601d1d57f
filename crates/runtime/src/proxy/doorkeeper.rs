//! Who decides where an agent may go: implemented by the host's gate, asked for every request and tunnel.

use roost_protocol::HostPort;
use std::net::IpAddr;

/// Decides. Asked on the path of every request, so both answers must be cheap and must not block.
pub(crate) trait Doorkeeper: Send + Sync {
    /// May the agent reach this computer? Asked with the name as the agent wrote it, before any lookup: a name that
    /// is refused never leaves this computer, not even as a question to a name server. The port is always there.
    fn may_reach(&self, target: &HostPort) -> Verdict;

    /// May it reach this address, although it is not a public one? Asked after the lookup, for a name that was
    /// allowed.
    fn may_reach_private(&self, address: IpAddr, port: u16) -> Verdict;

    /// How many chats of this host stand above what the agent is doing.
    fn depth(&self) -> u32 {
        0
    }
}

/// The doorkeeper's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allowed,
    /// Not without a grant.
    Refused {
        /// The command that grants it, or what to do instead.
        next: String,
    },
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use roost_protocol::Host;

    /// True when a grant names exactly this address, or names `localhost` and the address is this computer's own. Any
    /// other name says nothing about addresses: whoever owns the name chooses where it points.
    pub(crate) fn names_address(granted: &HostPort, address: IpAddr, port: u16) -> bool {
        let is_local = address.is_loopback() && granted.host == Host::Name("localhost".to_owned());
        let host = if is_local { granted.host.clone() } else { Host::Address(address) };
        granted.covers(&HostPort { host, port: Some(port) })
    }

    fn check(granted: &str, address: &str, port: u16) -> bool {
        names_address(&HostPort::parse(granted).unwrap(), address.parse().unwrap(), port)
    }

    #[test]
    fn only_the_address_itself_or_localhost_names_a_private_address() {
        assert!(check("10.0.0.7:8080", "10.0.0.7", 8080));
        assert!(check("localhost:8080", "127.0.0.1", 8080));
        assert!(check("localhost", "::1", 443));
        assert!(!check("localhost:8080", "127.0.0.1", 22));
        assert!(!check("localhost:8080", "10.0.0.7", 8080));
        assert!(!check("intranet.example:8080", "10.0.0.7", 8080));
    }
}
