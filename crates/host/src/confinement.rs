//! From the rights in force to what a worker may touch.

use crate::{
    gate,
    library::Owner,
    secrets::{self, Values},
    settings::{Home, HostSettings},
};
use roost_protocol::{Access, AgentsUse, Failure, NetworkMode, Reason, Right};
use roost_runtime::{Confinement, GrantedPlace, Scratch, proxy_variables};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// Folders of the data folder in which agents remember things for users, and the locks of their writers.
const MEMORY_FOLDERS: [&str; 3] = ["shared_memories", "memory", ".roost-locks"];

/// Makes the folders that are the agent's own, and says what it may touch and what it sees of the environment.
pub(crate) fn confinement(
    file: &Path,
    rights: &[Right],
    settings: &HostSettings,
    values: Values<'_>,
    environment: &mut BTreeMap<String, String>,
    certificate: impl FnOnce() -> io::Result<String>,
) -> Result<Confinement, Failure> {
    let unusable = |error: io::Error| {
        Failure::new(Reason::HomeUnusable, format!("{}: {error}", settings.home.root().display()))
    };
    let own = OwnFolders::of(file, &settings.home);
    own.make().map_err(unusable)?;
    let mut readable = vec![file.to_owned()];
    let mut writable = vec![own.data, own.workspace];
    let own_folders = writable.len();
    let mut secrets = Vec::new();
    let mut granted = Vec::new();
    for right in rights {
        match right {
            Right::Files { access, place } => {
                let path = place.path(settings.surface.user_home.as_deref().unwrap_or(Path::new("/")));
                let is_writable = *access == Access::Write;
                if is_writable {
                    make_place(&path).map_err(unusable)?;
                }
                granted.push(GrantedPlace { path, is_writable });
            }
            Right::Agents(AgentsUse::Read) => readable.extend(agents_folders(file, &settings.home)),
            Right::Agents(AgentsUse::Write) => {
                // What a source brought is changed by the host only.
                let (pinned, open): (Vec<_>, Vec<_>) = agents_folders(file, &settings.home)
                    .into_iter()
                    .partition(|folder| folder.starts_with(settings.home.sources()));
                readable.extend(pinned);
                writable.extend(open);
            }
            Right::Memory(access) => {
                let folders = MEMORY_FOLDERS.map(|folder| settings.home.data().join(folder));
                folders.iter().try_for_each(|folder| make_folder(folder)).map_err(unusable)?;
                match access {
                    Access::Read => readable.extend(folders),
                    Access::Write => writable.extend(folders),
                }
            }
            Right::Secret { name, transport, host, header } => {
                let secret = secrets::placeholder(name, values.get(name), *transport, host, header)?;
                environment.insert(name.as_str().to_owned(), secret.placeholder);
                secrets.push(secret.in_use);
            }
            Right::Environment(name) => {
                let value = values.get(name);
                environment.extend(value.map(|value| (name.as_str().to_owned(), value.to_owned())));
            }
            _ => {}
        }
    }
    let network = network(rights);
    let folders = [("TMPDIR", &own.scratch.temporary), ("XDG_CACHE_HOME", &own.scratch.cache)];
    environment.extend(folders.map(|(name, folder)| (name.to_owned(), folder.display().to_string())));
    if network == NetworkMode::Hosts {
        environment.extend(proxy_variables());
    }
    if !secrets.is_empty() {
        let bundle = own.scratch.cache.join("certificates.pem");
        secrets::trust_the_proxy(&bundle, certificate, environment).map_err(unusable)?;
    }
    Ok(Confinement {
        readable,
        writable,
        granted,
        closed: gate::own_files(settings.home.root()),
        own_folders,
        scratch: own.scratch,
        may_start_programs: rights.contains(&Right::Subprocess),
        network,
        secrets,
        required: settings.sandbox.required,
    })
}

/// Where agents lie: the agents folder, and the folder of the file itself when that is another. A file that lies among
/// a person's own things, or among the host's, does not open those.
fn agents_folders(file: &Path, home: &Home) -> Vec<PathBuf> {
    let own = file.parent().filter(|folder| !home.root().starts_with(folder) && folder.parent().is_some());
    let mut folders = vec![home.agents().to_owned()];
    folders.extend(own.filter(|folder| *folder != home.agents()).map(Path::to_owned));
    folders
}

/// Name of the folders that are a file's own: the id of its app, else its own name. A file of a source never shares them
/// with a file of the home, and neither shares them with an app.
pub(crate) fn own_name(file: &Path, home: &Home) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match (home.source_of(file), home.owner_of(file)) {
        (Some(source), _) => format!("{stem}.{source}"),
        (None, Owner::App(id)) => id,
        (None, _) if home.installed().has_app(&home.library(), &stem) => format!("{stem}.file"),
        (None, _) => stem,
    }
}

/// Folders that belong to one agent file.
pub(crate) struct OwnFolders {
    data: PathBuf,
    workspace: PathBuf,
    pub(crate) scratch: Scratch,
}

impl OwnFolders {
    pub(crate) fn of(file: &Path, home: &Home) -> Self {
        let name = own_name(file, home);
        Self {
            data: home.data().join(&name),
            workspace: home.data().join("workspaces").join(&name),
            scratch: Scratch::below(&home.scratch().join(&name)),
        }
    }

    fn make(&self) -> io::Result<()> {
        [&self.data, &self.workspace]
            .into_iter()
            .chain(self.scratch.folders())
            .try_for_each(|folder| make_folder(folder))
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A place that was granted has to be there before it can be opened to a worker: a folder, unless its name has the
/// ending of a file.
fn make_place(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    match (path.extension(), path.parent()) {
        (Some(_), Some(parent)) => {
            make_folder(parent)?;
            fs::OpenOptions::new().create(true).append(true).open(path).map(drop)
        }
        _ => make_folder(path),
    }
}

/// The network that these rights make.
pub(crate) fn network(rights: &[Right]) -> NetworkMode {
    let has = |fits: fn(&Right) -> bool| rights.iter().any(fits);
    if has(|right| matches!(right, Right::AnyNetwork)) {
        NetworkMode::Any
    } else if has(|right| matches!(right, Right::Network(_) | Right::Secret { .. })) {
        NetworkMode::Hosts
    } else {
        NetworkMode::None
    }
}
