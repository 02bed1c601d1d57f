//! Page apps: an app's own HTML, described by a `manifest.json`, as its files lie in a workspace or arrive in a zip.
//!
//! Reads and judges; serves, mounts and grants nothing. Everything in a manifest is its author's word: a page asks, and
//! what it gets is decided elsewhere.

mod unique_json; // JSON in which no key stands twice
mod fields; // manifest fields, each with what can be wrong with it
mod id; // what a page may be called
mod manifest; // what a page says of itself
mod content; // the files of a page
mod bundle; // the page of a rapplication
mod scripts; // whether all scripts of a page can be named by their hash

pub use self::{
    bundle::BundlePage,
    content::{DATA_FOLDER, MANIFEST_FILE, NATIVE_PAGE_LIMITS, PAGE_LIMITS, PageContent, from_zip},
    id::PageId,
    manifest::{PageDisplay, PageManifest, PagePosition, PageProblem},
    scripts::StrictPage,
};
