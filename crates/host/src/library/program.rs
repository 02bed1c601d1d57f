//! Apps that are programs: believed before anything of them is used, tried in the sandbox before they count, and served
//! from the version that counts. Nothing but that version is ever started.

use super::{AppLibrary, LibraryState, candidate::CandidateProgram, source::program_refused};
use crate::native::{NativeFolder, NativeOrigin, native_answers};
use roost_apps::{
    Files,
    library::{AppKind, AppRecord, VersionRecord},
    native::{NativePackage, VerifiedPackage},
};
use roost_protocol::{Failure, Reason};

impl AppLibrary {
    /// Whether somebody whom this home believes vouches for the package now.
    pub(super) async fn believe(&self, package: NativePackage) -> Result<VerifiedPackage, Failure> {
        self.inner().library.trust.verify(package).await
    }

    /// The program of a version from its files. Only what its author runs from a folder needs nobody who vouches for it.
    pub(super) async fn believed(
        &self,
        version: &VersionRecord,
        files: Files,
    ) -> Result<NativePackage, Failure> {
        self.inner().library.believed(version, files).await
    }

    /// The version of a program that counts, when its files are what was installed and somebody vouches for them now.
    pub(super) async fn current_program(&self, app: &AppRecord) -> Result<NativePackage, Failure> {
        self.inner().library.current(app).await
    }

    /// Starts a copy of the program, without rights and with folders of its own, and ends it when it answered.
    pub(super) async fn try_program(&self, program: &CandidateProgram) -> Result<(), Failure> {
        let package = &program.package;
        native_answers(&self.host, package).await.map_err(|failure| {
            let message = format!("{} does not answer: {}", package.manifest().id, failure.message);
            let next = failure.next_step().to_owned();
            Failure { message, next: Some(next), ..failure }
        })
    }

    /// Lets the version that counts serve, in place of whatever served before.
    pub(super) async fn serve_program(&self, app: &AppRecord) -> Result<(), Failure> {
        if app.kind != AppKind::Native {
            return Ok(());
        }
        let package = self.current_program(app).await?;
        let folder = self.inner().library.folder(app, &package);
        self.host.native_apps().start(folder).await.map(drop)
    }

    /// Ends the app's process, where there is one.
    pub(super) async fn stop_program(&self, app: &AppRecord) {
        if app.kind == AppKind::Native {
            // One that does not run need not be stopped.
            self.host.native_apps().stop(&app.id).await.ok();
        }
    }

    /// Ends the app's process and forgets it.
    pub(super) async fn forget_program(&self, app: &AppRecord) {
        if app.kind == AppKind::Native {
            self.host.native_apps().forget(&app.id).await.ok();
        }
    }
}

impl LibraryState {
    /// Programs that are installed and were not taken away.
    pub(crate) fn programs(&self) -> Vec<AppRecord> {
        let apps = self.library.read().map(|contents| contents.apps).unwrap_or_default();
        apps.into_iter().filter(|app| app.kind == AppKind::Native && app.quarantine.is_none()).collect()
    }

    /// An installed program as it may run now; nothing when none of this id is installed.
    pub(crate) async fn program(&self, id: &str) -> Option<Result<NativeFolder, Failure>> {
        let contents = self.library.read().ok()?;
        let app = contents.app(id).filter(|app| app.kind == AppKind::Native)?.clone();
        Some(self.current(&app).await.map(|package| self.folder(&app, &package)))
    }

    async fn current(&self, app: &AppRecord) -> Result<NativePackage, Failure> {
        if let Some(quarantine) = &app.quarantine {
            let message = format!("{} was taken away: {}", app.id, quarantine.reason.message);
            return Err(Failure::new(Reason::AppQuarantined, message));
        }
        let (library, of) = (self.library.clone(), app.clone());
        let files = tokio::task::spawn_blocking(move || library.files(&of, &of.current)).await;
        let files = files.map_err(|error| Failure::new(Reason::Internal, error.to_string()))??;
        self.believed(&app.current, files).await
    }

    async fn believed(&self, version: &VersionRecord, files: Files) -> Result<NativePackage, Failure> {
        let package = tokio::task::spawn_blocking(move || NativePackage::from_files(files)).await;
        let package = package.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let package = package.map_err(|errors| program_refused("the package", &errors))?;
        if version.origin.is_sideload() {
            return Ok(package);
        }
        self.trust.verify(package).await.map(VerifiedPackage::into_package)
    }

    fn folder(&self, app: &AppRecord, package: &NativePackage) -> NativeFolder {
        let places = self.library.places();
        let origin =
            if app.current.origin.is_sideload() { NativeOrigin::Sideloaded } else { NativeOrigin::Installed };
        NativeFolder::of_version(
            &places.version(app, &app.current),
            places.native_data(&app.id),
            package,
            origin,
        )
    }
}
