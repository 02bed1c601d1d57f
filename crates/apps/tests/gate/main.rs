//! The gate from outside: bundles by cases, archives with every trick, and properties of both.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests fail by panicking")]

mod forge; // zips and tars that lie
mod cases; // bundles that are wrong in one way each
mod archives; // containers with one trick each
mod properties; // what holds for every input
mod from_catalog; // what a catalog already has
mod native_packages; // native packages with one trick each
mod native_trust; // signatures, keys, lists and clocks that lie
