//! From a workspace to the bytes of a zip. The order of everything follows from names and hashes.

use super::{BODIES, Extent, FORMAT, ListedFile, ListedVersion, MANIFEST, Manifest, VERSIONS_MAX, bytes_max};
use crate::{
    Author, Limit, Limits, Owner, WorkspaceError, clock,
    read::stored_path,
    write::{length, within},
};
use roost_storage::{Change, Row, StorageError, Transaction};
use std::{
    collections::BTreeMap,
    io::{Cursor, Write as _},
};
use zip::{CompressionMethod, DateTime, ZipWriter, result::ZipError, write::SimpleFileOptions};

/// Reads everything that is to travel, all of one moment.
pub(crate) struct Gather {
    pub(crate) owner: Owner,
    pub(crate) limits: Limits,
    pub(crate) extent: Extent,
}

const HISTORY: &str = "SELECT f.path, v.version, v.removed, v.content_type, v.updated_at, v.sha256, v.bytes,
    v.principal, v.run, v.node, v.reason, f.id
    FROM workspaces w JOIN files f ON f.workspace = w.id JOIN versions v ON v.file = f.id
    WHERE w.tenant = $1 AND w.name = $2 ORDER BY f.path, v.version";
const NEWEST: &str = "SELECT f.path, v.version, v.removed, v.content_type, v.updated_at, v.sha256, v.bytes,
    v.principal, v.run, v.node, v.reason, f.id
    FROM workspaces w JOIN files f ON f.workspace = w.id JOIN versions v ON v.file = f.id
    AND v.version = f.version
    WHERE w.tenant = $1 AND w.name = $2 AND f.removed = 0 ORDER BY f.path";
const CONTENT: &str = "SELECT content FROM versions WHERE file = $1 AND version = $2";

/// Contents by the hexadecimal form of their hash.
type Bodies = BTreeMap<String, Vec<u8>>;

impl Change for Gather {
    type Output = (Manifest, Bodies);
    type Error = WorkspaceError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<(Manifest, Bodies), WorkspaceError> {
        let owner = [self.owner.tenant.as_str().into(), self.owner.workspace.as_str().into()];
        let sql = match self.extent {
            Extent::History => HISTORY,
            Extent::Newest => NEWEST,
        };
        let rows = transaction.rows(sql, &owner).await?;
        if rows.len() > VERSIONS_MAX {
            let provided = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            within(Limit::TransferVersions, VERSIONS_MAX as i64, provided)?;
        }
        let total = rows.iter().try_fold(0_i64, |sum, row| row.int(6).map(|bytes| sum.saturating_add(bytes)));
        within(Limit::TransferBytes, bytes_max(&self.limits), total?)?;
        let mut files: Vec<ListedFile> = Vec::new();
        let mut bodies = Bodies::new();
        for mut row in rows {
            let listed = listed(&mut row)?;
            if !listed.removed && !bodies.contains_key(&listed.sha256) {
                let key = [row.int(11)?.into(), listed.version.into()];
                let found = transaction.row(CONTENT, &key).await?;
                let mut found = found.ok_or_else(|| damaged("a version vanished"))?;
                bodies.insert(listed.sha256.clone(), found.take_bytes(0)?);
            }
            let path = stored_path(row.text(0)?)?;
            match files.last_mut() {
                Some(file) if file.path == path => file.versions.push(listed),
                _ => files.push(ListedFile { path, versions: vec![listed] }),
            }
        }
        Ok((Manifest { format: FORMAT.to_owned(), exported_at: time(clock::now())?, files }, bodies))
    }
}

fn listed(row: &mut Row) -> Result<ListedVersion, StorageError> {
    let sha256 = hex::encode(row.take_bytes(5)?);
    let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
    Ok(ListedVersion {
        version: row.int(1)?,
        removed: row.flag(2)?,
        content_type: row.text(3)?.to_owned(),
        updated_at: time(row.int(4)?)?,
        sha256,
        bytes: row.int(6)?,
        author: Author {
            principal: row.text(7)?.to_owned(),
            run: text(8)?,
            node: text(9)?,
            reason: text(10)?,
        },
    })
}

fn time(milliseconds: i64) -> Result<jiff::Timestamp, StorageError> {
    jiff::Timestamp::from_millisecond(milliseconds).map_err(|_| damaged("a time is not one"))
}

fn damaged(message: &str) -> StorageError {
    StorageError::Corrupt { message: message.to_owned() }
}

/// The zip of what was read.
pub(crate) fn pack(
    manifest: &Manifest,
    bodies: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<u8>, WorkspaceError> {
    let packed = || -> Result<Vec<u8>, ZipError> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default());
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file(MANIFEST, options)?;
        let mut text = serde_json::to_vec_pretty(manifest).map_err(std::io::Error::from)?;
        text.push(b'\n');
        writer.write_all(&text)?;
        for (sha256, content) in bodies {
            writer
                .start_file(format!("{BODIES}{sha256}"), options.large_file(length(content) > (1 << 31)))?;
            writer.write_all(content)?;
        }
        Ok(writer.finish()?.into_inner())
    };
    packed().map_err(|error| WorkspaceError::NotAnExport(format!("it cannot be written: {error}")))
}
