//! Why a bundle is refused: one closed list of codes, each with its sentence.
//!
//! Those that the published validator also gives keep its names and meanings; the rest are ours and close what it
//! leaves open. A code never changes its meaning.

use serde::{Serialize, Serializer};
use std::fmt;

/// Defines the codes from one table: variant, code, who gives it, sentence.
macro_rules! codes {
    ($($variant:ident = $code:literal, $origin:ident, $sentence:literal;)*) => {
        /// Why a bundle is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $sentence] $variant,)*
        }

        impl Code {
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

            /// Who gives it.
            #[must_use]
            pub fn origin(self) -> CodeOrigin {
                match self { $(Self::$variant => CodeOrigin::$origin,)* }
            }
        }
    };
}

/// Whether a code is also the published validator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeOrigin {
    /// The published validator gives it too.
    Published,
    /// Only Roost does.
    Ours,
}

codes! {
    BundleTooLarge = "E_BUNDLE_TOO_LARGE", Published, "The zip has more bytes than a bundle may have.";
    BadZip = "E_BAD_ZIP", Published, "The file is no zip that can be read.";
    PathTraversal = "E_PATH_TRAVERSAL", Published, "A path leads out of the bundle.";
    ZipBomb = "E_ZIP_BOMB", Published, "The files of the zip are too large together.";
    TooManyEntries = "E_TOO_MANY_ENTRIES", Ours, "There are more files and folders than are taken.";
    BadPath = "E_BAD_PATH", Ours, "A path is one that not every file system can hold.";
    Link = "E_LINK", Ours, "An entry is a link.";
    SpecialFile = "E_SPECIAL_FILE", Ours, "An entry is neither a file nor a folder.";
    DuplicatePath = "E_DUPLICATE_PATH", Ours, "Two entries have the same path.";
    CaseTwin = "E_CASE_TWIN", Ours, "Two paths differ in case only.";
    FileAndFolder = "E_FILE_AND_FOLDER", Ours, "A path is a file and a folder.";
    Encrypted = "E_ENCRYPTED", Ours, "An entry is encrypted.";
    CompressionMethod = "E_COMPRESSION_METHOD", Ours, "An entry is neither stored nor deflated.";
    HeaderMismatch = "E_HEADER_MISMATCH", Ours, "The zip says two things about the same entry.";
    OverlappingEntries = "E_OVERLAPPING_ENTRIES", Ours, "Two entries of the zip share bytes.";
    StrayBytes = "E_STRAY_BYTES", Ours, "The archive has bytes that belong to no entry.";
    BadChecksum = "E_BAD_CHECKSUM", Ours, "An entry's content does not match its checksum.";
    Unreadable = "E_UNREADABLE", Ours, "A file or folder cannot be read.";
    ManyRoots = "E_MANY_ROOTS", Ours, "More than one folder could be the bundle.";
    NoManifest = "E_NO_MANIFEST", Published, "There is no `manifest.json`.";
    BadManifestJson = "E_BAD_MANIFEST_JSON", Published, "`manifest.json` is not a JSON object.";
    ManifestSchema = "E_MANIFEST_SCHEMA", Published, "`schema` is not `rapp-application/1.0`.";
    BadId = "E_BAD_ID", Published, "`id` is not a lower-case name of letters, digits and `_`.";
    BadName = "E_BAD_NAME", Published, "`name` is not a text with something in it.";
    BadVersion = "E_BAD_VERSION", Published, "`version` is not MAJOR.MINOR.PATCH.";
    BadPublisher = "E_BAD_PUBLISHER", Published, "`publisher` is not `@` and an account name.";
    BadSummary = "E_BAD_SUMMARY", Published, "`summary` is not a text with something in it.";
    BadCategory = "E_BAD_CATEGORY", Published, "`category` is not a text with something in it.";
    UnknownCategory = "E_UNKNOWN_CATEGORY", Published, "`category` is not one of the known ones.";
    BadTags = "E_BAD_TAGS", Published, "`tags` is not a list of texts with `rapplication` among them.";
    NoEntrypoint = "E_NO_ENTRYPOINT", Published, "Neither `agent` nor `service` is declared.";
    NoAgent = "E_NO_AGENT", Ours, "`agent` is not declared: a rapplication has an agent and a page.";
    BadQualityTier = "E_BAD_QUALITY_TIER", Published, "`quality_tier` is not one that this bundle may have.";
    BadAccess = "E_BAD_ACCESS", Published, "`access` is neither `public` nor `private`.";
    GatedBadPrivateRepo = "E_GATED_BAD_PRIVATE_REPO", Published, "`private_repo` is not OWNER/REPOSITORY.";
    GatedUrlMismatch = "E_GATED_URL_MISMATCH", Published, "An address does not lead into the private repository.";
    GatedBadTier = "E_GATED_BAD_TIER", Published, "A gated rapplication has no tier but `private`.";
    DirNameMismatch = "E_DIR_NAME_MISMATCH", Published, "The bundle's folder is not named after its `id`.";
    ReservedId = "E_RESERVED_ID", Published, "The platform keeps this `id` for itself.";
    PublisherMismatch = "E_PUBLISHER_MISMATCH", Published, "`publisher` is not who submits it.";
    VersionNotBumped = "E_VERSION_NOT_BUMPED", Published, "`version` is not greater than the catalog's.";
    IdTaken = "E_ID_TAKEN", Ours, "Another publisher holds this `id` in the catalog.";
    SingletonMissing = "E_SINGLETON_MISSING", Published, "The declared agent is not a file of the bundle.";
    SingletonPath = "E_SINGLETON_PATH", Ours, "The agent is not at `singleton/ID_agent.py`.";
    SingletonTooLarge = "E_SINGLETON_TOO_LARGE", Published, "The agent has more bytes than an agent may have.";
    TemplatePlaceholder = "E_TEMPLATE_PLACEHOLDER", Published, "The agent still has a text of a template in it.";
    NoBasicAgentImport = "E_NO_BASIC_AGENT_IMPORT", Published, "The agent does not import `BasicAgent` in a known way.";
    SingletonSyntax = "E_SINGLETON_SYNTAX", Published, "The agent is not Python 3.11.";
    ManifestNotDict = "E_MANIFEST_NOT_DICT", Published, "`__manifest__` is not a dict display.";
    NoInternalManifest = "E_NO_INTERNAL_MANIFEST", Published, "The agent assigns no `__manifest__` at its top level.";
    InternalManifestFields = "E_INTERNAL_MANIFEST_FIELDS", Ours, "`__manifest__` lacks `schema`, `name`, `version` or `description`.";
    NoAgentClass = "E_NO_AGENT_CLASS", Published, "No public class ends in `Agent`.";
    MultipleAgentClasses = "E_MULTIPLE_AGENT_CLASSES", Published, "More than one public class ends in `Agent`.";
    NotBasicAgent = "E_NOT_BASIC_AGENT", Published, "The agent's class does not extend `BasicAgent`.";
    NoPerform = "E_NO_PERFORM", Published, "The agent's class has no `perform`.";
    PerformSignature = "E_PERFORM_SIGNATURE", Ours, "`perform` cannot be called with keywords.";
    ServiceMissing = "E_SERVICE_MISSING", Published, "The declared service is not a file of the bundle.";
    ServicePath = "E_SERVICE_PATH", Ours, "The service is not at `service/ID_service.py`.";
    ServiceTooLarge = "E_SERVICE_TOO_LARGE", Ours, "The service has more bytes than are looked into.";
    ServiceSyntax = "E_SERVICE_SYNTAX", Published, "The service is not Python 3.11.";
    ServiceNoName = "E_SERVICE_NO_NAME", Published, "The service assigns no `name` at its top level.";
    ServiceNoHandle = "E_SERVICE_NO_HANDLE", Published, "The service defines no `handle` at its top level.";
    UiMissing = "E_UI_MISSING", Published, "The declared page is not a file of the bundle.";
    UiTooLarge = "E_UI_TOO_LARGE", Published, "The page has more bytes than a page may have.";
    NoIndexEntry = "E_NO_INDEX_ENTRY", Published, "There is no `index_entry.json`.";
    BadIndexEntryJson = "E_BAD_INDEX_ENTRY_JSON", Published, "`index_entry.json` is not a JSON object.";
    IndexEntryFields = "E_INDEX_ENTRY_FIELDS", Ours, "`index_entry.json` lacks a field, or contradicts the manifest.";
    GatedMissingSha256 = "E_GATED_MISSING_SHA256", Published, "A gated file has an address but no SHA-256.";
    NoReadme = "E_NO_README", Published, "There is no `README.md`.";
    NoUi = "E_NO_UI", Published, "`ui` is not declared: an agent without a page belongs in the agent registry.";
    BareAgentBelongsInRar = "E_BARE_AGENT_BELONGS_IN_RAR", Published, "Neither `agent` nor `service` is declared: there is no app here.";
    NoPayload = "E_NO_PAYLOAD", Published, "The issue has no block of JSON.";
    BadPayloadJson = "E_BAD_PAYLOAD_JSON", Published, "The issue's block of JSON is not a JSON object.";
    UnknownSubmissionType = "E_UNKNOWN_SUBMISSION_TYPE", Published, "`submission_type` is neither `bundle` nor `federation`.";
    NoBundle = "E_NO_BUNDLE", Published, "The issue has no block `bundle`.";
    BadBundleBase64 = "E_BAD_BUNDLE_BASE64", Published, "The block `bundle` is not base64.";
    BadSource = "E_BAD_SOURCE", Published, "A federation names no repository that can be listed.";
    BadRepo = "E_BAD_REPO", Published, "The repository is not OWNER/REPOSITORY with a branch and a folder.";
    FetchManifest = "E_FETCH_MANIFEST", Published, "The repository has no `manifest.json` there.";
    NoPending = "E_NO_PENDING", Published, "Nothing waits for review.";
    NoPendingForIssue = "E_NO_PENDING_FOR_ISSUE", Published, "No submission of this name waits for review.";
    StagedMissing = "E_STAGED_MISSING", Published, "The staged files are not there.";
    UnknownMode = "E_UNKNOWN_MODE", Published, "The submission waits in a mode that is not known.";
    BadFederationSource = "E_BAD_FEDERATION_SOURCE", Published, "The submission waits without a repository and a commit.";
    RevalidateFailed = "E_REVALIDATE_FAILED", Published, "What was fine when it arrived is not fine any more.";
    NotASubmission = "E_NOT_A_SUBMISSION", Ours, "The issue's title does not begin with `[RAPP]`.";
    PayloadMismatch = "E_PAYLOAD_MISMATCH", Ours, "The submission says something else than the manifest.";
    BadSubmitter = "E_BAD_SUBMITTER", Ours, "Who submits is not an account name.";
    CommitUnknown = "E_COMMIT_UNKNOWN", Ours, "The commit of the repository could not be found out.";
    GateOpen = "E_GATE_OPEN", Ours, "A file that is said to be private is given to everybody.";
    OverrideNotApproved = "E_OVERRIDE_NOT_APPROVED", Ours, "Another publisher is named, and no maintainer has said yes to that.";
    StagedChanged = "E_STAGED_CHANGED", Ours, "The submission is not the one that was looked at.";
    FindingsNotAccepted = "E_FINDINGS_NOT_ACCEPTED", Ours, "The security scan found something, and no maintainer has accepted it.";
    TooManyPending = "E_TOO_MANY_PENDING", Ours, "Too many submissions wait for review.";
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One thing that is wrong with a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleError {
    /// Which rule.
    pub code: Code,
    /// What was seen.
    pub message: String,
    /// Where: a file of the bundle, and the line when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl BundleError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None }
    }

    pub(crate) fn at(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: Some(path.into()) }
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(formatter, "{path}: {} [{}]", self.message, self.code),
            None => write!(formatter, "{} [{}]", self.message, self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Code;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_different_and_the_document_has_every_one_with_its_sentence() {
        let different: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(different.len(), Code::ALL.len());
        let document = include_str!("../../../../docs/apps.md");
        for code in Code::ALL {
            let row = format!("| `{code}` | {} |", code.sentence());
            assert!(document.contains(&row), "docs/apps.md lacks: {row}");
        }
    }
}
