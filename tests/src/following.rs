//! A command that goes on printing, read line by line as it comes.

use crate::{TestHome, waiting::PATIENCE};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
};

/// A `roost` that follows something. Ended when this is dropped.
#[derive(Debug)]
pub struct Following {
    process: Child,
    lines: Receiver<String>,
}

impl Following {
    /// Starts it.
    #[track_caller]
    #[must_use]
    pub fn new(home: &TestHome, arguments: &[&str]) -> Self {
        let mut command = home.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("the binary was found and can be started");
        let stdout = process.stdout.take().expect("it is piped");
        let (give, lines) = channel();
        // Ends with the process, whose end it reads.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if give.send(line).is_err() {
                    return;
                }
            }
        });
        Self { process, lines }
    }

    /// Waits for a line; fails when it does not come.
    #[track_caller]
    pub fn until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if holds(&line) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("gave up waiting: {what} ({error}): {seen:?}"),
            }
        }
    }

    /// As a person ends it; the answer is its exit status.
    #[track_caller]
    #[must_use]
    pub fn interrupt(mut self) -> Option<i32> {
        let process = Pid::from_child(&self.process);
        kill_process(process, Signal::INT).expect("it is our child and not waited for");
        self.process.wait().expect("it is our child").code()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
