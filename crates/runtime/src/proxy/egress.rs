//! What all proxies of a process share: who vouches for tunnels that end here, and for real servers.

use super::{
    authority::Authority, doorkeeper::Doorkeeper, front::Proxy, front::Settings, resolver::SystemResolver,
    secret::SecretUse, trust::Trust,
};
use std::{
    io,
    net::TcpListener,
    sync::{Arc, OnceLock},
};

/// Made once per process; what is costly is made when it is first needed.
#[derive(Default)]
pub(crate) struct Egress {
    authority: OnceLock<Authority>,
    trust: Trust,
}

impl Egress {
    /// The certificate by which agents know tunnels that end at the proxy.
    pub(crate) fn certificate(&self) -> io::Result<String> {
        self.authority().map(|authority| authority.pem().to_owned())
    }

    /// Serves one agent.
    pub(crate) fn serve(
        &self,
        listener: TcpListener,
        doorkeeper: Arc<dyn Doorkeeper>,
        secrets: Vec<SecretUse>,
    ) -> io::Result<Proxy> {
        listener.set_nonblocking(true)?;
        let authority = self.authority()?.clone();
        let (trust, resolver) = (self.trust.clone(), Arc::new(SystemResolver));
        Proxy::serve(listener, Settings { doorkeeper, secrets, authority, trust, resolver })
    }

    fn authority(&self) -> io::Result<&Authority> {
        if let Some(authority) = self.authority.get() {
            return Ok(authority);
        }
        let made = Authority::new().map_err(io::Error::other)?;
        Ok(self.authority.get_or_init(|| made))
    }
}
