//! A native package as an archive or a folder: which files it has, and that nothing is wrong with them.

use super::{
    binary::{self, BINARY_BYTES_MAX, BinaryFormat, check_binary},
    code::{NativeCode, NativeError, refused},
    manifest::{self, NativeManifest},
    signatures::{self, Covered, Signatures, Signed},
    skill::Skill,
};
use crate::{
    bundle::read_at_most,
    container::{ContainerLimits, Files, read_tar},
};
use ed25519_dalek::{SigningKey, VerifyingKey};
use roost_protocol::Digest;
use std::{io, path::Path};

/// Largest file of a page.
const UI_FILE_BYTES_MAX: u64 = 5 << 20;
/// Largest manifest, skill and signatures.
const OTHER_FILE_BYTES_MAX: u64 = 1 << 20;
const UI: &str = "ui";
const SKILLS: [&str; 2] = ["SKILL.md", "skill.md"];

/// A package in which nothing is wrong. Who vouches for it is another question: see [`super::TrustList::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativePackage {
    files: Files,
    manifest: NativeManifest,
    skill: Skill,
    binary_path: &'static str,
    format: BinaryFormat,
    signatures: Option<Signatures>,
}

impl NativePackage {
    /// Reads a `.napp`: a tar packed with gzip. One without signatures is read too, so that it can be signed.
    pub fn from_napp(bytes: &[u8]) -> Result<Self, Vec<NativeError>> {
        if !bytes.starts_with(b"\x1f\x8b") {
            return Err(vec![NativeError::new(NativeCode::BadArchive, "it does not begin as gzip does")]);
        }
        Self::from_files(read_tar(bytes, &ContainerLimits::NATIVE).map_err(refused)?)
    }

    /// Reads the files of a package from an app's folder; what else is there is no part of it.
    pub fn from_folder(folder: &Path) -> Result<Self, Vec<NativeError>> {
        let is_part = |path: &str| size_max(path).is_some() || path == UI;
        let files = Files::read_parts(folder, &ContainerLimits::NATIVE, is_part).map_err(refused)?;
        let package = Self::from_files(files)?;
        check_binary(&folder.join(package.binary_path)).map_err(|error| vec![error])?;
        Ok(package)
    }

    /// Reads the files of a package from the folder of a person who writes the app: the program may be where it was built,
    /// and what a model is told may still be missing.
    pub fn from_project(folder: &Path) -> Result<Self, Vec<NativeError>> {
        let is_part = |path: &str| (size_max(path).is_some() && path != signatures::PATH) || path == UI;
        let mut files = Files::read_parts(folder, &ContainerLimits::NATIVE, is_part).map_err(refused)?;
        let missing = || vec![NativeError::new(NativeCode::MissingBinary, "missing binary")];
        let program = binary::find_binary(folder).ok_or_else(missing)?;
        check_binary(&program).map_err(|error| vec![error])?;
        if !binary::NAMES.iter().any(|name| files.get(name).is_some()) {
            let bytes = read_at_most(&program, BINARY_BYTES_MAX).map_err(|error| {
                vec![NativeError::at(NativeCode::Unreadable, binary::NAMES[0], error.to_string())]
            })?;
            files = files.with(binary::NAMES[0], bytes).map_err(refused)?;
        }
        if !SKILLS.iter().any(|skill| files.get(skill).is_some()) {
            let manifest = files.get(manifest::PATH).unwrap_or_default();
            let manifest = NativeManifest::parse(manifest)?;
            let (name, about) = (manifest.slug(), manifest.name.replace(['"', '\\'], " "));
            let skill = format!("---\nname: \"{name}\"\ndescription: \"{about}\"\n---\n");
            files = files.with(SKILLS[0], skill.into_bytes()).map_err(refused)?;
        }
        Self::from_files(files)
    }

    /// Reads a package from files that came out of an archive or a folder.
    pub fn from_files(files: Files) -> Result<Self, Vec<NativeError>> {
        let mut errors = Vec::new();
        for (path, content) in files.iter() {
            match size_max(path) {
                None => errors.push(NativeError::at(
                    NativeCode::UnexpectedFile,
                    path,
                    "unexpected file: a package has a manifest, a binary, signatures, SKILL.md and ui/",
                )),
                Some(max) if content.len() as u64 > max => {
                    let message = format!("file too large: {} bytes, at most {max}", content.len());
                    errors.push(NativeError::at(NativeCode::FileTooLarge, path, message));
                }
                Some(_) => {}
            }
        }
        let manifest =
            required(&files, &[manifest::PATH], NativeCode::MissingManifest, "missing manifest.json");
        let manifest = manifest.and_then(|(_, bytes)| NativeManifest::parse(bytes));
        let binary = binary_of(&files);
        let skill = required(&files, &SKILLS, NativeCode::MissingSkill, "missing SKILL.md");
        let skill = skill.and_then(|(path, bytes)| Skill::parse(bytes, path));
        let signatures = files
            .get(signatures::PATH)
            .map(Signatures::parse)
            .transpose()
            .map_err(|why| vec![NativeError::at(NativeCode::SignaturesForm, signatures::PATH, why)]);
        match (manifest, binary, skill, signatures) {
            (Ok(manifest), Ok((binary_path, format)), Ok(skill), Ok(signatures)) if errors.is_empty() => {
                Ok(Self { files, manifest, skill, binary_path, format, signatures })
            }
            (manifest, binary, skill, signatures) => {
                errors.extend(manifest.err().into_iter().flatten());
                errors.extend(binary.err().into_iter().flatten());
                errors.extend(skill.err().into_iter().flatten());
                errors.extend(signatures.err().into_iter().flatten());
                Err(errors)
            }
        }
    }

