//! Settings of native apps: what can be set, what is, and telling an app all of it at every change.
//!
//! A secret goes in and is not shown again, not even to its owner. What the host adds itself (accounts, the owner's
//! token) has keys that nobody can set.

use super::{
    accounts::account_right,
    folder::NativeFolder,
    gateways::USER_TOKEN,
    launch::LiveApp,
    running::{NativeApps, Shared},
    sealed::SealedApp,
    state::LeftOut,
};
use crate::{
    gate::Decision,
    host::{Host, Inner},
    standing::Standing,
};
use roost_apps::native::{SETTING_BYTES_MAX, SettingField, is_setting_key};
use roost_protocol::{Failure, Reason, Right, VariableName};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// What is shown in place of a secret. Set to this, a secret stays as it is.
pub const MASK: &str = "••••••••";

/// Most settings of an app that does not say what can be set.
const FREE_SETTINGS_MAX: usize = 64;

/// The settings of one app.
#[derive(Debug, Clone, Serialize)]
pub struct NativeSettings {
    /// Its id.
    pub app: String,
    /// What people call it.
    pub name: String,
    /// Everything that can be set or is.
    pub settings: Vec<ShownSetting>,
    /// Keys that the app needs and nobody set.
    pub missing: Vec<String>,
    /// Whether the app runs and was told.
    pub told: bool,
    /// Why a running app was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Failure>,
}

/// One setting as it may be shown.
#[derive(Debug, Clone, Serialize)]
pub struct ShownSetting {
    /// What the app says of it.
    #[serde(flatten)]
    pub field: SettingField,
    /// The value, or the mask of a secret; absent when nobody set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What is to become of the settings of an app.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SettingsChange {
    /// New values.
    pub settings: BTreeMap<String, String>,
    /// Keys that are secret, besides those that the app calls so.
    pub secrets: BTreeMap<String, bool>,
    /// Keys that nobody sets any more.
    pub unset: Vec<String>,
}

impl Host {
    /// The settings of an app, secrets masked.
    pub async fn native_settings(&self, id: &str) -> Result<NativeSettings, Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        let sealed = self.inner.native.sealed().read(id).await?;
        let told = self.inner.native.live(id).is_some();
        Ok(shown(&folder, &sealed, told, None))
    }

    /// Changes settings of an app and tells it all of them. Nothing is changed when one of them is refused.
    pub async fn change_native_settings(
        &self,
        id: &str,
        change: SettingsChange,
    ) -> Result<NativeSettings, Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        let fields = &folder.manifest.settings;
        let native = &self.inner.native;
        let (sealed, ()) = native.sealed().change(id, |app| apply(app, fields, change)).await?;
        self.book().note("native_settings", serde_json::json!({ "app": id }));
        let told = native.tell(id, &BTreeMap::new()).await;
        let reason = told.as_ref().err().cloned();
        Ok(shown(&folder, &sealed, told.unwrap_or(false), reason))
    }

    /// A flag that clients show; it starts and stops nothing.
    pub async fn switch_native(&self, id: &str, is_on: bool) -> Result<(), Failure> {
        self.inner.known_or_installed(id).await?;
        let switched = self.inner.native.sealed().change(id, |app| {
            app.is_switched_off = !is_on;
            Ok(())
        });
        switched.await.map(drop)
    }

    /// The flag, and when anything that is kept of the app last changed.
    pub async fn native_switch(&self, id: &str) -> Result<(bool, Option<jiff::Timestamp>), Failure> {
        let sealed = self.inner.native.sealed().read(id).await?;
        Ok((!sealed.is_switched_off, sealed.changed_at))
    }
}

impl Inner {
    /// The folder of an app, whether it runs or not.
    pub(super) async fn known_or_installed(&self, id: &str) -> Result<NativeFolder, Failure> {
        match self.native.known(id) {
            Some(folder) => Ok(folder),
            None => self.native_folder(id).await,
        }
    }
}

impl NativeApps {
    /// Tells a running app all of its settings, with these over them; false when it does not run.
    pub(super) async fn tell(&self, id: &str, over: &BTreeMap<String, String>) -> Result<bool, Failure> {
        let Some(live) = self.live(id) else { return Ok(false) };
        let mut map = self.shared().settings_of(&live).await?;
        map.extend(over.clone());
        live.app.configure(&live.folder.parts(), map).await.map(|()| true)
    }
}

impl Shared {
    /// Tells an app that begins to take part its settings, where it has or wants any.
    pub(super) async fn configure(&self, live: &Arc<LiveApp>) -> Option<LeftOut> {
        self.set_live(live);
        let told = match self.settings_of(live).await {
            Ok(map) if map.is_empty() && live.folder.manifest.settings.is_empty() => Ok(()),
            Ok(map) => live.app.configure(&live.folder.parts(), map).await,
            Err(failure) => Err(failure),
        };
        told.err().map(|failure| LeftOut::new("settings", &failure))
    }

