//! Computers on the network, by name or by address, and their ports.

use super::{InvalidRight, invalid};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

/// A computer: a name in lower case, a name with `*.` before it, or an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name.
    Name(String),
    /// Every name below this one, not the name itself.
    Below(String),
    /// An address, never an IPv6 form of an IPv4 address.
    Address(IpAddr),
}

/// A computer and, where one is named, a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// The computer.
    pub host: Host,
    /// The port; the web's two, 80 and 443, when absent.
    pub port: Option<u16>,
}

/// What a name without a port stands for.
const WEB_PORTS: [u16; 2] = [80, 443];

/// Longest name of the domain name system.
const NAME_BYTES_MAX: usize = 253;

impl Host {
    /// Checks the form. Names are ASCII: others would have to be shown in their ASCII form to be told apart.
    pub fn parse(text: &str) -> Result<Self, InvalidRight> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Address(unmapped(address)));
        }
        let (name, is_below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let label_fits = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.split('.').all(label_fits) {
            return Err(invalid(text, "is not the name or address of a computer"));
        }
        // `127.1`, `0x7f000001` and the like: some resolvers read addresses in them.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(invalid(text, "looks like an address and is none; write all four numbers"));
        }
        if is_below && !name.contains('.') {
            return Err(invalid(text, "stands for far too many computers"));
        }
        Ok(if is_below { Self::Below(name) } else { Self::Name(name) })
    }

    /// True when the other computer, or every computer the other stands for, is this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Below(parent), Self::Name(name) | Self::Below(name)) => {
                name.strip_suffix(parent.as_str()).is_some_and(|head| head.ends_with('.')) || self == other
            }
            (ours, theirs) => ours == theirs,
        }
    }
}

/// The IPv4 address inside an IPv6 form of it.
fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().or_else(|| compatible(six)).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// `::1.2.3.4`, an old form; `::` and `::1` are addresses of their own.
fn compatible(six: Ipv6Addr) -> Option<std::net::Ipv4Addr> {
    let is_old_form = six.segments()[..6] == [0; 6] && six.segments()[6] != 0;
    is_old_form.then(|| six.to_ipv4()).flatten()
}

impl HostPort {
    /// Reads `HOST` or `HOST:PORT`; an IPv6 address with a port stands in brackets.
    pub fn parse(text: &str) -> Result<Self, InvalidRight> {
        if let Ok(host) = Host::parse(text) {
            return Ok(Self { host, port: None });
        }
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| Host::parse(text).err().unwrap_or_else(|| invalid(text, "is no computer")))?;
        let digits_only = port.bytes().all(|byte| byte.is_ascii_digit());
        let port: u16 = port
            .parse()
            .ok()
            .filter(|port| digits_only && *port > 0)
            .ok_or_else(|| invalid(text, "has no port from 1 to 65535"))?;
        Ok(Self { host: Host::parse(host)?, port: Some(port) })
    }

    /// True when every connection the other stands for is allowed by this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let ports = match (self.port, other.port) {
            (None, Some(port)) => WEB_PORTS.contains(&port),
            (ours, theirs) => ours == theirs,
        };
        ports && self.host.covers(&other.host)
    }

    pub(super) fn in_words(&self) -> String {
        let host = match &self.host {
            Host::Below(parent) => format!("any computer of {parent}"),
            host => host.to_string(),
        };
        match self.port {
            Some(port) => format!("{host} on port {port}"),
            None => host,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => to.write_str(name),
            Self::Below(parent) => write!(to, "*.{parent}"),
            Self::Address(address) => write!(to, "{address}"),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, &self.host) {
            (None, host) => write!(to, "{host}"),
            (Some(port), Host::Address(IpAddr::V6(address))) => write!(to, "[{address}]:{port}"),
            (Some(port), host) => write!(to, "{host}:{port}"),
        }
    }
}
