//! Answers what agents ask of the host.

use futures::future::BoxFuture;
use roost_protocol::{Failure, HostCall, Reason};
use roost_runtime::HostCalls;
use serde_json::Value;
use std::path::Path;

/// The calls this host answers.
pub(crate) struct Calls;

impl HostCalls for Calls {
    fn answer<'a>(&'a self, _file: &'a Path, call: HostCall) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            match call.method.as_str() {
                "model.complete" => Err(Failure::plain(Reason::ModelUnavailable)),
                other => {
                    Err(Failure::new(Reason::UnknownHostCall, format!("the host has no call `{other}`")))
                }
            }
        })
    }
}
