//! Routes, one file per family.

pub(crate) mod agents;
pub(crate) mod health;
pub(crate) mod page;
