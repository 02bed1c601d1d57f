//! Native apps: a program in any language that answers gRPC on a Unix socket, in the same sandbox as agents.
//!
//! The only place that speaks gRPC. One connection per app, opened once; the host is always the one who asks. Whether an
//! app may run, and what its answers mean, is decided elsewhere.

mod contract; // messages and calls, made from proto/
mod inspector; // what apps were asked and answered
mod line; // the socket of an app
mod connection; // the connection to an app
mod arrivals; // what appears in folders
mod orphan; // what an earlier host left
mod reach; // where an app may go
mod launch; // from a program to a process that answers
mod asking; // how an app is asked
mod stream; // what it sends one after the other
mod tool; // tools
mod gateway; // language models
mod channel; // conversations elsewhere
mod comm; // messages between agents
mod hook; // hooks
mod probe; // everything, tried once
mod page; // what it answers a browser
mod configure; // what it is told of its settings
mod schedule; // schedules

pub(crate) use self::arrivals::Arrivals;
pub use self::{
    asking::Health,
    channel::{ChannelAction, ChannelAttachment, ChannelMessage, ChannelSender, ChannelStream},
    comm::{CommMessage, CommRequest, CommStream},
    gateway::{GatewayPart, GatewayQuestion, GatewaySaid, GatewayStream, GatewayTool, GatewayUser},
    hook::{HookAnswer, HookSubscription},
    inspector::{Direction, EventKind, Followed, Following, InspectedEvent, Inspector, Payloads},
    launch::NativeApp,
    page::{PAGE_MESSAGE_BYTES_MAX, PageAnswer, PageRequest},
    probe::Probed,
    reach::{MayReach, Reached},
    schedule::{KeptSchedule, ScheduleDraft, ScheduleFired, ScheduleRun, ScheduleTriggers},
    tool::{ToolAnswer, ToolDescription},
};

use crate::{confinement::Confinement, proxy::proxy_variables};
use roost_protocol::{Failure, Limits, NetworkMode, Reason};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// Longest path of a socket that the kernel takes, without the byte that ends it.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Variables of the host that an app sees, besides its own.
pub const NATIVE_VARIABLES: [&str; 6] = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ"];

/// A native app on disk, and everything needed to run it.
#[derive(Debug, Clone)]
pub struct NativeProgram {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its folder, which is also its current directory.
    pub folder: PathBuf,
    /// Its program.
    pub binary: PathBuf,
    /// Where it has to listen. The folder around it must be its own to write.
    pub socket: PathBuf,
    /// Where it is written down which process it is, in a folder that it cannot write to.
    pub mark: PathBuf,
    /// Where it keeps what is its own.
    pub data: PathBuf,
    /// What it sees of the host's environment.
    pub variables: BTreeMap<String, String>,
    /// How long it may take until it answers.
    pub startup: Duration,
    /// Services that have to be healthy then.
    pub services: Vec<NativePart>,
    /// What its processes may use.
    pub limits: Limits,
    /// What it may touch.
    pub confinement: Confinement,
    /// Which computers it may reach, where it has a proxy.
    pub reach: MayReach,
}

/// A part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NativePart {
    /// Language models.
    Gateway,
    /// Tools, also those that look at images or use a browser.
    Tool,
    /// Messages between agents.
    Comm,
    /// Conversations elsewhere.
    Channel,
    /// Pages.
    Ui,
    /// Doing things at set times.
    Schedule,
    /// Changing what the host does.
    Hooks,
}

impl NativePart {
    /// Its name on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Gateway => "GatewayService",
            Self::Tool => "ToolService",
            Self::Comm => "CommService",
            Self::Channel => "ChannelService",
            Self::Ui => "UIService",
            Self::Schedule => "ScheduleService",
            Self::Hooks => "HookService",
        }
    }
}

impl NativeProgram {
    /// The environment of its process: these names and no others.
    #[must_use]
    pub fn environment(&self) -> BTreeMap<String, String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let allowed = |(name, _): &(&String, &String)| NATIVE_VARIABLES.contains(&name.as_str());
        let mut environment: BTreeMap<String, String> = self
            .variables
            .iter()
            .filter(allowed)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        environment.extend([
            ("NEBO_APP_DIR".to_owned(), path(&self.folder)),
            ("NEBO_APP_SOCK".to_owned(), path(&self.socket)),
            ("NEBO_APP_ID".to_owned(), self.id.clone()),
            ("NEBO_APP_NAME".to_owned(), self.name.clone()),
            ("NEBO_APP_VERSION".to_owned(), self.version.clone()),
            ("NEBO_APP_DATA".to_owned(), path(&self.data)),
        ]);
        if self.confinement.network == NetworkMode::Hosts {
            environment.extend(proxy_variables());
        }
        environment
    }

    fn check_socket_path(&self) -> Result<(), Failure> {
        let length = self.socket.as_os_str().len();
        if length <= SOCKET_PATH_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "{} has {length} bytes, and a socket's path at most {SOCKET_PATH_BYTES_MAX}",
            self.socket.display()
        );
        Err(Failure::new(Reason::NativeStartFailed, message)
            .with_next("choose a shorter home folder with --home"))
    }
}
