//! Finds the Python to use: the newest released CPython on this machine, never through a version manager's shim.

use super::version::PythonVersion;
use crate::{
    process::is_binary,
    programs::{Programs, Surface},
};
use roost_protocol::{Failure, Reason};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A Python that can run workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program itself, with links resolved.
    pub path: PathBuf,
    /// Its version.
    pub version: PythonVersion,
}

/// Prints the version of a CPython that has what the runner needs, and nothing for any other.
const PROBE: &str = "import sys, _ctypes, _socket, _json\n\
    v = sys.version_info\n\
    if sys.implementation.name == 'cpython' and v.releaselevel == 'final' and getattr(sys, '_is_gil_enabled', bool)() \
    is not False or v < (3, 13) and v.releaselevel == 'final': print('%d.%d.%d' % v[:3])";

/// All usable interpreters, newest first.
pub(crate) async fn find_all(surface: &Surface, programs: &Programs) -> Vec<Interpreter> {
    let mut found = Vec::new();
    for path in candidates(surface) {
        let answer = programs.ask(&path, &["-I", "-S", "-c", PROBE]).await.unwrap_or_default();
        match answer.parse::<PythonVersion>() {
            Ok(version) if version >= PythonVersion::OLDEST => found.push(Interpreter { path, version }),
            _ => {}
        }
    }
    found.sort_by(|left, right| right.version.cmp(&left.version).then_with(|| left.path.cmp(&right.path)));
    found
}

/// The newest interpreter that satisfies the file's own wish.
pub(crate) fn choose<'a>(
    found: &'a [Interpreter],
    requires: Option<&str>,
) -> Result<&'a Interpreter, Failure> {
    let fitting =
        found.iter().find(|interpreter| interpreter.version.satisfies(requires.unwrap_or_default()));
    fitting.ok_or_else(|| match (found.first(), requires) {
        (Some(newest), Some(requires)) => Failure::new(
            Reason::RuntimeMissing,
            format!("the file asks for Python {requires}, the newest found is {}", newest.version),
        ),
        _ => Failure::new(
            Reason::RuntimeMissing,
            format!(
                "no CPython {}.{} or newer was found",
                PythonVersion::OLDEST.major,
                PythonVersion::OLDEST.minor
            ),
        )
        .with_next("install Python, for example with `apt-get install python3`, then run `roost doctor`"),
    })
}

fn candidates(surface: &Surface) -> BTreeSet<PathBuf> {
    if let Some(python) = &surface.python {
        return resolved(python).into_iter().collect();
    }
    let mut folders: Vec<PathBuf> = surface.search_path.clone();
    folders.extend(["/usr/local/bin", "/usr/bin"].map(PathBuf::from));
    if let Some(home) = &surface.user_home {
        for versions in [".pyenv/versions", ".local/share/uv/python", ".local/share/mise/installs/python"] {
            folders.extend(subfolders(&home.join(versions)).into_iter().map(|folder| folder.join("bin")));
        }
    }
    let names = (PythonVersion::OLDEST.minor..30)
        .map(|minor| format!("python3.{minor}"))
        .chain(["python3".to_owned()]);
    let names: Vec<String> = names.collect();
    folders
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)))
        .filter_map(|path| resolved(&path))
        .collect()
}

/// The real program behind links, if it is one.
fn resolved(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|path| is_binary(path))
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
