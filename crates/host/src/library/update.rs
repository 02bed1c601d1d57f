//! Newer versions, the one before, and those that wait for a person.
//!
//! A new version is tried beside the old one and takes its place only when it answers. One that asks for more than the
//! old one did waits, and the old one keeps running.

use super::{
    AppLibrary, AppListing, InstallSource,
    install::{Arrival, with_version},
    now,
    plan::{AskedRight, Given, held},
    source::bring,
};
use crate::catalogs::{EntryName, Freshness, RepositoryAddress};
use jiff::Timestamp;
use roost_apps::{
    Version,
    library::{AppKind, AppOrigin, AppRecord, Change, NativeChange, Package, SeenVersion, VersionRecord},
    native::compare_versions,
};
use roost_protocol::{Failure, Reason, Right};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What came of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateState {
    /// Another version serves now.
    Updated,
    /// There is nothing newer.
    Current,
    /// A newer version waits for a person.
    Waiting,
    /// A newer version is too young to be taken by itself.
    Young,
    /// The newer version is the one that a person took back.
    TakenBack,
    /// The newer version could not be brought or does not answer; the one before serves.
    Failed,
}

/// One app after an update was looked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UpdateOutcome {
    /// What came of it.
    pub state: UpdateState,
    /// The app as it is now.
    pub app: AppListing,
    /// The version that served before.
    pub from: String,
    /// The version that was found.
    pub to: Option<String>,
    /// Rights that the new version asks for and the old one did not.
    pub new_rights: Vec<AskedRight>,
    /// What a program wants that the version before did not, in the words of its manifest.
    #[serde(default, skip_serializing_if = "NativeChange::is_empty")]
    pub wants: NativeChange,
    /// Why it is not updated.
    pub reason: Option<Failure>,
    /// Files that a person had changed, where they are kept now.
    pub kept: Vec<PathBuf>,
}

/// Whether a version must have been out for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Any,
    CoolDown,
}

impl AppLibrary {
    /// Looks for a newer version of every app and takes those that need nobody's yes.
    pub async fn update_all(&self, by: &str) -> Result<Vec<UpdateOutcome>, Failure> {
        let mut outcomes = Vec::new();
        if self.contents()?.apps.iter().any(|app| app.kind == AppKind::Native) {
            // Before anything newer is looked for: what was taken back is not brought up to date.
            self.sweep().await?;
        }
        for app in self.contents()?.apps.into_iter().filter(|app| app.quarantine.is_none()) {
            outcomes.push(self.update_one(&app.id, Age::CoolDown, by).await?);
        }
        Ok(outcomes)
    }

    /// Looks for a newer version of one app. `at_once` takes it however young it is.
    pub async fn update(&self, id: &str, at_once: bool, by: &str) -> Result<UpdateOutcome, Failure> {
        self.update_one(id, if at_once { Age::Any } else { Age::CoolDown }, by).await
    }

    async fn update_one(&self, id: &str, age: Age, by: &str) -> Result<UpdateOutcome, Failure> {
        let app = self.record(id)?;
        if let Some(quarantine) = &app.quarantine {
            let message = format!("{id} was taken away: {}", quarantine.reason.message);
            return Err(Failure::new(Reason::AppQuarantined, message));
        }
        let found = match self.newer(&app).await {
            Ok(Some(package)) => package,
            Ok(None) => return self.outcome(&app, UpdateState::Current, None, None),
            Err(failure) => return self.outcome(&app, UpdateState::Failed, None, Some(failure)),
        };
        if age == Age::CoolDown
            && let Some(taken_back) = was_taken_back(&app, &found)
        {
            return self.outcome(&app, UpdateState::TakenBack, found.version.clone(), Some(taken_back));
        }
        if age == Age::CoolDown
            && let Some(young) = self.too_young(&app, &found).await?
        {
            return self.outcome(&app, UpdateState::Young, found.version.clone(), Some(young));
        }
        let (library, by) = (self.clone(), by.to_owned());
        let work = tokio::spawn(async move { library.take(found, &by).await });
        work.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
    }

    /// Lets the version that waits serve, with the rights it asks for.
    pub async fn approve(&self, id: &str, by: &str) -> Result<UpdateOutcome, Failure> {
        let app = self.record(id)?;
        let Some(waiting) = app.waiting.clone() else { return Err(nothing_waits(id)) };
        let (library, by) = (self.clone(), by.to_owned());
        let work = tokio::spawn(async move {
            let after = AppRecord {
                previous: Some(app.current.clone()),
                current: waiting,
                waiting: None,
                reason: None,
                seen: None,
                ..app.clone()
            };
            library.switch(app, after, None, true, &by).await
        });
        work.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
    }

