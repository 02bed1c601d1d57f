//! The owner's token: whoever can read it from the home folder is the owner of the host.
//!
//! Made once per home, readable by its owner only. Loopback alone proves nothing: every program and every user of this
//! machine reaches it.

use crate::settings::Home;
use roost_protocol::{Failure, Reason};
use std::{
    fs::OpenOptions,
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::PathBuf,
};
use subtle::ConstantTimeEq as _;

/// Nobody guesses so many random bytes.
const TOKEN_BYTES: usize = 32;

/// The token in its written form. Never shown by accident: `Debug` hides it.
#[derive(Clone)]
pub struct OwnerToken(String);

impl std::fmt::Debug for OwnerToken {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("OwnerToken(…)")
    }
}

impl OwnerToken {
    /// The token of a home, made when there is none yet.
    pub fn of_home(home: &Home) -> Result<Self, Failure> {
        let path = path(home);
        let unusable = |error: io::Error| {
            Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()))
                .with_next("remove the file; the host makes a new one")
        };
        match Self::make(home) {
            // Another host of this home may have been faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::read(home).ok_or_else(|| unusable(io::ErrorKind::InvalidData.into()))
            }
            made => made.map_err(unusable),
        }
    }

    /// The token of a home that has one which only its owner can read.
    #[must_use]
    pub fn read(home: &Home) -> Option<Self> {
        let file = OpenOptions::new().read(true).open(path(home)).ok()?;
        let metadata = file.metadata().ok()?;
        // What others could read or write is no secret of the owner's.
        if !metadata.is_file() || metadata.permissions().mode() & 0o077 != 0 {
            return None;
        }
        let mut text = String::new();
        file.take(TOKEN_BYTES as u64 * 2 + 1).read_to_string(&mut text).ok()?;
        let text = text.trim_end();
        let is_token = text.len() == TOKEN_BYTES * 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token.then(|| Self(text.to_owned()))
    }

    /// True when this is the token. Takes equally long for every wrong one of its length.
    #[must_use]
    pub fn is(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }

    /// The written form, to be sent to the host that has it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn make(home: &Home) -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        std::fs::create_dir_all(home.run())?;
        let token = hex::encode(bytes);
        let final_path = path(home);
        // Linked into place when it is whole: a second host must not read half of it.
        let staging = home.run().join(format!("owner.token.{}", std::process::id()));
        let made = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&staging)
            .and_then(|mut file| file.write_all(token.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::hard_link(&staging, &final_path));
        std::fs::remove_file(&staging).ok();
        made.map(|()| Self(token))
    }
}

fn path(home: &Home) -> PathBuf {
    home.run().join("owner.token")
}

#[cfg(test)]
mod tests {
    use super::{OwnerToken, path};
    use crate::settings::Home;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_home_keeps_its_token_and_no_two_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().join("one"), None);
        let token = OwnerToken::of_home(&home).unwrap();
        assert!(OwnerToken::of_home(&home).unwrap().is(token.as_str()));
        assert_eq!(fs::metadata(path(&home)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.run()).unwrap().count(), 1);
        let other = OwnerToken::of_home(&Home::new(folder.path().join("two"), None)).unwrap();
        for wrong in [other.as_str(), "", "x", &token.as_str()[1..], &format!("{} ", token.as_str())] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert!(!format!("{token:?}").contains(token.as_str()));
    }

    #[test]
    fn a_token_that_others_can_read_or_that_is_damaged_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().to_owned(), None);
        let token = OwnerToken::of_home(&home).unwrap();
        fs::set_permissions(path(&home), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(OwnerToken::read(&home).is_none() && OwnerToken::of_home(&home).is_err());
        fs::set_permissions(path(&home), fs::Permissions::from_mode(0o600)).unwrap();
        for text in ["", "short", &"x".repeat(64), &format!("{}00", token.as_str())] {
            fs::write(path(&home), text).unwrap();
            assert!(OwnerToken::read(&home).is_none(), "{text}");
        }
    }
}
