//! A value that does not show itself by accident.

use std::{fmt, sync::Arc};

/// Largest value: any key or certificate, and half of what the kernel takes as one variable of a process.
pub(crate) const VALUE_BYTES_MAX: usize = 64 << 10;

/// One value of the vault: text of 1 byte to 64 KiB without NUL. `Debug` hides it.
#[derive(Clone)]
pub struct SecretValue(Arc<str>);

/// Why something cannot be a value. Says nothing about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecretValue {
    /// There is nothing in it.
    #[error("the value is empty")]
    Empty,
    /// It is larger than any value may be.
    #[error("the value is larger than {} KiB", VALUE_BYTES_MAX >> 10)]
    TooLarge,
    /// No variable of a process can hold it.
    #[error("the value has a NUL byte")]
    Nul,
    /// It is not text.
    #[error("the value is not UTF-8")]
    NotText,
}

impl SecretValue {
    /// Checks that the bytes can be a value.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidSecretValue> {
        if bytes.is_empty() {
            return Err(InvalidSecretValue::Empty);
        }
        if bytes.len() > VALUE_BYTES_MAX {
            return Err(InvalidSecretValue::TooLarge);
        }
        if bytes.contains(&0) {
            return Err(InvalidSecretValue::Nul);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| InvalidSecretValue::NotText)?;
        Ok(Self(text.into()))
    }

    /// The value itself, for where it is used or sent.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("SecretValue(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidSecretValue, SecretValue, VALUE_BYTES_MAX};

    #[test]
    fn only_text_that_a_variable_can_hold_is_a_value_and_none_shows_itself() {
        for bytes in [&b"x"[..], "two\nlines é".as_bytes(), &vec![b'x'; VALUE_BYTES_MAX]] {
            let value = SecretValue::parse(bytes).unwrap();
            assert_eq!(value.expose().as_bytes(), bytes);
            assert_eq!(format!("{value:?}"), "SecretValue(…)");
        }
        for (bytes, why) in [
            (&b""[..], InvalidSecretValue::Empty),
            (&vec![b'x'; VALUE_BYTES_MAX + 1], InvalidSecretValue::TooLarge),
            (b"a\0b", InvalidSecretValue::Nul),
            (b"a\xff", InvalidSecretValue::NotText),
        ] {
            assert_eq!(SecretValue::parse(bytes).unwrap_err(), why);
        }
    }
}
