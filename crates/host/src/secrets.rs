//! Secrets that an agent uses without seeing them: a placeholder in its environment, the value only in the proxy.

use crate::{settings::Variables, vault::ResolvedSecret};
use roost_protocol::{Failure, HeaderName, HostPort, Reason, Transport, VariableName};
use roost_runtime::SecretUse;
use std::{collections::BTreeMap, fs, io, path::Path};

/// Where the certificates of this machine are, by distribution.
const SYSTEM_BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// Where programs look for certificates.
const BUNDLE_VARIABLES: [&str; 5] =
    ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"];

/// Where the values of granted names come from: the vault, then the host's own variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) vault: &'a [ResolvedSecret],
    pub(crate) variables: &'a Variables,
}

impl<'a> Values<'a> {
    pub(crate) fn get(self, name: &VariableName) -> Option<&'a str> {
        let kept = self.vault.iter().find(|secret| secret.name == *name).map(|secret| secret.value.expose());
        kept.or_else(|| self.variables.get(name.as_str()).map(String::as_str))
    }
}

/// What stands for a value, and the value.
#[derive(Debug)]
pub(crate) struct Secret {
    pub(crate) placeholder: String,
    pub(crate) in_use: SecretUse,
}

/// A placeholder for this value. It is the same as long as the host runs and the value stays, so that workers can be
/// reused, and another one afterwards: workers are told apart by it.
pub(crate) fn placeholder(
    name: &VariableName,
    value: Option<&str>,
    transport: Transport,
    host: &HostPort,
    header: &HeaderName,
) -> Result<Secret, Failure> {
    let refuse =
        |why: String| Failure::new(Reason::InvalidSettings, format!("the secret {}: {why}", name.as_str()));
    let value = value.ok_or_else(|| {
        let message = format!("the secret {}: neither the vault nor a variable has it", name.as_str());
        Failure::new(Reason::SecretMissing, message).with_next(format!(
            "`roost secrets set {}`, or put it into `.env` in the home folder",
            name.as_str()
        ))
    })?;
    let host = goes_to(transport, host);
    let placeholder = format!("roost-secret-{}", unguessable(name, transport, &host, value)?);
    let in_use = SecretUse::new(&placeholder, value, transport, host, header)
        .map_err(|error| refuse(error.to_string()))?;
    Ok(Secret { placeholder, in_use })
}

/// Where a secret that was granted for this computer may go.
pub(crate) fn goes_to(transport: Transport, host: &HostPort) -> HostPort {
    HostPort { port: Some(host.port.unwrap_or(transport.default_port())), ..host.clone() }
}

/// Different for every host process, and worth nothing to who reads it.
fn unguessable(
    name: &VariableName,
    transport: Transport,
    host: &HostPort,
    value: &str,
) -> Result<String, Failure> {
    static SEED: std::sync::OnceLock<[u8; 32]> = std::sync::OnceLock::new();
    let seed = match SEED.get() {
        Some(seed) => seed,
        None => {
            let mut seed = [0; 32];
            io::Read::read_exact(&mut fs::File::open("/dev/urandom").map_err(unusable)?, &mut seed)
                .map_err(unusable)?;
            SEED.get_or_init(|| seed)
        }
    };
    let text = format!("{}\n{transport:?}\n{host}\n{value}", name.as_str());
    let text = [&seed[..], text.as_bytes()].concat();
    Ok(roost_protocol::Digest::of(&text).to_string()[..32].to_owned())
}

fn unusable(error: io::Error) -> Failure {
    Failure::new(Reason::Internal, format!("no random numbers: {error}"))
}

/// Lets the agent's programs believe the proxy where it answers in place of a server, besides everybody they believe
/// anyway.
pub(crate) fn trust_the_proxy(
    bundle: &Path,
    certificate: impl FnOnce() -> io::Result<String>,
    environment: &mut BTreeMap<String, String>,
) -> io::Result<()> {
    let system = SYSTEM_BUNDLES.iter().find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let text = format!("{system}\n{}", certificate()?);
    if fs::read_to_string(bundle).ok().as_ref() != Some(&text) {
        fs::write(bundle, text)?;
    }
    let path = bundle.display().to_string();
    environment.extend(BUNDLE_VARIABLES.map(|name| (name.to_owned(), path.clone())));
    Ok(())
}
