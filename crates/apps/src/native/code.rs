//! Why a native package is refused: one closed list of codes, each with its sentence. A code never changes its meaning.
//!
//! Messages keep the words that published hosts use, because authors' tools look for them.

use crate::container::{Refusal, Refused};
use serde::{Serialize, Serializer};
use std::fmt;

/// Defines the codes from one table: variant, code, sentence.
macro_rules! codes {
    ($($variant:ident = $code:literal, $sentence:literal;)*) => {
        /// Why a native package is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum NativeCode {
            $(#[doc = $sentence] $variant,)*
        }

        impl NativeCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code as text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// What it means, in one sentence.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

codes! {
    TooLarge = "E_PACKAGE_TOO_LARGE", "The package has more bytes than a package may have.";
    BadArchive = "E_BAD_ARCHIVE", "The file is no gzip tar that can be read.";
    TooManyEntries = "E_TOO_MANY_ENTRIES", "There are more files and folders than are taken.";
    TooManyBytes = "E_TOO_MANY_BYTES", "The files of the package are too large together.";
    Traversal = "E_PATH_TRAVERSAL", "A path leads out of the package.";
    BadPath = "E_BAD_PATH", "A path is one that not every file system can hold.";
    Link = "E_LINK", "An entry is a link.";
    SpecialFile = "E_SPECIAL_FILE", "An entry is neither a file nor a folder.";
    DuplicatePath = "E_DUPLICATE_PATH", "Two entries have the same path, or differ in case only.";
    FileAndFolder = "E_FILE_AND_FOLDER", "A path is a file and a folder.";
    StrayBytes = "E_STRAY_BYTES", "The archive has bytes that belong to no entry.";
    Unreadable = "E_UNREADABLE", "A file or folder cannot be read.";
    UnexpectedFile = "E_UNEXPECTED_FILE", "A file is not one that a package may have.";
    FileTooLarge = "E_FILE_TOO_LARGE", "A file has more bytes than it may have.";
    MissingManifest = "E_MISSING_MANIFEST", "There is no `manifest.json`.";
    MissingBinary = "E_MISSING_BINARY", "There is neither `binary` nor `app`.";
    TwoBinaries = "E_TWO_BINARIES", "There is a `binary` and an `app`: only one of them would be signed.";
    MissingSignatures = "E_MISSING_SIGNATURES", "There is no `signatures.json`.";
    MissingSkill = "E_MISSING_SKILL", "There is neither `SKILL.md` nor `skill.md`.";
    NotExecutable = "E_NOT_EXECUTABLE", "Nobody may execute the binary.";
    BinaryFormat = "E_BINARY_FORMAT", "The binary is not a native program.";
    ManifestJson = "E_MANIFEST_JSON", "`manifest.json` is not one JSON object with each key once.";
    ManifestField = "E_MANIFEST_FIELD", "A field of `manifest.json` is missing or not of its kind.";
    BadId = "E_BAD_ID", "`id` cannot be the name of a folder on every system.";
    BadVersion = "E_BAD_VERSION", "`version` has characters that a version cannot have.";
    BadName = "E_BAD_NAME", "`name` cannot be shown in one line.";
    Capability = "E_CAPABILITY", "`provides` names nothing, or something that is no capability.";
    Permission = "E_PERMISSION", "`permissions` names something that is no permission.";
    Protocol = "E_PROTOCOL", "`protocol` is not `grpc`.";
    Runtime = "E_RUNTIME", "`runtime` is neither `local` nor `remote`.";
    StartupTimeout = "E_STARTUP_TIMEOUT", "`startup_timeout` is not between 0 and 120.";
    Override = "E_OVERRIDE", "`overrides` names no hook, or one that is not asked for.";
    Oauth = "E_OAUTH", "`oauth` is not a list of providers with scopes.";
    Settings = "E_SETTINGS", "`settings` is not a list of things that can be set.";
    Skill = "E_SKILL", "`SKILL.md` does not begin with a name and a description.";
    SignaturesForm = "E_SIGNATURES_FORM", "`signatures.json` lacks something, or has it in another form.";
}

impl Serialize for NativeCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for NativeCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One thing that is wrong with a native package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NativeError {
    /// Which rule.
    pub code: NativeCode,
    /// What was seen.
    pub message: String,
    /// The file it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl NativeError {
    pub(super) fn new(code: NativeCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None }
    }

    pub(super) fn at(code: NativeCode, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: Some(path.into()) }
    }
}

impl fmt::Display for NativeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(formatter, "{path}: {} [{}]", self.message, self.code),
            None => write!(formatter, "{} [{}]", self.message, self.code),
        }
    }
}

/// A container's refusals as codes of packages.
pub(super) fn refused(refusals: Vec<Refused>) -> Vec<NativeError> {
    refusals.into_iter().map(refused_one).collect()
}

fn refused_one(refused: Refused) -> NativeError {
    let (code, words) = match refused.refusal {
        Refusal::TooLarge => (NativeCode::TooLarge, "file too large"),
        Refusal::TooManyEntries => (NativeCode::TooManyEntries, ""),
        Refusal::TooManyBytes => (NativeCode::TooManyBytes, "file too large"),
        Refusal::Traversal => (NativeCode::Traversal, "path traversal"),
        Refusal::BadPath => (NativeCode::BadPath, ""),
        Refusal::Link => (NativeCode::Link, "symlinks not allowed"),
        Refusal::SpecialFile => (NativeCode::SpecialFile, "not a regular file"),
        Refusal::Duplicate | Refusal::CaseTwin => (NativeCode::DuplicatePath, ""),
        Refusal::FileAndFolder => (NativeCode::FileAndFolder, ""),
        Refusal::StrayBytes => (NativeCode::StrayBytes, ""),
        Refusal::Unreadable => (NativeCode::Unreadable, ""),
        // The others are about zips, or say that it is no archive.
        _ => (NativeCode::BadArchive, ""),
    };
    let message = if words.is_empty() { refused.detail } else { format!("{words}: {}", refused.detail) };
    NativeError { code, message, path: refused.path }
}

#[cfg(test)]
mod tests {
    use super::NativeCode;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_different_and_the_document_has_every_one_with_its_sentence() {
        let different: BTreeSet<&str> = NativeCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(different.len(), NativeCode::ALL.len());
        let document = include_str!("../../../../docs/native-apps.md");
        for code in NativeCode::ALL {
            let row = format!("| `{code}` | {} |", code.sentence());
            assert!(document.contains(&row), "docs/native-apps.md lacks: {row}");
        }
    }
}
