//! Who runs `roost`: whoever runs the tests, and where that is root an ordinary user as well.

use crate::{
    engines::Engine,
    home::TestHome,
    host::RunningHost,
    program::{Ran, shared_folder},
};
use std::{
    fs,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

/// The user that owns nothing, by its number on every system.
const NOBODY: u32 = 65534;

/// A Python that everybody may use; root's own often lies in root's home.
const PYTHON_OF_ALL: &str = "/usr/bin/python3";

/// Whose processes the program's are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Whoever runs the tests.
    Caller,
    /// An ordinary user, where root runs the tests.
    Ordinary,
}

impl User {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Caller, Self::Ordinary];

    /// A home of this user with this engine; `None`, and said so, when this machine cannot have it.
    #[must_use]
    pub fn home(self, engine: Engine) -> Option<TestHome> {
        let path = engine.search_path()?;
        if self == Self::Caller {
            return Some(TestHome::new().with_variable("PATH", path));
        }
        if !rustix::process::geteuid().is_root() {
            return skip("the tests do not run as root, so the caller is the ordinary user");
        }
        let reachable: Vec<PathBuf> =
            std::env::split_paths(&path).filter(|one| is_open_to_all(one)).collect();
        let has = |name: &str| reachable.iter().any(|folder| is_open_to_all(&folder.join(name)));
        let is_there = match engine {
            Engine::Python => is_open_to_all(Path::new(PYTHON_OF_ALL)),
            Engine::Node => has("node"),
            Engine::Deno => has("deno"),
        };
        if !is_there || !is_open_to_all(&shared_folder()) {
            return skip(&format!("an ordinary user cannot reach {} or the target folder", engine.label()));
        }
        let path = std::env::join_paths(reachable).ok()?.into_string().ok()?;
        Some(TestHome::new().with_variable("PATH", path).with_variable("ROOST_PYTHON", PYTHON_OF_ALL))
    }

    /// Gives everything in and beside the home to this user: what protects it then is the sandbox, not its owner.
    pub fn own(self, home: &TestHome) {
        if self == Self::Ordinary {
            give(home.root().parent().expect("a home lies in a folder of its own"));
        }
    }

    /// Runs `roost` to its end.
    #[track_caller]
    #[must_use]
    pub fn roost(self, home: &TestHome, arguments: &[&str]) -> Ran {
        match self.command(home, arguments).output() {
            Ok(output) => Ran::new(&output),
            Err(error) => panic!("start roost: {error}"),
        }
    }

    /// Starts the host on a free port.
    #[track_caller]
    #[must_use]
    pub fn up(self, home: &TestHome) -> RunningHost {
        RunningHost::start(self.command(home, &["up", "--port", "0"]))
    }

    /// What a program of this user gets at an address of the host: the status and the body. `None`, and said so, where
    /// there is no such user or program.
    #[must_use]
    pub fn asks(self, host: &RunningHost, method: &str, path: &str) -> Option<(u16, String)> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_open_to_all(Path::new(PYTHON_OF_ALL)) || (self == Self::Ordinary && !is_root) {
            eprintln!("skipped: no other user, or no Python that it may use");
            return None;
        }
        let program = "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1])); \
                       c.request(sys.argv[2], sys.argv[3]); r = c.getresponse(); print(r.status, r.read().decode())";
        #[expect(clippy::disallowed_methods, reason = "tests start the programs of other users")]
        let mut command = Command::new(PYTHON_OF_ALL);
        command
            .args(["-I", "-c", program, &host.port().to_string(), method, path])
            .env_clear()
            .current_dir("/");
        if self == Self::Ordinary {
            command.uid(NOBODY).gid(NOBODY);
        }
        let ran = Ran::new(&command.output().expect("Python can be started"));
        let (status, body) = ran.stdout.split_once(' ').unwrap_or_else(|| panic!("{ran:?}"));
        Some((status.parse().expect("a status is a number"), body.to_owned()))
    }

    fn command(self, home: &TestHome, arguments: &[&str]) -> Command {
        let mut command = home.command(arguments);
        if self == Self::Ordinary {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// True when everybody may read it, and pass every folder on the way to it.
fn is_open_to_all(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let allows = |path: &Path, bits: u32| fs::metadata(path).is_ok_and(|found| found.mode() & bits == bits);
    allows(&path, 0o005) && path.ancestors().skip(1).all(|folder| allows(folder, 0o001))
}

fn give(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may give files away");
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).expect("root may read it").flatten() {
            give(&entry.path());
        }
    }
}

fn skip(why: &str) -> Option<TestHome> {
    eprintln!("skipped: {why}");
    None
}
