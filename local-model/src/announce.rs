//! Lines of JSON on standard output, by which the parent follows the start.
//!
//! Any number of `{"loading":…}`, then exactly one `{"port":…,"model":…}` or one `{"error":…,"code":…}`, and nothing after it.

use serde_json::{Value, json};
use std::io::Write;

/// How much of the model is loaded, from 0 to 1.
pub(crate) fn loading(progress: f32) {
    // Two digits: what a bar can show.
    line(&json!({"loading": f64::from((progress * 100.0).round()) / 100.0}));
}

/// Requests are answered from now on.
pub(crate) fn ready(port: u16, model: &str) {
    line(&json!({"port": port, "model": model}));
}

/// The program gives up. The message is for people, the code for the parent.
pub(crate) fn error(message: &str, code: &str) {
    line(&json!({"error": message, "code": code}));
}

fn line(value: &Value) {
    let mut output = std::io::stdout().lock();
    // A parent that does not read is told by the end of standard input, not by an error here.
    drop(writeln!(output, "{value}").and_then(|()| output.flush()));
}
