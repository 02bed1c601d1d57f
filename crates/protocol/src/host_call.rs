//! What an agent asks of the host while it runs. The host answers in the order of the questions.

use crate::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question, for example `model.complete`.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct HostCall {
    /// Question number, repeated by the answer.
    pub id: u64,
    /// What is asked for.
    pub method: String,
    /// With what.
    #[serde(default)]
    pub params: Value,
}

/// The answer: exactly one of result and error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostCallReply {
    /// Question number.
    pub id: u64,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}
