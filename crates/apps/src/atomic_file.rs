//! Replacing a file so that a reader, now or after a crash, finds the old content or the new, never a part.

use std::{
    fs::{File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};
use tempfile::Builder;

/// How temporary files begin, so that what a crash leaves behind can be told from what belongs there.
pub(crate) const TEMPORARY_PREFIX: &str = ".new-";

/// The steps of a replacement, each named for what is done when it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Created,
    Written,
    Synced,
    Renamed,
}

/// Modes of new files, before the process's mask takes away from them.
const FOR_OWNER: u32 = 0o600;
const FOR_EVERYONE: u32 = 0o666;

/// Writes `bytes` to `path`, making the folders above it. When it returns without error the content is on disk, and
/// only its owner may read it.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_in_steps(path, bytes, FOR_OWNER, &mut |_| Ok(()))
}

/// The same for a file that is made to be handed on: others may read it as any file that the person makes.
pub fn replace_readable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_in_steps(path, bytes, FOR_EVERYONE, &mut |_| Ok(()))
}

/// Writes `bytes` to a new file, making the folders above it. Where there is a file already, it stays as it is, and
/// the error says so.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    File::open(folder)?.sync_all()
}

fn replace_in_steps(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    after: &mut dyn FnMut(Step) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // In the same folder, because only within one file system is a rename one step.
    let mut file = Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    after(Step::Created)?;
    file.write_all(bytes)?;
    after(Step::Written)?;
    file.as_file().sync_all()?;
    after(Step::Synced)?;
    file.persist(path)?;
    after(Step::Renamed)?;
    // The new name is only sure to survive a power cut once the folder is on disk too.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{FOR_OWNER, Step, create, replace, replace_in_steps, replace_readable};
    use std::{fs, io, os::unix::fs::PermissionsExt as _};

    const STEPS: [Step; 4] = [Step::Created, Step::Written, Step::Synced, Step::Renamed];

    #[test]
    fn the_content_is_replaced_and_folders_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_there_stays_when_a_new_file_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/file");
        create(&path, b"one").unwrap();
        assert_eq!(create(&path, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_kept_is_the_owners_and_what_is_handed_on_can_be_read_as_any_file() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        fs::write(folder.path().join("any"), "").unwrap();
        replace(&folder.path().join("kept"), b"").unwrap();
        replace_readable(&folder.path().join("handed_on"), b"").unwrap();
        assert_eq!(mode("kept"), 0o600);
        assert_eq!(mode("handed_on"), mode("any"));
    }

    #[test]
    fn stopped_after_any_step_the_file_is_old_or_new_and_nothing_else_is_left() {
        for stop in STEPS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            fs::write(&path, "old").unwrap();
            let result = replace_in_steps(&path, b"new", FOR_OWNER, &mut |step| {
                if step == stop { Err(io::Error::other("stopped")) } else { Ok(()) }
            });
            assert!(result.is_err());
            let expected: &[u8] = if stop == Step::Renamed { b"new" } else { b"old" };
            assert_eq!(fs::read(&path).unwrap(), expected, "{stop:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{stop:?}");
        }
    }

    #[test]
    fn during_every_step_a_reader_sees_whole_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut seen = Vec::new();
        replace_in_steps(&path, b"new", FOR_OWNER, &mut |step| {
            seen.push((step, fs::read(&path)?));
            Ok(())
        })
        .unwrap();
        let contents: Vec<&[u8]> = seen.iter().map(|(_, content)| content.as_slice()).collect();
        assert_eq!(contents, [&b"old"[..], b"old", b"old", b"new"]);
        assert_eq!(seen.iter().map(|(step, _)| *step).collect::<Vec<_>>(), STEPS);
    }

    #[test]
    fn a_target_that_cannot_be_replaced_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folder");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("kept"), "").unwrap();
        assert!(replace(&path, b"new").is_err());
        assert!(path.join("kept").exists());
    }
}
