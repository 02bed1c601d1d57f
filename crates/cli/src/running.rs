//! The running host of a home: its record on disk, and calls to it.

use crate::partner::{failure_in, percent_encoded, understood, unreachable};
use roost_host::{Home, OwnerToken, Request};
use roost_protocol::{AgentListing, CallOutcome, Failure, Reason};
use roost_server::Profile;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{io::Write as _, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Arc, time::Duration};

/// Longer than any agent may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(3600);

/// What `roost up` leaves for other commands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) pid: u32,
    pub(crate) port: u16,
    /// More ports, each with a way of answering chats.
    #[serde(default)]
    listeners: Vec<ListenerRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ListenerRecord {
    port: u16,
    profile: String,
}

/// The record as long as the host runs.
pub(crate) struct Published {
    path: PathBuf,
    pid: u32,
}

fn path(home: &Home) -> PathBuf {
    home.run().join("host.json")
}

/// Leaves the record; it goes with the returned value.
pub(crate) fn publish(home: &Home, port: u16, more: &[(u16, Profile)]) -> Result<Published, Failure> {
    let path = path(home);
    let listeners =
        more.iter().map(|(port, profile)| ListenerRecord { port: *port, profile: profile.name().to_owned() });
    let record = Record { pid: std::process::id(), port, listeners: listeners.collect() };
    let write = || -> std::io::Result<()> {
        let mut staging = tempfile::NamedTempFile::new_in(home.run())?;
        staging.as_file().set_permissions(std::fs::Permissions::from_mode(0o600))?;
        staging.write_all(&serde_json::to_vec(&record)?)?;
        staging.persist(&path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display())))?;
    Ok(Published { path, pid: record.pid })
}

impl Drop for Published {
    fn drop(&mut self) {
        // Another host may have started on this home since; then the record is its own.
        if read(&self.path).is_some_and(|record| record.pid == self.pid) {
            std::fs::remove_file(&self.path).ok();
        }
    }
}

fn read(path: &std::path::Path) -> Option<Record> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// A host of this home that answers.
#[derive(Debug, Clone)]
pub(crate) struct RunningHost {
    address: String,
    owner: Option<OwnerToken>,
    client: reqwest::Client,
}

impl RunningHost {
    /// The running host, if there is one. A record left behind by a crash leads nowhere and counts as none.
    pub(crate) async fn find(home: &Home) -> Option<Self> {
        let record = read(&path(home))?;
        let address = format!("http://127.0.0.1:{}", record.port);
        tokio::net::TcpStream::connect(("127.0.0.1", record.port)).await.ok()?;
        // A record can outlive its host, and the port can be another user's by now, who must not get the token.
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let our_user = rustix::process::geteuid().as_raw();
        let owner = OwnerToken::read(home).filter(|_| listener(&sockets, record.port) == Some(our_user));
        let client = client()?;
        Some(Self { address, owner, client })
    }

    /// True when it surely belongs to the owner of the home: only then it is shown the token, or told anything secret.
    pub(crate) fn is_the_owners(&self) -> bool {
        self.owner.is_some()
    }

    /// All agents, as the running host knows them.
    pub(crate) async fn agents(&self) -> Result<Vec<AgentListing>, Failure> {
        self.listing("/v1/agents").await
    }

    /// The same after it asked every file again.
    pub(crate) async fn agents_asked_again(&self) -> Result<Vec<AgentListing>, Failure> {
        self.listing("/v1/agents?refresh=true").await
    }

    async fn listing(&self, path: &str) -> Result<Vec<AgentListing>, Failure> {
        let mut answer = self.document("GET", path, None).await?;
        understood(answer["agents"].take())
    }

    /// Calls an agent there.
    pub(crate) async fn call(&self, name: &str, request: &Request) -> Result<CallOutcome, Failure> {
        let body = json!({
            "arguments": request.arguments,
            "user_guid": request.user,
            "slush": request.slush,
            "breadcrumbs": request.breadcrumbs,
        });
        let path = format!("/v1/agents/{}/call", percent_encoded(name));
        understood(self.document("POST", &path, Some(&body)).await?)
    }

    /// Where it is.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// One question, one document.
    pub(crate) async fn document(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let response = self.send(method, path, body).await?;
        let is_error = !response.status().is_success();
        let bytes = response.bytes().await.map_err(|error| unreachable(&error))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| unreachable(&error))?;
        if is_error { Err(failure_in(&value)) } else { Ok(value) }
    }

    /// Sends any request, as the owner where that can be shown. Dropping what it returns ends the request.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<reqwest::Response, Failure> {
        let method = reqwest::Method::from_bytes(method.as_bytes()).map_err(|error| unreachable(&error))?;
        let mut request = self.client.request(method, format!("{}{path}", self.address));
        if let Some(owner) = &self.owner {
            request = request.bearer_auth(owner.as_str());
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        request.send().await.map_err(|error| unreachable(&error))
    }
}

impl RunningHost {
    /// Sends any request with headers of its own and any body.
    pub(crate) async fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<reqwest::Response, Failure> {
        let method = reqwest::Method::from_bytes(method.as_bytes()).map_err(|error| unreachable(&error))?;
        let mut request = self.client.request(method, format!("{}{path}", self.address)).body(body);
        if let Some(owner) = &self.owner {
            request = request.bearer_auth(owner.as_str());
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        request.send().await.map_err(|error| unreachable(&error))
    }
}

/// A client for this machine. It never speaks TLS, and trusts nobody who would.
fn client() -> Option<reqwest::Client> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    let tls = tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
    reqwest::Client::builder().use_preconfigured_tls(tls).no_proxy().timeout(ANSWER_WITHIN).build().ok()
}

/// The user whose program listens on this port of 127.0.0.1, in the kernel's list of sockets.
fn listener(sockets: &str, port: u16) -> Option<u32> {
    const LISTENING: &str = "0A";
    let address = format!("0100007F:{port:04X}");
    sockets.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1) == Some(&address.as_str()) && fields.get(3) == Some(&LISTENING);
        is_it.then(|| fields.get(7)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::listener;

    #[test]
    fn only_who_listens_on_the_port_counts() {
        let sockets = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1B9F 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0
   1: 0100007F:1B9F 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1002        0 2 1 0 100 0 0 10 0
   2: 0100007F:1B9F 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 3 1 0 100 0 0 10 0
   3: 0100007F:0050 00000000:0000 0A
";
        assert_eq!(listener(sockets, 7071), Some(1003));
        assert_eq!(listener(sockets, 80), None);
        assert_eq!(listener(sockets, 7072), None);
        let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let our_user = rustix::process::geteuid().as_raw();
        assert_eq!(listener(&sockets, own.local_addr().unwrap().port()), Some(our_user));
    }
}
