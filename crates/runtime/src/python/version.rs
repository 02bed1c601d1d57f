//! Python versions and the version specifiers of `requires-python`.

use std::{fmt, str::FromStr};

/// A released version of CPython.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PythonVersion {
    /// 3.
    pub major: u32,
    /// The feature release.
    pub minor: u32,
    /// The bug fix release.
    pub patch: u32,
}

impl PythonVersion {
    /// Oldest version whose grammar and library the agents of the field agree on.
    pub const OLDEST: Self = Self { major: 3, minor: 10, patch: 0 };

    /// True when this version satisfies every clause, for example `>=3.11, <3.14`. A clause that cannot be read
    /// is not satisfied.
    #[must_use]
    pub fn satisfies(self, specifier: &str) -> bool {
        specifier
            .split(',')
            .map(str::trim)
            .filter(|clause| !clause.is_empty())
            .all(|clause| self.fits(clause))
    }

    fn fits(self, clause: &str) -> bool {
        let operator = ["~=", "==", "!=", "<=", ">=", "<", ">"]
            .into_iter()
            .find(|operator| clause.starts_with(operator));
        let Some(operator) = operator else { return false };
        let written = clause[operator.len()..].trim();
        let numbers: Vec<u32> =
            written.trim_end_matches(".*").split('.').map_while(|part| part.parse().ok()).take(3).collect();
        if numbers.is_empty() {
            return false;
        }
        let own = [self.major, self.minor, self.patch];
        let padded = [numbers[0], numbers.get(1).copied().unwrap_or(0), numbers.get(2).copied().unwrap_or(0)];
        let same_prefix = own[..numbers.len()] == numbers[..];
        let is_wildcard = written.ends_with(".*");
        match operator {
            "==" => {
                if is_wildcard {
                    same_prefix
                } else {
                    own == padded
                }
            }
            "!=" => {
                if is_wildcard {
                    !same_prefix
                } else {
                    own != padded
                }
            }
            "<" => own < padded,
            "<=" => own <= padded,
            ">" => own > padded,
            ">=" => own >= padded,
            _ => own >= padded && own[..numbers.len() - 1] == numbers[..numbers.len() - 1],
        }
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for PythonVersion {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.').map(|part| part.parse::<u32>().map_err(|_| ()));
        let mut next = || parts.next().unwrap_or(Err(()));
        Ok(Self { major: next()?, minor: next()?, patch: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::PythonVersion;

    #[test]
    fn specifiers_are_read_as_packaging_reads_them() {
        let version: PythonVersion = "3.11.7".parse().unwrap();
        for (specifier, fits) in [
            ("", true),
            (">=3.11", true),
            (">=3.12", false),
            (">=3.10, <3.14", true),
            ("<3.11", false),
            ("<=3.11", false),
            ("==3.11.*", true),
            ("==3.11", false),
            ("==3.11.7", true),
            ("!=3.11.7", false),
            ("!=3.12.*", true),
            ("~=3.11.2", true),
            ("~=3.9", true),
            ("~=3.10.1", false),
            (">3.11.6", true),
            ("nonsense", false),
            (">=x", false),
        ] {
            assert_eq!(version.satisfies(specifier), fits, "{specifier}");
        }
    }
}
