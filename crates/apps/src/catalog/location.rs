//! Where a file of an entry is: at an address, or below the folder of its catalog.

use super::{
    entry::{Entry, is_inner_path},
    file_name::FileName,
    places::Places,
    source_list::CatalogAddress,
    web_address::Reach,
};
use roost_protocol::{Failure, Reason};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

/// One place to get bytes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    Web { url: String, reach: Reach },
    File { folder: PathBuf, path: String },
}

impl Location {
    /// Where the file at this address of an entry is, seen from its catalog.
    pub(super) fn of(
        entry: &Entry,
        url: &str,
        catalog: &CatalogAddress,
        places: &Places,
    ) -> Result<Self, Failure> {
        match (catalog, path_in_store(entry, url).filter(|_| url.contains("://"))) {
            (CatalogAddress::Folder(folder), Some(path)) => Ok(Self::File { folder: folder.clone(), path }),
            _ => Self::seen_from(catalog, &entry.full_name(), url, places),
        }
    }

    /// Where the file at this address is, seen from the catalog that names it; `whose` it is, for messages.
    pub(super) fn seen_from(
        catalog: &CatalogAddress,
        whose: &str,
        url: &str,
        places: &Places,
    ) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::new(Reason::EntryInvalid, format!("{whose}: {why}: {}", super::entry::shown(url)))
        };
        if url.contains("://") {
            let url = places.here(url);
            let reach = places.reach_of(&url, catalog.reach());
            return Ok(Self::Web { url, reach });
        }
        if !is_inner_path(url) {
            return Err(wrong("not a path below the catalog"));
        }
        match catalog {
            CatalogAddress::Folder(folder) => Ok(Self::File { folder: folder.clone(), path: url.to_owned() }),
            CatalogAddress::Url(index) => {
                let above = index.rsplit_once('/').map_or(index.as_str(), |(above, _)| above);
                Ok(Self::Web { url: format!("{above}/{url}"), reach: catalog.reach() })
            }
        }
    }
}

/// The path of a file that a store copied into itself, `apps/<publisher>/<id>/…`, in the address it will have when the
/// folder is published.
fn path_in_store(entry: &Entry, url: &str) -> Option<String> {
    if entry.source.is_some() || entry.private_repo.is_some() {
        return None;
    }
    let place = format!("apps/{}/{}/", entry.publisher.as_deref()?, entry.id);
    let (_, rest) = url.split_once(&format!("/{place}"))?;
    let path = format!("{place}{rest}");
    is_inner_path(&path).then_some(path)
}

/// The addresses an older version of a file may be at: below the app, or beside the file.
pub(super) fn archived(url: &str, id: &str, version: &str) -> Vec<String> {
    let Some((above, file)) = url.rsplit_once('/') else { return vec![format!("versions/{version}/{url}")] };
    let mut found = Vec::new();
    let inside = format!("{above}/");
    if let Some(at) = inside.rfind(&format!("/{id}/")) {
        let (app, rest) = inside.split_at(at + id.len() + 2);
        found.push(format!("{app}versions/{version}/{rest}{file}"));
        found.push(format!("{app}versions/{version}/{file}"));
    }
    found.push(format!("{above}/versions/{version}/{file}"));
    found.dedup();
    found
}

/// A file below a folder, read whole. No link is followed, so that nothing outside is read.
pub(super) fn read_below(
    what: &str,
    folder: &Path,
    path: &str,
    bytes_max: usize,
) -> Result<Vec<u8>, Failure> {
    let shown = folder.join(path);
    let failed =
        |reason: Reason, why: String| Failure::new(reason, format!("{what}: {}: {why}", shown.display()));
    let is_safe = is_inner_path(path) && path.split('/').all(|part| FileName::parse(part).is_ok());
    if !is_safe {
        return Err(failed(Reason::EntryInvalid, "not a path below the catalog".to_owned()));
    }
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => failed(Reason::FetchMissing, "there is no such file".to_owned()),
        _ => failed(Reason::FetchRefused, error.to_string()),
    };
    let folder = File::open(folder).map_err(unreadable)?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file =
        openat2(&folder, path, flags, Mode::empty(), resolve).map_err(|error| unreadable(error.into()))?;
    let file = File::from(file);
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(failed(Reason::FetchGarbled, "not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > bytes_max {
        return Err(failed(Reason::FetchTooLarge, format!("more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{archived, read_below};
    use roost_protocol::Reason;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn older_versions_are_looked_for_below_the_app_and_beside_the_file() {
        assert_eq!(
            archived("https://h/main/apps/@ada/tea/singleton/tea_agent.py", "tea", "1.0.0"),
            [
                "https://h/main/apps/@ada/tea/versions/1.0.0/singleton/tea_agent.py",
                "https://h/main/apps/@ada/tea/versions/1.0.0/tea_agent.py",
                "https://h/main/apps/@ada/tea/singleton/versions/1.0.0/tea_agent.py",
            ]
        );
        assert_eq!(
            archived("https://h/x/tea_agent.py", "tea", "1.0.0"),
            ["https://h/x/versions/1.0.0/tea_agent.py"]
        );
        assert_eq!(archived("tea_agent.py", "tea", "1.0.0"), ["versions/1.0.0/tea_agent.py"]);
        assert_eq!(archived("https://h/tea/a.py", "tea", "1.0.0"), ["https://h/tea/versions/1.0.0/a.py"]);
    }

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("store");
        fs::create_dir_all(folder.join("apps")).unwrap();
        fs::write(home.path().join("outside"), "secret").unwrap();
        fs::write(folder.join("apps/a.py"), "fine").unwrap();
        symlink(home.path().join("outside"), folder.join("apps/link.py")).unwrap();
        symlink(home.path(), folder.join("up")).unwrap();
        let read = |path: &str| read_below("the agent", &folder, path, 4);
        assert_eq!(read("apps/a.py").unwrap(), b"fine");
        for bad in [
            "../outside",
            "apps/../../outside",
            "apps/link.py",
            "up/outside",
            "/etc/passwd",
            "apps",
            "apps//a.py",
            "",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(read("apps/none.py").unwrap_err().reason, Reason::FetchMissing);
        fs::write(folder.join("apps/a.py"), "large").unwrap();
        assert_eq!(read("apps/a.py").unwrap_err().reason, Reason::FetchTooLarge);
    }
}
