//! Files with history, by the contract of OpenWOP: docs/workspace.md.
//!
//! `files` are the four operations; the same ones stand a second time where the second version of the contract looks.

pub(crate) mod files; // the four operations
pub(crate) mod version_two; // the same where version two looks
pub(crate) mod events; // what happened, live
pub(crate) mod seam; // for conformance tests only
mod operations; // what both do
mod shapes; // how files are shown
mod new_file; // what a writer sends
