//! Native apps, for those who run them: started in the sandbox, kept running, and taking part as tools and hooks.
//!
//! What is an app on disk, and who vouches for it, is decided in `apps::native`; gRPC is spoken in `runtime::native` only.

mod folder; // an app that may run
mod launch; // from a folder to an app that answers
mod state; // what becomes of it
mod pace; // how patient the host is
mod keeper; // one app, kept running
mod running; // all of them
mod startup; // those that lie in the home
mod tools; // what they can do for a model
mod hooks; // what they change in the host
mod gateways; // models they answer for
mod letters; // messages they bring from elsewhere
mod pages; // what they answer their pages
mod sealed; // what is kept of them and nobody else may read
mod settings; // what can be set
mod accounts; // accounts elsewhere
mod workbench; // what an author sees of one
mod schedulers; // what they do at set times
mod prompt; // what a model is told of them
mod app_tool; // what a model can do with them
mod logs; // what they print
mod trial; // a package tried out

pub use self::{
    accounts::{OauthProvider, Renewing, ShownAccount, WrittenProvider, keep_connected},
    folder::{NativeFolder, NativeOrigin},
    letters::OutgoingMessage,
    logs::NativeLog,
    pace::NativePace,
    pages::Unanswered,
    running::NativeApps,
    settings::{MASK, NativeSettings, SettingsChange, ShownSetting},
    state::{LeftOut, NativePhase, NativeState},
    trial::{native_answers, native_tests},
    workbench::Workbench,
};
pub(crate) use self::{
    app_tool::APP_TOOL,
    folder::{app_of, native_named},
    gateways::Gateways,
    hooks::{Filtered, Hooks, Point},
    schedulers::{FiredTriggers, Schedulers, Trigger, new_schedule, of_app},
    tools::{NativeTool, NativeTools},
};
pub use roost_runtime::{CommMessage, CommRequest};
pub use roost_runtime::{
    Direction, EventKind, Followed, Following, InspectedEvent, Inspector, NativeStream, Payloads,
};
pub use roost_runtime::{PAGE_MESSAGE_BYTES_MAX, PageAnswer, PageRequest};
