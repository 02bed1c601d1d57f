//! What every file of a page is sent with: what its scripts may load and reach, who may show it, and what the browser
//! must not do for it.

use super::MOUNTED;
use crate::guard::Access;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use roost_host::pages::{PageMode, PageSession};
use roost_protocol::{Host as Computer, HostPort, Right};

/// Everything a browser could let a page use, switched off.
const DEVICES: [&str; 30] = [
    "accelerometer",
    "ambient-light-sensor",
    "attribution-reporting",
    "autoplay",
    "bluetooth",
    "browsing-topics",
    "camera",
    "compute-pressure",
    "display-capture",
    "encrypted-media",
    "fullscreen",
    "gamepad",
    "geolocation",
    "gyroscope",
    "hid",
    "identity-credentials-get",
    "idle-detection",
    "local-fonts",
    "local-network-access",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "picture-in-picture",
    "publickey-credentials-get",
    "screen-wake-lock",
    "serial",
    "usb",
    "window-management",
    "xr-spatial-tracking",
];

const CLIPBOARD: [&str; 2] = ["clipboard-read", "clipboard-write"];

/// Origins of pages that may show apps: the host's own, and those that were allowed by name.
#[derive(Debug, Clone)]
pub(super) struct HostOrigins(String);

impl HostOrigins {
    pub(super) fn of(access: &Access) -> Self {
        let all: Vec<String> = own_origins(access).chain(access.neighbours.origins.iter().cloned()).collect();
        Self(all.join(" "))
    }
}

/// Where the host's own page may be.
fn own_origins(access: &Access) -> impl Iterator<Item = String> {
    let names =
        ["127.0.0.1", "localhost"].into_iter().chain(access.neighbours.hosts.iter().map(String::as_str));
    names.map(|name| format!("http://{name}:{}", access.port))
}

/// What the host's own page may show in frames: mounted pages at this port, wherever they are served.
pub(crate) fn frame_sources(access: &Access) -> String {
    let named = format!("http://*.localhost:{}", access.port);
    let mounted = own_origins(access).map(|origin| format!("{origin}{MOUNTED}"));
    std::iter::once(named).chain(mounted).collect::<Vec<_>>().join(" ")
}

/// Where a file is served.
pub(super) struct Frame<'a> {
    /// The address before `/apps/`.
    pub(super) base: &'a str,
    /// The mounted page; none for what belongs to nobody.
    pub(super) session: Option<&'a PageSession>,
    pub(super) hosts: &'a HostOrigins,
}

pub(super) fn headers_of(frame: &Frame<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let is_opaque =
        frame.session.is_some_and(|session| session.mode() == PageMode::Opaque || session.strict().is_some());
    let resources = if is_opaque { "cross-origin" } else { "same-origin" };
    headers
        .insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static(resources));
    if is_opaque {
        // Modules and own data are asked for without an origin; whoever has the address is the page itself.
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    let texts = [
        (header::CONTENT_SECURITY_POLICY, content_policy(frame, is_opaque)),
        (HeaderName::from_static("permissions-policy"), permissions_policy(frame)),
    ];
    for (name, text) in texts {
        // Made of parts that were checked; one that is not a header's value leaves the strictest there is.
        let value = HeaderValue::from_str(&text)
            .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'; sandbox"));
        headers.insert(name, value);
    }
    headers
}

fn content_policy(frame: &Frame<'_>, is_opaque: bool) -> String {
    let base = frame.base;
    let sdk = format!("{base}/apps/_sdk/");
    let own = frame.session.map(|session| {
        let id = &session.page().manifest().id;
        match session.page().manifest().native {
            true => format!("{base}/apps/{id}/ {base}/api/v1/apps/{id}/"),
            false => format!("{base}/apps/{id}/ {base}/binder/ui/{id}/"),
        }
    });
    let is_native = frame.session.is_some_and(|session| session.page().manifest().native);
    let own = own.unwrap_or_default();
    let mut connect = own.clone();
    for right in frame.session.map(PageSession::header_rights).unwrap_or_default() {
        if let Some(source) = connect_source(right) {
            connect.push(' ');
            connect.push_str(&source);
        }
    }
    let connect = if connect.is_empty() { "'none'".to_owned() } else { connect };
    let hosts = &frame.hosts.0;
    let strict = frame.session.and_then(PageSession::strict);
    let scripts = match strict {
        Some(strict) => strict.hashes.join(" "),
        None => format!("'unsafe-inline' {own} {sdk}"),
    };
    let forms = if is_native { own.as_str() } else { "'none'" };
    let mut policy = format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline' {own}; \
         img-src {own} data: blob:; font-src {own} data: blob:; media-src {own} data: blob:; \
         connect-src {connect}; worker-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'none'; \
         form-action {forms}; frame-ancestors {hosts}"
    );
    if strict.is_some() {
        policy.push_str("; require-trusted-types-for 'script'; trusted-types 'none'");
    }
    if is_opaque {
        policy.push_str("; sandbox allow-scripts allow-forms");
    }
    policy
}

/// Where a granted right lets a page connect to. Never this machine or a private network by name or number.
fn connect_source(right: &Right) -> Option<String> {
    match right {
        Right::AnyNetwork => Some("https: wss:".to_owned()),
        Right::Network(HostPort { host, port }) => {
            let name = match host {
                Computer::Name(name) if is_public_name(name) => name.clone(),
                Computer::Below(name) if is_public_name(name) => format!("*.{name}"),
                _ => return None,
            };
            Some(match port {
                Some(port) => format!("https://{name}:{port} wss://{name}:{port}"),
                None => format!("https://{name} wss://{name}"),
            })
        }
        _ => None,
    }
}

/// A name with a dot that is not set aside for networks at home.
fn is_public_name(name: &str) -> bool {
    let endings = [".localhost", ".local", ".internal", ".lan", ".home", ".home.arpa", ".intranet", ".corp"];
    name.contains('.') && !endings.iter().any(|ending| name.ends_with(ending))
}

fn permissions_policy(frame: &Frame<'_>) -> String {
    let rights = frame.session.map(PageSession::header_rights).unwrap_or_default();
    let mut parts: Vec<String> = DEVICES.iter().map(|device| format!("{device}=()")).collect();
    if !rights.contains(&Right::Clipboard) {
        parts.extend(CLIPBOARD.iter().map(|feature| format!("{feature}=()")));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::connect_source;

    #[test]
    fn no_granted_name_leads_to_this_machine_or_the_house() {
        let source = |right: &str| connect_source(&right.parse().unwrap());
        assert_eq!(
            source("network:api.example.com").as_deref(),
            Some("https://api.example.com wss://api.example.com")
        );
        assert_eq!(
            source("network:*.example.com:8443").as_deref(),
            Some("https://*.example.com:8443 wss://*.example.com:8443")
        );
        for right in [
            "network:localhost",
            "network:127.0.0.1",
            "network:192.168.0.1",
            "network:router",
            "network:a.localhost",
            "network:printer.local",
            "network:[::1]",
            "network:8.8.8.8",
            "model",
        ] {
            assert_eq!(source(right), None, "{right}");
        }
    }
}
