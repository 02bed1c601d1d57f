//! Where an agent wants to go, read from the request line and from nothing else.
//!
//! The `Host` header never decides: a request that says two different things is sent where its line says.

use super::answer::Stopped;
use hyper::Uri;
use roost_protocol::{Host, HostPort};
use std::fmt;

/// A computer, by name or address, and a port. Never a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Target {
    host: Host,
    port: u16,
}

/// The port of `http://` without one.
const HTTP_PORT: u16 = 80;

/// Where plain text is not accepted inside a tunnel.
const WEB_PORTS: [u16; 2] = [80, 443];

impl Target {
    /// Of `CONNECT host:port`.
    pub(super) fn of_tunnel(uri: &Uri) -> Result<Self, Stopped> {
        let malformed = Stopped::Malformed("CONNECT takes HOST:PORT and nothing else");
        match uri.authority() {
            Some(authority) if uri.scheme().is_none() && uri.path_and_query().is_none() => {
                Self::parse(authority.as_str(), None).ok_or(malformed)
            }
            _ => Err(malformed),
        }
    }

    /// Of `GET http://host/path`.
    pub(super) fn of_request(uri: &Uri) -> Result<Self, Stopped> {
        let authority = match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) => authority.as_str(),
            (Some("https"), _) => {
                return Err(Stopped::Malformed("https goes through CONNECT, so that it stays encrypted"));
            }
            (Some(_), _) => return Err(Stopped::Malformed("only http and https pass here")),
            (None, _) => {
                return Err(Stopped::Malformed(
                    "this is the way out of the sandbox, not a web server; requests name a whole address, as in GET \
                     http://host/path",
                ));
            }
        };
        Self::parse(authority, Some(HTTP_PORT))
            .ok_or(Stopped::Malformed("the address names no computer, or carries a user name"))
    }

    /// Neither user names nor patterns are computers.
    fn parse(authority: &str, default_port: Option<u16>) -> Option<Self> {
        let HostPort { host, port } = HostPort::parse(authority).ok()?;
        if matches!(host, Host::Below(_)) {
            return None;
        }
        Some(Self { host, port: port.or(default_port)? })
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// As it stands in rights.
    pub(super) fn host_port(&self) -> HostPort {
        HostPort { host: self.host.clone(), port: Some(self.port) }
    }

    /// As it stands in a `Host` header, where the usual port is left out.
    pub(super) fn authority(&self, usual_port: u16) -> String {
        match &self.host {
            host if self.port != usual_port => {
                HostPort { host: host.clone(), port: Some(self.port) }.to_string()
            }
            Host::Address(address @ std::net::IpAddr::V6(_)) => format!("[{address}]"),
            host => host.to_string(),
        }
    }

    /// True on the two ports of the web.
    pub(super) fn is_web(&self) -> bool {
        WEB_PORTS.contains(&self.port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", self.host_port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str) -> Option<String> {
        Target::of_request(&uri.parse().ok()?).ok().map(|target| target.to_string())
    }

    fn tunnel(authority: &str) -> Option<String> {
        Target::of_tunnel(&authority.parse().ok()?).ok().map(|target| target.to_string())
    }

    #[test]
    fn a_request_names_a_computer_in_its_line() {
        assert_eq!(request("http://Example.COM/a"), Some("example.com:80".to_owned()));
        assert_eq!(request("http://example.com.:8080/"), Some("example.com:8080".to_owned()));
        assert_eq!(request("http://[::1]:81/"), Some("[::1]:81".to_owned()));
        assert_eq!(request("http://[::ffff:10.0.0.1]/"), Some("10.0.0.1:80".to_owned()));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_no_target() {
        let doubtful = [
            "/",
            "https://a.example/",
            "ftp://a.example/",
            "http://user@a.example/",
            "http://a:b@c.example/",
            "http://*.example.com/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://a.example:/",
            "http://a.example:0/",
            "http://a.example:65536/",
            "http://a.example:+80/",
            "http://[fe80::1%25eth0]/",
            "http://0177.0.0.1/",
            "http://127.0.0.1.:80/",
        ];
        for uri in doubtful {
            assert_eq!(request(uri), None, "{uri}");
        }
    }

    #[test]
    fn a_tunnel_names_its_port() {
        assert_eq!(tunnel("a.example:443"), Some("a.example:443".to_owned()));
        for authority in ["a.example", "user@a.example:443", "*.a.example:443", "/", "http://a.example:443/"]
        {
            assert_eq!(tunnel(authority), None, "{authority}");
        }
    }
}
