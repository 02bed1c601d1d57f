//! The voice configuration: one JSON object in an AES zip of the home, as RAPP kernels keep it.
//!
//! The host knows the password only while it is asked. Whatever zip comes in is read within limits, and what is stored
//! is always written anew.

use crate::settings::{Home, Variables};
use roost_apps::replace_file;
use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value};
use std::{
    fs::File,
    io::{self, Cursor, Read as _, Write as _},
    path::PathBuf,
};
use zip::{AesMode, CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

/// The one file in the zip.
const MEMBER: &str = "voice.json";

/// Largest zip and largest configuration: settings of a voice are a few hundred bytes.
const ZIP_BYTES_MAX: u64 = 1 << 20;
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Most files a zip may list: a real one has one.
const MEMBERS_MAX: usize = 100;

/// The name of the variable with the password that opens the zip when its owner names none.
const PASSWORD_VARIABLE: &str = "VOICE_ZIP_PASSWORD";

/// The voice configuration of one home.
pub struct Voice {
    path: PathBuf,
    password: Option<String>,
}

impl Voice {
    pub(crate) fn new(home: &Home, variables: &Variables) -> Self {
        Self { path: home.root().join("voice.zip"), password: variables.get(PASSWORD_VARIABLE).cloned() }
    }

    /// What is stored; empty when nothing is.
    pub fn stored(&self, password: &str) -> Result<Map<String, Value>, Failure> {
        let bytes = match read_limited(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(self.damaged(&error)),
        };
        unsealed(&bytes, password).map_err(|failure| match failure.reason {
            Reason::BadRequest => self.damaged(&failure),
            _ => failure,
        })
    }

    /// Stores a configuration in place of the one that was there.
    pub fn store(&self, config: &Map<String, Value>, password: &str) -> Result<(), Failure> {
        let bytes = sealed(config, password)?;
        replace_file(&self.path, &bytes).map_err(|error| {
            Failure::new(Reason::HomeUnusable, format!("write {}: {error}", self.path.display()))
        })
    }

    /// The host's own password, for an owner who names none.
    #[must_use]
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    fn damaged(&self, what: &dyn std::fmt::Display) -> Failure {
        Failure::new(Reason::HomeUnusable, format!("{} cannot be read: {what}", self.path.display()))
            .with_next("remove voice.zip, or restore it, and save the configuration again")
    }
}

/// The zip of a configuration.
pub fn sealed(config: &Map<String, Value>, password: &str) -> Result<Vec<u8>, Failure> {
    let text = serde_json::to_vec_pretty(config).map_err(|error| internal(&error))?;
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return Err(Failure::new(Reason::BadRequest, "the configuration is over 1 MB"));
    }
    let options = SimpleFileOptions::default();
    let options = options.with_aes_encryption(AesMode::Aes256, password);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file(MEMBER, options).map_err(|error| internal(&error))?;
    writer.write_all(&text).map_err(|error| internal(&error))?;
    let written = writer.finish().map_err(|error| internal(&error))?;
    Ok(written.into_inner())
}

/// The configuration in a zip. A zip that is not one is a bad request.
pub fn unsealed(bytes: &[u8], password: &str) -> Result<Map<String, Value>, Failure> {
    let refuse = |what: String| Failure::new(Reason::BadRequest, what);
    if bytes.len() as u64 > ZIP_BYTES_MAX {
        return Err(refuse("the zip is over 1 MB".to_owned()));
    }
    let mut archive = ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| refuse(format!("this is no zip file: {error}")))?;
    if archive.len() > MEMBERS_MAX {
        return Err(refuse(format!("the zip has more than {MEMBERS_MAX} files")));
    }
    let member = match archive.by_name_decrypt(MEMBER, password.as_bytes()) {
        Ok(member) => member,
        Err(ZipError::InvalidPassword) => return Err(Failure::plain(Reason::WrongPassword)),
        Err(ZipError::FileNotFound) => return Err(refuse(format!("the zip has no {MEMBER}"))),
        Err(error) => return Err(refuse(format!("{MEMBER} cannot be opened: {error}"))),
    };
    if !member.encrypted() {
        return Err(refuse(format!("{MEMBER} is not encrypted")));
    }
    // Otherwise reading would fail later, and look like a wrong password.
    if !matches!(member.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        return Err(refuse(format!("{MEMBER} is compressed in a way this host does not read")));
    }
    let mut text = Vec::new();
    // A password that is wrong can pass the first check; then the content does not add up.
    member
        .take(CONFIG_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(|_| Failure::new(Reason::WrongPassword, "the password is wrong, or the zip is damaged"))?;
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return Err(refuse(format!("{MEMBER} is over 1 MB")));
    }
    serde_json::from_slice(&text).map_err(|error| refuse(format!("{MEMBER} is not a JSON object: {error}")))
}