    /// What the version that waits asks for and the one that serves did not.
    pub async fn waiting(&self, id: &str) -> Result<UpdateOutcome, Failure> {
        let app = self.record(id)?;
        let Some(waiting) = &app.waiting else { return Err(nothing_waits(id)) };
        let files = self.disk().files(&app, waiting)?;
        let candidate = self.candidate(id, waiting, &files).await?;
        let new_rights = self.new_rights(&app, self.asked(&candidate, &app.current.rights));
        let outcome =
            self.outcome(&app, UpdateState::Waiting, waiting.version.clone(), app.reason.clone())?;
        Ok(UpdateOutcome { new_rights, wants: wants(&app.current, waiting), ..outcome })
    }

    /// Every version that waits. One that cannot be looked at any more hides no other.
    pub async fn all_waiting(&self) -> Result<Vec<UpdateOutcome>, Failure> {
        let mut all = Vec::new();
        for app in self.contents()?.apps.into_iter().filter(|app| app.waiting.is_some()) {
            match self.waiting(&app.id).await {
                Ok(outcome) => all.push(outcome),
                Err(failure) => {
                    let version = app.waiting.as_ref().and_then(|waiting| waiting.version.clone());
                    all.push(self.outcome(&app, UpdateState::Failed, version, Some(failure))?);
                }
            }
        }
        Ok(all)
    }

    /// Does not take the version that waits. The next newer one is looked at again.
    pub async fn reject(&self, id: &str) -> Result<AppListing, Failure> {
        let _turn = self.turn().await;
        let app = self.record(id)?;
        if app.waiting.is_none() {
            return Err(nothing_waits(id));
        }
        let without = AppRecord { waiting: None, reason: None, ..app };
        self.change(move |_| Ok(Change::Put { app: Box::new(without), bring: Vec::new() })).await?;
        self.host.book().note("app_update_rejected", json!({ "app": id }));
        self.listing(id)
    }

    /// Lets the version before serve again.
    pub async fn roll_back(&self, id: &str, by: &str) -> Result<UpdateOutcome, Failure> {
        let app = self.record(id)?;
        let Some(previous) = app.previous.clone() else {
            return Err(Failure::new(
                Reason::NoPreviousVersion,
                format!("{id} has no version before this one"),
            ));
        };
        let (library, by) = (self.clone(), by.to_owned());
        let work = tokio::spawn(async move {
            let after = AppRecord {
                previous: Some(app.current.clone()),
                current: previous,
                waiting: None,
                reason: None,
                ..app.clone()
            };
            library.switch(app, after, None, false, &by).await
        });
        work.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
    }

    /// What the place that an app came from has now, when that is another version.
    async fn newer(&self, app: &AppRecord) -> Result<Option<Package>, Failure> {
        let source = match &app.current.origin {
            AppOrigin::Repository { repo, reference, path, .. } => {
                let (repo, reference, path) = (repo.clone(), reference.clone(), path.clone());
                InstallSource::Repository(RepositoryAddress { repo, reference, path })
            }
            AppOrigin::File { url } => InstallSource::File(url.clone()),
            AppOrigin::Path { path } if Path::new(path).exists() => InstallSource::Path(path.into()),
            // What is not where it was has nothing newer.
            AppOrigin::Path { .. } | AppOrigin::Sent | AppOrigin::Sideload { .. } => return Ok(None),
            AppOrigin::Store { url } => return self.newer_in_store(app, url).await,
            origin => match self.newer_entry(app, origin.catalog().unwrap_or_default()).await? {
                Some(name) => InstallSource::Entry(name),
                None => return Ok(None),
            },
        };
        let package = bring(&self.host, &source).await?.package;
        if package.id != app.id {
            let message = format!("what is there now is {}, not {}", package.id, app.id);
            return Err(Failure::new(Reason::EntryInvalid, message));
        }
        let package = Some(package).filter(|package| package.digest() != app.current.digest);
        // What lies where a program was installed from may be an older one by now, and is no update then.
        let is_newer = |package: &Package| {
            let version = package.version.as_deref().unwrap_or("0");
            package.kind != AppKind::Native || compare_versions(version, app.current.shown_version()).is_gt()
        };
        Ok(package.filter(is_newer))
    }

