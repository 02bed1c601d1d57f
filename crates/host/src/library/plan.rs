//! What installing an app would mean, for a person who decides: who it is, what it asks for, and how much that is.

use super::{
    AppKind, AppLibrary, AppOrigin, Grade, InstallSource, now,
    source::{Brought, bring},
};
use roost_apps::{
    library::{AppRecord, Contents, NativeRecord, Package},
    native::compare_versions,
};
use roost_protocol::{Digest, Failure, Reason, Right};
use serde::{Deserialize, Serialize};

/// What becomes of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Given {
    /// The policy gives it to every app that asks.
    Policy,
    /// A person gave it to this content.
    Granted,
    /// Nobody gave it.
    Open,
    /// The policy forbids it.
    Forbidden,
}

/// One right that an app asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedRight {
    /// The right.
    pub right: Right,
    /// What it allows, in words.
    pub sentence: String,
    /// Whether it has it.
    pub given: Given,
    /// True when the version before did not ask for it.
    pub is_new: bool,
}

/// What installing would mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallPlan {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Who publishes it, as it or its catalog says.
    pub publisher: Option<String>,
    /// Its version; a single file has none.
    pub version: Option<String>,
    /// What it is made of.
    pub kind: AppKind,
    /// What it does.
    pub summary: String,
    /// Where it comes from.
    pub origin: AppOrigin,
    /// Digest of all of its files.
    pub digest: Digest,
    /// The agent file it brings.
    pub agent: Option<String>,
    /// The service it brings.
    pub service: Option<String>,
    /// True when it brings a page.
    pub has_page: bool,
    /// Its program: who vouches for it, what it offers and wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeRecord>,
    /// What it asks for.
    pub rights: Vec<AskedRight>,
    /// How much it could do with that.
    pub grade: Grade,
    /// Files that nobody named a digest of.
    pub unchecked: Vec<String>,
    /// Files that it does without, and why.
    pub left_out: Vec<Failure>,
    /// The version that is installed now.
    pub installed_version: Option<String>,
    /// True when exactly this is installed already.
    pub is_installed: bool,
}

/// An app that was brought and looked at.
pub(super) struct Prepared {
    pub(super) source: InstallSource,
    pub(super) brought: Brought,
}

impl AppLibrary {
    /// Says what installing would mean. Nothing is written and nothing is run.
    pub async fn plan(&self, source: &InstallSource) -> Result<InstallPlan, Failure> {
        let brought = bring(&self.host, source).await?;
        let plan = self.plan_of(&brought.package).await?;
        self.inner().library.keep_plan(Prepared { source: source.clone(), brought });
        Ok(plan)
    }

    pub(super) async fn plan_of(&self, package: &Package) -> Result<InstallPlan, Failure> {
        let contents = self.contents()?;
        let before = held(&contents, package)?;
        let version = package.record(Vec::new(), now());
        let candidate = self.candidate(&package.id, &version, &package.files).await?;
        let known = before.map(|app| app.current.rights.clone()).unwrap_or_default();
        let rights = self.asked(&candidate, &known);
        let digest = package.digest();
        Ok(InstallPlan {
            id: package.id.clone(),
            name: package.name.clone(),
            publisher: package.publisher.clone(),
            version: package.version.clone(),
            kind: package.kind,
            summary: package.summary.clone(),
            origin: package.origin.clone(),
            digest,
            agent: package.agent.as_ref().map(|part| part.file_name.clone()),
            service: package.service.as_ref().map(|part| part.file_name.clone()),
            has_page: package.page.is_some() || package.files.get("ui/index.html").is_some(),
            native: package.native.clone(),
            grade: Grade::of(&candidate.rights()),
            rights,
            unchecked: package.unchecked.clone(),
            left_out: package.left_out.iter().map(|left| left.reason.clone()).collect(),
            installed_version: before.map(|app| app.current.shown_version().to_owned()),
            is_installed: before.is_some_and(|app| app.current.digest == digest),
        })
    }
}

/// The app that holds the id of a package, when it is the same publisher's. The first to hold an id keeps it.
pub(super) fn held<'a>(contents: &'a Contents, package: &Package) -> Result<Option<&'a AppRecord>, Failure> {
    let same_folder = |app: &&AppRecord| app.id.eq_ignore_ascii_case(&package.id);
    let Some(app) = contents.apps.iter().find(same_folder) else { return Ok(None) };
    if let Some(quarantine) = app.quarantine.as_ref().filter(|_| app.id == package.id) {
        let message = format!("{} was taken away: {}", app.id, quarantine.reason.message);
        return Err(Failure::new(Reason::AppQuarantined, message));
    }
    match (app.current.origin.is_sideload(), package.origin.is_sideload()) {
        (true, true) if app.id == package.id => return Ok(Some(app)),
        (false, false) => {}
        (true, _) => {
            let message = format!("{} is {}", app.id, app.current.origin.sentence());
            return Err(
                Failure::new(Reason::IdTaken, message).with_next(format!("roost unsideload {}", app.id))
            );
        }
        (false, true) => {
            let message = format!("{} already exists as a non-sideloaded app", app.id);
            return Err(Failure::new(Reason::IdTaken, message).with_next(format!("roost remove {}", app.id)));
        }
    }
    // A registry vouches for files: its agent does not take the place of an app, whoever both say they are of.
    if (app.kind, package.kind) == (AppKind::Rapplication, AppKind::Agent) {
        let (app_of, agent_of) = (app.current.origin.sentence(), package.origin.sentence());
        let message = format!("{} is an app of {app_of}, and this is an agent of {agent_of}", app.id);
        return Err(Failure::new(Reason::IdTaken, message).with_next(format!("roost remove {}", app.id)));
    }
    let is_alike = app.id == package.id && (app.kind == AppKind::Native) == (package.kind == AppKind::Native);
    let is_same = match (&app.publisher, &package.publisher) {
        _ if !is_alike => false,
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        // Where nobody is named, only the place tells whose it is.
        (None, None) => app.current.origin.is_same_place(&package.origin),
        _ => false,
    };
    if is_same {
        return check_newer(app, package).map(|()| Some(app));
    }
    let named = |publisher: &Option<String>, origin: &AppOrigin| {
        publisher.clone().unwrap_or_else(|| format!("somebody unnamed ({})", origin.sentence()))
    };
    let message = format!(
        "the id {} belongs to the app of {}; this one is of {}",
        package.id,
        named(&app.publisher, &app.current.origin),
        named(&package.publisher, &package.origin)
    );
    Err(Failure::new(Reason::IdTaken, message).with_next(format!(
        "`roost remove {}` first, if the other one is meant; its workspace stays",
        package.id
    )))
}

/// A program is replaced only by a later one: an old version that was signed once stays signed, with all its holes.
fn check_newer(app: &AppRecord, package: &Package) -> Result<(), Failure> {
    if package.kind != AppKind::Native || package.digest() == app.current.digest {
        return Ok(());
    }
    let (installed, offered) = (app.current.shown_version(), package.version.as_deref().unwrap_or("0"));
    if compare_versions(offered, installed).is_gt() {
        return Ok(());
    }
    let message = format!("{} {installed} is installed, and {offered} is not newer", app.id);
    Err(Failure::new(Reason::VersionNotNewer, message))
}