fn read_limited(path: &std::path::Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(ZIP_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn internal(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Reason::Internal, format!("write voice.zip: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Voice, sealed, unsealed};
    use crate::settings::{Home, Variables};
    use roost_protocol::Reason;
    use serde_json::{Map, Value, json};
    use std::{
        collections::BTreeMap,
        fs,
        io::{Cursor, Write as _},
    };
    use zip::{AesMode, CompressionMethod, ZipWriter, write::SimpleFileOptions};

    fn config() -> Map<String, Value> {
        json!({ "azure_tts_key": "k", "voice": "en" }).as_object().unwrap().clone()
    }

    fn zip_of(name: &str, content: &[u8], options: SimpleFileOptions, password: Option<&str>) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        match password {
            Some(password) => {
                writer.start_file(name, options.with_aes_encryption(AesMode::Aes256, password)).unwrap();
            }
            None => writer.start_file(name, options).unwrap(),
        }
        writer.write_all(content).unwrap();
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn what_is_stored_opens_with_its_password_only() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().to_owned(), None);
        let variables =
            Variables::new(BTreeMap::from([("VOICE_ZIP_PASSWORD".to_owned(), "pässword".to_owned())]));
        let voice = Voice::new(&home, &variables);
        assert_eq!(voice.stored("any").unwrap(), Map::new());
        voice.store(&config(), "pässword").unwrap();
        assert_eq!(voice.stored("pässword").unwrap(), config());
        assert_eq!(voice.stored(voice.password().unwrap()).unwrap(), config());
        for wrong in ["other", "", "pässwor", "pässword "] {
            assert_eq!(voice.stored(wrong).unwrap_err().reason, Reason::WrongPassword, "{wrong}");
        }
        let on_disk = fs::read(folder.path().join("voice.zip")).unwrap();
        assert!(!on_disk.windows(13).any(|window| window == b"azure_tts_key"));
        fs::write(folder.path().join("voice.zip"), "junk").unwrap();
        assert_eq!(voice.stored("pässword").unwrap_err().reason, Reason::HomeUnusable);
    }

    #[test]
    fn a_deflated_zip_of_another_kernel_is_read() {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let zip = zip_of("voice.json", br#"{"a": 1}"#, options, Some("p"));
        assert_eq!(unsealed(&zip, "p").unwrap()["a"], 1);
    }

    #[test]
    fn zips_that_are_something_else_are_refused() {
        let plain = SimpleFileOptions::default();
        let deflated = plain.compression_method(CompressionMethod::Deflated);
        let bomb = zip_of("voice.json", &vec![b' '; 64 << 20], deflated, Some("p"));
        assert!(bomb.len() < 1 << 20);
        for zip in [
            b"".to_vec(),
            b"PK\x03\x04junk".to_vec(),
            vec![0; 2 << 20],
            zip_of("other.json", b"{}", plain, Some("p")),
            zip_of("voice.json", b"[]", plain, Some("p")),
            zip_of("voice.json", b"{}", plain, None),
            bomb,
        ] {
            assert_eq!(unsealed(&zip, "p").unwrap_err().reason, Reason::BadRequest, "{} bytes", zip.len());
        }
        let good = sealed(&config(), "p").unwrap();
        for end in 0..good.len() {
            assert!(unsealed(&good[..end], "p").is_err(), "cut at {end}");
        }
        for at in 0..good.len() {
            let mut damaged = good.clone();
            damaged[at] ^= 0x55;
            // Some bytes of a zip mean nothing; what matters is that a changed one does no harm.
            drop(unsealed(&damaged, "p"));
        }
    }
}