    /// The name of a newer version in the catalog that the app came from.
    async fn newer_entry(&self, app: &AppRecord, catalog: &str) -> Result<Option<EntryName>, Failure> {
        let catalogs = self.host.catalogs()?;
        for source in catalogs.refresh(Some(catalog)).await? {
            if let Some(failure) = source.reason {
                return Err(failure);
            }
        }
        let name = EntryName { publisher: app.publisher.clone(), id: app.id.clone(), version: None };
        let joined = catalogs.joined(Freshness::Kept).await?;
        let offer = joined.find(&name)?;
        if offer.source.id != catalog {
            let message = format!(
                "{} came from the catalog {catalog}; the first that has it now is {}",
                app.id, offer.source.id
            );
            return Err(Failure::new(Reason::IdTaken, message));
        }
        let current = app.current.version.as_deref().and_then(Version::parse);
        let is_newer = Version::parse(&offer.entry.version) > current;
        Ok(is_newer.then_some(name))
    }

    /// Why a version is not taken by itself yet. Notes when it was first seen.
    async fn too_young(&self, app: &AppRecord, found: &Package) -> Result<Option<Failure>, Failure> {
        let days = self.inner().settings.apps.cool_down_days;
        // What a person changes on this machine is theirs to take.
        if days == 0 || matches!(app.current.origin, AppOrigin::Path { .. }) {
            return Ok(None);
        }
        let version = found.version.clone().unwrap_or_else(|| found.digest().to_string());
        let seen = app.seen.clone().filter(|seen| seen.version == version);
        let seen = match seen {
            Some(seen) => seen,
            None => {
                let seen = SeenVersion { version: version.clone(), at: now() };
                let noted = AppRecord { seen: Some(seen.clone()), ..app.clone() };
                let _turn = self.turn().await;
                self.change(move |_| Ok(Change::Put { app: Box::new(noted), bring: Vec::new() })).await?;
                seen
            }
        };
        let since = seen.at.parse::<Timestamp>().unwrap_or(Timestamp::UNIX_EPOCH);
        let out_for = Timestamp::now().as_second().saturating_sub(since.as_second());
        let wanted = i64::from(days).saturating_mul(24 * 3600);
        Ok((out_for < wanted).then(|| {
            let message =
                format!("{} {version} was first seen {}; it is taken after {days} days", app.id, seen.at);
            Failure::new(Reason::VersionTooYoung, message)
                .with_next(format!("wait, or take it with `roost update {} --now`", app.id))
        }))
    }

    /// Takes a newer version, or lets it wait when it asks for more than the one before.
    async fn take(&self, package: Package, by: &str) -> Result<UpdateOutcome, Failure> {
        let contents = self.contents()?;
        let app = held(&contents, &package)?.cloned().ok_or_else(|| super::unknown(&package.id))?;
        let mut version = package.record(Vec::new(), now());
        let candidate = self.candidate(&app.id, &version, &package.files).await?;
        version.rights = candidate.rights();
        let new_rights = self.new_rights(&app, self.asked(&candidate, &app.current.rights));
        let wants = wants(&app.current, &version);
        if new_rights.is_empty() && wants.is_empty() {
            let after = with_version(Some(&app), &package, version);
            drop(candidate);
            return self.switch(app, after, Some(package), false, by).await;
        }
        let _turn = self.turn().await;
        let names: Vec<String> = match wants.is_empty() {
            true => new_rights.iter().map(|asked| asked.right.to_string()).collect(),
            false => wants.words(),
        };
        let message = format!("{} {} also asks for {}", app.id, version.shown_version(), names.join(", "));
        let reason = Failure::new(Reason::UpdateWaits, message)
            .with_next(format!("see them and say yes with `roost update --approve {}`", app.id));
        let to = version.version.clone();
        let waits = AppRecord { waiting: Some(version.clone()), reason: Some(reason.clone()), ..app.clone() };
        let (files, expected) = (package.files, app.clone());
        self.change(move |contents| {
            if contents.app(&expected.id) != Some(&expected) {
                return Err(Failure::plain(Reason::LibraryBusy));
            }
            Ok(Change::Put { app: Box::new(waits), bring: vec![(version, files)] })
        })
        .await?;
        let outcome = self.outcome(&app, UpdateState::Waiting, to, Some(reason))?;
        Ok(UpdateOutcome { new_rights, wants, ..outcome })
    }

    /// Rights that the version before did not ask for and that the policy does not give anyway.
    fn new_rights(&self, app: &AppRecord, asked: Vec<AskedRight>) -> Vec<AskedRight> {
        let is_new = |asked: &AskedRight| {
            asked.given == Given::Open && !app.current.rights.iter().any(|known| known.covers(&asked.right))
        };
        asked.into_iter().filter(is_new).collect()
    }

