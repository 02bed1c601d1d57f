//! Whom a connection to a provider trusts: this computer's certificates, and Mozilla's list where it has none.
//!
//! The cryptography is ring, named here once, so that no other choice can come in through a dependency's default.

use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// The settings of TLS for every provider.
pub(super) fn configuration() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        tracing::debug!("this computer has no certificates; Mozilla's list is used");
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    trusting(roots)
}

fn trusting(roots: RootCertStore) -> ClientConfig {
    let mut configuration =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions of TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    configuration
}

#[cfg(test)]
mod tests {
    use super::{configuration, trusting};
    use crate::model::wire::client;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ClientConfig, RootCertStore, ServerConfig};
    use std::error::Error as _;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    /// Asks a server with this certificate once; the status, or the innermost reason why not.
    async fn ask(
        certificate: &rcgen::CertifiedKey<rcgen::KeyPair>,
        tls: ClientConfig,
    ) -> Result<u16, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.cert.der().clone()], key)
            .unwrap();
        let serve = async {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = TlsAcceptor::from(Arc::new(server)).accept(stream).await else { return };
            let read = stream.read(&mut [0; 4096]).await.unwrap();
            assert!(read > 0);
            stream.write_all(b"HTTP/1.1 204 Recorded\r\nconnection: close\r\n\r\n").await.unwrap();
            stream.flush().await.unwrap();
        };
        let request = client(None, tls).unwrap().get(&url).send();
        let (answer, ()) = tokio::join!(request, serve);
        answer.map(|answer| answer.status().as_u16()).map_err(|error| {
            let mut cause = error.source().unwrap();
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            cause.to_string()
        })
    }

    #[tokio::test]
    async fn a_server_is_trusted_only_if_somebody_vouches_for_it() {
        let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::clone(certificate.cert.der())).unwrap();
        assert_eq!(ask(&certificate, trusting(roots)).await, Ok(204));
        let refused = ask(&certificate, configuration()).await.unwrap_err();
        assert!(refused.contains("UnknownIssuer") || refused.contains("CaUsed"), "{refused}");
    }
}
