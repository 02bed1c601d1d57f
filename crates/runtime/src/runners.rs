//! The guest side of the workers, embedded in the binary and laid out on disk under its digest.

use roost_protocol::Digest;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

macro_rules! embedded {
    ($($path:literal),+ $(,)?) => {
        /// Every file of the runners, by its path below `runners/`.
        const FILES: &[(&str, &str)] = &[$(($path, include_str!(concat!("../../../runners/", $path)))),+];
    };
}

embedded![
    "python/endpoint.py",
    "python/loading.py",
    "python/probe_agent.py",
    "python/rehearsal.py",
    "python/sandbox.py",
    "python/watching.py",
    "python/worker.py",
    "python/zygote.py",
    "python/shims/basic_agent.py",
    "python/shims/brainstem.py",
    "python/shims/function_app.py",
    "python/shims/local_storage.py",
    "python/shims/roost_atomic_file.py",
    "python/shims/roost_awaiting.py",
    "python/shims/roost_completion.py",
    "python/shims/roost_confined_path.py",
    "python/shims/roost_context.py",
    "python/shims/roost_host.py",
    "python/shims/roost_merge.py",
    "python/shims/roost_storage_arguments.py",
    "python/shims/agents/__init__.py",
    "python/shims/agents/basic_agent.py",
    "python/shims/openrappter/__init__.py",
    "python/shims/utils/__init__.py",
    "python/shims/utils/azure_file_storage.py",
    "python/shims/utils/dynamics_storage.py",
    "python/shims/utils/llm.py",
    "python/shims/utils/storage_factory.py",
    "python/shims/utils/workspace.py",
    "python/shims/openrappter/agents/__init__.py",
    "python/shims/openrappter/agents/basic_agent.py",
    "typescript/basic_agent.mjs",
    "typescript/describe.mjs",
    "typescript/failure.mjs",
    "typescript/probe_agent.js",
    "typescript/proxied.mjs",
    "typescript/watching.mjs",
    "typescript/watching_deno.mjs",
    "typescript/watching_network.mjs",
    "typescript/watching_node.mjs",
    "typescript/worker.mjs",
    "typescript/workspace.mjs",
];

/// The runners as a folder that workers can read.
#[derive(Debug, Clone)]
pub(crate) struct Runners {
    folder: PathBuf,
}

impl Runners {
    /// Digest of all files: another binary with other runners uses another folder.
    pub(crate) fn digest() -> Digest {
        let mut all = Vec::new();
        for (path, text) in FILES {
            all.extend_from_slice(path.as_bytes());
            all.push(0);
            all.extend_from_slice(text.as_bytes());
            all.push(0);
        }
        Digest::of(&all)
    }

    /// Lays the files out below `cache`, once per digest; complete or not at all.
    pub(crate) fn unpack(cache: &Path) -> io::Result<Self> {
        let parent = cache.join("runners");
        let folder = parent.join(Self::digest().to_string());
        if folder.is_dir() {
            return Ok(Self { folder });
        }
        fs::create_dir_all(&parent)?;
        let staging = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(&parent)?;
        for (path, text) in FILES {
            let target = staging.path().join(path);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(target, text)?;
        }
        match fs::rename(staging.path(), &folder) {
            // Another host of this home was quicker with the same files.
            Err(_) if folder.is_dir() => {}
            result => result?,
        }
        Ok(Self { folder })
    }

    /// Everything a Python worker reads of the host's.
    pub(crate) fn python_folder(&self) -> PathBuf {
        self.folder.join("python")
    }

    /// Everything an engine reads of the host's.
    pub(crate) fn typescript_folder(&self) -> PathBuf {
        self.folder.join("typescript")
    }

    /// Agents that try to get out, for the self-test.
    pub(crate) fn probes(&self) -> [PathBuf; 2] {
        [self.folder.join("python/probe_agent.py"), self.folder.join("typescript/probe_agent.js")]
    }

    pub(crate) fn python_zygote(&self) -> PathBuf {
        self.folder.join("python/zygote.py")
    }

    /// The folder of modules agents may import.
    pub(crate) fn python_shims(&self) -> PathBuf {
        self.folder.join("python/shims")
    }

    pub(crate) fn typescript_worker(&self) -> PathBuf {
        self.folder.join("typescript/worker.mjs")
    }

    pub(crate) fn typescript_base_class(&self) -> PathBuf {
        self.folder.join("typescript/basic_agent.mjs")
    }
}

#[cfg(test)]
mod tests {
    use super::{FILES, Runners};
    use std::{collections::BTreeSet, fs, path::Path};

    #[test]
    fn every_runner_file_is_embedded() {
        fn collect(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
                if entry.file_type().unwrap().is_dir() {
                    if name != "tests" && name != "__pycache__" {
                        collect(&entry.path(), &path, found);
                    }
                } else if [".py", ".mjs", ".js"].iter().any(|ending| name.ends_with(ending)) {
                    found.insert(path);
                }
            }
        }
        let mut found = BTreeSet::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runners"), "", &mut found);
        assert_eq!(found, FILES.iter().map(|(path, _)| (*path).to_owned()).collect());
    }

    #[test]
    fn unpacking_twice_gives_the_same_folder() {
        let cache = tempfile::tempdir().unwrap();
        let first = Runners::unpack(cache.path()).unwrap();
        let second = Runners::unpack(cache.path()).unwrap();
        assert_eq!(first.folder, second.folder);
        assert!(first.python_zygote().is_file() && first.typescript_worker().is_file());
        assert_eq!(fs::read_dir(cache.path().join("runners")).unwrap().count(), 1);
    }
}
