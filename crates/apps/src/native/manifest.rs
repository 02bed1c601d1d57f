//! `manifest.json` of a native app: who it is, what it offers, what it asks for.
//!
//! Fields that are not known are passed over, because newer hosts know more of them. The bytes themselves are what is
//! signed, so nothing here writes a manifest.

use super::{
    code::{NativeCode, NativeError},
    names::{Capability, HOOKS, NativeId, is_one_line, is_version, slug},
    settings::{self, SettingField},
    strict_json::{self, shown},
};
use roost_protocol::{Ask, from_native};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// Where it is in a package.
pub(super) const PATH: &str = "manifest.json";

/// Most entries of a list; real apps have a handful.
const LIST_MAX: usize = 256;
/// Longest name, and longest scope of a provider.
const NAME_CHARACTERS_MAX: usize = 120;
/// Longest description that is shown.
const DESCRIPTION_CHARACTERS_MAX: usize = 4000;
/// How long an app may take to answer when it does not say.
const STARTUP_SECONDS: u64 = 10;
const STARTUP_SECONDS_MAX: u64 = 120;

/// What a native app says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeManifest {
    /// Its id, which is also the name of its folder.
    pub id: NativeId,
    /// What people call it.
    pub name: String,
    /// Its version; three numbers by convention.
    pub version: String,
    /// What it does.
    pub description: String,
    /// What it offers, in the order of the file, each once.
    pub provides: Vec<Capability>,
    /// What it asks for, each with the permission as it was written.
    pub permissions: Vec<Ask>,
    /// Hooks at which it may answer in place of the host.
    pub overrides: Vec<String>,
    /// How long it may take to answer after its start.
    pub startup_timeout: Duration,
    /// Accounts elsewhere that it wants to use.
    pub oauth: Vec<OauthNeed>,
    /// What can be set, where it says so.
    pub settings: Vec<SettingField>,
}

/// An account elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OauthNeed {
    /// Whose account.
    pub provider: String,
    /// What it would be used for.
    pub scopes: Vec<String>,
}

impl NativeManifest {
    /// Reads and checks a manifest. Everything that is wrong is told at once.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<NativeError>> {
        let json = strict_json::object(bytes).map_err(|why| vec![wrong(NativeCode::ManifestJson, why)])?;
        let mut reading = Reading { json: &json, errors: Vec::new() };
        let manifest = reading.manifest();
        match manifest {
            Some(manifest) if reading.errors.is_empty() => Ok(manifest),
            _ => Err(reading.errors),
        }
    }

    /// The name as part of a tool's name; the id where the name has no letter for it.
    #[must_use]
    pub fn slug(&self) -> String {
        let slug = slug(&self.name);
        if slug.trim_matches('-').is_empty() { self.id.as_str().replace('.', "-") } else { slug }
    }

    /// True when the permission was asked for, itself or by the wildcard of its prefix.
    #[must_use]
    pub fn asks(&self, permission: &str) -> bool {
        covers(&self.permissions, permission)
    }

    /// True when any permission of this prefix was asked for.
    #[must_use]
    pub fn asks_any(&self, prefix: &str) -> bool {
        self.written().any(|written| written.split_once(':').is_some_and(|(first, _)| first == prefix))
    }

    /// The permissions as they were written.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.permissions.iter().filter_map(|ask| ask.original.as_deref())
    }
}

struct Reading<'a> {
    json: &'a Map<String, Value>,
    errors: Vec<NativeError>,
}

