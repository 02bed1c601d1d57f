//! Keys to sign with, and whom this home believes. Reads and writes files of the home only, so no host is needed.

use crate::{
    args::{PublisherVerb, SigningVerb, TrustedStoreVerb},
    commands::native_package,
    config::Config,
    moments::coming_moment,
    output::{NOT_OK, Output},
};
use jiff::Timestamp;
use roost_apps::{
    native::{Covered, KEY_LIST_BYTES_MAX, PublicKey},
    read_at_most, replace_readable,
};
use roost_host::{
    create_home,
    trust::{HostTrust, SigningKeyListing, StoreListing, VerifiedListing},
};
use roost_protocol::{Failure, Reason};
use serde_json::json;
use std::{path::Path, process::ExitCode};

pub(super) async fn signing(
    config: &Config,
    verb: SigningVerb,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let trust = HostTrust::open(&config.host);
    match verb {
        SigningVerb::New { name, expires } => {
            create_home(&config.host.home)?;
            let expires = expires.as_deref().map(coming_moment).transpose()?;
            let made = trust.new_signing_key(&name, expires).await?;
            if output.json {
                output.document(&made);
            } else {
                output.line(made.id.as_str());
                output.note(&format!("Give others the public half: roost keys signing export {}", made.id));
            }
        }
        SigningVerb::List => {
            let keys = trust.signing_keys()?;
            if output.json {
                output.document(&json!({ "keys": keys }));
            } else if keys.is_empty() {
                output.line("No keys. Make one with `roost keys signing new`.");
            } else {
                keys.iter().for_each(|key| output.line(&signing_line(key)));
            }
        }
        SigningVerb::Export { id, output: file } => {
            let keys = trust.signing_keys()?;
            let key = keys.iter().find(|key| key.id.as_str() == id);
            let key = key.ok_or_else(|| {
                Failure::new(Reason::UnknownTrust, format!("there is no key {id}"))
                    .with_next("see `roost keys signing list`")
            })?;
            match file {
                Some(path) => {
                    let text = format!("{:#}\n", json!(key.public));
                    replace_readable(&path, text.as_bytes()).map_err(|error| {
                        Failure::new(Reason::Unreadable, format!("write {}: {error}", path.display()))
                    })?;
                    if output.json {
                        output.document(&json!({ "file": path, "id": key.id }));
                    } else {
                        output.line(&path.display().to_string());
                    }
                }
                None => output.document(&key.public),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn publisher(
    config: &Config,
    verb: PublisherVerb,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let trust = HostTrust::open(&config.host);
    match verb {
        PublisherVerb::Trust { file, name } => {
            create_home(&config.host.home)?;
            let shown = file.display();
            let bytes = read_at_most(&file, KEY_LIST_BYTES_MAX)
                .map_err(|error| Failure::new(Reason::Unreadable, format!("{shown}: {error}")))?;
            let key = PublicKey::parse(&bytes)
                .map_err(|why| Failure::new(Reason::TrustInvalid, format!("{shown}: {why}")))?;
            let name = name.unwrap_or_else(|| key.id.to_string());
            trust.trust_publisher(&name, key.clone()).await?;
            if output.json {
                output.document(&json!({ "trusted": { "name": name, "key": key } }));
            } else {
                output.line(&format!("believing {name}, key {}", key.id));
                if key.covers == Covered::ManifestAndBinary {
                    output.note("This key vouches for manifest and program only, not for SKILL.md and ui/.");
                }
            }
        }
        PublisherVerb::Remove { id } => {
            trust.remove_publisher(&id).await?;
            removed(&id, output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn store(
    config: &Config,
    verb: TrustedStoreVerb,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let trust = HostTrust::open(&config.host);
    match verb {
        TrustedStoreVerb::Add { url } => {
            create_home(&config.host.home)?;
            let added = trust.add_store(&url).await?;
            if output.json {
                output.document(&json!({ "added": added }));
            } else {
                output.line(&store_line(&added));
            }
            Ok(ExitCode::SUCCESS)
        }
        TrustedStoreVerb::Refresh { url } => {
            let stores = trust.refresh(url.as_deref()).await?;
            if output.json {
                output.document(&json!({ "stores": stores }));
            } else {
                stores.iter().for_each(|store| output.line(&store_line(store)));
                stores.iter().filter_map(|store| store.reason.as_ref()).for_each(|why| output.explain(why));
            }
            let all_answered = stores.iter().all(|store| store.reason.is_none());
            Ok(if all_answered { ExitCode::SUCCESS } else { ExitCode::from(NOT_OK) })
        }
        TrustedStoreVerb::Remove { url } => {
            trust.remove_store(&url).await?;
            removed(&url, output);
            Ok(ExitCode::SUCCESS)
        }
    }
}

pub(super) fn list(config: &Config, output: &Output) -> Result<ExitCode, Failure> {
    let listed = HostTrust::open(&config.host).list()?;
    if output.json {
        output.document(&listed);
        return Ok(ExitCode::SUCCESS);
    }
    for key in &listed.signing {
        output.line(&format!("sign with   {}", signing_line(key)));
    }
    for known in &listed.publishers {
        output.line(&format!("publisher   {}  {}{}", known.key.id, known.name, until(known.key.not_after)));
    }
    for known in &listed.stores {
        output.line(&format!("store       {}", store_line(known)));
    }
    if listed.signing.is_empty() && listed.publishers.is_empty() && listed.stores.is_empty() {
        output.line("Nobody is trusted. See `roost keys --help`.");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn verify(config: &Config, path: &Path, output: &Output) -> Result<ExitCode, Failure> {
    let package = native_package(path)?;
    let verified = HostTrust::open(&config.host).verify(package).await?;
    let told = VerifiedListing::new(&verified);
    if output.json {
        output.document(&told);
    } else {
        let covers = match told.covers {
            Covered::Tree => "every file",
            Covered::ManifestAndBinary => "its manifest and its program only",
        };
        output.line(&format!("{} {}: {} vouches for {covers}", told.id, told.version, told.vouched_by));
    }
    Ok(ExitCode::SUCCESS)
}

fn removed(what: &str, output: &Output) {
    if output.json {
        output.document(&json!({ "removed": what }));
    } else {
        output.line(&format!("removed {what}"));
    }
}

fn signing_line(key: &SigningKeyListing) -> String {
    format!("{}  {}{}", key.id, key.name, until(key.public.not_after))
}

fn store_line(store: &StoreListing) -> String {
    let believed = match (store.keys_until, store.revocations_until) {
        (Some(keys), Some(revocations)) => format!("believed until {}", keys.min(revocations)),
        _ => "not believed: too old".to_owned(),
    };
    format!("{}  {} keys, {} revoked apps, {believed}", store.url, store.keys.len(), store.revoked)
}

fn until(moment: Option<Timestamp>) -> String {
    moment.map(|moment| format!(", until {moment}")).unwrap_or_default()
}
