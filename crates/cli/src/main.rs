//! The `roost` program: reads the command line and the settings, wires the crates, prints answers.
//!
//! Holds no logic of its own. Exit status: 0 ok, 1 the thing asked about is not ok, 2 wrong use, 3 the host failed.

mod args; // the command line
mod words; // what follows FILE or AGENT
mod config; // settings and environment, read once
mod hidden_input; // what a person types unseen
mod moments; // times as people write them
mod output; // answers for people and for programs
mod partner; // whom a command talks to
mod running; // the running host of this home
mod commands; // one file per verb

use crate::{
    args::{Arguments, Asked},
    output::Output,
};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(Asked::Command(arguments)) => *arguments,
        Ok(Asked::Help(text)) => {
            Output::new(false, false).line(text.trim_end());
            return ExitCode::SUCCESS;
        }
        Err(error) => return output::usage_error(&error),
    };
    let output = Output::new(arguments.json || arguments.command.asks_for_json(), arguments.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output.host_failed(&error.to_string()),
    };
    let code = match runtime.block_on(commands::run(arguments, &output)) {
        Ok(code) => code,
        Err(failure) => output.failure(&failure),
    };
    // Workers end with their host; nothing else may keep the program alive.
    runtime.shutdown_background();
    code
}
