//! Scripts that the host gives to pages, from the folder `web/bridge/sdk`.

/// What a host page tries in a frame to learn whether host names of pages resolve.
pub const PROBE: &str = include_str!("../../../../web/bridge/sdk/probe.html");

/// A script by its name.
#[must_use]
pub fn script(name: &str) -> Option<&'static str> {
    match name {
        "reploid-app-sdk.js" => Some(include_str!("../../../../web/bridge/sdk/reploid-app-sdk.js")),
        "rapp-shim.js" => Some(include_str!("../../../../web/bridge/sdk/rapp-shim.js")),
        _ => None,
    }
}
