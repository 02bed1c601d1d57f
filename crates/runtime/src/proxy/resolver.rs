//! Names to addresses. A trait, so that tests can answer a second question differently from the first.

use std::{future::Future, io, net::IpAddr, pin::Pin};

/// An answer that is under way.
pub(super) type Resolution<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks names up. Asked once per connection, only for names that are allowed.
pub(crate) trait Resolver: Send + Sync {
    /// The addresses of a name, best first.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolution<'a>;
}

/// The resolver of this computer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolution<'a> {
        Box::pin(async move {
            // The port is only there because the function wants one.
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}
