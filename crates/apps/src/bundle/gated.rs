//! Gated rapplications: everybody sees the entry, and only those whom a private repository lets in get the files.

use super::{
    Rules,
    code::{BundleError, Code},
    manifest_checks::shown,
    names,
    python_json::is_truthy,
};
use serde_json::{Map, Value};

/// The only tier of a gated rapplication.
pub(super) const TIER: &str = "private";

const RAW_CONTENT: &str = "https://raw.githubusercontent.com/";

/// Kinds of files that installing fetches; each needs a hash beside its address.
const FETCHED: [&str; 5] = ["singleton", "service", "ui", "organ", "tools"];

/// True when a manifest or an entry is gated.
pub(super) fn is_gated(fields: &Map<String, Value>) -> bool {
    fields.get("access").is_some_and(|access| access == "private")
}

/// The repository, and that every address leads into it. `label` is how a message calls the object.
pub(super) fn check(fields: &Map<String, Value>, label: &str, file: &str, rules: Rules) -> Vec<BundleError> {
    let repository = fields.get("private_repo").and_then(Value::as_str).filter(|text| match rules {
        Rules::Reference => names::is_loose_repository(text),
        Rules::Spec => names::is_repository(text) && !text.ends_with("/.") && !text.ends_with("/.."),
    });
    let Some(repository) = repository else {
        let seen = shown(fields.get("private_repo"));
        let message = format!("{label}.private_repo must be OWNER/REPOSITORY, not {seen}");
        return vec![BundleError::at(Code::GatedBadPrivateRepo, file, message)];
    };
    let prefix = format!("{RAW_CONTENT}{repository}/");
    addresses(fields)
        .filter(|(_, address)| {
            let rest = address.strip_prefix(&prefix);
            !rest.is_some_and(|rest| rules == Rules::Reference || stays_below(rest))
        })
        .map(|(key, address)| {
            let address = shown(Some(&Value::String(address.to_owned())));
            let message = format!("{label}.{key} must lead to a file below {prefix}, not {address}");
            BundleError::at(Code::GatedUrlMismatch, file, message)
        })
        .collect()
}

/// Every key that ends in `_url` with its address.
pub(super) fn addresses(fields: &Map<String, Value>) -> impl Iterator<Item = (&str, &str)> {
    fields.iter().filter(|(key, _)| key.ends_with("_url")).filter_map(|(key, value)| {
        value.as_str().filter(|address| !address.is_empty()).map(|address| (key.as_str(), address))
    })
}

/// Every fetched file of the entry has a hash.
pub(super) fn check_hashes(entry: &Map<String, Value>, file: &str, rules: Rules) -> Vec<BundleError> {
    let lacks_hash = |kind: &&str| {
        let hash = entry.get(&format!("{kind}_sha256"));
        let has_hash = match rules {
            Rules::Reference => is_truthy(hash),
            Rules::Spec => hash.and_then(Value::as_str).is_some_and(is_sha256),
        };
        is_truthy(entry.get(&format!("{kind}_url"))) && !has_hash
    };
    FETCHED
        .into_iter()
        .filter(lacks_hash)
        .map(|kind| {
            let message = format!("index_entry.{kind}_url has no SHA-256 in index_entry.{kind}_sha256");
            BundleError::at(Code::GatedMissingSha256, file, message)
        })
        .collect()
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A path of an address that no reader takes for one elsewhere: the token is sent there.
fn stays_below(rest: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'?' | b'#');
    let decoded = rest.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    rest.bytes().all(is_plain) && decoded.split('/').all(|part| part != "..")
}
