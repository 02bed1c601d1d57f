//! Runs agents: a process per agent file, its limits, its logs, its end.
//!
//! Decides no rights and knows no catalog: it is given a program and runs it. Everything about one language is in
//! that language's module; everything about the kernel is in `sandbox`, `cgroup`, `limits` and `process`.

mod agent; // what can be asked of an agent
mod runtime; // the door: settings in, agents out
mod workers; // the pool
mod worker; // one running worker
mod asking; // how many questions wait
mod attendance; // what a worker hands over, asks, reaches and is refused
mod languages; // starting a worker in any language
mod alone; // a file as a program of its own
mod python; // interpreters, environments, zygotes
mod zygote; // the host's side of a zygote
mod typescript; // conversion and engines
mod runners; // the guest side, embedded
mod programs; // programs found on this machine
mod connection; // sockets and pipes between host and worker
mod frame; // frames on a socket
mod log; // what agents print
mod limits; // what a worker may use
mod cgroup; // limits of whole process trees
mod process; // starting and ending processes
mod exit; // how a process ended
mod disk; // what an agent's folders hold
mod budget; // what one call may use
mod confinement; // what a worker may touch
mod sandbox; // what the kernel enforces
mod proxy; // named computers, and no others
mod native; // programs that answer gRPC
mod local_model; // a language model in a process of its own

pub use self::{
    agent::{Afterwards, Agent, Answer, Call, Done, HostCalls, LoadFailed, Loaded, Program, Usage},
    confinement::{Confinement, GrantedPlace, Layer, Scratch},
    local_model::{LOCAL_MODEL_PROGRAM, LocalModel},
    log::{Clear, NativeStream},
    native::{
        ChannelAction, ChannelAttachment, ChannelMessage, ChannelSender, ChannelStream, CommMessage,
        CommRequest, CommStream, Direction, EventKind, Followed, Following, GatewayPart, GatewayQuestion,
        GatewaySaid, GatewayStream, GatewayTool, GatewayUser, Health, HookAnswer, HookSubscription,
        InspectedEvent, Inspector, KeptSchedule, MayReach, NATIVE_VARIABLES, NativeApp, NativePart,
        NativeProgram, PAGE_MESSAGE_BYTES_MAX, PageAnswer, PageRequest, Payloads, Probed, Reached,
        ScheduleDraft, ScheduleFired, ScheduleRun, ScheduleTriggers, ToolAnswer, ToolDescription,
    },
    process::{Ran, find_executable, find_program, run, run_with_input},
    programs::Surface,
    proxy::{InvalidSecret, SecretUse, Verdict, is_public_address, proxy_variables},
    python::{Interpreter, LockedPackage, PythonVersion},
    runtime::{Runtime, RuntimeSettings, check_typescript, runners_digest},
    sandbox::landlock_abi,
    typescript::{Engine, EngineKind},
    workers::PoolSettings,
};
