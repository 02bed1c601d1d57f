//! Answers what agents ask of the host, and what the proxy asks on their behalf.
//!
//! Who asks is the program at the other end of the connection. A program that is not known here gets nothing.

use crate::{
    gate::{Decision, Gate},
    standing::Standing,
};
use futures::future::BoxFuture;
use roost_protocol::{Digest, Failure, Host, HostCall, HostPort, Reason, Right};
use roost_runtime::{HostCalls, Program, Verdict};
use serde_json::Value;
use std::{
    collections::HashMap,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The calls this host answers.
pub(crate) struct Calls {
    gate: Arc<Gate>,
    standings: Mutex<HashMap<(PathBuf, Digest), Arc<Standing>>>,
}

/// More contents than a host can have running at once; the rest is looked up anew when it is prepared again.
const STANDINGS_MAX: usize = 4096;

impl Calls {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        Self { gate, standings: Mutex::default() }
    }

    /// Makes a program known before it runs.
    pub(crate) fn introduce(&self, file: PathBuf, standing: Arc<Standing>) {
        let mut standings = self.lock();
        if standings.len() >= STANDINGS_MAX {
            standings.clear();
        }
        standings.insert((file, standing.caller.digest), standing);
    }

    fn decide(&self, program: &Program, right: &Right) -> Decision {
        let key = (program.file.clone(), program.digest);
        let standing = self.lock().get(&key).cloned();
        match standing {
            Some(standing) => self.gate.decide(&standing.caller, &standing.asks, right),
            None => Decision::unknown_caller(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(PathBuf, Digest), Arc<Standing>>> {
        self.standings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostCalls for Calls {
    fn answer<'a>(&'a self, caller: &'a Program, call: HostCall) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            match call.method.as_str() {
                "model.complete" => {
                    let decision = self.decide(caller, &Right::Model);
                    Err(decision.failure(&Right::Model).unwrap_or(Failure::plain(Reason::ModelUnavailable)))
                }
                other => {
                    Err(Failure::new(Reason::UnknownHostCall, format!("the host has no call `{other}`")))
                }
            }
        })
    }

    fn may_reach(&self, caller: &Program, target: &HostPort) -> Verdict {
        verdict(self.decide(caller, &Right::Network(target.clone())))
    }

    fn may_reach_private(&self, caller: &Program, address: IpAddr, port: u16) -> Verdict {
        let local = Host::Name("localhost".to_owned());
        let names = [Some(Host::Address(address)), address.is_loopback().then_some(local)];
        let mut last = Verdict::Refused { next: String::new() };
        for host in names.into_iter().flatten() {
            last = verdict(self.decide(caller, &Right::Network(HostPort { host, port: Some(port) })));
            if last == Verdict::Allowed {
                break;
            }
        }
        last
    }
}

fn verdict(decision: Decision) -> Verdict {
    match decision {
        Decision::Allowed { .. } => Verdict::Allowed,
        Decision::Denied { next, .. } => Verdict::Refused { next },
    }
}
