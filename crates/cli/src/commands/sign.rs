//! `roost sign PATH`: signatures over every file of a native app.

use super::{native_package, pack::write_native};
use crate::{args::SignArguments, config::Config, output::Output};
use roost_apps::replace_readable;
use roost_host::trust::HostTrust;
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn sign(config: &Config, arguments: &SignArguments, output: &Output) -> Result<ExitCode, Failure> {
    let package = native_package(&arguments.path)?;
    let key = HostTrust::open(&config.host).signing_key(arguments.key.as_deref())?;
    let signed = package.sign(&key).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::new(Reason::PackageInvalid, texts.join("; "))
    })?;
    if !arguments.path.is_dir() || arguments.output.is_some() {
        let path = arguments.output.clone().unwrap_or_else(|| arguments.path.clone());
        return write_native(&signed, Some(path), output);
    }
    let Some((name, bytes)) = signed.signature_file() else {
        return Err(Failure::plain(Reason::SignatureMissing));
    };
    let path = arguments.path.join(name);
    replace_readable(&path, bytes)
        .map_err(|error| Failure::new(Reason::Unreadable, format!("write {}: {error}", path.display())))?;
    let key_id = signed.signatures().map(|signatures| &signatures.key_id);
    if output.json {
        let manifest = signed.manifest();
        output.document(
            &json!({ "id": manifest.id, "version": manifest.version, "file": path, "key_id": key_id }),
        );
    } else {
        output.line(&path.display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}