impl Reading<'_> {
    fn manifest(&mut self) -> Option<NativeManifest> {
        let id = self.required("id");
        let name = self.required("name");
        let version = self.required("version");
        let provides = self.provides();
        let permissions = self.permissions();
        let overrides = self.overrides(&permissions);
        let description = self.text("description").unwrap_or_default();
        self.one_of("protocol", &["", "grpc"], NativeCode::Protocol);
        self.one_of("runtime", &["", "local", "remote"], NativeCode::Runtime);
        let startup_timeout = self.startup_timeout();
        let oauth = self.oauth();
        let settings = settings::read(self.json, &mut self.errors);
        let (id, name, version) = (id?, name?, version?);
        let parsed = NativeId::parse(&id);
        if parsed.is_none() {
            self.add(NativeCode::BadId, format!("`{}` cannot be an app's folder everywhere", shown(&id)));
        }
        if !is_one_line(&name, NAME_CHARACTERS_MAX) {
            self.add(NativeCode::BadName, "`name` has characters that do not show, or too many");
        }
        if !is_version(&version) {
            self.add(NativeCode::BadVersion, format!("`{}` is no version", shown(&version)));
        }
        let description = description.chars().take(DESCRIPTION_CHARACTERS_MAX).collect();
        Some(NativeManifest {
            id: parsed?,
            name,
            version,
            description,
            provides,
            permissions,
            overrides,
            startup_timeout,
            oauth,
            settings,
        })
    }

    fn required(&mut self, key: &str) -> Option<String> {
        let found = self.text(key)?;
        if found.is_empty() {
            self.add(NativeCode::ManifestField, format!("missing required field: {key}"));
            return None;
        }
        Some(found)
    }

    /// The text of a field, empty where there is none; nothing, and an error, where it is something else.
    fn text(&mut self, key: &str) -> Option<String> {
        match self.json.get(key) {
            None | Some(Value::Null) => Some(String::new()),
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.add(NativeCode::ManifestField, format!("`{key}` is not a text"));
                None
            }
        }
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let list = match self.json.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(list)) if list.len() <= LIST_MAX => list,
            Some(_) => {
                let message = format!("`{key}` is not a list of at most {LIST_MAX} texts");
                self.add(NativeCode::ManifestField, message);
                return Vec::new();
            }
        };
        let mut texts: Vec<String> = Vec::new();
        for entry in list {
            match entry.as_str() {
                // Said twice is said once.
                Some(text) if texts.iter().any(|known| known == text) => {}
                Some(text) => texts.push(text.to_owned()),
                None => self.add(NativeCode::ManifestField, format!("`{key}` has an entry that is no text")),
            }
        }
        texts
    }

    fn one_of(&mut self, key: &str, allowed: &[&str], code: NativeCode) {
        if let Some(text) = self.text(key)
            && !allowed.contains(&text.as_str())
        {
            self.add(code, format!("unsupported {key}: `{}`", shown(&text)));
        }
    }

    fn provides(&mut self) -> Vec<Capability> {
        let written = self.texts("provides");
        if written.is_empty() {
            self.add(NativeCode::Capability, "must declare at least one capability in `provides`");
        }
        let mut provides = Vec::new();
        for text in written {
            match Capability::parse(&text) {
                Some(capability) => provides.push(capability),
                None => self.add(NativeCode::Capability, format!("invalid capability: `{}`", shown(&text))),
            }
        }
        provides
    }

    fn permissions(&mut self) -> Vec<Ask> {
        let mut permissions = Vec::new();
        for text in self.texts("permissions") {
            match from_native(&text) {
                Ok(ask) => permissions.push(ask),
                Err(error) => self.add(NativeCode::Permission, format!("invalid permission: {error}")),
            }
        }
        permissions
    }

    fn overrides(&mut self, permissions: &[Ask]) -> Vec<String> {
        let overrides = self.texts("overrides");
        for hook in &overrides {
            if !HOOKS.contains(&hook.as_str()) {
                self.add(NativeCode::Override, format!("invalid override hook name: `{}`", shown(hook)));
            } else if !covers(permissions, &format!("hook:{hook}")) {
                self.add(
                    NativeCode::Override,
                    format!("override of `{hook}` requires permission hook:{hook}"),
                );
            }
        }
        overrides
    }

    fn startup_timeout(&mut self) -> Duration {
        let seconds = match self.json.get("startup_timeout") {
            None | Some(Value::Null) => Some(0),
            Some(value) => value.as_u64().filter(|seconds| *seconds <= STARTUP_SECONDS_MAX),
        };
        if seconds.is_none() {
            self.add(NativeCode::StartupTimeout, "startup_timeout must be between 0 and 120 whole seconds");
        }
        Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(STARTUP_SECONDS))
    }

    fn oauth(&mut self) -> Vec<OauthNeed> {
        let list = match self.json.get("oauth") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(list)) if list.len() <= LIST_MAX => list,
            Some(_) => {
                self.add(NativeCode::Oauth, "`oauth` is not a list");
                return Vec::new();
            }
        };
        let mut needs = Vec::new();
        for entry in list {
            match oauth_need(entry) {
                Some(need) => needs.push(need),
                None => {
                    self.add(NativeCode::Oauth, "an entry of `oauth` is no provider with a list of scopes");
                }
            }
        }
        needs
    }

    fn add(&mut self, code: NativeCode, message: impl Into<String>) {
        self.errors.push(wrong(code, message));
    }
}

fn covers(permissions: &[Ask], permission: &str) -> bool {
    let prefix = permission.split_once(':').map_or("", |(prefix, _)| prefix);
    let all = format!("{prefix}:*");
    permissions
        .iter()
        .filter_map(|ask| ask.original.as_deref())
        .any(|known| known == permission || known == all)
}

fn oauth_need(entry: &Value) -> Option<OauthNeed> {
    let provider = entry.get("provider")?.as_str()?;
    // The same alphabet as of the permission `oauth:PROVIDER`.
    from_native(&format!("oauth:{provider}")).ok().filter(|_| provider != "*")?;
    let scopes = match entry.get("scopes") {
        None | Some(Value::Null) => Vec::new(),
        Some(list) => {
            list.as_array()?.iter().map(|scope| Some(scope.as_str()?.to_owned())).collect::<Option<_>>()?
        }
    };
    let fits = scopes.len() <= LIST_MAX && scopes.iter().all(|scope| is_one_line(scope, NAME_CHARACTERS_MAX));
    fits.then(|| OauthNeed { provider: provider.to_owned(), scopes })
}

fn wrong(code: NativeCode, message: impl Into<String>) -> NativeError {
    NativeError::at(code, PATH, message)
}

#[cfg(test)]
mod tests;
