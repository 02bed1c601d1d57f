//! A workspace as a whole: taken elsewhere, brought back, and what was removed forgotten.

use super::Workspaces;
use crate::{
    Existing, Extent, FilePath, ImportPlan, Owner, WorkspaceError, Writer,
    purge::Purge,
    transfer::{Gather, Import, ImportEnd, open, pack},
};

impl Workspaces {
    /// The bytes of a zip with the files of a workspace, all of one moment.
    pub async fn export(&self, owner: &Owner, extent: Extent) -> Result<Vec<u8>, WorkspaceError> {
        let gather = Gather { owner: owner.clone(), limits: self.limits, extent };
        let (manifest, bodies) = self.database.scan(&owner.tenant, gather).await?;
        blocking(move || pack(&manifest, &bodies)).await
    }

    /// Brings in what an export holds, all or nothing.
    pub async fn import(
        &self,
        owner: &Owner,
        writer: &Writer,
        archive: impl AsRef<[u8]> + Send + 'static,
        existing: Existing,
    ) -> Result<ImportPlan, WorkspaceError> {
        let import = self.prepare(owner, writer, archive, existing).await?;
        match self.database.write(&owner.tenant, import).await {
            Ok(plan) | Err(ImportEnd::Rehearsed(plan)) => Ok(plan),
            Err(ImportEnd::Failed(error)) => Err(error),
        }
    }

    /// What the same import would do, without doing it.
    pub async fn rehearse_import(
        &self,
        owner: &Owner,
        writer: &Writer,
        archive: impl AsRef<[u8]> + Send + 'static,
        existing: Existing,
    ) -> Result<ImportPlan, WorkspaceError> {
        let import = self.prepare(owner, writer, archive, existing).await?;
        match self.database.write(&owner.tenant, Import { is_rehearsal: true, ..import }).await {
            Ok(plan) | Err(ImportEnd::Rehearsed(plan)) => Ok(plan),
            Err(ImportEnd::Failed(error)) => Err(error),
        }
    }

    /// Forgets the versions of a file that was removed, and says how many there were. Events of it stay.
    pub async fn purge(&self, owner: &Owner, path: &FilePath) -> Result<u64, WorkspaceError> {
        self.database.write(&owner.tenant, Purge { owner: owner.clone(), path: path.clone() }).await
    }

    async fn prepare(
        &self,
        owner: &Owner,
        writer: &Writer,
        archive: impl AsRef<[u8]> + Send + 'static,
        existing: Existing,
    ) -> Result<Import, WorkspaceError> {
        let (limits, reader) = (self.limits, writer.clone());
        let parcel = blocking(move || open(archive.as_ref(), &limits, &reader)).await?;
        Ok(Import {
            owner: owner.clone(),
            limits: self.limits,
            writer: writer.clone(),
            parcel,
            existing,
            is_rehearsal: false,
        })
    }
}

/// Work that only needs the processor, beside those who wait for the network.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(WorkspaceError::Storage(roost_storage::StorageError::Panicked)))
}
