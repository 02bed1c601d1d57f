//! Scripts that the host gives to pages, from the folder `web/bridge/sdk`.

/// Where a host page looks whether host names of pages resolve.
pub(super) const PROBE_PATH: &str = "/apps/_sdk/probe.html";

pub(super) const PROBE: &str = include_str!("../../../../web/bridge/sdk/probe.html");

/// A script by its name.
pub(super) fn script(name: &str) -> Option<&'static str> {
    match name {
        "reploid-app-sdk.js" => Some(include_str!("../../../../web/bridge/sdk/reploid-app-sdk.js")),
        _ => None,
    }
}
