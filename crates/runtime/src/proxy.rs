//! The agents' only way out of an empty network: an HTTP proxy that asks before it connects.
//!
//! It knows no rights and keeps no grants: a `Doorkeeper` decides. It resolves names once, connects only to
//! addresses that were checked, and puts secrets where the agent wrote placeholders. It never logs what passes.

mod egress; // what all proxies of a process share
mod front; // the door: a listener in, a report out
mod doorkeeper; // who decides
mod connection; // one connection of an agent
mod strict; // heads that leave no doubt
mod target; // where an agent wants to go
mod passage; // deciding, looking up, connecting
mod address; // addresses that are not public
mod resolver; // names to addresses
mod headers; // what is passed on and what is not
mod upstream; // requests to the real server
mod tunnel; // CONNECT
mod hello; // the first message of TLS
mod intercept; // TLS that ends here, for secrets
mod authority; // certificates for that
mod trust; // certificates of real servers
mod secret; // placeholders and values
mod answer; // what the agent reads when it gets no further
mod counted; // bytes that are counted
mod ledger; // what happened since the last report

pub use self::{
    address::is_public as is_public_address,
    doorkeeper::Verdict,
    secret::{InvalidSecret, SecretUse},
};
pub(crate) use self::{doorkeeper::Doorkeeper, egress::Egress, front::Proxy};

use crate::sandbox::PROXY_PORT;

/// Where programs look for the way out of a network of their own, and what they find there.
#[must_use]
pub fn proxy_variables() -> [(String, String); 6] {
    let address = format!("http://127.0.0.1:{PROXY_PORT}");
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
        .map(|name| (name.to_owned(), address.clone()))
}

#[cfg(test)]
use self::{
    authority::Authority,
    doorkeeper::tests::names_address,
    front::Settings,
    ledger::Report,
    resolver::{Resolution, Resolver, SystemResolver},
    trust::Trust,
};

#[cfg(test)]
mod tests;
