//! The door: a listener that was made inside an agent's network, served from outside.

use super::{
    authority::Authority,
    connection::{self, Setup},
    doorkeeper::Doorkeeper,
    ledger::{Ledger, Report},
    passage::Passage,
    resolver::Resolver,
    secret::SecretUse,
    trust::Trust,
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
};

/// Most connections of one agent at once; more wait in the kernel's queue. Well above what a client's pool opens.
const CONNECTIONS_MAX: usize = 64;

/// Pause after a connection could not be accepted: it happens when this process has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What one proxy works with.
pub(crate) struct Settings {
    /// Decides where the agent may go.
    pub doorkeeper: Arc<dyn Doorkeeper>,
    /// Values that the agent uses without seeing them.
    pub secrets: Vec<SecretUse>,
    /// Vouches towards the agent for the tunnels that end here. The same one for all proxies of a process.
    pub authority: Authority,
    /// Vouches for real servers. The same one for all proxies of a process.
    pub trust: Trust,
    /// Looks names up.
    pub resolver: Arc<dyn Resolver>,
}

/// The proxy of one agent. Dropping it ends all of its connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    ledger: Arc<Ledger>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Begins to serve. The listener may belong to another network than this process. Needs a tokio runtime.
    pub(crate) fn serve(listener: std::net::TcpListener, settings: Settings) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let Settings { doorkeeper, secrets, authority, trust, resolver } = settings;
        let ledger = Arc::new(Ledger::default());
        let passage = Passage { doorkeeper, resolver, ledger: ledger.clone() };
        let setup = Arc::new(Setup { passage, secrets, authority, trust });
        Ok(Self { ledger, accepting: tokio::spawn(accept(listener, setup)) })
    }

    /// What happened since the last time. Costs next to nothing when nothing did.
    #[must_use]
    pub(crate) fn take_report(&self) -> Report {
        self.ledger.take()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The connections are in a set that this task owns, and end with it.
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, setup: Arc<Setup>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    // A place first: who has none is not accepted yet.
    while let Ok(place) = places.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let setup = setup.clone();
                connections.spawn(async move {
                    // Requests are small and somebody waits for each.
                    if stream.set_nodelay(true).is_ok() {
                        connection::serve(stream, setup).await;
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection of an agent cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}
