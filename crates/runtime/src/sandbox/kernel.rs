//! What this kernel can enforce.

use super::{entry, root::View, syscalls};
use crate::confinement::Layer;
use roost_protocol::{Enforcement, Level, NetworkMode};

/// Before this version a file outside could be emptied.
const LANDLOCK_ABI_MIN: u32 = 3;

/// From this version on signals to processes outside are refused.
const LANDLOCK_ABI_SIGNALS: u32 = 6;

/// What was found, and what an operator left out.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub(super) landlock: Option<u32>,
    pub(super) seccomp: bool,
    pub(super) namespaces: bool,
    /// The step that this machine does not allow, and its error.
    why_no_namespaces: Option<String>,
    left_out: Vec<Layer>,
}

impl Kernel {
    /// Tries what a worker does, with what every worker sees.
    pub(super) fn detect(left_out: &[Layer], system: &View) -> Self {
        let wants = |layer| !left_out.contains(&layer);
        let tried = match wants(Layer::Namespaces) {
            true => system.whole().and_then(entry::try_namespaces).map_err(|error| Some(error.to_string())),
            false => Err(None),
        };
        Self {
            landlock: landlock_abi().filter(|abi| *abi >= LANDLOCK_ABI_MIN && wants(Layer::Landlock)),
            seccomp: wants(Layer::Seccomp) && syscalls::can_filter(),
            namespaces: tried.is_ok(),
            why_no_namespaces: tried.err().flatten(),
            left_out: left_out.to_vec(),
        }
    }

    pub(super) fn level(&self) -> Level {
        match (self.landlock, self.seccomp, self.namespaces) {
            (Some(_), true, true) => Level::Full,
            (Some(_), true, false) => Level::Light,
            _ => Level::ProcessOnly,
        }
    }

    /// The missing layers, for people.
    pub(super) fn lacking(&self) -> Vec<String> {
        let layers = [
            (self.landlock.is_some(), Layer::Landlock, "Landlock"),
            (self.seccomp, Layer::Seccomp, "seccomp"),
            (self.namespaces, Layer::Namespaces, "user namespaces"),
        ];
        let missing = layers.into_iter().filter(|(is_there, _, _)| !is_there);
        let named = missing.map(|(_, layer, name)| {
            match (self.left_out.contains(&layer), layer, &self.why_no_namespaces) {
                (true, _, _) => format!("{name} (left out in roost.toml)"),
                (false, Layer::Namespaces, Some(why)) => format!("{name} ({why})"),
                _ => name.to_owned(),
            }
        });
        named.collect()
    }

    pub(super) fn enforcement(&self, network: NetworkMode) -> Enforcement {
        // Where nothing closes the network it is open, whatever was meant.
        let network = if self.namespaces || self.seccomp { network } else { NetworkMode::Any };
        let (mut enforced, mut missing) = (Vec::new(), Vec::new());
        let mut sort = |name, holds| if holds { enforced.push(name) } else { missing.push(name) };
        sort("no_new_privileges", self.landlock.is_some() || self.seccomp || self.namespaces);
        sort("files", self.landlock.is_some());
        sort("own_root", self.namespaces);
        sort("system_calls", self.seccomp);
        sort("own_network", self.namespaces && network != NetworkMode::Any);
        sort("own_processes", self.namespaces);
        sort("own_identity", self.namespaces);
        let signals = self.namespaces || self.landlock.is_some_and(|abi| abi >= LANDLOCK_ABI_SIGNALS);
        sort("signals", signals);
        if network == NetworkMode::Any && self.namespaces {
            // Granted by a person: the lack is wanted, and `network` says so.
            missing.retain(|name| *name != "own_network");
        }
        let namespaces: &[&str] = match (self.namespaces, network) {
            (false, _) => &[],
            (true, NetworkMode::Any) => &["user", "pid", "ipc", "mount"],
            (true, _) => &["user", "pid", "ipc", "mount", "network"],
        };
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Enforcement {
            level: self.level(),
            landlock_abi: self.landlock,
            seccomp: self.seccomp,
            namespaces: owned(namespaces),
            network,
            enforced: owned(&enforced),
            missing: owned(&missing),
            observed: Vec::new(),
        }
    }
}

/// The version of Landlock this kernel has; `None` when it has none or it is switched off.
#[must_use]
#[expect(unsafe_code, reason = "the question has no safe form")]
pub fn landlock_abi() -> Option<u32> {
    const CREATE_RULESET_VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the call reads no memory and returns a number.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0 as libc::c_ulong,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}
