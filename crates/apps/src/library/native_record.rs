//! What is known of an installed program: which of its files runs, who vouched for it, and what it said about itself when
//! it was installed, so that the next version can be compared with it.

use crate::native::{
    BINARY_NAMES, Capability, Covered, NativeManifest, NativePackage, OauthNeed, VerifiedPackage,
};
use roost_protocol::to_native;
use serde::{Deserialize, Serialize};

/// The program of one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeRecord {
    /// The file that is started.
    pub binary: String,
    /// Who vouched for it; nobody for one that was sideloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<NativeSignature>,
    /// What it offers.
    pub provides: Vec<String>,
    /// What it asks for, as it was written.
    pub permissions: Vec<String>,
    /// Hooks at which it may answer in place of the host.
    pub overrides: Vec<String>,
    /// Accounts elsewhere that it wants to use.
    pub oauth: Vec<OauthNeed>,
}

/// Who vouched for a program when it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeSignature {
    /// Which key.
    pub key_id: String,
    /// Whose key that was.
    pub vouched_by: String,
    /// For how much of it.
    pub covers: Covered,
}

/// What a version wants and the one before it did not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NativeChange {
    /// Permissions that no permission of the version before covers.
    pub permissions: Vec<String>,
    /// Capabilities.
    pub provides: Vec<String>,
    /// Hooks at which it may answer in place of the host.
    pub overrides: Vec<String>,
    /// Accounts elsewhere, each with the scopes that are new.
    pub oauth: Vec<OauthNeed>,
}

impl NativeRecord {
    /// What is kept of a package that somebody vouches for.
    #[must_use]
    pub fn of(verified: &VerifiedPackage) -> Self {
        let signed = NativeSignature {
            key_id: verified.key_id.to_string(),
            vouched_by: verified.vouched_by.clone(),
            covers: verified.covers,
        };
        Self { signed: Some(signed), ..Self::unsigned(verified.package()) }
    }

    /// What is kept of a package that a person wrote themselves.
    #[must_use]
    pub fn unsigned(package: &NativePackage) -> Self {
        let manifest = package.manifest();
        Self {
            binary: package.binary().0.to_owned(),
            signed: None,
            provides: manifest.provides.iter().map(Capability::to_string).collect(),
            permissions: permissions(manifest),
            overrides: manifest.overrides.clone(),
            oauth: manifest.oauth.clone(),
        }
    }

    /// What a later version wants besides. What is gone is no change that anybody must agree to.
    #[must_use]
    pub fn change_to(&self, next: &Self) -> NativeChange {
        let new = |known: &[String], next: &[String]| -> Vec<String> {
            next.iter().filter(|entry| !known.contains(entry)).cloned().collect()
        };
        let permissions = next.permissions.iter().filter(|wanted| !covers(&self.permissions, wanted));
        let oauth = next.oauth.iter().filter_map(|wanted| {
            let known: Vec<&OauthNeed> =
                self.oauth.iter().filter(|known| known.provider == wanted.provider).collect();
            let is_known = |scope: &&String| known.iter().any(|known| known.scopes.contains(scope));
            let scopes: Vec<String> =
                wanted.scopes.iter().filter(|scope| !is_known(scope)).cloned().collect();
            let is_new = known.is_empty() || !scopes.is_empty();
            is_new.then(|| OauthNeed { provider: wanted.provider.clone(), scopes })
        });
        NativeChange {
            permissions: permissions.cloned().collect(),
            provides: new(&self.provides, &next.provides),
            overrides: new(&self.overrides, &next.overrides),
            oauth: oauth.collect(),
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        BINARY_NAMES.contains(&self.binary.as_str())
    }
}

impl NativeChange {
    /// True when nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Everything that was added, in the words of the manifest.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = self.permissions.clone();
        words.extend(self.provides.iter().map(|capability| format!("provides {capability}")));
        words.extend(self.overrides.iter().map(|hook| format!("overrides {hook}")));
        for need in &self.oauth {
            words.push(format!("oauth {} {}", need.provider, need.scopes.join(" ")).trim_end().to_owned());
        }
        words
    }
}

fn permissions(manifest: &NativeManifest) -> Vec<String> {
    manifest.permissions.iter().map(to_native).collect()
}

/// True when a permission was asked for before, itself or by the wildcard of its prefix.
fn covers(known: &[String], wanted: &str) -> bool {
    let prefix = wanted.split_once(':').map_or(wanted, |(prefix, _)| prefix);
    known.iter().any(|known| known == wanted || *known == format!("{prefix}:*"))
}

#[cfg(test)]
mod tests {
    use super::{NativeRecord, OauthNeed};

    fn record(permissions: &[&str], provides: &[&str], overrides: &[&str], scopes: &[&str]) -> NativeRecord {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let oauth = if scopes.is_empty() {
            Vec::new()
        } else {
            vec![OauthNeed { provider: "google".to_owned(), scopes: texts(scopes) }]
        };
        NativeRecord {
            binary: "binary".to_owned(),
            signed: None,
            provides: texts(provides),
            permissions: texts(permissions),
            overrides: texts(overrides),
            oauth,
        }
    }

    #[test]
    fn a_version_is_compared_with_the_one_before_in_all_it_wants() {
        let old = record(&["network:*", "user:token"], &["tool:a"], &[], &["mail.read"]);
        let check = |next: NativeRecord, expected: &[&str]| {
            assert_eq!(old.change_to(&next).words(), expected, "{next:?}");
        };
        check(old.clone(), &[]);
        check(record(&[], &["tool:a"], &[], &[]), &[]);
        // The wildcard covers what is narrower, and nothing narrower covers the wildcard.
        check(record(&["network:example.com", "user:token"], &["tool:a"], &[], &[]), &[]);
        check(record(&["user:*"], &["tool:a"], &[], &[]), &["user:*"]);
        check(
            record(&["memory:read", "memory:write"], &["tool:a"], &[], &[]),
            &["memory:read", "memory:write"],
        );
        check(
            record(&[], &["tool:a", "ui"], &["memory.pre_store"], &[]),
            &["provides ui", "overrides memory.pre_store"],
        );
        check(record(&[], &["tool:a"], &[], &["mail.read", "mail.send"]), &["oauth google mail.send"]);
        let empty = record(&[], &["tool:a"], &[], &[]);
        assert_eq!(empty.change_to(&old).words(), ["network:*", "user:token", "oauth google mail.read"]);
    }
}
