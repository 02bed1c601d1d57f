//! What the routes of the OpenWOP contract share: who asks, what is asked, and how a refusal looks.
//!
//! Checks come in the contract's order: how often, who, what for, and only then what is asked.

mod credential; // who asks
mod address; // what an address says
mod conditions; // what headers ask for
mod arriving; // bodies
mod closed; // shapes that hold what is known and nothing else
mod moments; // how a time is written
mod refusal; // what a refusal looks like

pub(crate) use address::{Query, failure_at, is_contract, rest_below};
pub(crate) use arriving::{Arriving, Unread};
pub(crate) use closed::{Object, known_query, object_in};
pub(crate) use conditions::Headers;
pub(crate) use credential::{Asker, shown_token};
pub(crate) use moments::moment;
pub(crate) use refusal::{Code, Refusal, RefusalBody};
