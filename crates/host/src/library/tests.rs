//! Installed apps in a host.
