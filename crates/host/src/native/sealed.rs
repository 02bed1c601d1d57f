//! What the host keeps of each native app and nobody else may read: settings, and what providers gave.
//!
//! Sealed as one value per app, in a vault of its own. What cannot be read is nothing, and is never written over.

use crate::{
    settings::HostSettings,
    vault::{Keychain, SecretValue, Vault},
};
use jiff::Timestamp;
use roost_protocol::{Digest, Failure, Reason, VariableName};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Everything that is sealed for the apps of a home.
pub(crate) struct SealedApps(Vault);

/// What is sealed for one app.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SealedApp {
    /// What a person set.
    pub(super) values: BTreeMap<String, String>,
    /// Keys that a person called secret, besides those that the app calls so.
    pub(super) secrets: BTreeSet<String>,
    /// Accounts that a person connected, by provider.
    pub(super) accounts: BTreeMap<String, Account>,
    /// A flag for clients that show one; the app itself is started and stopped elsewhere.
    pub(super) is_switched_off: bool,
    /// When any of this last changed.
    pub(super) changed_at: Option<Timestamp>,
}

/// An account at a provider that an app may use.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Account {
    pub(super) scopes: Vec<String>,
    pub(super) access_token: String,
    pub(super) token_type: String,
    /// Never leaves the host.
    pub(super) refresh_token: Option<String>,
    pub(super) expires_at: Option<Timestamp>,
    /// Why it could not be renewed when that was last tried.
    #[serde(default)]
    pub(super) trouble: Option<String>,
}

impl SealedApps {
    pub(super) fn open(settings: &HostSettings) -> Self {
        Self(Vault::of_native_apps(&settings.home, Keychain::of(settings)))
    }

    /// What is kept of an app; nothing is kept of one that nobody set anything of.
    pub(super) async fn read(&self, id: &str) -> Result<SealedApp, Failure> {
        self.0.get(&name_of(id)).await?.map_or_else(|| Ok(SealedApp::default()), |value| opened(id, &value))
    }

    /// Changes what is kept of an app. An error changes nothing.
    pub(super) async fn change<T>(
        &self,
        id: &str,
        change: impl FnOnce(&mut SealedApp) -> Result<T, Failure>,
    ) -> Result<(SealedApp, T), Failure> {
        self.0
            .update(&name_of(id), |value| {
                let mut app = value.map_or_else(|| Ok(SealedApp::default()), |value| opened(id, value))?;
                let result = change(&mut app)?;
                app.changed_at = Some(Timestamp::now());
                Ok((Some(sealed(&app)?), (app, result)))
            })
            .await
    }

    /// Forgets everything of an app.
    pub(super) async fn forget(&self, id: &str) -> Result<(), Failure> {
        let name = name_of(id);
        if self.0.get(&name).await?.is_none() {
            return Ok(());
        }
        self.0.update(&name, |_| Ok((None, ()))).await
    }
}

/// Ids may have characters that the name of a value has not.
fn name_of(id: &str) -> VariableName {
    let name = format!("APP_{}", Digest::of(id.as_bytes()));
    VariableName::parse(&name).expect("a digest is of letters and digits")
}

fn opened(id: &str, value: &SecretValue) -> Result<SealedApp, Failure> {
    serde_json::from_str(value.expose()).map_err(|error| {
        // Where it is wrong, never what is there.
        let message = format!("what is kept of {id} is not readable at column {}", error.column());
        Failure::new(Reason::VaultUnusable, message)
    })
}

fn sealed(app: &SealedApp) -> Result<SecretValue, Failure> {
    let text =
        serde_json::to_string(app).map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    SecretValue::parse(text.as_bytes())
        .map_err(|_| Failure::new(Reason::SettingRefused, "the settings of an app are too large together"))
}

/// Shows names only.
impl fmt::Debug for SealedApp {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accounts: Vec<&String> = self.accounts.keys().collect();
        to.debug_struct("SealedApp").field("keys", &self.values.keys()).field("accounts", &accounts).finish()
    }
}
