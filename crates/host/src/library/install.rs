//! Plans that are carried out: nothing, or an app that answered.

use super::{
    AppLibrary, AppListing, InstallSource,
    candidate::Candidate,
    now,
    plan::{AskedRight, Given, held},
    progress::Step,
    source::{Brought, bring, of_zip},
};
use roost_apps::{
    Files,
    library::{AppOrigin, AppRecord, Change, Changed, Package, VersionRecord},
};
use roost_protocol::{Digest, Failure, Reason, Right};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// What a person gives to an app.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Only what the policy gives anyway.
    #[default]
    Policy,
    /// Everything that it asks for and that the policy does not forbid.
    Asked,
    /// These of the rights it asks for.
    These(Vec<Right>),
}

/// An app that was installed and answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Installed {
    /// The app as it is now.
    pub app: AppListing,
    /// The version before, when there was one.
    pub before: Option<String>,
    /// What it asks for and was not given.
    pub not_given: Vec<AskedRight>,
    /// Files that a person had changed, where they are kept now.
    pub kept: Vec<PathBuf>,
    /// Files of its state that came with it.
    pub restored: usize,
}

/// What a version becomes of.
pub(super) struct Arrival<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) version: VersionRecord,
    /// Its files, when they are not here yet.
    pub(super) files: Option<Files>,
    /// The app with this version, from what is installed when it counts.
    pub(super) app: AppRecord,
}

impl AppLibrary {
    /// Installs an app, or another version of it. `digest` is what the person saw; anything else is refused.
    pub async fn install(
        &self,
        source: &InstallSource,
        digest: Option<Digest>,
        choice: &Choice,
        by: &str,
    ) -> Result<Installed, Failure> {
        let planned = self.inner().library.take_plan(source).map(|plan| plan.brought);
        let planned = planned.filter(|brought| Some(brought.package.digest()) == digest);
        let brought = match planned {
            Some(brought) => brought,
            None => {
                self.tell(Step::Fetching);
                bring(&self.host, source).await?
            }
        };
        self.install_brought(brought, digest, choice, by).await
    }

    /// Installs from the bytes of a zip: a bundle, or what a host exported.
    pub async fn import(&self, bytes: &[u8], choice: &Choice, by: &str) -> Result<Installed, Failure> {
        self.install_brought(of_zip(bytes, "what was sent", AppOrigin::Sent)?, None, choice, by).await
    }

    pub(super) async fn install_brought(
        &self,
        brought: Brought,
        digest: Option<Digest>,
        choice: &Choice,
        by: &str,
    ) -> Result<Installed, Failure> {
        let Brought { package, state } = brought;
        if let Some(expected) = digest.filter(|expected| *expected != package.digest()) {
            let message = format!("{} has the digest {} now, not {expected}", package.id, package.digest());
            return Err(Failure::new(Reason::DigestMismatch, message));
        }
        let library = self.clone();
        let (choice, by) = (choice.clone(), by.to_owned());
        // To its end, whether or not anybody still waits: the disk and what is known of it must agree.
        let work = tokio::spawn(async move { library.install_package(package, state, &choice, &by).await });
        work.await.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?
    }

    async fn install_package(
        &self,
        package: Package,
        state: Vec<(String, Vec<u8>)>,
        choice: &Choice,
        by: &str,
    ) -> Result<Installed, Failure> {
        self.tell(Step::Waiting);
        let _turn = self.turn().await;
        self.tell(Step::Checking);
        let contents = self.contents()?;
        let before = held(&contents, &package)?.cloned();
        let mut version = package.record(Vec::new(), now());
        let candidate = self.candidate(&package.id, &version, &package.files).await?;
        version.rights = candidate.rights();
        let app = with_version(before.as_ref(), &package, version.clone());
        let asked = self.asked(&candidate, &[]);
        let rights = chosen(&asked, choice);
        let arrival = Arrival { candidate: &candidate, version, files: Some(package.files.clone()), app };
        let done = match self.give(&candidate, &rights, by) {
            Ok(()) => self.put(arrival, before.as_ref()).await,
            Err(failure) => Err(failure),
        };
        let changed = match done {
            Ok(changed) => changed,
            Err(failure) => {
                if before.is_none() {
                    self.leave_nothing(&candidate);
                }
                let message = format!("{} was not installed: {}", package.id, failure.message);
                self.host.book().note("app_refused", json!({ "app": package.id, "reason": failure.reason }));
                return Err(Failure { next: Some(failure.next_step().to_owned()), message, ..failure });
            }
        };
        let restored = self.restore_state(&package.id, state)?;
        let not_given = self.asked(&candidate, &[]);
        let not_given = not_given.into_iter().filter(|asked| asked.given >= Given::Open).collect();
        self.host.book().note("app_installed", json!({ "app": package.id, "digest": package.digest() }));
        Ok(Installed {
            app: self.listing(&package.id)?,
            before: before.map(|app| app.current.shown_version().to_owned()),
            not_given,
            kept: changed.kept,
            restored,
        })
    }

