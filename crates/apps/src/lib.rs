//! Agent files on disk, bundles and catalogs: reading, fetching, checking and remembering them.
//!
//! Starts nothing. What a file says about itself statically is found here; whether it loads and answers is
//! `runtime`'s business. Every byte that comes in is untrusted: no input makes a function here panic, block or
//! read without a limit.

mod stamp; // what tells one state of a file from the next
mod agent_file; // one file, read once
mod folder; // the files of the agents folder
mod folder_changes; // files that come into it and leave it
mod python_source; // what Python text says without being run
mod script_block; // the block of comments in which a file says what it needs
mod dependencies; // the packages a file needs
mod asks; // the rights a file asks for
mod manifest; // the rules of `__manifest__`
mod validate; // everything that can be refused without running
mod contract; // the registry's contract tests that run nothing
mod atomic_file; // old content or new, never half
mod lock_file; // one process at a time
mod descriptions; // what files said about themselves
mod container; // archives and folders, checked before anything is taken out
mod bundle; // rapplications: the gate and what it lets through
mod page; // page apps: manifest and files
mod senses; // files that describe a further part of a reply
pub mod catalog; // what can be installed, and fetching it
pub mod library; // what is installed
pub mod storefront; // a catalog that a maintainer runs
pub mod native; // signed programs: packages, signatures, trust

pub use self::{
    agent_file::{AGENT_FILE_BYTES_MAX, AgentFile},
    asks::{asks, python_asks},
    atomic_file::{replace as replace_file, replace_readable},
    bundle::{
        Arrival, Bundle, BundleError, BundleId, BundleReport, BundleSource, Code, CodeOrigin, NewApp,
        Publisher, Rules, Submission, Version, look_at, new_app, read_at_most, validate_bundle,
    },
    container::{ContainerLimits, Files, Refusal, Refused, read_tar, read_zip},
    contract::{
        ContractCheck, has_docstring, has_manifest, manifest_fields, name_format, no_hardcoded_secrets,
    },
    dependencies::{declared_dependencies, dependencies},
    descriptions::{Described, Description, Descriptions},
    folder::{AgentsFolder, Content, ENTRIES_MAX, Found, Pins},
    folder_changes::{Trash, arrival_name},
    lock_file::LockFile,
    page::{
        BundlePage, DATA_FOLDER, MANIFEST_FILE, NATIVE_PAGE_LIMITS, PAGE_LIMITS, PageContent, PageDisplay,
        PageId, PageManifest, PagePosition, PageProblem, StrictPage, from_zip as page_from_zip,
    },
    python_source::{AgentClass, Import, Manifest, NameInSource, PythonSource, PythonVersion},
    senses::SenseFolder,
    stamp::{Seen, Stamp},
    validate::{Validation, ValidationError, validate_agent_file},
};

use std::path::PathBuf;

/// What goes wrong with the cache. Everything that is wrong with an agent file is a `Failure` instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cache could not be written; what is on disk is still the last complete state.
    #[error("write {}", path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
}
