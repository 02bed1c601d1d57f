//! Tunnels that end here: for the computers that get a secret, and for no others.
//!
//! The agent trusts this process's own authority, the proxy checks the real server as a browser would. In between
//! lie ordinary requests, which take the same way as those without encryption.

use super::{
    connection::{self, Session},
    target::Target,
};
use std::{
    io::{self, Cursor},
    sync::Arc,
    time::Duration,
};
use tokio::{io::AsyncReadExt, net::TcpStream, time::timeout};
use tokio_rustls::TlsAcceptor;

/// Longest wait for the agent's part of the handshake: both sides are on this computer.
const HANDSHAKE_WAIT_MAX: Duration = Duration::from_secs(15);

/// Serves the requests inside. `first` was read already, to see the name in the hello.
pub(super) async fn run(
    agent: TcpStream,
    first: Vec<u8>,
    target: &Target,
    session: &Session,
) -> io::Result<()> {
    let setup = session.setup.clone();
    let config = setup.authority.server_config(target.host()).map_err(io::Error::other)?;
    let (from_agent, to_agent) = agent.into_split();
    let agent = tokio::io::join(Cursor::new(first).chain(from_agent), to_agent);
    let agent = timeout(HANDSHAKE_WAIT_MAX, TlsAcceptor::from(config).accept(agent)).await??;
    let inside = Session::new(setup, session.activity.clone(), Some(target.clone()));
    connection::serve_requests(agent, Arc::new(inside)).await;
    Ok(())
}
