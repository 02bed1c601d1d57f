//! Reads agent files out of a git repository with the `git` program, without ever checking anything out.
//!
//! What is fetched is read object by object: no hook, filter, submodule, link or line-ending rule of the repository has a
//! say. The program inherits nothing but what is set here, asks nobody, and speaks only the protocols that are named.

use super::address::NewSource;
use roost_apps::AGENT_FILE_BYTES_MAX;
use roost_protocol::{Failure, FileKind, Reason};
use roost_runtime::{Ran, Surface, find_program, run};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Fetching one commit of a repository of agents takes seconds; a server that needs longer is one that hangs.
const FETCH_WITHIN: Duration = Duration::from_secs(120);

/// Everything else happens on this machine.
const READ_WITHIN: Duration = Duration::from_secs(20);

/// Most that one commit may bring onto the disk.
const FETCHED_BYTES_MAX: u64 = 256 << 20;

/// How often the growing of what is fetched is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Where `git` is looked for besides the search path.
const USUAL_FOLDERS: [&str; 2] = ["/usr/local/bin", "/usr/bin"];

/// Settings that hold whatever the machine says.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
];

/// Variables that hold whatever the machine says.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", "https:ssh:file"),
    ("GIT_ASKPASS", "/bin/false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// The agent files of one commit.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) commit: String,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// The program, and the repository it works in.
pub(crate) struct Git<'a> {
    program: PathBuf,
    environment: BTreeMap<String, String>,
    repository: &'a Path,
}

impl<'a> Git<'a> {
    /// Works in `repository`, a folder that does not exist yet.
    pub(crate) fn new(surface: &Surface, repository: &'a Path) -> Result<Self, Failure> {
        let usual = USUAL_FOLDERS.iter().map(PathBuf::from);
        let folders: Vec<PathBuf> = surface.search_path.iter().cloned().chain(usual).collect();
        let program = find_program("git", &folders).ok_or_else(|| {
            Failure::new(Reason::SourceUnavailable, "the program `git` was not found")
                .with_next("install git, or add a folder instead")
        })?;
        let mut environment = surface.tool_environment.clone();
        environment.extend(VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Ok(Self { program, environment, repository })
    }

    /// Fetches one commit and reads the agent files in its folder.
    pub(crate) async fn fetch(&self, asked: &NewSource, files_max: usize) -> Result<Fetched, Failure> {
        let repository = self.repository.as_os_str().to_owned();
        let init = ["init".into(), "--quiet".into(), "--bare".into(), "--template=".into(), repository];
        self.succeed(&init, READ_WITHIN).await?;
        let reference = asked.reference.as_deref().unwrap_or("HEAD");
        let options = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--"];
        let fetch = ["fetch"].into_iter().chain(options).chain([asked.url.as_str(), reference]);
        let fetch = self.within_repository(fetch);
        let fetching = self.succeed(&fetch, FETCH_WITHIN);
        within_size(self.repository, fetching).await?;
        let commit = self.ask(["rev-parse", "--verify", "FETCH_HEAD^{commit}"]).await?.trim().to_owned();
        if commit.len() < 40 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Failure::new(Reason::SourceUnavailable, "git named no commit"));
        }
        let tree = format!("{commit}:{}", asked.folder.as_deref().unwrap_or_default());
        let listing = self.ask(["ls-tree", "-z", "-l", "--full-tree", &tree]).await?;
        let mut files = BTreeMap::new();
        for (name, object) in agent_files(&listing) {
            if files.len() == files_max {
                let message = format!("the source has more than {files_max} agent files");
                return Err(Failure::new(Reason::SourceUnavailable, message));
            }
            files.insert(name.to_owned(), self.object(object).await?);
        }
        Ok(Fetched { commit, files })
    }

    /// The bytes of one object, as they are in the repository.
    async fn object(&self, object: &str) -> Result<Vec<u8>, Failure> {
        let unreadable = |error: std::io::Error| Failure::new(Reason::SourceUnavailable, error.to_string());
        let name = self.ask(["unpack-file", object]).await?;
        let path = self.repository.join(name.trim());
        let bytes = fs::read(&path).map_err(unreadable)?;
        fs::remove_file(&path).map_err(unreadable)?;
        Ok(bytes)
    }

    async fn ask<const N: usize>(&self, words: [&str; N]) -> Result<String, Failure> {
        let ran = self.succeed(&self.within_repository(words), READ_WITHIN).await?;
        Ok(ran.stdout)
    }

    fn within_repository<'b>(&self, words: impl IntoIterator<Item = &'b str>) -> Vec<OsString> {
        let place = ["-C".into(), self.repository.as_os_str().to_owned()];
        place.into_iter().chain(words.into_iter().map(OsString::from)).collect()
    }

    async fn succeed(&self, words: &[OsString], within: Duration) -> Result<Ran, Failure> {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c".into(), OsString::from(setting)]);
        let words: Vec<OsString> = settings.chain(words.iter().cloned()).collect();
        let ran = run(&self.program, &words, &self.environment, within).await;
        let unavailable = |message: String| Failure::new(Reason::SourceUnavailable, message);
        let ran = ran.map_err(|failure| unavailable(failure.message))?;
        if ran.succeeded {
            return Ok(ran);
        }
        let mut lines = ran.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
        let said = lines.next_back().unwrap_or("it said nothing");
        Err(unavailable(format!("git: {}", said.chars().take(300).collect::<String>())))
    }
}

