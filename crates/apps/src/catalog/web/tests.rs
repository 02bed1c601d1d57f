//! Hostile servers.