    /// Tries a version and, when it answers, lets it serve. When it does not answer from its place, the version before
    /// serves again.
    pub(super) async fn put(
        &self,
        arrival: Arrival<'_>,
        before: Option<&AppRecord>,
    ) -> Result<Changed, Failure> {
        let Arrival { candidate, version, files, app } = arrival;
        self.tell(Step::Trying);
        let answered = self.answers(candidate).await?;
        self.expect(&answered);
        self.tell(Step::Placing);
        let bring = files.map(|files| (version, files)).into_iter().collect();
        let expected = before.cloned();
        let put = Box::new(app.clone());
        let changed = self
            .change(move |contents| {
                if contents.app(&put.id) != expected.as_ref() {
                    return Err(Failure::plain(Reason::LibraryBusy));
                }
                Ok(Change::Put { app: put, bring })
            })
            .await?;
        let files = |app: &AppRecord| -> Vec<_> {
            app.current.code().map(|(kind, part)| (kind, part.file_name.clone())).collect()
        };
        let mut touched = files(&app);
        touched.extend(before.map(files).unwrap_or_default());
        let touched = || touched.iter().map(|(kind, name)| (*kind, name.as_str()));
        self.tell(Step::Serving);
        self.look_at(touched()).await?;
        let not_serving = match self.serve_program(&app).await {
            Ok(()) if self.is_serving(&answered) => return Ok(changed),
            Ok(()) => Failure::new(
                Reason::LoadCrashed,
                "it answered when it was tried, and not once it was in place",
            ),
            Err(failure) => failure,
        };
        let undo = match before.cloned() {
            Some(app) => Change::Put { app: Box::new(app), bring: Vec::new() },
            None => Change::Remove { id: app.id.clone() },
        };
        self.change(move |_| Ok(undo)).await?;
        self.look_at(touched()).await?;
        if let Some(before) = before
            && let Err(failure) = self.serve_program(before).await
        {
            tracing::warn!(%failure, app = before.id, "start the version before again");
        }
        Err(not_serving)
    }

    /// What a trial made and granted goes with an app that did not come.
    fn leave_nothing(&self, candidate: &Candidate) {
        self.take_back(candidate.principals());
        self.disk().remove_empty_folders(&candidate.id);
        std::fs::remove_dir_all(self.home().scratch().join(&candidate.id)).ok();
    }
}

/// The app with another version: the one that served is kept.
pub(super) fn with_version(
    before: Option<&AppRecord>,
    package: &Package,
    version: VersionRecord,
) -> AppRecord {
    let previous = before.and_then(|app| {
        let is_same = app.current.digest == version.digest;
        if is_same { app.previous.clone() } else { Some(app.current.clone()) }
    });
    AppRecord {
        id: package.id.clone(),
        publisher: before.map_or_else(|| package.publisher.clone(), |app| app.publisher.clone()),
        kind: package.kind,
        name: package.name.clone(),
        summary: package.summary.clone(),
        previous: previous.filter(|previous| previous.digest != version.digest),
        current: version,
        waiting: None,
        seen: None,
        reason: None,
        quarantine: None,
    }
}

fn chosen(asked: &[AskedRight], choice: &Choice) -> Vec<Right> {
    let open = asked.iter().filter(|asked| asked.given == Given::Open).map(|asked| asked.right.clone());
    match choice {
        Choice::Policy => Vec::new(),
        Choice::Asked => open.collect(),
        Choice::These(rights) => open.filter(|right| rights.contains(right)).collect(),
    }
}
