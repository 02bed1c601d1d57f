//! A direct call as a run: what went in, what came out, and the receipt.

use super::{Beginning, RunKind, RunStatus};
use crate::{host::Inner, perform::Request, store::local_owner};
use roost_protocol::{CallOutcome, Failure};
use serde_json::json;

impl Inner {
    /// Makes a call and writes it down.
    pub(crate) async fn as_run<F: Future<Output = Result<CallOutcome, Failure>>>(
        &self,
        name: &str,
        request: &Request,
        call: impl FnOnce(Request) -> F,
    ) -> Result<CallOutcome, Failure> {
        let owner = local_owner();
        let payload = json!({
            "workflowId": name,
            "owner": { "tenant": owner.tenant.as_str(), "workspace": owner.workspace.as_str() },
            "inputs": { "agent": name, "arguments": request.arguments, "user": request.user },
        });
        let beginning = Beginning {
            owner: &owner,
            kind: RunKind::Call,
            workflow: name,
            title: name,
            principal: "local",
            moment: None,
        };
        let Some(run) = self.begin_run(beginning, payload).await else { return call(request.clone()).await };
        let request = Request { run: Some(run.id.clone()), ..request.clone() };
        let called = call(request).await;
        let (status, payload) = match &called {
            Ok(CallOutcome { output, error: None, receipt, .. }) => {
                (RunStatus::Completed, json!({ "output": output, "receipt": receipt }))
            }
            Ok(CallOutcome { error: Some(failure), receipt, .. }) => (
                RunStatus::Failed,
                json!({ "error": failure.message, "reason": failure.reason, "receipt": receipt }),
            ),
            Err(failure) => {
                (RunStatus::Failed, json!({ "error": failure.message, "reason": failure.reason }))
            }
        };
        run.end_soon(status, payload).await;
        called
    }
}
