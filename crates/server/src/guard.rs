//! Who may speak to this host: programs on this machine, the host's own page, and pages that were allowed by name.
//!
//! A web page from elsewhere reaches loopback through the person's browser. It shows itself by its `Origin` or by
//! `Sec-Fetch-Site`, and a name that was rebound to this address by its `Host`. No route sees what is refused here.

use crate::{openwop::failure_at, peer::Peer, routes::native_accounts::CALLBACK};
use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use roost_protocol::{Failure, Reason};
use std::sync::Arc;

/// What allowed pages may use, told to their browser before they do.
const METHODS: HeaderValue = HeaderValue::from_static("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, x-roost-profile",
);

/// What such pages may see of an answer, besides what every page may.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("etag, openwop-idempotent-replay, retry-after, roost-encoding, roost-revision");

/// How long a browser may remember that, in seconds: short, because the list can change with a restart.
const REMEMBERED_SECONDS: HeaderValue = HeaderValue::from_static("600");

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const ASKS_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOWS_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Names of the address the host listens at. Every other loopback address can be another account's program.
const SERVED_NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

/// Who else may speak to the host, besides this machine.
#[derive(Debug, Clone, Default)]
pub struct Neighbours {
    /// Origins of web pages, exactly as browsers send them: `https://example.org`.
    pub origins: Vec<String>,
    /// Names of this machine, as `Host` headers have them, without a port.
    pub hosts: Vec<String>,
    /// Whether other accounts of this machine may speak to the host too.
    pub other_accounts: OtherAccounts,
}

/// What becomes of connections from accounts that are not the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtherAccounts {
    /// They are refused.
    #[default]
    Refused,
    /// They are served like the operator's own programs.
    Served,
}

/// What the guard knows.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) port: u16,
    pub(crate) neighbours: Neighbours,
}

/// Who speaks, if they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// A program, or the host's own page.
    Here,
    /// A page from elsewhere that was allowed by name.
    AllowedPage,
}

/// Refuses foreign hosts and origins before any route sees the request.
pub(crate) async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let speaker = access
        .account(request.extensions().get())
        .and_then(|()| access.speaker(request.method(), request.uri(), request.headers()));
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = match speaker {
        Err(reason) => failure_at(request.uri().path(), Failure::plain(reason)),
        Ok(Speaker::AllowedPage) if is_preflight(&request) => preflight(request.headers()),
        Ok(_) => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !access.neighbours.origins.is_empty() {
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    if let (Ok(Speaker::AllowedPage), Some(origin)) = (speaker, origin) {
        // Never with credentials: there are none that a browser would add by itself.
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight(asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED_SECONDS);
    if asked.contains_key(ASKS_PRIVATE_NETWORK) {
        headers.insert(ALLOWS_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    response
}

impl Access {
    /// Whether the account at the other end may speak at all. Who asks from within this process has no connection.
    fn account(&self, peer: Option<&ConnectInfo<Peer>>) -> Result<(), Reason> {
        let is_open = self.neighbours.other_accounts == OtherAccounts::Served;
        match peer {
            Some(ConnectInfo(peer)) if !is_open && !peer.is_operator() => Err(Reason::ForeignAccount),
            _ => Ok(()),
        }
    }

    fn speaker(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Speaker, Reason> {
        // Programs that speak HTTP/1.0 send no Host; browsers always do. Where there are several, each must be right.
        for host in headers.get_all(header::HOST) {
            let host = host.to_str().map_err(|_| Reason::ForeignHost)?;
            if !self.is_own_authority(host) {
                return Err(Reason::ForeignHost);
            }
        }
        if uri.authority().is_some_and(|authority| !self.is_own_authority(authority.as_str())) {
            return Err(Reason::ForeignHost);
        }
        let mut speaker = None;
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().map_err(|_| Reason::ForeignOrigin)?;
            speaker = Some(self.page_at(origin)?);
        }
        if let Some(speaker) = speaker {
            return Ok(speaker);
        }
        // A page that shows pictures, follows links or sends forms need not name itself; its browser does.
        let is_from_elsewhere = |site: &HeaderValue| site != "same-origin" && site != "none";
        let may_be_led_to = uri.path() == "/" || uri.path() == CALLBACK;
        let opens_the_page = may_be_led_to && matches!(*method, Method::GET | Method::HEAD);
        if !opens_the_page && headers.get_all(FETCH_SITE).iter().any(is_from_elsewhere) {
            return Err(Reason::ForeignOrigin);
        }
        Ok(Speaker::Here)
    }

    fn page_at(&self, origin: &str) -> Result<Speaker, Reason> {
        if self.neighbours.origins.iter().any(|allowed| allowed == origin) {
            return Ok(Speaker::AllowedPage);
        }
        // Browsers write an origin in one form only, so it is compared as text: another spelling of the same address
        // or port comes from no browser, and another port or loopback address is another program's page.
        let authority = origin.strip_prefix("http://").ok_or(Reason::ForeignOrigin)?;
        let own_port = if self.port == 80 { String::new() } else { format!(":{}", self.port) };
        match authority.strip_suffix(own_port.as_str()) {
            Some(name) if self.is_here(name) => Ok(Speaker::Here),
            _ => Err(Reason::ForeignOrigin),
        }
    }

    /// Whether a `Host` names this host: the port may be left out or be a tunnel's, but is written as browsers do.
    fn is_own_authority(&self, authority: &str) -> bool {
        let name = host_name(authority);
        self.is_here(name) && !authority[name.len()..].starts_with(":0")
    }

    /// Whether this is a name that the host is served at: one of the two it listens at, or one from the settings.
    pub(crate) fn is_here(&self, name: &str) -> bool {
        let is_served = |served: &str| served.eq_ignore_ascii_case(name);
        SERVED_NAMES.iter().copied().any(is_served)
            || self.neighbours.hosts.iter().any(|host| is_served(host))
    }
}

/// The name without the port; brackets of an IPv6 address stay.
pub(crate) fn host_name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests;
