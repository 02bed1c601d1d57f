//! Parameters, rows and errors of the server, in the terms of this crate.

use super::Session;
use crate::{
    error::StorageError,
    value::{Parameter, Row, Value},
};
use sqlx::{
    Column as _, Postgres, Row as _, TypeInfo as _,
    postgres::{PgArguments, PgRow},
    query::Query,
};

pub(crate) async fn rows(
    session: &mut Session,
    sql: &'static str,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, StorageError> {
    let found = bound(sql, parameters).fetch_all(&mut session.connection).await.map_err(told)?;
    found.iter().map(row).collect()
}

pub(crate) async fn execute(
    session: &mut Session,
    sql: &'static str,
    parameters: &[Parameter<'_>],
) -> Result<u64, StorageError> {
    let done = bound(sql, parameters).execute(&mut session.connection).await.map_err(told)?;
    Ok(done.rows_affected())
}

fn bound<'q>(sql: &'static str, parameters: &[Parameter<'q>]) -> Query<'q, Postgres, PgArguments> {
    parameters.iter().fold(sqlx::query(sql), |query, parameter| match *parameter {
        Parameter::Int(value) => query.bind(value),
        Parameter::Text(value) => query.bind(value),
        Parameter::Bytes(value) => query.bind(value),
        Parameter::Texts(values) => query.bind(values),
        Parameter::ManyBytes(values) => query.bind(values),
    })
}

fn row(found: &PgRow) -> Result<Row, StorageError> {
    let value = |index: usize, kind: &str| -> Result<Value, StorageError> {
        let value = match kind {
            "INT8" => found.try_get::<Option<i64>, _>(index).map_err(told)?.map(Value::Int),
            "INT4" => {
                found.try_get::<Option<i32>, _>(index).map_err(told)?.map(|value| Value::Int(value.into()))
            }
            "BOOL" => {
                found.try_get::<Option<bool>, _>(index).map_err(told)?.map(|value| Value::Int(value.into()))
            }
            "BYTEA" => found.try_get::<Option<Vec<u8>>, _>(index).map_err(told)?.map(Value::Bytes),
            "TEXT" => found.try_get::<Option<String>, _>(index).map_err(told)?.map(Value::Text),
            // What a function without a result gives.
            "VOID" => None,
            other => {
                return Err(StorageError::Statement { message: format!("a column is of the kind {other}") });
            }
        };
        Ok(value.unwrap_or(Value::Null))
    };
    let values = found.columns().iter().enumerate();
    values.map(|(index, column)| value(index, column.type_info().name())).collect::<Result<_, _>>().map(Row)
}

#[expect(clippy::needless_pass_by_value, reason = "as the mappings of errors are used")]
pub(super) fn told(error: sqlx::Error) -> StorageError {
    let message = error.to_string();
    let Some(of_server) = error.as_database_error() else {
        return match error {
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::Encode(_) => {
                StorageError::Statement { message }
            }
            _ => StorageError::Unavailable { message },
        };
    };
    match of_server.code().as_deref() {
        Some("53100") => StorageError::Full,
        Some("25006" | "42501") => StorageError::ReadOnly { message },
        Some("XX001" | "XX002") => StorageError::Corrupt { message },
        Some("40001" | "40P01") => StorageError::Clash,
        Some(code) if ["53", "57", "08", "55"].iter().any(|class| code.starts_with(class)) => {
            StorageError::Unavailable { message }
        }
        _ => StorageError::Statement { message },
    }
}
