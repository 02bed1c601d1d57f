//! Packages an agent file needs, as found in its text. Making an environment of them is `runtime`'s business.

use serde::{Deserialize, Serialize};

/// What a file needs beyond the standard library. Both lists are sorted and hold no duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dependencies {
    /// Requirements without which the file does not load, in PEP 508 form.
    pub required: Vec<String>,
    /// Requirements the file can do without: imported lazily, or inside `try`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional: Vec<String>,
    /// Python versions the file asks for, for example `>=3.11`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_python: Option<String>,
}

impl Dependencies {
    /// True when the standard library is enough.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.optional.is_empty()
    }
}