    /// Lets another version of an app serve. What was given to the version before is given to this one too, where it asks
    /// for it; `with_new` gives what it asks for besides.
    async fn switch(
        &self,
        app: AppRecord,
        after: AppRecord,
        package: Option<Package>,
        with_new: bool,
        by: &str,
    ) -> Result<UpdateOutcome, Failure> {
        let _turn = self.turn().await;
        let files = match &package {
            Some(package) => package.files.clone(),
            None => self.disk().files(&app, &after.current)?,
        };
        let candidate = self.candidate(&app.id, &after.current, &files).await?;
        let asked = self.asked(&candidate, &app.current.rights);
        let mut rights: Vec<Right> = self.granted(app.current.principals(&app.id))?;
        if with_new {
            rights.extend(self.new_rights(&app, asked).into_iter().map(|asked| asked.right));
        }
        self.give(&candidate, &rights, by)?;
        let to = after.current.version.clone();
        let version: VersionRecord = after.current.clone();
        let files = package.map(|package| package.files);
        let arrival = Arrival { candidate: &candidate, version, files, app: after };
        match self.put(arrival, Some(&app)).await {
            Ok(changed) => {
                self.host.book().note("app_updated", json!({ "app": app.id, "to": to }));
                let outcome = self.outcome(&app, UpdateState::Updated, to, None)?;
                Ok(UpdateOutcome { kept: changed.kept, ..outcome })
            }
            Err(failure) => self.failed(app, to, failure).await,
        }
    }

    /// The version before serves on, and the list says why.
    async fn failed(
        &self,
        app: AppRecord,
        to: Option<String>,
        failure: Failure,
    ) -> Result<UpdateOutcome, Failure> {
        let shown = to.clone().unwrap_or_else(|| "the new content".to_owned());
        let message = format!(
            "{} {shown} was not taken: {}; {} keeps running",
            app.id,
            failure.message,
            app.current.shown_version()
        );
        let reason = Failure::new(Reason::UpdateFailed, message).with_next(failure.next_step().to_owned());
        let (noted, expected) = (AppRecord { reason: Some(reason.clone()), ..app.clone() }, app.clone());
        let note = self.change(move |contents| {
            if contents.app(&expected.id) != Some(&expected) {
                return Err(Failure::plain(Reason::LibraryBusy));
            }
            Ok(Change::Put { app: Box::new(noted), bring: Vec::new() })
        });
        if let Err(error) = note.await {
            tracing::warn!(%error, app = app.id, "note why an update was not taken");
        }
        self.outcome(&app, UpdateState::Failed, to, Some(reason))
    }

    fn outcome(
        &self,
        before: &AppRecord,
        state: UpdateState,
        to: Option<String>,
        reason: Option<Failure>,
    ) -> Result<UpdateOutcome, Failure> {
        Ok(UpdateOutcome {
            state,
            app: self.listing(&before.id)?,
            from: before.current.shown_version().to_owned(),
            to,
            new_rights: Vec::new(),
            wants: NativeChange::default(),
            reason,
            kept: Vec::new(),
        })
    }
}

/// The version that a rollback left is not brought back by the next update: somebody had a reason.
fn was_taken_back(app: &AppRecord, found: &Package) -> Option<Failure> {
    // What a person changes on this machine is theirs to take.
    if matches!(app.current.origin, AppOrigin::Path { .. }) {
        return None;
    }
    let current = app.current.shown_version();
    let is_later = |previous: &&VersionRecord| compare_versions(previous.shown_version(), current).is_gt();
    let previous = app.previous.as_ref().filter(is_later);
    let previous = previous.filter(|previous| previous.digest == found.digest())?;
    let message = format!("{} {} was taken back", app.id, previous.shown_version());
    Some(
        Failure::new(Reason::VersionTakenBack, message)
            .with_next(format!("wait for a newer one, or take it with `roost update {} --now`", app.id)),
    )
}

/// What a program wants that the version before did not.
fn wants(current: &VersionRecord, next: &VersionRecord) -> NativeChange {
    match (&current.native, &next.native) {
        (Some(current), Some(next)) => current.change_to(next),
        _ => NativeChange::default(),
    }
}

fn nothing_waits(id: &str) -> Failure {
    Failure::new(Reason::UnknownVersion, format!("no update of {id} waits"))
        .with_next(format!("roost update {id}"))
}
