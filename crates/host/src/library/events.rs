//! What a store tells of an app, in every spelling that was ever used, and what follows from it.
//!
//! An event is a hint: what is installed is believed for its signatures alone, and more rights wait for a person.

use super::{AppLibrary, InstallSource, UpdateState, source::StoreApp};
use roost_apps::native::NativeId;
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};

/// An event as it arrives.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct InstallEvent {
    event: Option<String>,
    r#type: Option<String>,
    app_id: Option<String>,
    tool_id: Option<String>,
    version: Option<String>,
    download_url: Option<String>,
    payload: Option<Payload>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Payload {
    version: Option<String>,
    download_url: Option<String>,
}

/// What came of an event.
#[derive(Debug, Clone, Serialize)]
pub struct EventOutcome {
    /// The app it was about; empty for one that was ignored.
    pub app_id: String,
    /// `installed`, `updated`, `waiting`, `removed`, `quarantined`, or `nothing`.
    pub outcome: &'static str,
}

impl AppLibrary {
    /// Does what an event says. One without an app is ignored.
    pub async fn take_event(&self, event: InstallEvent, by: &str) -> Result<EventOutcome, Failure> {
        let app_id = event.app_id.or(event.tool_id).filter(|id| !id.is_empty()).unwrap_or_default();
        if app_id.is_empty() {
            return Ok(EventOutcome { app_id, outcome: "nothing" });
        }
        if NativeId::parse(&app_id).is_none() {
            return Err(Failure::new(Reason::BadRequest, "this is not the id of a native app"));
        }
        let payload = event.payload.unwrap_or_default();
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let version = some(event.version).or(some(payload.version));
        let download = some(event.download_url).or(some(payload.download_url));
        let word = some(event.event).or(some(event.r#type)).unwrap_or_default();
        let word = word.strip_prefix("app_").or_else(|| word.strip_prefix("tool_")).unwrap_or(&word);
        let is_installed = self.record(&app_id).is_ok();
        let outcome = match word {
            "installed" if is_installed => "nothing",
            "installed" => self.install_told(&app_id, version, download, by).await?,
            "updated" if is_installed => match self.update(&app_id, true, by).await?.state {
                UpdateState::Updated => "updated",
                UpdateState::Waiting => "waiting",
                _ => "nothing",
            },
            "uninstalled" if is_installed => {
                self.remove_native(&app_id).await?;
                "removed"
            }
            "revoked" if is_installed => {
                let reason = Failure::new(Reason::AppRevoked, format!("a store took {app_id} back"));
                self.quarantine(&app_id, reason).await?;
                "quarantined"
            }
            "updated" | "uninstalled" | "revoked" => "nothing",
            _ => return Err(Failure::new(Reason::BadRequest, "this event is not known")),
        };
        Ok(EventOutcome { app_id, outcome })
    }

    /// From the address of the event where it is one of a package, else from a store that has it.
    async fn install_told(
        &self,
        id: &str,
        version: Option<String>,
        download: Option<String>,
        by: &str,
    ) -> Result<&'static str, Failure> {
        let from_store = StoreApp { id: id.to_owned(), version, store: None };
        let source = match download.map(|url| InstallSource::package_at(&url)) {
            Some(Some(source)) => source,
            _ => InstallSource::Store(from_store),
        };
        let plan = self.plan(&source).await?;
        if plan.id != id {
            let message = format!("there is {} where {id} should be", plan.id);
            return Err(Failure::new(Reason::EntryInvalid, message));
        }
        self.install(&source, Some(plan.digest), &super::Choice::Policy, by).await?;
        Ok("installed")
    }
}
