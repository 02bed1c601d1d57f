//! The certificate authority of this process: agents trust it, nobody else does, and its key is never written.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use roost_protocol::Host;
use rustls::{
    ServerConfig,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

/// Before now, for clocks that differ between this computer and what runs on it.
const VALID_BEFORE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a certificate holds: some clients take no longer one than 398 days.
const VALID_AFTER: Duration = Duration::from_secs(397 * 24 * 60 * 60);

/// When a certificate is made anew, well before it ends.
const LEAF_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long the authority itself holds: longer than any process.
const AUTHORITY_AGE_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Most certificates kept. Each belongs to a computer that a person named, or to one below a name with `*`.
const LEAVES_MAX: usize = 256;

/// Makes certificates for the tunnels that end in the proxy. One for the whole process; clones share everything.
#[derive(Clone)]
pub(crate) struct Authority(Arc<Shared>);

struct Shared {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    /// One key for all certificates: they all stand for this process.
    key: KeyPair,
    provider: Arc<CryptoProvider>,
    leaves: Mutex<HashMap<Host, Leaf>>,
}

struct Leaf {
    made: Instant,
    config: Arc<ServerConfig>,
}

/// A certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorityError {
    /// The key or the certificate itself.
    #[error("make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// What TLS needs besides.
    #[error("prepare TLS with a certificate")]
    Tls(#[from] rustls::Error),
}

impl Authority {
    /// Makes a new key and the certificate for it.
    pub(crate) fn new() -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = lasting(AUTHORITY_AGE_MAX, Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, "Roost, on this computer only");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pem = params.self_signed(&key)?.pem();
        Ok(Self(Arc::new(Shared {
            issuer: Issuer::new(params, key),
            pem,
            key: KeyPair::generate()?,
            provider: Arc::new(rustls::crypto::ring::default_provider()),
            leaves: Mutex::default(),
        })))
    }

    /// The authority's certificate, for the trust store of an agent.
    #[must_use]
    pub(crate) fn pem(&self) -> &str {
        &self.0.pem
    }

    /// TLS in the name of a computer.
    pub(super) fn server_config(&self, host: &Host) -> Result<Arc<ServerConfig>, AuthorityError> {
        let mut leaves = self.0.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = leaves.get(host).filter(|leaf| leaf.made.elapsed() < LEAF_AGE_MAX) {
            return Ok(leaf.config.clone());
        }
        if leaves.len() >= LEAVES_MAX {
            leaves.clear();
        }
        // Under the lock: signing takes less than a millisecond, and nobody makes the same one twice.
        let config = Arc::new(self.make_config(host)?);
        leaves.insert(host.clone(), Leaf { made: Instant::now(), config: config.clone() });
        Ok(config)
    }

    fn make_config(&self, host: &Host) -> Result<ServerConfig, AuthorityError> {
        let mut params = lasting(VALID_AFTER, vec![host.to_string()])?;
        params.distinguished_name.push(DnType::CommonName, "Roost");
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let leaf: CertificateDer<'static> = params.signed_by(&self.0.key, &self.0.issuer)?.into();
        let key = PrivatePkcs8KeyDer::from(self.0.key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(self.0.provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![leaf], key.into())?;
        // The requests are read here, and only this version is.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn lasting(valid_after: Duration, names: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let now = SystemTime::now();
    params.not_before = (now - VALID_BEFORE).into();
    params.not_after = (now + valid_after).into();
    params.distinguished_name = rcgen::DistinguishedName::new();
    Ok(params)
}

/// Never the key.
impl fmt::Debug for Authority {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Authority").finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// TLS for a server of the tests.
    pub(in super::super) fn server_config_of(authority: &Authority, host: &str) -> Arc<ServerConfig> {
        authority.server_config(&Host::parse(host).unwrap()).unwrap()
    }

    #[test]
    fn a_certificate_is_made_once_per_computer() {
        let authority = Authority::new().unwrap();
        let host = Host::parse("api.example").unwrap();
        let first = authority.server_config(&host).unwrap();
        assert!(Arc::ptr_eq(&first, &authority.server_config(&host).unwrap()));
        let other = authority.server_config(&Host::parse("10.0.0.1").unwrap()).unwrap();
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(authority.pem().starts_with("-----BEGIN CERTIFICATE-----"));
    }
}
