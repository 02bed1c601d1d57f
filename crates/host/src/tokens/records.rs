//! Tokens in the database.

use super::{Record, Scope, TokenListing};
use roost_protocol::Tenant;
use roost_storage::{Change, Parameter, Row, StorageError, Transaction};
use roost_workspace::{Owner, WorkspaceName};

pub(super) struct Create(pub(super) Record);

const CREATE: &str = "INSERT INTO shared_tokens
    (id, hash, tenant, workspace, scopes, requests_per_second, note, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

impl Change for Create {
    type Output = ();
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<(), StorageError> {
        let Record { hash, listing, .. } = &self.0;
        let scopes = listing.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ");
        let parameters = [
            Parameter::from(&listing.id),
            hash[..].into(),
            Parameter::from(&listing.tenant),
            Parameter::from(&listing.workspace),
            Parameter::from(&scopes),
            listing.requests_per_second.into(),
            Parameter::from(&listing.note),
            listing.created.as_millisecond().into(),
            listing.expires.map(jiff::Timestamp::as_millisecond).into(),
        ];
        transaction.execute(CREATE, &parameters).await.map(drop)
    }
}

pub(super) struct Find(pub(super) [u8; 32]);

const FIND: &str = "SELECT hash, id, tenant, workspace, scopes, requests_per_second, note, created_at,
    expires_at, revoked_at FROM shared_tokens WHERE hash = $1";

impl Change for Find {
    type Output = Option<Record>;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Option<Record>, StorageError> {
        transaction.row(FIND, &[self.0[..].into()]).await?.map(record).transpose()
    }
}

pub(super) struct List;

const LIST: &str = "SELECT hash, id, tenant, workspace, scopes, requests_per_second, note, created_at,
    expires_at, revoked_at FROM shared_tokens ORDER BY created_at, id";

impl Change for List {
    type Output = Vec<Record>;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<Vec<Record>, StorageError> {
        transaction.rows(LIST, &[]).await?.into_iter().map(record).collect()
    }
}

pub(super) struct Revoke {
    pub(super) id: String,
    pub(super) at: jiff::Timestamp,
}

const REVOKE: &str = "UPDATE shared_tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";

impl Change for Revoke {
    type Output = bool;
    type Error = StorageError;

    async fn apply(&self, transaction: &mut Transaction) -> Result<bool, StorageError> {
        let parameters = [self.at.as_millisecond().into(), Parameter::from(&self.id)];
        Ok(transaction.execute(REVOKE, &parameters).await? > 0)
    }
}

fn record(mut row: Row) -> Result<Record, StorageError> {
    let damaged = || StorageError::Corrupt { message: "a token is not one".to_owned() };
    let time = |value: i64| jiff::Timestamp::from_millisecond(value).map_err(|_| damaged());
    let hash = row.take_bytes(0)?;
    let (tenant, workspace) = (row.text(2)?.to_owned(), row.text(3)?.to_owned());
    let owner = Owner {
        tenant: Tenant::parse(&tenant).map_err(|_| damaged())?,
        workspace: WorkspaceName::parse(&workspace).map_err(|_| damaged())?,
    };
    // A scope that this version does not know gives no right.
    let scopes = row.text(4)?.split(' ').filter_map(Scope::parse).collect();
    let listing = TokenListing {
        id: row.text(1)?.to_owned(),
        tenant,
        workspace,
        scopes,
        requests_per_second: row.int(5)?,
        note: row.text(6)?.to_owned(),
        created: time(row.int(7)?)?,
        expires: row.optional_int(8)?.map(time).transpose()?,
        revoked: row.optional_int(9)?.map(time).transpose()?,
    };
    Ok(Record { hash, listing, owner })
}
