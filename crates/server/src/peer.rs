//! Which account of this machine is at the other end of a connection.
//!
//! The kernel knows the owner of every socket and tells it for one pair of addresses at a time (`sock_diag(7)`), in a few
//! microseconds whatever the number of connections. Nothing that the other side sends is believed.

use axum::{extract::connect_info::Connected, serve::IncomingStream};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, netlink::SocketAddrNetlink, recv,
    sendto, socket_with, sockopt,
};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};
use tokio::net::TcpListener;

/// One request and its answer; the kernel answers at once.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);

/// Numbers of `linux/netlink.h`, `linux/sock_diag.h` and `linux/inet_diag.h`.
const BY_FAMILY: u16 = 20;
const IS_REQUEST: u16 = 1;
const TCP: u8 = 6;
const ALL_STATES: u32 = u32::MAX;
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const ANSWER_BYTES: usize = HEADER_BYTES + 72;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// An account of this machine.
    Account(u32),
    /// Another machine, or a connection that was closed before it was looked at.
    Unknown,
}

impl Peer {
    /// True for the account that the host runs as, and for root, who could be anybody.
    pub(crate) fn is_operator(self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        matches!(self, Self::Account(account) if account == own || account == 0)
    }
}

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        let looked_up = stream.io().local_addr().and_then(|own| owner_of(*stream.remote_addr(), own));
        looked_up.unwrap_or_else(|error| {
            tracing::debug!(%error, "look up the account of a connection");
            Self::Unknown
        })
    }
}

/// The account that has the socket at `peer` which is connected to `own`.
fn owner_of(peer: SocketAddr, own: SocketAddr) -> io::Result<Peer> {
    let flags = SocketFlags::CLOEXEC;
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
    sockopt::set_socket_timeout(&kernel, sockopt::Timeout::Recv, Some(ANSWER_WITHIN))?;
    sendto(&kernel, &request(peer, own)?, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 512];
    let (received, _) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    Ok(read(&answer[..received]))
}

/// Asks for exactly one socket.
fn request(peer: SocketAddr, own: SocketAddr) -> io::Result<[u8; REQUEST_BYTES]> {
    let mut request = [0; REQUEST_BYTES];
    let mut put = |at: usize, bytes: &[u8]| request[at..at + bytes.len()].copy_from_slice(bytes);
    let family = match (peer.ip(), own.ip()) {
        (IpAddr::V4(peer), IpAddr::V4(own)) => {
            put(28, &peer.octets());
            put(44, &own.octets());
            libc_family(AddressFamily::INET)
        }
        (IpAddr::V6(peer), IpAddr::V6(own)) => {
            put(28, &peer.octets());
            put(44, &own.octets());
            libc_family(AddressFamily::INET6)
        }
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    put(0, &u32::try_from(REQUEST_BYTES).unwrap_or(u32::MAX).to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &IS_REQUEST.to_ne_bytes());
    put(16, &[family, TCP]);
    put(20, &ALL_STATES.to_ne_bytes());
    put(24, &peer.port().to_be_bytes());
    put(26, &own.port().to_be_bytes());
    // No cookie: whatever socket has these addresses.
    put(64, &[0xff; 8]);
    Ok(request)
}

#[expect(clippy::cast_possible_truncation, reason = "families of addresses are small numbers")]
fn libc_family(family: AddressFamily) -> u8 {
    family.as_raw() as u8
}

/// The owner in an answer. A socket that nobody has open any more has no inode, and its account means nothing.
fn read(answer: &[u8]) -> Peer {
    let number =
        |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let (account, inode) = (number(HEADER_BYTES + 64), number(HEADER_BYTES + 68));
    match (kind, account, inode) {
        (Some(BY_FAMILY), Some(account), Some(inode)) if answer.len() >= ANSWER_BYTES && inode != 0 => {
            Peer::Account(account)
        }
        _ => Peer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Peer, owner_of, read};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_account_at_the_other_end_is_known_from_the_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(owner_of(peer, server.local_addr().unwrap()).unwrap(), Peer::Account(own));
        assert!(Peer::Account(own).is_operator() && Peer::Account(0).is_operator());
        assert!(!Peer::Account(own + 1).is_operator() && !Peer::Unknown.is_operator());
        drop(client);
    }

    #[test]
    fn a_connection_that_is_gone_belongs_to_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let own = server.local_addr().unwrap();
        drop((client, server));
        assert_eq!(owner_of(peer, own).unwrap(), Peer::Unknown);
    }

    #[test]
    fn half_an_answer_names_nobody() {
        for length in 0..88 {
            assert_eq!(read(&vec![20; length]), Peer::Unknown);
        }
    }
}
