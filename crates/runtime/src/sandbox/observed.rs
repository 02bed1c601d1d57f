//! What the kernel says of a process, read from outside: the process itself is not asked.
//!
//! File rules are the one layer that a kernel shows to nobody; they are checked by trying, see `roost doctor`. What is
//! seen here holds without them.

use roost_protocol::Enforcement;
use rustix::fs::{CWD, FsWord, Mode, OFlags, fstat, fstatfs, openat};
use std::{fs, io, path::Path};

/// The kind of file system that a root of its own is.
const EMPTY_FILE_SYSTEM: FsWord = libc::TMPFS_MAGIC as FsWord;

/// Kinds of namespaces, as receipts name them and as the kernel does.
const NAMESPACES: [(&str, &str); 5] =
    [("user", "user"), ("pid", "pid"), ("ipc", "ipc"), ("mount", "mnt"), ("network", "net")];

/// What the host itself has, to tell what is another's own.
#[derive(Debug, Clone)]
pub(crate) struct Outside {
    namespaces: Vec<(&'static str, Option<u64>)>,
    root: Option<u64>,
}

impl Outside {
    pub(super) fn look() -> Self {
        let own = std::process::id();
        Self {
            namespaces: NAMESPACES.map(|(name, kind)| (name, namespace(own, kind).ok())).into(),
            root: fs::metadata("/").ok().map(|root| std::os::unix::fs::MetadataExt::dev(&root)),
        }
    }

    /// Reads what holds for a process. An error names what was promised and is not there, or says that the process is
    /// not there any more.
    pub(crate) fn observe(&self, pid: u32, promised: &Enforcement) -> io::Result<Vec<String>> {
        let seen = self.look_at(pid, promised);
        match seen {
            Err(_) if has_ended(pid) => Err(io::ErrorKind::NotFound.into()),
            seen => seen,
        }
    }

    fn look_at(&self, pid: u32, promised: &Enforcement) -> io::Result<Vec<String>> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.unwrap_or_default().trim().to_owned()
        };
        let mut seen = Vec::new();
        let mut expect = |name: &str, is_promised: bool, holds: bool| match (is_promised, holds) {
            (true, false) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("process {pid} does not have {name}"),
            )),
            (true, true) => {
                seen.push(name.to_owned());
                Ok(())
            }
            (false, _) => Ok(()),
        };
        let is_promised = |name: &str| promised.enforced.iter().any(|enforced| enforced == name);
        let is_confined = is_promised("no_new_privileges");
        expect("no_new_privileges", is_confined, field("NoNewPrivs") == "1")?;
        let powers = ["CapInh", "CapPrm", "CapEff", "CapAmb"].map(field);
        let has_none = |powers: &String| powers.bytes().all(|digit| digit == b'0');
        expect("no_capabilities", is_confined, powers.iter().all(has_none))?;
        expect("system_calls", promised.seccomp, field("Seccomp") == "2")?;
        for (name, kind) in NAMESPACES {
            let is_promised = promised.namespaces.iter().any(|promised| promised == name);
            let outside = self.namespaces.iter().find(|(known, _)| *known == name).and_then(|(_, id)| *id);
            let is_own =
                is_promised && namespace(pid, kind).is_ok_and(|id| outside.is_some_and(|own| own != id));
            expect(&format!("own_{name}_namespace"), is_promised, is_own)?;
        }
        expect("own_root", is_promised("own_root"), self.has_own_root(pid).unwrap_or(false))?;
        Ok(seen)
    }

    fn has_own_root(&self, pid: u32) -> io::Result<bool> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty())?;
        let device = fstat(&root)?.st_dev;
        Ok(fstatfs(&root)?.f_type == EMPTY_FILE_SYSTEM && Some(device) != self.root)
    }
}

/// True for a process that is gone, or waits to be collected: the kernel shows nothing of it any more.
fn has_ended(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_none_or(|state| matches!(state, 'Z' | 'X'))
}

/// The number of a namespace of a process.
fn namespace(pid: u32, kind: &str) -> io::Result<u64> {
    let link = fs::read_link(Path::new("/proc").join(pid.to_string()).join("ns").join(kind))?;
    let text = link.to_string_lossy();
    let number = text.rsplit_once('[').and_then(|(_, rest)| rest.strip_suffix(']')?.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::Outside;
    use crate::{confinement::Layer, process::idle_process, sandbox::Sandbox};
    use roost_protocol::NetworkMode;

    #[tokio::test]
    async fn a_process_that_is_not_confined_is_not_said_to_be() {
        let free = idle_process().unwrap();
        let all = Sandbox::detect(&[]).enforcement(NetworkMode::None);
        let refused = Outside::look().observe(free.id(), &all).unwrap_err();
        assert!(refused.to_string().contains("does not have no_new_privileges"), "{refused}");
        let nothing = Sandbox::detect(&[Layer::Landlock, Layer::Seccomp, Layer::Namespaces]);
        let nothing = nothing.enforcement(NetworkMode::None);
        assert_eq!(Outside::look().observe(free.id(), &nothing).unwrap(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn every_promise_is_looked_at_by_itself() {
        let free = idle_process().unwrap();
        let all = Sandbox::detect(&[]).enforcement(NetworkMode::None);
        for promise in ["system_calls", "own_root"] {
            let mut one = all.clone();
            one.enforced = vec![promise.to_owned()];
            one.namespaces = Vec::new();
            one.seccomp = promise == "system_calls";
            let refused = Outside::look().observe(free.id(), &one).unwrap_err();
            assert!(refused.to_string().contains(promise), "{refused}");
        }
        for namespace in &all.namespaces {
            let mut one = all.clone();
            (one.enforced, one.namespaces, one.seccomp) = (Vec::new(), vec![namespace.clone()], false);
            let refused = Outside::look().observe(free.id(), &one).unwrap_err();
            assert!(refused.to_string().contains(namespace.as_str()), "{refused}");
        }
    }
}