    /// What it says about itself.
    #[must_use]
    pub fn manifest(&self) -> &NativeManifest {
        &self.manifest
    }

    /// What a model is told about it.
    #[must_use]
    pub fn skill(&self) -> &Skill {
        &self.skill
    }

    /// Name, kind and bytes of the program.
    #[must_use]
    pub fn binary(&self) -> (&str, BinaryFormat, &[u8]) {
        (self.binary_path, self.format, self.files.get(self.binary_path).unwrap_or_default())
    }

    /// Who says they vouch for it, as long as nobody verified it.
    #[must_use]
    pub fn signatures(&self) -> Option<&Signatures> {
        self.signatures.as_ref()
    }

    /// All of its files.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// One digest of all files: what grants are bound to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.files.digest()
    }

    /// The package as the file that travels: the same bytes for the same files.
    pub fn to_napp(&self) -> io::Result<Vec<u8>> {
        self.files.to_tar_gz(self.binary_path)
    }

    /// What that file is called.
    #[must_use]
    pub fn napp_name(&self) -> String {
        format!("{}-{}.napp", self.manifest.id, self.manifest.version)
    }

    /// Writes every file below `folder`, for its owner only: all of them, or none.
    pub fn unpack(&self, folder: &Path) -> io::Result<()> {
        self.files.write_private_beneath(folder, self.binary_path)
    }

    /// The same package with signatures of this key, in place of any that are there.
    pub fn sign(self, key: &SigningKey) -> Result<Self, Vec<NativeError>> {
        let signatures = self.signed().sign(key);
        Self::from_files(self.files.with(signatures::PATH, signatures).map_err(refused)?)
    }

    /// The bytes of `signatures.json`.
    #[must_use]
    pub fn signature_file(&self) -> Option<(&'static str, &[u8])> {
        Some((signatures::PATH, self.files.get(signatures::PATH)?))
    }

    /// Checks the signatures against the files, by this key.
    pub(super) fn verify(&self, key: &VerifyingKey) -> Result<Covered, String> {
        let signatures = self.signatures.as_ref().ok_or("missing signatures.json")?;
        signatures.verify(&self.signed(), key)
    }

    fn signed(&self) -> Signed<'_> {
        Signed {
            id: self.manifest.id.as_str(),
            version: &self.manifest.version,
            manifest: self.files.get(manifest::PATH).unwrap_or_default(),
            binary: self.binary().2,
            files: &self.files,
        }
    }
}

/// Largest size of the file of this path; nothing when a package has no such file.
fn size_max(path: &str) -> Option<u64> {
    match path {
        manifest::PATH | signatures::PATH => Some(OTHER_FILE_BYTES_MAX),
        path if SKILLS.contains(&path) => Some(OTHER_FILE_BYTES_MAX),
        path if binary::NAMES.contains(&path) => Some(BINARY_BYTES_MAX),
        path if path.starts_with("ui/") => Some(UI_FILE_BYTES_MAX),
        _ => None,
    }
}

/// The first of these files that is there, which no other package must have left out.
fn required<'a>(
    files: &'a Files,
    paths: &[&'static str],
    code: NativeCode,
    missing: &str,
) -> Result<(&'static str, &'a [u8]), Vec<NativeError>> {
    let found = paths.iter().find_map(|path| Some((*path, files.get(path)?)));
    found.ok_or_else(|| vec![NativeError::new(code, missing)])
}

fn binary_of(files: &Files) -> Result<(&'static str, BinaryFormat), Vec<NativeError>> {
    let wrong = |code, path: &str, message: String| vec![NativeError::at(code, path, message)];
    let [first, second] = binary::NAMES;
    if files.get(first).is_some() && files.get(second).is_some() {
        return Err(wrong(NativeCode::TwoBinaries, second, format!("there is a `{first}` too")));
    }
    let (path, bytes) = required(files, &binary::NAMES, NativeCode::MissingBinary, "missing binary")?;
    match BinaryFormat::of(bytes) {
        Ok(format) => Ok((path, format)),
        Err(why) => {
            Err(wrong(NativeCode::BinaryFormat, path, format!("binary format validation failed: {why}")))
        }
    }
}
