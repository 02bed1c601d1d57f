//! Files that nobody but their owner may read: looked at before they are believed.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    time::{Duration, SystemTime},
};

/// Within this time after a change another change may leave the same stamp: clocks of file systems tick slowly.
const STAMP_SETTLES_AFTER: Duration = Duration::from_millis(50);

/// What changes whenever a file is replaced, written or opened to others. Absent: no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp(Option<(u64, i64, i64, u64)>);

impl Stamp {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self(
            if_there(fs::symlink_metadata(path))?
                .map(|file| (file.ino(), file.ctime(), file.ctime_nsec(), file.len())),
        ))
    }

    /// True when no later change can leave the same stamp.
    pub(super) fn is_settled(self) -> bool {
        let Some((_, seconds, nanoseconds, _)) = self.0 else { return true };
        let changed = u64::try_from(seconds).ok().zip(u32::try_from(nanoseconds).ok());
        let changed = changed.map(|(seconds, rest)| SystemTime::UNIX_EPOCH + Duration::new(seconds, rest));
        let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        age.is_some_and(|age| age >= STAMP_SETTLES_AFTER)
    }
}

/// Why a file is not believed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// Others could have read it, or put it there.
    #[error("{0}")]
    Exposed(String),
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
}

/// The content of a file that is its owner's alone; nothing when there is none.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, Refused> {
    // A link could lead to a file that somebody else writes, and a pipe would be waited for.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let Some(file) = if_there(opened)? else { return Ok(None) };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Refused::Exposed("it is not a regular file".to_owned()));
    }
    refuse_others(&metadata)?;
    read_all(file, bytes_max).map(Some).map_err(Into::into)
}

/// Makes the folder, for its owner only, where it is not there; refuses one that others can use.
pub(crate) fn own_folder(folder: &Path) -> Result<(), Refused> {
    use std::os::unix::fs::DirBuilderExt as _;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    refuse_others(&fs::metadata(folder)?)
}

fn refuse_others(metadata: &Metadata) -> Result<(), Refused> {
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Refused::Exposed(format!("other users of this machine may use it (mode {mode:03o})")));
    }
    let user = rustix::process::geteuid();
    if metadata.uid() != user.as_raw() && !user.is_root() {
        return Err(Refused::Exposed("it belongs to another user".to_owned()));
    }
    Ok(())
}

fn read_all(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is larger than {bytes_max} bytes")));
    }
    Ok(bytes)
}

fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
