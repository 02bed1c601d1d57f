//! A native app in its folder, as it may be run: who it is, what it asks for, and where its program lies.

use crate::{gate::Caller, standing::Standing};
use roost_apps::native::{
    Capability, NativeError, NativeManifest, NativePackage, Skill, VerifiedPackage, check_binary, find_binary,
};
use roost_protocol::{AppId, Asks, Digest, Failure, Origin, Reason};
use roost_runtime::NativePart;
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// What marks a native app among the apps that rights are given to: an id may look like the name of a file.
const MARK: &str = "native:";

/// Largest manifest and skill; a package has no larger ones.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// An app in a folder that may be run.
#[derive(Debug, Clone)]
pub struct NativeFolder {
    pub(crate) path: PathBuf,
    /// Where it keeps what is its own.
    pub(crate) data: PathBuf,
    pub(crate) manifest: NativeManifest,
    pub(crate) skill: Option<Skill>,
    pub(crate) binary: PathBuf,
    pub(crate) digest: Digest,
    pub(crate) origin: NativeOrigin,
}

/// How an app came here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NativeOrigin {
    /// As a package that somebody vouches for.
    Installed,
    /// From the folder of the person who works on it; nobody vouches for it.
    Sideloaded,
}

impl NativeFolder {
    /// The folder that this package was unpacked to.
    #[must_use]
    pub fn installed(path: &Path, verified: &VerifiedPackage) -> Self {
        Self::of_version(path, path.join("data"), verified.package(), NativeOrigin::Installed)
    }

    /// The folder of a version that the library keeps; what the app keeps lies outside of it.
    pub(crate) fn of_version(
        path: &Path,
        data: PathBuf,
        package: &NativePackage,
        origin: NativeOrigin,
    ) -> Self {
        Self {
            path: path.to_owned(),
            data,
            manifest: package.manifest().clone(),
            skill: Some(package.skill().clone()),
            binary: path.join(package.binary().0),
            digest: package.digest(),
            origin,
        }
    }

    /// The folder of somebody who works on an app: with a manifest and a program that was built, and nothing else is
    /// needed.
    pub fn sideloaded(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| Failure::new(Reason::PackageInvalid, error.to_string());
        let path = path.canonicalize().map_err(unreadable)?;
        let bytes = text(&path.join("manifest.json"))
            .map_err(unreadable)?
            .ok_or_else(|| Failure::new(Reason::PackageInvalid, "missing manifest.json"))?;
        let manifest = NativeManifest::parse(&bytes).map_err(refused)?;
        let skill = text(&path.join("SKILL.md")).map_err(unreadable)?;
        let skill = skill.map(|bytes| Skill::parse(&bytes, "SKILL.md")).transpose().map_err(refused)?;
        let binary =
            find_binary(&path).ok_or_else(|| Failure::new(Reason::PackageInvalid, "missing binary"))?;
        check_binary(&binary).map_err(|error| refused(vec![error]))?;
        // What grants are bound to: another program or another manifest is another app.
        let mut content = bytes;
        fs::File::open(&binary)
            .and_then(|mut program| program.read_to_end(&mut content))
            .map_err(unreadable)?;
        let digest = Digest::of(&content);
        let data = path.join("data");
        Ok(Self { path, data, manifest, skill, binary, digest, origin: NativeOrigin::Sideloaded })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.manifest.id.as_str()
    }

    /// What it is to the gate.
    pub(crate) fn standing(&self) -> Standing {
        let origin = match self.origin {
            NativeOrigin::Installed => Origin::Catalog,
            NativeOrigin::Sideloaded => Origin::Local,
        };
        let caller = Caller { app: app_of(self.id()), digest: self.digest, origin };
        Standing { caller, asks: Asks { declared: true, asks: self.manifest.permissions.clone() } }
    }

    /// Parts of the contract that it offers.
    pub(crate) fn parts(&self) -> Vec<NativePart> {
        parts_of(&self.manifest)
    }
}

/// The id of the native app that is meant, where rights are given.
pub(crate) fn native_named(app: &str) -> Option<&str> {
    app.strip_prefix(MARK)
}

/// Who a native app is where rights are given.
pub(crate) fn app_of(id: &str) -> AppId {
    AppId::new(format!("{MARK}{id}"))
}

/// Parts of the contract that these capabilities are.
pub(super) fn parts_of(manifest: &NativeManifest) -> Vec<NativePart> {
    let parts: BTreeSet<NativePart> = manifest.provides.iter().map(part_of).collect();
    parts.into_iter().collect()
}

fn part_of(capability: &Capability) -> NativePart {
    match capability {
        Capability::Gateway => NativePart::Gateway,
        Capability::Tool(_) | Capability::Vision | Capability::Browser => NativePart::Tool,
        Capability::Comm => NativePart::Comm,
        Capability::Channel(_) => NativePart::Channel,
        Capability::Ui => NativePart::Ui,
        Capability::Schedule => NativePart::Schedule,
        Capability::Hooks => NativePart::Hooks,
    }
}

fn refused(errors: Vec<NativeError>) -> Failure {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Failure::new(Reason::PackageInvalid, errors.join("; "))
}

/// The content of a small file; nothing when it is not there.
fn text(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(known) if !known.is_file() || known.len() > TEXT_BYTES_MAX => {
            Err(io::Error::other(format!("{} is no file, or too large", path.display())))
        }
        Ok(_) => fs::read(path).map(Some),
    }
}
