//! One database behind one interface: an embedded SQLite file, or PostgreSQL for several nodes at once.
//!
//! Knows no table of its own but the list of migrations. Whoever owns rows brings the statements; they are written once
//! and run on both engines inside the same [`Transaction`]. Rows belong to a tenant, and on PostgreSQL the server itself
//! holds tenants apart.

mod value; // what goes into and comes out of a statement
mod error; // what can go wrong
mod faults; // failing on purpose, for tests
mod transaction; // statements that belong together
mod change; // work that is done inside a transaction
mod notice; // telling others that something changed
mod migrations; // how tables come to be
mod sqlite; // the embedded engine
mod postgres; // the shared engine
mod database; // the way in

pub use change::Change;
pub use database::{Database, Location};
pub use error::StorageError;
pub use faults::Faults;
pub use migrations::Migration;
pub use notice::Notice;
pub use transaction::{Engine, Transaction};
pub use value::{Parameter, Row};
