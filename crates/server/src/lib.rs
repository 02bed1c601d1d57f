//! HTTP: parses requests, asks the host, writes answers.
//!
//! Holds no rules of its own. The only place that knows status codes, and the first that knows whether a caller may
//! speak to this host at all.

mod router; // all routes
mod routes; // one file per family of routes
mod request; // what a request carries
mod peer; // which account is at the other end
mod guard; // who may speak to this host
mod app_origin; // where mounted pages are served
mod openwop; // what routes of the workspace contract share
mod owner; // who owns it
mod record; // what every request leaves behind
mod error; // failures as answers
mod coded; // the same for clients of native apps
mod native_requests; // what native apps answer
mod openapi; // all routes, described for programs
mod serve; // listening and stopping
mod store; // a store, behind a door of its own

pub use self::{
    guard::{Neighbours, OtherAccounts},
    openapi::openapi_document,
    router::{Door, router},
    routes::chat::Profile,
    serve::{Listening, listen, listen_at},
    store::store_router,
};
