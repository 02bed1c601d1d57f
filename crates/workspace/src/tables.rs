//! The tables of this crate, for both engines.

use roost_storage::Migration;

/// All steps, in order. A step that was released never changes.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        owner: "workspace",
        number: 1,
        sqlite: include_str!("tables/0001.sqlite.sql"),
        postgres: include_str!("tables/0001.postgres.sql"),
    },
    Migration {
        owner: "workspace",
        number: 2,
        sqlite: include_str!("tables/0002.sqlite.sql"),
        postgres: include_str!("tables/0002.postgres.sql"),
    },
];
