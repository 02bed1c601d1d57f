//! Which real servers are believed to be who they say: those that a browser on this computer would believe.

use super::{answer::Stopped, target::Target};
use roost_protocol::Host;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName},
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::OnceCell,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Longest wait for a server's part of the handshake: two round trips, over the slowest link.
const HANDSHAKE_WAIT_MAX: Duration = Duration::from_secs(15);

/// The authorities that vouch for servers. One for the whole process; clones share everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trust(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    added: Vec<CertificateDer<'static>>,
    /// Read at the first use: most agents never need it, and it takes some milliseconds.
    config: OnceCell<Arc<ClientConfig>>,
}

impl Trust {
    /// The same, and the ones in this text.
    #[cfg(test)]
    pub(crate) fn with_added(pem: &str) -> io::Result<Self> {
        use rustls::pki_types::pem::PemObject as _;
        let added = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        Ok(Self(Arc::new(Shared { added, config: OnceCell::new() })))
    }

    /// Begins TLS with a server and checks that it is the one that was meant.
    pub(super) async fn connect<S>(&self, target: &Target, server: S) -> Result<TlsStream<S>, Stopped>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let failed = |error: io::Error| Stopped::Unreachable(format!("{target} cannot be trusted: {error}"));
        let config = self.0.config.get_or_try_init(|| self.load()).await.map_err(failed)?.clone();
        let name = match target.host() {
            Host::Address(address) => ServerName::from(*address),
            Host::Name(name) | Host::Below(name) => ServerName::try_from(name.clone()).map_err(|_| {
                Stopped::Unreachable(format!("{target} has no name that a certificate can carry"))
            })?,
        };
        match timeout(HANDSHAKE_WAIT_MAX, TlsConnector::from(config).connect(name, server)).await {
            Ok(connected) => connected.map_err(failed),
            Err(_) => Err(Stopped::TooSlow(format!("{target} did not finish the handshake of TLS in time"))),
        }
    }

    async fn load(&self) -> io::Result<Arc<ClientConfig>> {
        let added = self.0.added.clone();
        // Reads many files.
        tokio::task::spawn_blocking(move || load(added)).await.map_err(io::Error::other)?
    }
}

fn load(added: Vec<CertificateDer<'static>>) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let found = rustls_native_certs::load_native_certs();
    if let Some(error) = found.errors.first() {
        // Those of Mozilla's list still hold.
        tracing::debug!(%error, "some of this computer's certificates cannot be read");
    }
    let (_, ignored) = roots.add_parsable_certificates(found.certs);
    tracing::debug!(ignored, "read this computer's certificates");
    for certificate in added {
        roots.add(certificate).map_err(io::Error::other)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
