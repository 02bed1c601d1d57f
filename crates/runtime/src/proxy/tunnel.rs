//! CONNECT: bytes that are passed on unread, after a look at the first of them.
//!
//! On the ports of the web a tunnel carries TLS and nothing else, and TLS anywhere names the computer that the tunnel
//! goes to: otherwise one grant for a shared address would open every site that lives there.

use super::{
    answer::Stopped,
    connection::Session,
    counted::Counted,
    hello::{self, Hello, Opening},
    intercept,
    passage::Admitted,
    strict::Strict,
    target::Target,
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use roost_protocol::Host;
use std::{io, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

/// Longest wait for a client's hello: it follows the answer to CONNECT at once, and only its parts may be delayed.
const OPENING_WAIT_MAX: Duration = Duration::from_secs(15);

/// How much is read at once: large enough for full speed, small enough for 64 connections of every agent.
const RELAY_BYTES: usize = 32 * 1024;

/// A tunnel that was allowed and waits for its first byte.
pub(super) struct Tunnel {
    pub(super) upgrade: OnUpgrade,
    pub(super) admitted: Admitted,
    pub(super) far_end: FarEnd,
}

/// Where a tunnel ends.
pub(super) enum FarEnd {
    /// At the server.
    Server(Counted<TcpStream>),
    /// In this proxy, which reads the requests, because one of them may need a secret.
    Here,
}

impl Tunnel {
    /// Passes bytes on until both sides are done or one is gone.
    pub(super) async fn run(self, session: &Session) {
        let Ok(upgraded) = self.upgrade.await else { return };
        // Invariant: `connection::serve` makes tunnels of this kind of stream only.
        let Ok(parts) = upgraded.downcast::<TokioIo<Strict<TcpStream>>>() else { return };
        let agent = parts.io.into_inner().into_inner();
        let first = parts.read_buf.to_vec();
        let target = self.admitted.target();
        let result = match self.far_end {
            FarEnd::Server(server) if target.is_web() => {
                relay_web(agent, server, first, target, session).await
            }
            FarEnd::Server(server) => relay_other(agent, server, first, target, session).await,
            FarEnd::Here => match open_web(agent, first, target, session).await {
                Ok((agent, first)) => intercept::run(agent, first, target, session).await,
                Err(error) => Err(error),
            },
        };
        if let Err(error) = result {
            tracing::debug!(%error, %target, "tunnel ended early");
        }
    }
}

/// Nothing passes in any direction before the agent has said whom it wants.
async fn relay_web(
    agent: TcpStream,
    mut server: Counted<TcpStream>,
    first: Vec<u8>,
    target: &Target,
    session: &Session,
) -> io::Result<()> {
    let (mut agent, first) = open_web(agent, first, target, session).await?;
    server.write_all(&first).await?;
    tokio::io::copy_bidirectional_with_sizes(&mut agent, &mut server, RELAY_BYTES, RELAY_BYTES).await?;
    Ok(())
}

async fn open_web(
    mut agent: TcpStream,
    mut first: Vec<u8>,
    target: &Target,
    session: &Session,
) -> io::Result<(TcpStream, Vec<u8>)> {
    let opening = timeout(OPENING_WAIT_MAX, read_opening(&mut agent, &mut first)).await??;
    if opening == Opening::Other {
        let next = "use https, or http without a tunnel".to_owned();
        return Err(refused(session, format!("send something other than TLS to {target} in a tunnel"), next));
    }
    check_name(&opening, target, session)?;
    Ok((agent, first))
}

/// The server may speak first, and the agent may take its time.
async fn relay_other(
    agent: TcpStream,
    server: Counted<TcpStream>,
    mut first: Vec<u8>,
    target: &Target,
    session: &Session,
) -> io::Result<()> {
    let (mut from_agent, mut to_agent) = agent.into_split();
    let (from_server, mut to_server) = tokio::io::split(server);
    let there = async {
        match read_opening(&mut from_agent, &mut first).await {
            Ok(opening) => check_name(&opening, target, session)?,
            // It may be done with speaking before it began.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(error),
        }
        to_server.write_all(&first).await?;
        tokio::io::copy_buf(&mut BufReader::with_capacity(RELAY_BYTES, from_agent), &mut to_server).await?;
        to_server.shutdown().await
    };
    let back = async {
        tokio::io::copy_buf(&mut BufReader::with_capacity(RELAY_BYTES, from_server), &mut to_agent).await?;
        to_agent.shutdown().await
    };
    tokio::try_join!(there, back)?;
    Ok(())
}

/// Reads until it is clear what the first bytes are. Waits as long as it takes for the first one only.
async fn read_opening<R: AsyncRead + Unpin>(agent: &mut R, first: &mut Vec<u8>) -> io::Result<Opening> {
    if first.is_empty() && agent.read_buf(first).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let rest = async {
        loop {
            let needed = match hello::read(first) {
                Opening::Needs(count) => count,
                opening => return Ok(opening),
            };
            while first.len() < needed {
                if agent.read_buf(first).await? == 0 {
                    // Ended in the middle of a hello. What is not TLS after all may be as short as this.
                    let opening = if first.len() < 2 { Opening::Other } else { Opening::Malformed };
                    return Ok(opening);
                }
            }
        }
    };
    timeout(OPENING_WAIT_MAX, rest).await?
}

fn check_name(opening: &Opening, target: &Target, session: &Session) -> io::Result<()> {
    match opening {
        Opening::Other => Ok(()),
        // The inner name decides which site answers, and a server for many sites takes any. A hello that only pretends
        // (GREASE) looks the same on purpose, so that both are refused; no usual client of a language sends either.
        Opening::Tls(hello) if hello.has_encrypted && matches!(target.host(), Host::Name(_)) => {
            let what =
                format!("connect to {target} with an encrypted client hello, whose server name is hidden");
            Err(refused(session, what, "switch ECH off in the TLS client".to_owned()))
        }
        Opening::Tls(hello) => match other_name(hello, target.host()) {
            None => Ok(()),
            Some(other) => {
                let what = format!("connect to {target} under the other server name {other}");
                Err(refused(session, what, "ask the proxy for the computer that the hello names".to_owned()))
            }
        },
        Opening::Malformed | Opening::Needs(_) => {
            let what = format!("connect to {target} with a hello of TLS that hides its server name");
            Err(refused(session, what, "use an ordinary TLS client".to_owned()))
        }
    }
}

/// The name in a hello, when it is not the one that was allowed. A hello without any name is for whoever is there.
fn other_name(hello: &Hello, host: &Host) -> Option<String> {
    match &hello.server_name {
        Some(name) => {
            let name = std::str::from_utf8(name).ok().and_then(|name| Host::parse(name).ok());
            let other = name.as_ref() != Some(host);
            // What is no name is not repeated: it is the agent's text, and a person reads this.
            other.then(|| name.map_or_else(|| "(unreadable)".to_owned(), |name| name.to_string()))
        }
        None => None,
    }
}

/// Notes the refusal. There is no answer to send: the agent is in the middle of another protocol.
fn refused(session: &Session, what: String, next: String) -> io::Error {
    match session.setup.passage.refuse(what, None, next) {
        Stopped::Refused(refusal) => io::Error::other(refusal.what),
        _ => io::ErrorKind::PermissionDenied.into(),
    }
}

#[cfg(test)]
mod tests;
