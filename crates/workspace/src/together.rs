//! Many plain writes in one statement: what keeps a server busy is how often it is asked.
//!
//! A plain write puts a new content in the place of one that is there. The statement makes those whose version is still
//! the expected one and leaves out the rest, which then go the long way and are decided there.

use crate::{Content, Etag, FileInfo, Write, clock, events::EVENTS_KEPT, put::Put};
use roost_storage::{Parameter, StorageError, Transaction};
use sha2::{Digest as _, Sha256};

const PUT_TOGETHER: &str =
    "SELECT * FROM put_together($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";

/// A plain write and what it will be called.
struct Plain<'a> {
    /// Its place among all that wait.
    index: usize,
    put: &'a Put,
    write: &'a Write,
    content: &'a Content,
    seen: Option<Etag>,
    etag: Etag,
    sha256: [u8; 32],
}

/// Makes the plain ones among writes to one workspace; each that was made has its file's state.
pub(crate) async fn put_together(
    transaction: &mut Transaction,
    puts: &[&Put],
) -> Result<Vec<Option<FileInfo>>, StorageError> {
    let mut made: Vec<Option<FileInfo>> = puts.iter().map(|_| None).collect();
    let plain: Vec<Plain<'_>> = (puts.iter().enumerate())
        .filter_map(|(index, put)| {
            let (write, content, seen) = put.simply()?;
            let sha256 = Sha256::digest(&content.bytes).into();
            Some(Plain { index, put, write, content, seen, etag: Etag::random(), sha256 })
        })
        .collect();
    let Some(first) = plain.first() else { return Ok(made) };
    let texts =
        |text: for<'b> fn(&'b Plain<'_>) -> Option<&'b str>| plain.iter().map(text).collect::<Vec<_>>();
    let paths = texts(|one| Some(one.write.path.as_str()));
    let seen = texts(|one| one.seen.as_ref().map(Etag::as_str));
    let etags = texts(|one| Some(one.etag.as_str()));
    let content_types = texts(|one| Some(&one.content.content_type));
    let principals = texts(|one| Some(&one.put.writer.author.principal));
    let runs = texts(|one| one.put.writer.author.run.as_deref());
    let nodes = texts(|one| one.put.writer.author.node.as_deref());
    let reasons = texts(|one| one.put.writer.author.reason.as_deref());
    let sha256: Vec<&[u8]> = plain.iter().map(|one| one.sha256.as_slice()).collect();
    let contents: Vec<&[u8]> = plain.iter().map(|one| one.content.bytes.as_slice()).collect();
    let Put { owner, limits, .. } = first.put;
    let parameters = [
        owner.tenant.as_str().into(),
        owner.workspace.as_str().into(),
        clock::now().into(),
        Parameter::Texts(&paths),
        Parameter::Texts(&seen),
        Parameter::Texts(&etags),
        Parameter::Texts(&content_types),
        Parameter::Texts(&principals),
        Parameter::Texts(&runs),
        Parameter::Texts(&nodes),
        Parameter::Texts(&reasons),
        Parameter::ManyBytes(&sha256),
        Parameter::ManyBytes(&contents),
        limits.versions_max.into(),
        limits.workspace_bytes_max.into(),
        EVENTS_KEPT.into(),
    ];
    for row in transaction.returning(PUT_TOGETHER, &parameters).await? {
        let number = usize::try_from(row.int(0)? - 1).ok().and_then(|index| plain.get(index));
        let one = number
            .ok_or_else(|| StorageError::Corrupt { message: "a write was not asked for".to_owned() })?;
        made[one.index] = Some(FileInfo {
            path: one.write.path.clone(),
            content_type: one.content.content_type.clone(),
            version: row.int(1)?,
            etag: one.etag.clone(),
            updated_at: row.int(2)?,
            bytes: crate::write::length(&one.content.bytes),
        });
    }
    if made.iter().any(Option::is_some) {
        transaction.tell(&owner.topic());
    }
    Ok(made)
}
