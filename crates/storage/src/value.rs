//! Values of statements: the few kinds that both engines have in common.

use crate::error::StorageError;

/// What a statement is given. Absent values keep their kind: PostgreSQL wants to know it.
#[derive(Debug, Clone, Copy)]
pub enum Parameter<'a> {
    /// A whole number, a point in time in milliseconds, or a truth value as 0 and 1.
    Int(Option<i64>),
    /// Text without NUL.
    Text(Option<&'a str>),
    /// Any bytes.
    Bytes(Option<&'a [u8]>),
    /// A list of texts, which only PostgreSQL knows.
    Texts(&'a [Option<&'a str>]),
    /// A list of bytes, which only PostgreSQL knows.
    ManyBytes(&'a [&'a [u8]]),
}

impl From<i64> for Parameter<'_> {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Parameter<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for Parameter<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<Option<&'a str>> for Parameter<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Parameter<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<&'a [u8]> for Parameter<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(Some(value))
    }
}

impl<'a> From<Option<&'a [u8]>> for Parameter<'a> {
    fn from(value: Option<&'a [u8]>) -> Self {
        Self::Bytes(value)
    }
}

/// What a statement gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// One row. Columns are counted from zero, and asking for another kind than the statement has is an error of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(pub(crate) Vec<Value>);

impl Row {
    /// A number.
    pub fn int(&self, column: usize) -> Result<i64, StorageError> {
        match self.0.get(column) {
            Some(Value::Int(value)) => Ok(*value),
            other => Err(unexpected(column, "a number", other)),
        }
    }

    /// A number, or nothing.
    pub fn optional_int(&self, column: usize) -> Result<Option<i64>, StorageError> {
        self.unless_null(column, Self::int)
    }

    /// A truth value.
    pub fn flag(&self, column: usize) -> Result<bool, StorageError> {
        self.int(column).map(|value| value != 0)
    }

    /// A text.
    pub fn text(&self, column: usize) -> Result<&str, StorageError> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(value),
            other => Err(unexpected(column, "a text", other)),
        }
    }

    /// A text, or nothing.
    pub fn optional_text(&self, column: usize) -> Result<Option<&str>, StorageError> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => self.text(column).map(Some),
        }
    }

    /// Bytes, taken out of the row.
    pub fn take_bytes(&mut self, column: usize) -> Result<Vec<u8>, StorageError> {
        match self.0.get_mut(column) {
            Some(Value::Bytes(value)) => Ok(std::mem::take(value)),
            other => Err(unexpected(column, "bytes", other.as_deref())),
        }
    }

    /// Bytes, or nothing, taken out of the row.
    pub fn take_optional_bytes(&mut self, column: usize) -> Result<Option<Vec<u8>>, StorageError> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => self.take_bytes(column).map(Some),
        }
    }

    fn unless_null<T>(
        &self,
        column: usize,
        read: impl FnOnce(&Self, usize) -> Result<T, StorageError>,
    ) -> Result<Option<T>, StorageError> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            _ => read(self, column).map(Some),
        }
    }
}

fn unexpected(column: usize, wanted: &str, found: Option<&Value>) -> StorageError {
    let found = match found {
        None => "no such column",
        Some(Value::Null) => "nothing",
        Some(Value::Int(_)) => "a number",
        Some(Value::Text(_)) => "a text",
        Some(Value::Bytes(_)) => "bytes",
    };
    StorageError::Statement { message: format!("column {column} holds {found} instead of {wanted}") }
}
