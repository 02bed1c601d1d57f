//! Programs from the folders of those who write them: built, copied, tried and run without a signature, and labelled so
//! wherever they are shown. The folder itself is read and never changed, but by its own `make build`.

use super::{
    AppLibrary, Choice, Installed, Removed,
    source::{Brought, program_refused},
};
use roost_apps::{
    library::Package,
    native::{NativeManifest, NativePackage},
};
use roost_protocol::{Failure, Reason};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

/// How long a build may take.
const BUILD_WITHIN: Duration = Duration::from_secs(30 * 60);

/// So much of what a build printed is told.
const BUILD_OUTPUT_BYTES_MAX: usize = 4000;

/// Largest manifest that is looked at before anything is built.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

impl AppLibrary {
    /// Builds the app in this folder, where it has a `Makefile`, and installs a copy of it that nobody vouches for.
    pub async fn sideload(&self, folder: &Path, choice: &Choice, by: &str) -> Result<Installed, Failure> {
        let wrong =
            |why: String| Failure::new(Reason::PackageInvalid, format!("{}: {why}", folder.display()));
        let folder = folder.canonicalize().map_err(|error| wrong(error.to_string()))?;
        // A folder that is no app is not built: a Makefile can do anything.
        let shown = folder.display().to_string();
        let manifest = roost_apps::read_at_most(&folder.join("manifest.json"), MANIFEST_BYTES_MAX)
            .map_err(|error| wrong(format!("manifest.json: {error}")))?;
        let manifest = NativeManifest::parse(&manifest).map_err(|errors| program_refused(&shown, &errors))?;
        self.check_not_installed(manifest.id.as_str())?;
        self.build(&folder).await?;
        let place = folder.clone();
        let read = tokio::task::spawn_blocking(move || NativePackage::from_project(&place)).await;
        let read = read.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let package = read.map_err(|errors| program_refused(&shown, &errors))?;
        let package = Package::from_sideload(&package, &folder)?;
        self.install_brought(Brought::from(package), None, choice, by).await
    }

    /// Removes an app that was sideloaded, and no other. Its folder is as it was.
    pub async fn unsideload(&self, id: &str) -> Result<Removed, Failure> {
        let is_sideloaded = self.record(id).is_ok_and(|app| app.current.origin.is_sideload());
        if !is_sideloaded {
            return Err(Failure::new(Reason::NotSideloaded, format!("{id} was not sideloaded")));
        }
        self.remove(id).await
    }

    /// The folder that an app was sideloaded from.
    pub fn sideloaded_from(&self, id: &str) -> Result<PathBuf, Failure> {
        match self.record(id)?.current.origin {
            super::AppOrigin::Sideload { path } => Ok(path.into()),
            _ => Err(Failure::new(Reason::NotSideloaded, format!("{id} was not sideloaded"))),
        }
    }

    fn check_not_installed(&self, id: &str) -> Result<(), Failure> {
        let contents = self.contents()?;
        match contents.apps.iter().find(|app| app.id.eq_ignore_ascii_case(id)) {
            Some(app) if !app.current.origin.is_sideload() => {
                let message = format!("{} already exists as a non-sideloaded app", app.id);
                Err(Failure::new(Reason::IdTaken, message).with_next(format!("roost remove {}", app.id)))
            }
            _ => Ok(()),
        }
    }

    async fn build(&self, folder: &Path) -> Result<(), Failure> {
        if !folder.join("Makefile").is_file() {
            return Ok(());
        }
        let surface = &self.inner().settings.surface;
        let failed = |why: String| Failure::new(Reason::BuildFailed, format!("make build: {why}"));
        let make = roost_runtime::find_program("make", &surface.search_path)
            .ok_or_else(|| failed("there is no program `make`".to_owned()))?;
        let _building = Building::begin(&self.inner().library.building);
        let words = ["-C".into(), folder.into(), "build".into()];
        let ran = roost_runtime::run(&make, &words, &surface.tool_environment, BUILD_WITHIN).await?;
        if ran.succeeded {
            return Ok(());
        }
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        let skipped = printed.len().saturating_sub(BUILD_OUTPUT_BYTES_MAX);
        let start = (skipped..=printed.len()).find(|place| printed.is_char_boundary(*place)).unwrap_or(0);
        Err(failed(printed[start..].trim().to_owned()))
    }
}

/// A build goes on for as long as this value lives.
struct Building<'a>(&'a AtomicUsize);

impl<'a> Building<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
