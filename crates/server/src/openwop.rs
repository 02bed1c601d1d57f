//! What the routes of the OpenWOP contract share: who asks, and how a refusal looks.
//!
//! Checks come in the contract's order: how often, who, what for, and only then what is asked.

mod credential; // who asks
mod refusal; // what a refusal looks like

pub(crate) use credential::Asker;
pub(crate) use refusal::{Code, Refusal, RefusalBody};
