//! From a folder to an app that answers: its own folders, the rights that hold, the sandbox they make.

use super::{
    folder::{NativeFolder, parts_of},
    running::Shared,
};
use crate::{
    calls::{names_of, verdict},
    confinement::network,
    gate::Gate,
    settings::HostSettings,
    standing::Standing,
};
use roost_apps::native::NativeManifest;
use roost_protocol::{Access, Digest, Failure, Limits, Reason, Right};
use roost_runtime::{
    Confinement, GrantedPlace, MayReach, NativeApp, NativeProgram, Reached, Scratch, Verdict,
};
use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// An app that runs.
pub(crate) struct LiveApp {
    pub(crate) folder: NativeFolder,
    pub(crate) app: NativeApp,
    pub(crate) standing: Arc<Standing>,
    /// The rights that hold for this process.
    pub(crate) rights: Vec<Right>,
    pub(crate) limits: Limits,
    /// Names of the variables it sees.
    pub(crate) environment: Vec<String>,
}

impl Shared {
    /// Starts an app with the rights that hold now, and waits until it answers.
    pub(super) async fn launch(&self, folder: &NativeFolder) -> Result<LiveApp, Failure> {
        let standing = Arc::new(folder.standing());
        let in_force = standing.in_force(&self.gate, self.settings.surface.user_home.as_deref());
        let rights = in_force.rights;
        let places = AppPlaces::of(folder, &self.settings);
        let key = standing.caller.app.as_str();
        let limits = self.settings.agents.get(key).map_or(&self.settings.limits, |own| &own.limits).clone();
        let made = program(&self.settings, &folder.manifest, folder.binary.clone(), places, &rights);
        let reach = may_reach(Arc::clone(&self.gate), Arc::clone(&standing));
        let program = NativeProgram { limits, reach, ..made.map_err(|error| unusable(&error))? };
        let app = self.runtime.start_native(&program).await?;
        Ok(LiveApp {
            folder: folder.clone(),
            app,
            standing,
            rights,
            limits: program.limits.clone(),
            environment: program.environment().into_keys().collect(),
        })
    }
}

/// Where one app lies and writes.
pub(super) struct AppPlaces {
    pub(super) folder: PathBuf,
    pub(super) data: PathBuf,
    /// The folder of its socket, its own to write.
    pub(super) run: PathBuf,
    /// Which process it is, for a host that comes later.
    pub(super) mark: PathBuf,
    pub(super) scratch: Scratch,
}

impl AppPlaces {
    fn of(folder: &NativeFolder, settings: &HostSettings) -> Self {
        // The path of a socket must be short, and an id need not be.
        let short: String = Digest::of(folder.id().as_bytes()).to_string().chars().take(16).collect();
        let run = settings.home.run().join("native");
        Self {
            data: folder.data.clone(),
            mark: run.join(format!("{short}.process")),
            run: run.join(short),
            scratch: Scratch::below(&settings.home.scratch().join(format!("native.{}", folder.id()))),
            folder: folder.path.clone(),
        }
    }

    fn make(&self) -> io::Result<()> {
        [&self.run, &self.data]
            .into_iter()
            .chain(self.scratch.folders())
            .try_for_each(|folder| DirBuilder::new().recursive(true).mode(0o700).create(folder))
    }
}

/// The program of an app, with folders of its own and these rights.
pub(super) fn program(
    settings: &HostSettings,
    manifest: &NativeManifest,
    binary: PathBuf,
    places: AppPlaces,
    rights: &[Right],
) -> io::Result<NativeProgram> {
    places.make()?;
    let AppPlaces { folder, data, run, mark, scratch } = places;
    let mut variables = settings.environment.clone();
    variables.insert("TMPDIR".to_owned(), scratch.temporary.to_string_lossy().into_owned());
    let readable = vec![folder.clone()];
    let writable = vec![data.clone(), run.clone()];
    let own_folders = writable.len();
    let user_home = settings.surface.user_home.as_deref().unwrap_or(Path::new("/"));
    let granted = rights.iter().filter_map(|right| match right {
        Right::Files { access, place } => {
            Some(GrantedPlace { path: place.path(user_home), is_writable: *access == Access::Write })
        }
        _ => None,
    });
    let granted = granted.collect();
    Ok(NativeProgram {
        id: manifest.id.to_string(),
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        binary,
        socket: run.join("app.sock"),
        mark,
        variables,
        startup: manifest.startup_timeout,
        services: parts_of(manifest),
        limits: settings.limits.clone(),
        confinement: Confinement {
            readable,
            writable,
            granted,
            closed: crate::gate::own_files(settings.home.root()),
            own_folders,
            scratch,
            may_start_programs: rights.contains(&Right::Subprocess),
            network: network(rights),
            secrets: Vec::new(),
            required: settings.sandbox.required,
        },
        reach: MayReach::nothing(),
        folder,
        data,
    })
}

/// The gate, as the proxy of one app sees it: asked anew each time, so that what is taken back holds no longer.
fn may_reach(gate: Arc<Gate>, standing: Arc<Standing>) -> MayReach {
    MayReach::new(move |reached| {
        let decide = |target| verdict(gate.decide(&standing.caller, &standing.asks, &Right::Network(target)));
        match reached {
            Reached::Named(target) => decide(target.clone()),
            Reached::Private(address, port) => {
                let mut last = Verdict::Refused { next: String::new() };
                for target in names_of(address, port) {
                    last = decide(target);
                    if last == Verdict::Allowed {
                        break;
                    }
                }
                last
            }
        }
    })
}

pub(super) fn unusable(error: &io::Error) -> Failure {
    Failure::new(Reason::NativeStartFailed, format!("make the folders of the app: {error}"))
}
