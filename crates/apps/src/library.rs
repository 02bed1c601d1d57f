//! The library: which apps are installed, in which version, from where, and what of them lies in the home.
//!
//! `apps/library.json` is the one truth; its replacement by a rename is the moment at which a change counts. Everything
//! else (files of agents and services, pages, `binder.json`, `roost.lock`) follows from it and is made again where a
//! change was cut off. Nothing is run, fetched or granted here.

mod steps; // a change, one step after the other
mod native_record; // what is known of an installed program
mod record; // what is known of an installed app
mod contents; // all of them, as one file
mod package; // what arrives, checked
mod from_egg; // what another host exported
mod places; // where an app's files lie
mod placing; // files into the home and out of it
mod lock_text; // `roost.lock`
mod change; // from one state to the next, whole or not at all

pub use self::{
    change::{Change, Changed, Library},
    contents::Contents,
    from_egg::{EGG_SCHEMA, Egg},
    lock_text::{LOCK_SCHEMA, LockedApp, locked, read_lock},
    native_record::{NativeChange, NativeRecord, NativeSignature},
    package::{Package, package_refused},
    places::LibraryPlaces,
    record::{AppKind, AppOrigin, AppRecord, PartRecord, Quarantine, SeenVersion, VersionRecord},
    steps::Steps,
};

#[cfg(test)]
mod tests;
