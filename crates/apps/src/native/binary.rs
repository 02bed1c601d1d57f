//! Whether a file is a native program, by its first bytes and, on disk, by what it is.

use super::code::{NativeCode, NativeError};
use serde::Serialize;
use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Largest program.
pub const BINARY_BYTES_MAX: u64 = 500 << 20;

/// Names of the program in an app's folder, the first that is there counts.
pub const NAMES: [&str; 2] = ["binary", "app"];
/// Where some build tools put it.
const BUILD_FOLDER: &str = "tmp";
/// Most files of that folder that are looked at.
const BUILD_FILES_MAX: usize = 1000;

/// What kind of program it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BinaryFormat {
    /// Linux and most other systems.
    Elf,
    /// macOS, one processor.
    MachO,
    /// macOS, several processors.
    MachOFat,
    /// Windows.
    Pe,
}

impl BinaryFormat {
    /// Reads the first bytes.
    pub fn of(beginning: &[u8]) -> Result<Self, &'static str> {
        // Before the others, so that a script is called what it is.
        if beginning.starts_with(b"#!") {
            return Err("script (shebang) is not allowed: an app is a native program");
        }
        if beginning.starts_with(b"MZ") {
            return Ok(Self::Pe);
        }
        match beginning.get(..4) {
            Some(b"\x7fELF") => Ok(Self::Elf),
            Some(b"\xfe\xed\xfa\xce" | b"\xcf\xfa\xed\xfe" | b"\xfe\xed\xfa\xcf" | b"\xce\xfa\xed\xfe") => {
                Ok(Self::MachO)
            }
            Some(b"\xca\xfe\xba\xbe") => Ok(Self::MachOFat),
            _ => Err("not a recognized native executable"),
        }
    }
}

/// Where the program of an app's folder is: `binary`, `app`, else the first program in `tmp/`.
#[must_use]
pub fn find_binary(folder: &Path) -> Option<PathBuf> {
    let named = NAMES.iter().map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_ok());
    named.or_else(|| {
        let mut built: Vec<PathBuf> = fs::read_dir(folder.join(BUILD_FOLDER))
            .ok()?
            .take(BUILD_FILES_MAX)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.symlink_metadata().is_ok_and(|known| is_executable_file(&known)))
            .collect();
        built.sort();
        built.into_iter().next()
    })
}

/// Checks a program on disk before it is started: no link, a file, executable, not too large, native.
pub fn check_binary(path: &Path) -> Result<BinaryFormat, NativeError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let wrong = |code, message: String| NativeError::at(code, &name, message);
    let unreadable = |error: std::io::Error| wrong(NativeCode::Unreadable, error.to_string());
    let known = path.symlink_metadata().map_err(unreadable)?;
    if known.is_symlink() {
        return Err(wrong(NativeCode::Link, "the binary is a symlink".to_owned()));
    }
    if !known.is_file() {
        return Err(wrong(NativeCode::SpecialFile, "the binary is not a regular file".to_owned()));
    }
    if known.permissions().mode() & 0o111 == 0 {
        return Err(wrong(NativeCode::NotExecutable, "the binary is not executable".to_owned()));
    }
    if known.len() > BINARY_BYTES_MAX {
        let message = format!("binary too large: {} bytes, at most {BINARY_BYTES_MAX}", known.len());
        return Err(wrong(NativeCode::FileTooLarge, message));
    }
    let mut beginning = Vec::new();
    File::open(path).and_then(|file| file.take(4).read_to_end(&mut beginning)).map_err(unreadable)?;
    BinaryFormat::of(&beginning).map_err(|why| wrong(NativeCode::BinaryFormat, why.to_owned()))
}

fn is_executable_file(known: &fs::Metadata) -> bool {
    known.is_file() && known.permissions().mode() & 0o111 != 0
}

#[cfg(test)]
mod tests {
    use super::{BinaryFormat, NativeCode, check_binary, find_binary};
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        for (bytes, format) in [
            (&b"\x7fELF\x02"[..], BinaryFormat::Elf),
            (b"\xfe\xed\xfa\xce", BinaryFormat::MachO),
            (b"\xcf\xfa\xed\xfe", BinaryFormat::MachO),
            (b"\xfe\xed\xfa\xcf", BinaryFormat::MachO),
            (b"\xce\xfa\xed\xfe", BinaryFormat::MachO),
            (b"\xca\xfe\xba\xbe", BinaryFormat::MachOFat),
            (b"MZ", BinaryFormat::Pe),
        ] {
            assert_eq!(BinaryFormat::of(bytes), Ok(format));
        }
        for (bytes, words) in [
            (&b"#!/bin/sh"[..], "script (shebang"),
            (b"", "not a recognized native executable"),
            (b"M", "not a recognized native executable"),
            (b"\x7fEL", "not a recognized native executable"),
            (b"PK\x03\x04", "not a recognized native executable"),
        ] {
            assert!(BinaryFormat::of(bytes).is_err_and(|why| why.contains(words)));
        }
    }

    #[test]
    fn a_program_on_disk_is_a_file_that_can_be_executed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("binary");
        let code = || check_binary(&path).map_err(|error| error.code);
        assert_eq!(code(), Err(NativeCode::Unreadable));
        fs::write(&path, b"\x7fELF").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(code(), Err(NativeCode::NotExecutable));
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(code(), Ok(BinaryFormat::Elf));
        fs::File::options().write(true).open(&path).unwrap().set_len(super::BINARY_BYTES_MAX + 1).unwrap();
        assert_eq!(code(), Err(NativeCode::FileTooLarge));
        fs::remove_file(&path).unwrap();
        symlink("/bin/true", &path).unwrap();
        assert_eq!(code(), Err(NativeCode::Link));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(code(), Err(NativeCode::SpecialFile));
    }

    #[test]
    fn the_program_is_looked_for_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find_binary(folder.path()), None);
        fs::create_dir(folder.path().join("tmp")).unwrap();
        for name in ["a.log", "b.exec", "c.exec"] {
            let path = folder.path().join("tmp").join(name);
            fs::write(&path, "").unwrap();
            let mode = if name.ends_with("exec") { 0o700 } else { 0o600 };
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(find_binary(folder.path()), Some(folder.path().join("tmp/b.exec")));
        fs::write(folder.path().join("app"), "").unwrap();
        assert_eq!(find_binary(folder.path()), Some(folder.path().join("app")));
        fs::write(folder.path().join("binary"), "").unwrap();
        assert_eq!(find_binary(folder.path()), Some(folder.path().join("binary")));
    }
}
