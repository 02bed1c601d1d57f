//! Listening on loopback, and stopping without losing an answer.

use crate::{
    guard::Neighbours,
    peer::Peer,
    router::{Door, router},
    routes::chat::Profile,
};
use axum::Router;
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use std::{
    future::Future,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};
use tokio::net::TcpListener;

/// How long running requests may take to finish once the host is asked to stop.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Tells answers that would never end by themselves that the host stops.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(tokio::sync::watch::Receiver<()>);

impl Stopping {
    /// Until the host stops; for ever where nobody would say so.
    pub(crate) async fn wait(stopping: Option<&Self>) {
        match stopping {
            // The sender never sends: it goes when the host stops.
            Some(Self(receiver)) => drop(receiver.clone().changed().await),
            None => std::future::pending().await,
        }
    }
}

/// A port that was taken.
pub struct Listening {
    listener: TcpListener,
    port: u16,
}

/// Takes a port on loopback; 0 takes a free one.
pub async fn listen(port: u16) -> Result<Listening, Failure> {
    listen_at(Ipv4Addr::LOCALHOST.into(), port).await
}

/// Takes a port at an address of this machine. Anything but loopback is a person's choice.
pub async fn listen_at(address: IpAddr, port: u16) -> Result<Listening, Failure> {
    let refuse = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            Failure::new(Reason::PortInUse, format!("port {port} is already in use"))
        }
        _ => Failure::new(Reason::Internal, format!("listen on port {port}: {error}")),
    };
    let listener = TcpListener::bind((address, port)).await.map_err(refuse)?;
    let port = listener.local_addr().map_err(refuse)?.port();
    Ok(Listening { listener, port })
}

impl Listening {
    /// The port that was taken.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves until `stop` resolves, then lets running requests finish.
    pub async fn serve(
        self,
        host: Host,
        neighbours: Neighbours,
        profile: Profile,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Failure> {
        let app = router(host, Door { port: self.port, neighbours, profile });
        serve_until(self, app, stop).await
    }
}

/// Serves these routes until `stop` resolves, then lets running requests finish.
pub(crate) async fn serve_until(
    listening: Listening,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    let (running, watched) = tokio::sync::watch::channel(());
    let stop = async move {
        stop.await;
        drop(running);
        // Nobody listening means that the server ended by itself.
        stopping.send(()).ok();
    };
    let app = app.layer(axum::Extension(Stopping(watched)));
    let app = app.into_make_service_with_connect_info::<Peer>();
    let serving = axum::serve(listening.listener, app).with_graceful_shutdown(stop).into_future();
    tokio::select! {
        served = serving => served.map_err(|error| Failure::new(Reason::Internal, format!("serve: {error}"))),
        () = async { if stopped.await.is_ok() { tokio::time::sleep(STOP_WITHIN).await } else { std::future::pending().await } } => Ok(()),
    }
}
