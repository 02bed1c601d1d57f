//! Apps that are programs: believed before anything of them is used, tried in the sandbox before they count, and served
//! from the version that counts. Nothing but that version is ever started.

use super::{AppLibrary, candidate::CandidateProgram, source::program_refused};
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
        let package = tokio::task::spawn_blocking(move || NativePackage::from_files(files)).await;
        let package = package.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let package = package.map_err(|errors| program_refused("the package", &errors))?;
        if version.origin.is_sideload() {
            return Ok(package);
        }
        self.believe(package).await.map(VerifiedPackage::into_package)
    }

    /// The version of a program that counts, when its files are what was installed and somebody vouches for them now.
    pub(super) async fn current_program(&self, app: &AppRecord) -> Result<NativePackage, Failure> {
        if let Some(quarantine) = &app.quarantine {
            let message = format!("{} was taken away: {}", app.id, quarantine.reason.message);
            return Err(Failure::new(Reason::AppQuarantined, message));
        }
        let (library, of) = (self.disk().clone(), app.clone());
        let files = tokio::task::spawn_blocking(move || library.files(&of, &of.current)).await;
        let files = files.map_err(|error| Failure::new(Reason::Internal, error.to_string()))??;
        self.believed(&app.current, files).await
    }

    /// Starts a copy of the program, without rights and with folders of its own, and ends it when it answered.
    pub(super) async fn try_program(&self, program: &CandidateProgram) -> Result<(), Failure> {
        let package = &program.package;
        crate::native::try_native(&self.host, package).await.map_err(|failure| {
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
        self.current_program(app).await.map(drop)
    }

    /// Ends the app's process, where there is one.
    pub(super) async fn stop_program(&self, app: &AppRecord) {
        if app.kind == AppKind::Native {
            tracing::debug!(app = app.id, "a program that goes");
        }
    }
}
