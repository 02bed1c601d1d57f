//! Who the statements run as: a role that owns no table and is subject to every rule of the server.

use super::statement::told;
use crate::error::StorageError;
use sqlx::{Executor as _, PgConnection};

/// The role is made once per server, by whoever may; two databases of one server share it.
const MAKE: &str = "DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'roost_tenant') THEN
        CREATE ROLE roost_tenant NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END $$";

const MEMBER: &str = "DO $$
BEGIN
    IF NOT pg_has_role(current_user, 'roost_tenant', 'MEMBER') THEN
        EXECUTE format('GRANT roost_tenant TO %I', current_user);
    END IF;
END $$";

const RIGHTS: &str = "
    GRANT USAGE ON SCHEMA roost TO roost_tenant;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA roost TO roost_tenant;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA roost TO roost_tenant;
    REVOKE INSERT, UPDATE, DELETE ON shared_migrations FROM roost_tenant";

/// Whether there is the role, and who is connected may be it.
pub(super) async fn exist(connection: &mut PgConnection) -> Result<bool, StorageError> {
    let found = "SELECT 1 FROM pg_roles WHERE rolname = 'roost_tenant' AND pg_has_role(oid, 'MEMBER')";
    Ok(connection.fetch_optional(found).await.map_err(told)?.is_some())
}

/// Makes the role where there is none.
pub(super) async fn make(connection: &mut PgConnection) -> Result<(), StorageError> {
    for sql in [MAKE, MEMBER] {
        connection.execute(sqlx::raw_sql(sql)).await.map_err(told)?;
    }
    Ok(())
}

/// Lets the role use the tables that exist now.
pub(super) async fn allow(connection: &mut PgConnection) -> Result<(), StorageError> {
    connection.execute(sqlx::raw_sql(RIGHTS)).await.map_err(told)?;
    Ok(())
}

/// From here on the connection is the role's.
pub(super) async fn step_down(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql("SET ROLE roost_tenant")).await.map(drop)
}
