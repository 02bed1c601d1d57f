//! `roost up` in the background, and questions to it.

use crate::{
    home::agents_of,
    http::{Answer, Client},
    waiting::{until, until_some},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader},
    ops::Deref,
    process::{Child, Command, Stdio},
};

/// A host that runs until this value is dropped. Everything a `Client` can ask, it can be asked.
#[derive(Debug)]
pub struct RunningHost {
    process: Child,
    port: u16,
    client: Client,
}

impl Deref for RunningHost {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl RunningHost {
    #[track_caller]
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("the binary was found and can be started");
        let stdout = process.stdout.take().expect("standard output is piped");
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let Some(port) = port else {
            // Nothing else of this process is of use; it is ended before the test is.
            stop(&mut process, Signal::KILL);
            panic!("the host does not say where it listens: {line:?} ({read:?})");
        };
        Self { process, port, client: Client::on(port) }
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Calls an agent and returns the whole answer.
    #[track_caller]
    #[must_use]
    pub fn call(&self, agent: &str, arguments: &Value) -> Answer {
        self.post(&format!("/v1/agents/{agent}/call"), &json!({ "arguments": arguments }))
    }

    /// What an agent answered; fails when the agent did.
    #[track_caller]
    #[must_use]
    pub fn output(&self, agent: &str, arguments: &Value) -> String {
        let outcome = self.call(agent, arguments).json();
        match (&outcome["error"], outcome["output"].as_str()) {
            (Value::Null, Some(output)) => output.to_owned(),
            _ => panic!("{agent} failed: {outcome}"),
        }
    }

    /// The reason a call failed with: of the outcome when the agent ran, of the answer when nothing did.
    #[track_caller]
    #[must_use]
    pub fn failure(&self, agent: &str, arguments: &Value) -> String {
        let outcome = self.call(agent, arguments).json();
        let reason = outcome["error"]["reason"].as_str().or(outcome["reason"].as_str());
        reason.unwrap_or_else(|| panic!("{agent} did not fail: {outcome}")).to_owned()
    }

    /// Every agent, after a look at what changed.
    #[track_caller]
    #[must_use]
    pub fn listing(&self) -> Vec<Value> {
        agents_of(self.get("/v1/agents").json())
    }

    /// Waits until `/health` names the agent: the host knows it without having been asked for it.
    #[track_caller]
    pub fn until_known(&self, agent: &str) {
        until(&format!("{agent} is known"), || {
            let health = self.get("/health").json();
            health["agents"].as_array().is_some_and(|names| names.iter().any(|name| name == agent))
        });
    }

    /// Asks the host to stop and waits until it did; the exit status.
    #[track_caller]
    pub fn terminate(mut self) -> i32 {
        self.signal(Signal::TERM);
        let status =
            until_some("the host ends after SIGTERM", || self.process.try_wait().expect("it is our child"));
        status.code().unwrap_or(-1)
    }

    /// Ends the host without a chance to tidy up.
    pub fn kill(mut self) {
        stop(&mut self.process, Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        send(&self.process, signal);
    }
}

impl Drop for RunningHost {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            stop(&mut self.process, Signal::TERM);
        }
    }
}

fn stop(process: &mut Child, signal: Signal) {
    send(process, signal);
    process.wait().ok();
}

/// The child was not waited for yet, so its id is still its own.
fn send(process: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(process.id()).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).ok();
    }
}
