//! `roost store native`: the native apps of a store, and the keys that vouch for them.

use crate::{args::StoreNativeVerb, config::Config, output::Output};
use jiff::Timestamp;
use roost_apps::native::{NativeArrival, NativePackage, look_for_native};
use roost_host::{storefront::Storefront, trust::HostTrust};
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::{path::Path, process::ExitCode};

pub(crate) fn store_native(
    config: &Config,
    store: &Storefront,
    verb: StoreNativeVerb,
    output: Output,
) -> Result<ExitCode, Failure> {
    let now = Timestamp::now();
    match verb {
        StoreNativeVerb::Add { package, key } => {
            let trust = HostTrust::open(&config.host);
            let signing = trust.signing_key(key.as_deref())?;
            let public = trust.public_key(&signing)?;
            let app = store.add_native(read(&package)?, &signing, &public, now)?;
            let version = app.newest().map(|newest| newest.version.clone()).unwrap_or_default();
            let line = format!("published {} {version}, signed with {}", app.id, public.id);
            tell(output, &json!({ "published": app }), &line);
        }
        StoreNativeVerb::List => {
            let shelf = store.native_shelf()?;
            if output.json {
                output.document(&shelf);
                return Ok(ExitCode::SUCCESS);
            }
            for app in &shelf.apps {
                let version = app.newest().map(|newest| newest.version.as_str()).unwrap_or_default();
                output.line(&format!("{}  {version}  {}", app.id, app.name));
            }
            for revoked in &shelf.revocations {
                output.line(&format!("{}  taken back {}", revoked.id, revoked.revoked_at));
            }
            for key in &shelf.keys {
                let state = if key.get("revokedAt").is_some() { "taken back" } else { "signs" };
                output.line(&format!("key {}  {state}", key["keyId"].as_str().unwrap_or_default()));
            }
        }
        StoreNativeVerb::Revoke { id } => {
            let revoked = store.revoke_native(&id, now)?;
            tell(output, &json!({ "revoked": revoked }), &format!("took {id} back"));
        }
        StoreNativeVerb::AddKey { id } => {
            let trust = HostTrust::open(&config.host);
            let public = trust.public_key(&trust.signing_key(Some(&id))?)?;
            let shelf = store.add_native_key(&public, now)?;
            tell(output, &json!({ "keys": shelf.keys }), &format!("homes will believe {id} too"));
        }
        StoreNativeVerb::RevokeKey { id } => {
            let shelf = store.revoke_native_key(&id, now)?;
            tell(output, &json!({ "keys": shelf.keys }), &format!("took the key {id} back"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(output: Output, document: &serde_json::Value, line: &str) {
    match output.json {
        true => output.document(document),
        false => output.line(line),
    }
}

fn read(path: &Path) -> Result<NativePackage, Failure> {
    let shown = path.display();
    let package = match look_for_native(path)? {
        Some(NativeArrival::Napp(bytes)) => NativePackage::from_napp(&bytes),
        Some(NativeArrival::Folder) => NativePackage::from_folder(path),
        None => {
            return Err(Failure::new(Reason::PackageInvalid, format!("{shown} is no native app")));
        }
    };
    package.map_err(|errors| {
        let what = errors.first().map(ToString::to_string).unwrap_or_default();
        Failure::new(Reason::PackageInvalid, format!("{shown}: {what}"))
    })
}
