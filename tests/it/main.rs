//! Stories across crates, told with the real program on a temporary home folder and a free port.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests fail by panicking")]

mod bad_files;
mod bundles;
mod callers;
mod catalogs;
mod chat;
mod conformance;
mod contract;
mod dependencies;
mod escapes;
mod first_minute;
mod hostile;
mod hot;
mod http;
mod library;
mod many;
mod memory;
mod names;
mod page;
mod native;
mod native_cut_off; // native apps whose host is killed
mod native_examples; // native apps for authors
mod native_hooks; // what native apps change in a turn
mod native_identity; // whose native app it is
mod native_care;
mod native_inspector;
mod native_install; // native apps in the library
mod native_gateway; // as models
mod native_lines; // as channels, and between agents
mod native_network; // and what they reach
mod native_python; // native apps by another implementation
mod native_accounts;
mod native_pages;
mod native_routes;
mod native_running;
mod native_settings;
mod pages;
mod postgres_cluster;
mod reach;
mod rights;
mod schedules;
mod secrets;
mod runs;
mod services;
mod slush;
mod sources;
mod storage;
mod store;
mod wire;
mod workspace;