    /// Everything an app is told: what a person set, what holds when nobody did, its accounts, and the owner's token.
    pub(super) async fn settings_of(&self, live: &LiveApp) -> Result<BTreeMap<String, String>, Failure> {
        let sealed = self.sealed.read(live.folder.id()).await?;
        let mut map = BTreeMap::new();
        for field in &live.folder.manifest.settings {
            if let Some(default) = &field.default {
                map.insert(field.key.clone(), default.clone());
            }
        }
        map.extend(sealed.values);
        let may_have_token = live.rights.iter().any(is_user_token);
        if may_have_token
            && !map.contains_key("token")
            && let Ok(name) = VariableName::parse(USER_TOKEN)
            && let Some(token) = self.workshop.vault.get(&name).await?
        {
            map.insert("token".to_owned(), token.expose().to_owned());
        }
        let Standing { caller, asks } = &*live.standing;
        for (provider, account) in &sealed.accounts {
            // A right that was taken back takes the token with it.
            let right = account_right(provider);
            let is_allowed =
                |right: &Right| matches!(self.gate.consider(caller, asks, right), Decision::Allowed { .. });
            if !right.as_ref().is_some_and(is_allowed) {
                continue;
            }
            map.extend(account.told(provider));
        }
        Ok(map)
    }
}

fn is_user_token(right: &Right) -> bool {
    matches!(right.to_string().as_str(), "feature:user:token" | "feature:user:*")
}

fn apply(app: &mut SealedApp, fields: &[SettingField], change: SettingsChange) -> Result<(), Failure> {
    let refused = |why: String| Failure::new(Reason::SettingRefused, why);
    let is_known = |key: &str| fields.is_empty() || fields.iter().any(|field| field.key == key);
    for key in &change.unset {
        app.secrets.remove(key);
        if app.values.remove(key).is_none() && !(is_known(key) && is_setting_key(key)) {
            return Err(refused(format!("there is no setting `{}`", shown_key(key))));
        }
    }
    for (key, value) in change.settings {
        if !is_setting_key(&key) || !is_known(&key) {
            return Err(refused(format!("there is no setting `{}`", shown_key(&key))));
        }
        let field = fields.iter().find(|field| field.key == key);
        let is_secret = field.is_some_and(|field| field.secret) || app.secrets.contains(&key);
        if is_secret && value == MASK {
            continue;
        }
        match field {
            Some(field) => field.check(&value).map_err(refused)?,
            None if value.len() > SETTING_BYTES_MAX || value.contains('\0') => {
                return Err(refused(format!(
                    "`{key}` is longer than {SETTING_BYTES_MAX} bytes, or has a NUL"
                )));
            }
            None => {}
        }
        app.values.insert(key, value);
    }
    for (key, is_secret) in change.secrets {
        if !is_secret {
            // What was secret once may be in no listing later: setting it anew is the way to see it.
            continue;
        }
        if app.values.contains_key(&key) {
            app.secrets.insert(key);
        }
    }
    if app.values.len() > FREE_SETTINGS_MAX {
        return Err(refused(format!("an app has at most {FREE_SETTINGS_MAX} settings")));
    }
    Ok(())
}

fn shown(folder: &NativeFolder, sealed: &SealedApp, told: bool, reason: Option<Failure>) -> NativeSettings {
    let fields = &folder.manifest.settings;
    let free = sealed.values.keys().filter(|key| fields.iter().all(|field| field.key != **key));
    let free = free.map(|key| SettingField::free(key));
    let settings: Vec<ShownSetting> = fields
        .iter()
        .cloned()
        .chain(free)
        .map(|mut field| {
            field.secret |= sealed.secrets.contains(&field.key);
            let value = sealed.values.get(&field.key).map(|value| match field.secret {
                true => MASK.to_owned(),
                false => value.clone(),
            });
            if field.secret {
                field.default = field.default.map(|_| MASK.to_owned());
            }
            ShownSetting { field, value }
        })
        .collect();
    let is_missing = |field: &&SettingField| {
        let set = sealed.values.get(&field.key).or(field.default.as_ref());
        field.required && set.is_none_or(String::is_empty)
    };
    let missing = fields.iter().filter(is_missing).map(|field| field.key.clone()).collect();
    NativeSettings {
        app: folder.id().to_owned(),
        name: folder.manifest.name.clone(),
        settings,
        missing,
        told,
        reason,
    }
}

fn shown_key(key: &str) -> String {
    key.escape_debug().take(80).collect()
}
