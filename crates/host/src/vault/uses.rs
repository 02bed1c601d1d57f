//! What is in the vault, for a person: names and who was granted them, never values.

use super::{KeyPlace, Vault};
use crate::host::Host;
use jiff::Timestamp;
use roost_protocol::{AppId, Failure, Right, VariableName};
use serde::{Deserialize, Serialize};

/// Everything in the vault.
#[derive(Debug, Serialize, Deserialize)]
pub struct Secrets {
    /// Where the key is; absent when there is no vault.
    pub key: Option<KeyPlace>,
    /// Every secret by its name.
    pub secrets: Vec<SecretListing>,
}

/// One secret, without its value.
#[derive(Debug, Serialize, Deserialize)]
pub struct SecretListing {
    /// Its name.
    pub name: String,
    /// When its value was set.
    pub set_at: Timestamp,
    /// Who was granted it by a person.
    pub used_by: Vec<SecretUser>,
}

/// An app, and how it may use a secret.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretUser {
    /// The app.
    pub app: AppId,
    /// Whether it sees the value or only uses it.
    pub right: Right,
}

impl Host {
    /// The vault of this home.
    #[must_use]
    pub fn vault(&self) -> &Vault {
        &self.inner.workshop().vault
    }

    /// The names in the vault, and who was granted them.
    pub async fn secrets(&self) -> Result<Secrets, Failure> {
        let Some((key, names)) = self.vault().list().await? else {
            return Ok(Secrets { key: None, secrets: Vec::new() });
        };
        let grants = self.inner.gate.grants().list(None)?;
        let users = |name: &VariableName| {
            let mut users: Vec<SecretUser> = Vec::new();
            for grant in grants.iter().filter(|grant| secret_of(&grant.right) == Some(name)) {
                let user = SecretUser { app: grant.app.clone(), right: grant.right.clone() };
                if !users.contains(&user) {
                    users.push(user);
                }
            }
            users
        };
        let listed = names.iter().map(|(name, set_at)| SecretListing {
            name: name.as_str().to_owned(),
            set_at: *set_at,
            used_by: users(name),
        });
        Ok(Secrets { key: Some(key), secrets: listed.collect() })
    }
}

/// The value that a right is about.
pub(crate) fn secret_of(right: &Right) -> Option<&VariableName> {
    match right {
        Right::Environment(name) | Right::Secret { name, .. } => Some(name),
        _ => None,
    }
}
