//! TypeScript and JavaScript agents: conversion of their source, and the program that runs them.

mod convert;
mod engine;

pub use self::engine::{Engine, EngineKind};

use crate::{
    agent::Program,
    connection,
    exit::Exit,
    languages::{Machine, Needs},
    process::{self, Child, Launch, WhenHostDies},
    programs::{Programs, Surface},
    runners::Runners,
    sandbox::LanguageFiles,
    worker::{Killer, Started},
};
use roost_protocol::{Digest, Failure, Reason, Recipe};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::{OnceCell, oneshot, watch};

/// Where the runner finds the socket for host calls, over which descriptors are handed to the host first.
const HOST_CALLS_DESCRIPTOR: i32 = 4;

/// Everything needed to start TypeScript workers.
#[derive(Debug)]
pub(crate) struct TypeScript {
    surface: Surface,
    programs: Arc<Programs>,
    runners: Runners,
    modules: PathBuf,
    engine: OnceCell<Result<Engine, Failure>>,
}

impl TypeScript {
    pub(crate) fn new(cache: &Path, surface: Surface, programs: Arc<Programs>, runners: Runners) -> Self {
        Self { surface, programs, runners, modules: cache.join("typescript"), engine: OnceCell::new() }
    }

    /// The program that runs TypeScript here.
    pub(crate) async fn engine(&self) -> Result<&Engine, Failure> {
        let found = self.engine.get_or_init(|| Engine::find(&self.surface, &self.programs)).await;
        found.as_ref().map_err(Clone::clone)
    }

    /// Converts the file and starts a worker that waits for its first frame, already in its sandbox.
    pub(crate) async fn start(&self, program: &Program, machine: &Machine) -> Result<Started, Failure> {
        let module = self.module(program).await?;
        let engine = self.engine().await?;
        let refuse =
            |what: &str, error: io::Error| Failure::new(Reason::StartFailed, format!("{what}: {error}"));
        let path = process::lasting_path(&engine.path).map_err(|error| refuse("name the engine", error))?;
        let files = self.files(engine, &module);
        let enclosed = machine.enclose(&Needs::of(program), &files, path, HOST_CALLS_DESCRIPTOR)?;
        let (ends, given) = connection::connect().map_err(|error| refuse("connect a worker", error))?;
        let launch = Launch {
            program: &engine.path,
            arguments: engine.arguments(self.runners.typescript_worker(), program),
            // The agent's environment comes with the first frame; the engine itself needs little.
            environment: &own_environment(program),
            working_directory: Path::new("/"),
            // The runner expects them in this order.
            descriptors: vec![given.channel, given.calls],
            input: None,
            output: Some(given.log),
            errors: None,
            when_host_dies: WhenHostDies::End,
            entry: enclosed.entry,
        };
        let child = launch.start().map_err(|error| refuse(&format!("start {}", engine.label()), error))?;
        let pid = child.id();
        let (kill, killed) = oneshot::channel();
        let (sender, exit) = watch::channel(None);
        drop(tokio::spawn(keep(child, killed, sender)));
        Ok(Started {
            pid,
            exit,
            killer: Killer::Parent(Some(kill)),
            ends,
            runtime: engine.label(),
            module: Some(module),
            packages: None,
            group: enclosed.group,
            recipe: Recipe::default(),
            enforcement: enclosed.enforcement,
        })
    }

    /// What an engine has to read and to become.
    fn files(&self, engine: &Engine, module: &Path) -> LanguageFiles {
        let mut engine_files = vec![engine.path.clone()];
        engine_files.extend(process::loader_of(&engine.path));
        LanguageFiles {
            readable: vec![self.runners.typescript_folder(), module.to_owned()],
            programs: engine_files.clone(),
            always_executable: engine_files,
        }
    }

    /// The converted module on disk, named by what it was converted from.
    async fn module(&self, program: &Program) -> Result<PathBuf, Failure> {
        let base = convert::file_url(&self.runners.typescript_base_class());
        let key = format!("{}\n{}\n{}", program.digest, program.file.display(), base);
        let stem = self.modules.join(Digest::of(key.as_bytes()).short());
        for extension in ["mjs", "cjs"] {
            let module = stem.with_extension(extension);
            if module.is_file() {
                return Ok(module);
            }
        }
        let (source, file) = (Arc::clone(&program.source), program.file.clone());
        let converting = tokio::task::spawn_blocking(move || check(&source, &file, &base));
        let converted = tokio::time::timeout(program.limits.load(), converting)
            .await
            .map_err(|_| Failure::plain(Reason::LoadTimeout))?
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))??;
        let module = stem.with_extension(if converted.is_module { "mjs" } else { "cjs" });
        write(&module, &converted.code).map_err(|error| {
            Failure::new(Reason::StartFailed, format!("write {}: {error}", module.display()))
        })?;
        Ok(module)
    }
}

/// What an engine itself reads: no questions to its makers, and compiled code in the agent's own folder, where no other
/// agent can put any.
fn own_environment(program: &Program) -> BTreeMap<String, String> {
    let cache = program.confinement.scratch.cache.join("deno");
    BTreeMap::from([
        ("DENO_NO_UPDATE_CHECK".to_owned(), "1".to_owned()),
        ("DENO_DIR".to_owned(), cache.display().to_string()),
    ])
}

/// Checks that a file can be converted, without running anything.
pub(crate) fn check(source: &[u8], file: &Path, base: &str) -> Result<convert::Converted, Failure> {
    let text = std::str::from_utf8(source).map_err(|error| {
        let line = source[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Failure::new(Reason::WrongEncoding, "the file is not UTF-8")
            .at_line(u32::try_from(line).unwrap_or(u32::MAX))
    })?;
    if let Some(position) = text.find('\0') {
        let line = text[..position].matches('\n').count() + 1;
        return Err(Failure::plain(Reason::NulByte).at_line(u32::try_from(line).unwrap_or(u32::MAX)));
    }
    convert::convert(text, file, base)
}

fn write(module: &Path, code: &str) -> io::Result<()> {
    let folder = module.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut staging = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut staging, code.as_bytes())?;
    staging.persist(module).map(drop).map_err(|error| error.error)
}

/// Owns the process: reaps it, and ends it with all it started when asked. Nobody else ends it, so the id is
/// always its own.
pub(crate) async fn keep(mut child: Child, killed: oneshot::Receiver<()>, exit: watch::Sender<Option<Exit>>) {
    let mut tree = Tree(Some(child.id()));
    let how = tokio::select! {
        how = child.wait() => how,
        // A dropped sender means the same as a sent one: the worker is not wanted any more.
        _ = killed => {
            tree.kill();
            child.wait().await
        }
    };
    tree.0 = None;
    exit.send_replace(Some(how.unwrap_or(Exit::Unknown)));
}

/// A process that was not reaped yet, with all it started. Ends when the host stops in the middle of its work, too.
struct Tree(Option<u32>);

impl Tree {
    fn kill(&self) {
        if let Some(leader) = self.0 {
            process::kill_tree(leader);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
    }
}
