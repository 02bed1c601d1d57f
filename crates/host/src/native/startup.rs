//! The apps that lie in the home: which folders are apps, and starting all of them.

use super::{folder::NativeFolder, running::NativeApps};
use crate::{
    host::{Host, Inner},
    settings::HostSettings,
    standing::Standing,
    trust::HostTrust,
};
use futures::{StreamExt as _, stream};
use roost_apps::{
    Files,
    native::{NativeId, NativePackage},
};
use roost_protocol::{Failure, Reason};
use roost_runtime::Inspector;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Apps that are read at the same time: to read and hash a large program keeps a processor busy, and the host has to
/// answer meanwhile.
const READ_AT_ONCE: usize = 4;

/// What lies in the folder of an app that must never run again.
const QUARANTINED: &str = ".quarantined";

impl Host {
    /// The native apps that run.
    #[must_use]
    pub fn native_apps(&self) -> &NativeApps {
        &self.inner.native
    }

    /// What native apps were asked and answered lately.
    #[must_use]
    pub fn inspector(&self) -> &Inspector {
        self.inner.runtime.inspector()
    }

    /// Starts every app of the home that may run, once, and returns when all of them answer or do not.
    pub async fn start_native_apps(&self) {
        self.inner.start_native_apps().await;
    }

    /// The files of a native app's pages, by their path from their folder.
    pub async fn native_page_files(&self, id: &str) -> Result<Files, Failure> {
        let (inner, id) = (Arc::clone(&self.inner), id.to_owned());
        on_a_thread(move || inner.native_page_files(&id)).await
    }

    /// An app in the home's folder of native apps, if it may run now: installed and vouched for, or a link to the folder
    /// of somebody who works on it.
    pub async fn native_folder(&self, id: &str) -> Result<NativeFolder, Failure> {
        self.inner.native_folder(id).await
    }
}

impl Inner {
    pub(crate) async fn start_native_apps(&self) {
        self.native.started.get_or_init(|| self.start_all_of_home()).await;
    }

    /// What an app of the home is to the gate, whether it runs or not.
    pub(crate) async fn native_standing(&self, id: &str) -> Result<Standing, Failure> {
        match self.native.standing(id) {
            Ok(standing) => Ok(standing),
            Err(_) => Ok(self.native_folder(id).await?.standing()),
        }
    }

    /// What is installed counts before what lies in the folder.
    pub(super) async fn native_folder(&self, id: &str) -> Result<NativeFolder, Failure> {
        match self.library.program(id).await {
            Some(folder) => folder,
            None => folder_in(&self.settings, id).await,
        }
    }

    async fn start_all_of_home(&self) {
        let mut ids: Vec<String> = self.library.programs().into_iter().map(|app| app.id).collect();
        ids.extend(ids_in(&self.settings.home.native()));
        ids.sort_unstable();
        ids.dedup();
        // Each is started as soon as it is read, whatever the others do.
        let reading = stream::iter(ids).map(|id| async move {
            let folder = self.native_folder(&id).await;
            (id, folder)
        });
        let folders = reading.buffer_unordered(READ_AT_ONCE);
        let start = |(id, folder): (String, Result<NativeFolder, Failure>)| async move {
            let started = match folder {
                Ok(folder) => self.native.start(folder).await.map(drop),
                Err(failure) => Err(failure),
            };
            if let Err(failure) = started {
                tracing::warn!(app = id, %failure, "a native app does not run");
            }
        };
        folders.for_each_concurrent(None, start).await;
    }
}

/// Names in the folder that can be an app's: what is being unpacked, updated or decided cannot.
fn ids_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut ids: Vec<String> = names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| NativeId::parse(name).is_some() && folder.join(name).join("manifest.json").exists())
        .filter(|name| !folder.join(name).join(QUARANTINED).exists())
        .collect();
    ids.sort_unstable();
    ids
}

async fn folder_in(settings: &HostSettings, id: &str) -> Result<NativeFolder, Failure> {
    let unknown = || Failure::new(Reason::UnknownNativeApp, format!("there is no native app `{id}`"));
    let id = NativeId::parse(id).ok_or_else(unknown)?;
    let path = settings.home.native().join(id.as_str());
    let known = fs::symlink_metadata(&path).map_err(|_| unknown())?;
    if path.join(QUARANTINED).exists() {
        return Err(Failure::new(Reason::AppRevoked, "the app was taken back and must not run again"));
    }
    let is_link = known.file_type().is_symlink();
    let folder = if is_link { sideloaded(path).await? } else { installed(settings, path).await? };
    if folder.id() == id.as_str() {
        return Ok(folder);
    }
    let message = format!("the folder `{}` holds the app `{}`", id.as_str(), folder.id());
    Err(Failure::new(Reason::PackageInvalid, message))
}

async fn sideloaded(path: PathBuf) -> Result<NativeFolder, Failure> {
    on_a_thread(move || NativeFolder::sideloaded(&path)).await
}

async fn installed(settings: &HostSettings, path: PathBuf) -> Result<NativeFolder, Failure> {
    let reading = path.clone();
    let package = on_a_thread(move || {
        NativePackage::from_folder(&reading).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Failure::new(Reason::PackageInvalid, errors.join("; "))
        })
    });
    let verified = HostTrust::open(settings).verify(package.await?).await?;
    Ok(NativeFolder::installed(&path, &verified))
}

/// A program may be large: reading it must not hold up others.
async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Failure::new(Reason::Internal, format!("read an app: {error}"))))
}
