//! A client for addresses that somebody else chose: names are looked up once, and only allowed addresses are connected to.

use super::trust;
use reqwest::{
    Client,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use roost_protocol::{Failure, Reason};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

/// Long enough for a distant server.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// A client that reaches only computers whose address is allowed, whatever name they are asked by. Numbers in addresses
/// are not names and must be refused by the caller.
pub async fn guarded_client(is_allowed: fn(IpAddr) -> bool) -> Result<Client, Failure> {
    let make = move || {
        Client::builder()
            .no_proxy()
            .use_preconfigured_tls(trust::configuration())
            .dns_resolver(Arc::new(OnlyAllowed(is_allowed)))
            .connect_timeout(CONNECT_WAIT)
            .redirect(Policy::none())
            .user_agent(concat!("roost/", env!("CARGO_PKG_VERSION")))
            .build()
    };
    let wrong = |message: String| Failure::new(Reason::Internal, message);
    let made = tokio::task::spawn_blocking(make).await.map_err(|error| wrong(error.to_string()))?;
    made.map_err(|error| wrong(error.to_string()))
}

/// Looks names up and keeps the addresses that are allowed: what is connected to is what was looked at.
struct OnlyAllowed(fn(IpAddr) -> bool);

impl Resolve for OnlyAllowed {
    fn resolve(&self, name: Name) -> Resolving {
        let is_allowed = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| is_allowed(address.ip())).collect();
            if allowed.is_empty() {
                return Err("no public address has this name".into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