/// Names and objects of the ordinary files that can be agents; links and what is too large are not among them.
fn agent_files(listing: &str) -> impl Iterator<Item = (&str, &str)> {
    listing.split('\0').filter_map(|entry| {
        let (attributes, name) = entry.split_once('\t')?;
        let mut words = attributes.split_ascii_whitespace();
        let (mode, kind, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let is_file = kind == "blob" && matches!(mode, "100644" | "100755");
        let fits = size.parse::<u64>().is_ok_and(|size| size <= AGENT_FILE_BYTES_MAX);
        (is_file && fits && is_agent_name(name)).then_some((name, object))
    })
}

/// True for a name that an agent file can have, and nothing that is more than a name.
pub(crate) fn is_agent_name(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.starts_with('.') && name.bytes().all(is_fine) && FileKind::Agent.language_of(name).is_some()
}

/// Ends what fills the folder beyond the limit.
async fn within_size<T>(folder: &Path, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let grown = async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if size_of(folder) > FETCHED_BYTES_MAX {
                return;
            }
        }
    };
    let too_large = || {
        let message = format!("one commit of the source is larger than {} MiB", FETCHED_BYTES_MAX >> 20);
        Failure::new(Reason::SourceUnavailable, message)
    };
    let done = tokio::select! {
        done = work => done?,
        () = grown => return Err(too_large()),
    };
    if size_of(folder) > FETCHED_BYTES_MAX { Err(too_large()) } else { Ok(done) }
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::agent_files;

    #[test]
    fn only_ordinary_agent_files_are_taken_from_a_listing() {
        let listing = "100644 blob aa      10\ta_agent.py\0\
                       100755 blob bb      10\tToolAgent.ts\0\
                       120000 blob cc      10\tlink_agent.py\0\
                       160000 commit dd       -\tmodule_agent.py\0\
                       040000 tree ee       -\tfolder_agent.py\0\
                       100644 blob ff 2000000\tlarge_agent.py\0\
                       100644 blob 11      10\tREADME.md\0\
                       100644 blob 22      10\t.hidden_agent.py\0\
                       100644 blob 33      10\tä_agent.py\0\
                       100644 blob 44      10\tb\nb_agent.py\0";
        let found: Vec<_> = agent_files(listing).collect();
        assert_eq!(found, [("a_agent.py", "aa"), ("ToolAgent.ts", "bb")]);
    }
}
