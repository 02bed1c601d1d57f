//! What the app tries to reach that it must not, and may: sockets of other programs, and computers.

use rustix::{
    fd::OwnedFd,
    net::{
        AddressFamily, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect,
        sendmsg_addr, sendto, socket_with, socketpair,
    },
};
use serde_json::Value;
use std::{
    io::{IoSlice, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
};

/// The ways that led to another program.
pub(crate) fn programs(wanted: &Value) -> Vec<String> {
    let mut reached = Vec::new();
    let text = |key: &str| wanted[key].as_str().unwrap_or_default().to_owned();
    let (stream, datagram) = (text("stream"), text("datagram"));
    let (hidden, hidden_datagram) = (text("abstract"), text("abstract_datagram"));
    let by_path = |path: &str| SocketAddrUnix::new(path).ok();
    let by_name = |name: &str| SocketAddrUnix::new_abstract_name(name.as_bytes()).ok();
    for (what, address) in [("path", by_path(&stream)), ("abstract", by_name(&hidden))] {
        let (Some(address), Some(socket)) = (address, new_socket(AddressFamily::UNIX, SocketType::STREAM))
        else {
            continue;
        };
        let mut note = |way: &str, done: bool| {
            if done {
                reached.push(format!("{way} {what}"));
            }
        };
        note("connect", connect(&socket, &address).is_ok());
        note("sendto on a stream", sendto(&socket, b"x", SendFlags::NOSIGNAL, &address).is_ok());
        note("sendmsg on a stream", sends_message(&socket, &address));
        if let Some(internet) = new_socket(AddressFamily::INET, SocketType::STREAM) {
            note("connect of an internet socket", connect(&internet, &address).is_ok());
        }
    }
    for (what, address) in [("path", by_path(&datagram)), ("abstract", by_name(&hidden_datagram))] {
        let Some(address) = address else { continue };
        for kind in [SocketType::DGRAM, SocketType::RAW, SocketType::SEQPACKET] {
            let one = new_socket(AddressFamily::UNIX, kind);
            let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).ok();
            for socket in one.into_iter().chain(pair.map(|(one, _)| one)) {
                if sendto(&socket, b"x", SendFlags::NOSIGNAL, &address).is_ok()
                    && kind != SocketType::SEQPACKET
                {
                    reached.push(format!("sendto {kind:?} {what}"));
                }
                if sends_message(&socket, &address) && kind != SocketType::SEQPACKET {
                    reached.push(format!("sendmsg {kind:?} {what}"));
                }
                if connect(&socket, &address).is_ok() {
                    reached.push(format!("connect {kind:?} {what}"));
                }
            }
        }
    }
    reached
}

fn sends_message(socket: &OwnedFd, address: &SocketAddrUnix) -> bool {
    let mut nothing = SendAncillaryBuffer::default();
    sendmsg_addr(socket, address, &[IoSlice::new(b"x")], &mut nothing, SendFlags::NOSIGNAL).is_ok()
}

fn new_socket(family: AddressFamily, kind: SocketType) -> Option<OwnedFd> {
    socket_with(family, kind, SocketFlags::CLOEXEC, None).ok()
}

/// What a computer answers, asked through the proxy if there is one, else directly.
pub(crate) fn computer(target: &str, proxy: Option<&String>) -> String {
    let door = proxy.and_then(|proxy| proxy.strip_prefix("http://")).unwrap_or(target);
    let asked = || -> std::io::Result<String> {
        let door: SocketAddr = door.parse().map_err(std::io::Error::other)?;
        let mut stream = TcpStream::connect(door)?;
        write!(stream, "GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    asked().unwrap_or_else(|error| format!("failed: {:?}", error.kind()))
}
