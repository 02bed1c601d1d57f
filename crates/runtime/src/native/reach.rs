//! Where an app may go: decided by the host, asked for every request that leaves the app's network.

use crate::proxy::{Doorkeeper, Verdict};
use roost_protocol::HostPort;
use std::{fmt, net::IpAddr, sync::Arc};

/// A computer that an app wants to reach.
#[derive(Debug, Clone, Copy)]
pub enum Reached<'a> {
    /// By its name as the app wrote it, before that is looked up. The port is always there.
    Named(&'a HostPort),
    /// By an address that is not a public one, to which a name that was allowed led.
    Private(IpAddr, u16),
}

/// The host's decision about computers. Asked often: it must be quick and must not block.
#[derive(Clone)]
pub struct MayReach(Arc<dyn Fn(Reached<'_>) -> Verdict + Send + Sync>);

impl MayReach {
    /// Decides so.
    #[must_use]
    pub fn new(decide: impl Fn(Reached<'_>) -> Verdict + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// Nothing can be reached.
    #[must_use]
    pub fn nothing() -> Self {
        Self::new(|_| Verdict::Refused { next: String::new() })
    }
}

impl fmt::Debug for MayReach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MayReach").finish_non_exhaustive()
    }
}

impl Doorkeeper for MayReach {
    fn may_reach(&self, target: &HostPort) -> Verdict {
        (self.0)(Reached::Named(target))
    }

    fn may_reach_private(&self, address: IpAddr, port: u16) -> Verdict {
        (self.0)(Reached::Private(address, port))
    }
}
