//! Joins files, workers and callers: knows the agents of one home, keeps them current, runs calls.
//!
//! Serves no HTTP and reads no command line. Whatever asks for an agent, asks here.

mod settings; // what a host is told at its start
mod host; // the agents of one home
mod knowledge; // what is known of the folder, kept current
mod roster; // which agents there are, and why others are not
mod gate; // the one place that decides
mod standing; // what an agent file is to the gate
mod program; // from a file to a program
mod confinement; // from rights to what a worker may touch
mod secrets; // values that agents use without seeing them
mod perform; // one call
mod arguments; // key=value by schema
mod context; // what an agent knows before it runs
mod memory; // what agents remembered
mod calls; // what agents may ask of the host
mod call_log; // calls that can be explained later
mod watch; // the folder, live
mod contract; // the ten contract tests
mod rights; // rights as a person sees them
mod self_test; // trying the sandbox
mod doctor; // what this machine has
mod why; // one cause, one next step
mod starter; // what a new home gets

pub use self::{
    arguments::arguments_from_words,
    call_log::CallRecord,
    contract::{ContractResult, contract_tests, validate_file},
    doctor::{Finding, FindingState, examine},
    gate::{
        AuditBroken, AuditFilter, AuditListing, AuditOutcome, AuditRow, AuditVerified, AuditWhat, Caller,
        Decision, Gate, Grant, Policy, Revoked, Source as RightSource, Why as WhyDenied,
    },
    host::{Host, OpenFile},
    knowledge::{NoProgress, Progress},
    perform::Request,
    rights::{AppRights, RightState, State as RightStateKind},
    self_test::{Probe, SelfTest},
    settings::{AgentSettings, Home, HostSettings, SandboxSettings, Variables},
    starter::{NewAgent, create_home, new_agent},
    watch::{Watch, watch},
    why::{Explanation, explain},
};
