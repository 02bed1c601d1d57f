//! Apps that are programs: believed before anything of them is used, tried in the sandbox before they count, and served
//! from the version that counts. Nothing but that version is ever started.

use super::{AppLibrary, candidate::CandidateProgram, source::program_refused};
use roost_apps::{
    Files,
    library::{AppKind, AppRecord},
    native::{NativePackage, VerifiedPackage},
};
use roost_protocol::{Failure, Reason};

impl AppLibrary {
    /// Whether somebody whom this home believes vouches for the package now.
    pub(super) async fn believe(&self, package: NativePackage) -> Result<VerifiedPackage, Failure> {
        self.inner().library.trust.verify(package).await
    }

    /// The same for files that lie in the library.
    pub(super) async fn believed(&self, files: Files) -> Result<VerifiedPackage, Failure> {
        let package = tokio::task::spawn_blocking(move || NativePackage::from_files(files)).await;
        let package = package.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        self.believe(package.map_err(|errors| program_refused("the package", &errors))?).await
    }

    /// The version of a program that counts, when its files are what was installed and somebody vouches for them now.
    pub(super) async fn current_program(&self, app: &AppRecord) -> Result<VerifiedPackage, Failure> {
        if let Some(quarantine) = &app.quarantine {
            let message = format!("{} was taken away: {}", app.id, quarantine.reason.message);
            return Err(Failure::new(Reason::AppQuarantined, message));
        }
        let (library, app) = (self.disk().clone(), app.clone());
        let files = tokio::task::spawn_blocking(move || library.files(&app, &app.current)).await;
        self.believed(files.map_err(|error| Failure::new(Reason::Internal, error.to_string()))??).await
    }

    /// Starts a copy of the program, without rights and with folders of its own, and ends it when it answered.
    pub(super) async fn try_program(&self, program: &CandidateProgram) -> Result<(), Failure> {
        let package = program.verified.package();
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
