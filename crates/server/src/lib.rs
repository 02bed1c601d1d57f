//! HTTP: parses requests, asks the host, writes answers.
//!
//! Holds no rules of its own. The only place that knows status codes, and the first that knows whether a caller may
//! speak to this host at all.

mod router; // all routes
mod routes; // one file per family of routes
mod guard; // who may speak to this host
mod error; // failures as answers
mod serve; // listening and stopping

pub use self::{
    router::router,
    serve::{Listening, listen},
};
