//! Joins files, workers and callers: knows the agents of one home, keeps them current, runs calls.
//!
//! Serves no HTTP and reads no command line. Whatever asks for an agent, asks here.

mod settings; // what a host is told at its start
mod host; // the agents of one home
mod knowledge; // what is known of the folder, kept current
mod roster; // which agents there are, and why others are not
mod program; // from a file to a program
mod perform; // one call
mod arguments; // key=value by schema
mod context; // what an agent knows before it runs
mod memory; // what agents remembered
mod calls; // what agents may ask of the host
mod watch; // the folder, live
mod contract; // the ten contract tests
mod doctor; // what this machine has
mod why; // one cause, one next step
mod starter; // what a new home gets

pub use self::{
    arguments::arguments_from_words,
    contract::{ContractResult, contract_tests, validate_file},
    doctor::{Finding, FindingState, examine},
    host::{Host, OpenFile},
    knowledge::{NoProgress, Progress},
    perform::Request,
    settings::{AgentSettings, Home, HostSettings},
    starter::{NewAgent, create_home, new_agent},
    watch::{Watch, watch},
    why::{Explanation, explain},
};
