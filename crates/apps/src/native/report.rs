//! What is found out about a native package without running it, for people and programs.

use super::{
    binary::BinaryFormat,
    code::{NativeCode, NativeError},
    manifest::OauthNeed,
    names::{Capability, NativeId},
    package::NativePackage,
    signatures::{Covered, KeyId},
    skill::Skill,
};
use roost_protocol::{Digest, Right};
use serde::Serialize;
use std::path::Path;

/// Where a package comes from.
#[derive(Debug, Clone, Copy)]
pub enum NativeSource<'a> {
    /// The bytes of a `.napp`.
    Napp(&'a [u8]),
    /// An app's folder, which need not be signed yet.
    Folder(&'a Path),
}

/// What a package is, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NativeReport {
    /// True when there are no errors.
    pub ok: bool,
    /// `native`.
    pub kind: &'static str,
    /// What is wrong.
    pub errors: Vec<NativeError>,
    /// What it is; absent when something is wrong.
    pub app: Option<NativeSummary>,
}

/// A package in which nothing is wrong, told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NativeSummary {
    /// Its id.
    pub id: NativeId,
    /// What people call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// What it offers.
    pub provides: Vec<Capability>,
    /// What it asks for.
    pub permissions: Vec<AskedPermission>,
    /// Hooks at which it may answer in place of the host.
    pub overrides: Vec<String>,
    /// How long it may take to answer after its start.
    pub startup_seconds: u64,
    /// Accounts elsewhere that it wants to use.
    pub oauth: Vec<OauthNeed>,
    /// What a model is told.
    pub skill: Skill,
    /// Its program.
    pub binary: ToldBinary,
    /// Every file.
    pub files: Vec<ToldFile>,
    /// One digest of all files.
    pub digest: Digest,
    /// Who says they vouch for it; absent when it is not signed. Nothing is verified here.
    pub signed_by: Option<ToldSignature>,
}

/// A permission as it was written, and what it means here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskedPermission {
    /// As it was written.
    pub permission: String,
    /// The right it asks for.
    pub right: Right,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToldBinary {
    /// Its name in the package.
    pub path: String,
    /// For which systems.
    pub format: BinaryFormat,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToldFile {
    /// Its path in the package.
    pub path: String,
    /// Its size.
    pub bytes: usize,
    /// Its digest.
    pub sha256: Digest,
}

/// Signatures that nobody verified.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToldSignature {
    /// Which key made them.
    pub key_id: KeyId,
    /// How much they would vouch for.
    pub covers: Covered,
}

impl NativeReport {
    const KIND: &'static str = "native";

    /// The answer for a package that was refused.
    #[must_use]
    pub fn refused(errors: Vec<NativeError>) -> Self {
        Self { ok: false, kind: Self::KIND, errors, app: None }
    }
}

/// Judges a package. What travels must be signed, by whomever; a folder need not be yet.
#[must_use]
pub fn validate_native(source: NativeSource<'_>) -> NativeReport {
    let read = match source {
        NativeSource::Napp(bytes) => NativePackage::from_napp(bytes).and_then(|package| {
            let missing = || NativeError::new(NativeCode::MissingSignatures, "missing signatures.json");
            if package.signatures().is_some() { Ok(package) } else { Err(vec![missing()]) }
        }),
        NativeSource::Folder(folder) => NativePackage::from_folder(folder),
    };
    match read {
        Err(errors) => NativeReport::refused(errors),
        Ok(package) => NativeReport {
            ok: true,
            kind: NativeReport::KIND,
            errors: Vec::new(),
            app: Some(NativeSummary::of(&package)),
        },
    }
}

impl NativeSummary {
    fn of(package: &NativePackage) -> Self {
        let manifest = package.manifest();
        let (path, format, _) = package.binary();
        let permissions = manifest.permissions.iter().map(|ask| AskedPermission {
            permission: roost_protocol::to_native(ask),
            right: ask.right.clone(),
        });
        let files = package.files().iter().map(|(path, content)| ToldFile {
            path: path.to_owned(),
            bytes: content.len(),
            sha256: Digest::of(content),
        });
        Self {
            id: manifest.id.clone(),
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            description: manifest.description.clone(),
            provides: manifest.provides.clone(),
            permissions: permissions.collect(),
            overrides: manifest.overrides.clone(),
            startup_seconds: manifest.startup_timeout.as_secs(),
            oauth: manifest.oauth.clone(),
            skill: package.skill().clone(),
            binary: ToldBinary { path: path.to_owned(), format },
            files: files.collect(),
            digest: package.digest(),
            signed_by: package
                .signatures()
                .map(|signed| ToldSignature { key_id: signed.key_id.clone(), covers: signed.covered() }),
        }
    }
}
