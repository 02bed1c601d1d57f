//! The same apps on another home: exactly the digests of a lock file, or nothing.

use super::{
    AppLibrary, Choice, InstallSource, Installed,
    source::{Brought, StoreApp, bring},
};
use crate::catalogs::{EntryName, RepositoryAddress};
use roost_apps::library::{AppOrigin, LockedApp, read_lock};
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};

/// What a lock file made of a home.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LockedOutcome {
    /// Apps that were installed.
    pub installed: Vec<Installed>,
    /// Ids of those that were there already, exactly so.
    pub unchanged: Vec<String>,
}

impl AppLibrary {
    /// Installs what a lock file names. Everything is brought and compared before the first app is installed.
    pub async fn install_locked(
        &self,
        text: &str,
        choice: &Choice,
        by: &str,
    ) -> Result<LockedOutcome, Failure> {
        let locked = read_lock(text)?;
        let contents = self.contents()?;
        let mut outcome = LockedOutcome { installed: Vec::new(), unchanged: Vec::new() };
        let mut arrived: Vec<(LockedApp, Brought)> = Vec::new();
        for app in locked {
            if contents.app(&app.id).is_some_and(|there| there.current.digest == app.digest) {
                outcome.unchanged.push(app.id);
                continue;
            }
            let brought = bring(&self.host, &source_of(&app)?).await.map_err(|failure| {
                let next = failure.next_step().to_owned();
                Failure { message: format!("{}: {}", app.id, failure.message), next: Some(next), ..failure }
            })?;
            let found = brought.package.digest();
            if found != app.digest || brought.package.id != app.id {
                let message =
                    format!("{} has the digest {found} now; the lock file says {}", app.id, app.digest);
                return Err(Failure::new(Reason::DigestMismatch, message));
            }
            arrived.push((app, brought));
        }
        for (app, brought) in arrived {
            outcome.installed.push(self.install_brought(brought, Some(app.digest), choice, by).await?);
        }
        Ok(outcome)
    }
}

/// Where a locked app is brought from. Which catalog of this home has it does not matter: the digest decides.
fn source_of(app: &LockedApp) -> Result<InstallSource, Failure> {
    Ok(match &app.source {
        AppOrigin::Catalog { .. } | AppOrigin::Federation { .. } | AppOrigin::Gated { .. } => {
            let name = EntryName {
                publisher: app.publisher.clone(),
                id: app.id.clone(),
                version: app.version.clone(),
            };
            // Read as a person would write it: what stands in a file is checked as everything else.
            InstallSource::Entry(EntryName::parse(&name.to_string())?)
        }
        AppOrigin::Repository { repo, path, commit, .. } => {
            let address = format!("https://github.com/{repo}/tree/{commit}/{path}");
            InstallSource::Repository(RepositoryAddress::parse(address.trim_end_matches('/'))?)
        }
        AppOrigin::File { url } => InstallSource::File(url.clone()),
        AppOrigin::Store { url } => InstallSource::Store(StoreApp {
            id: app.id.clone(),
            version: app.version.clone(),
            store: Some(url.clone()),
        }),
        AppOrigin::Path { path } => InstallSource::Path(path.into()),
        AppOrigin::Sent | AppOrigin::Sideload { .. } => {
            let message =
                format!("{} was sent to the other host, and cannot be brought from anywhere", app.id);
            return Err(Failure::new(Reason::UnknownEntry, message)
                .with_next(format!("export {} there and install the file here first", app.id)));
        }
    })
}
