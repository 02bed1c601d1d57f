//! One request and its answer, within limits on time, size, headers and redirects.
//!
//! The only place of this crate that speaks to other computers. It is handed the client that the host makes for
//! everybody, which follows no redirects, opens nothing that is packed and reads no environment. Redirects are followed
//! here, because only here is known what a request carries.

mod parcel; // something handed over

pub use self::parcel::Parcel;

use super::{
    token::Token,
    web_address::{self, Reach},
};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
        IF_NONE_MATCH, LOCATION,
    },
};
use roost_protocol::{Failure, Reason};
use std::{error::Error as _, time::Duration};

/// A server that needs more than this for its headers has no answer for us.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// Longest mark of a state that is kept.
const ETAG_BYTES_MAX: usize = 256;

/// How long one fetch may take, and how often it may be sent on.
#[derive(Debug, Clone, Copy)]
pub struct WebLimits {
    /// From the first connection to the last byte, redirects included.
    pub total: Duration,
    /// Longer chains are loops.
    pub redirects: usize,
}

impl Default for WebLimits {
    fn default() -> Self {
        Self { total: Duration::from_secs(30), redirects: 5 }
    }
}

/// What an answer holds, which says what it must not call itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Code,
    Page,
    Archive,
}

/// A token, and the beginning of every address it may be sent to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guarded<'a> {
    pub(super) token: &'a Token,
    pub(super) prefix: &'a Url,
}

/// One thing to fetch.
#[derive(Debug, Clone)]
pub(super) struct Wanted<'a> {
    /// What it is, for messages: "the agent of @ada/tea".
    pub(super) what: &'a str,
    pub(super) url: &'a str,
    pub(super) reach: Reach,
    pub(super) content: Content,
    pub(super) bytes_max: usize,
    pub(super) guarded: Option<Guarded<'a>>,
    /// The state that is known already.
    pub(super) etag: Option<&'a str>,
}

/// What came back.
#[derive(Debug)]
pub(super) enum Arrived {
    /// It is as it was.
    Unchanged,
    Body {
        bytes: Vec<u8>,
        etag: Option<String>,
    },
}

/// Asks other computers. Clones share connections.
#[derive(Debug, Clone)]
pub struct Web {
    client: Client,
    limits: WebLimits,
}

impl Web {
    /// With a client that follows no redirects and unpacks nothing.
    #[must_use]
    pub fn new(client: Client, limits: WebLimits) -> Self {
        Self { client, limits }
    }

    /// Fetches one thing whole.
    pub(super) async fn get(&self, wanted: &Wanted<'_>) -> Result<Arrived, Failure> {
        let url = web_address::parse(wanted.url, wanted.reach).map_err(|failure| about(wanted, failure))?;
        let shown = web_address::shown(&url);
        let whole = tokio::time::timeout(self.limits.total, self.follow(wanted, url)).await;
        whole.unwrap_or_else(|_| {
            let message =
                format!("{shown} gave no complete answer within {} s", self.limits.total.as_secs_f32());
            Err(failed(wanted, Reason::FetchSlow, message))
        })
    }

    /// Fetches a small document that somebody named themselves; `what` it is, for messages.
    pub async fn document(&self, what: &str, url: &str, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        self.whole(what, url, bytes_max, Content::Json).await
    }

    /// Fetches an archive that somebody named themselves; `what` it is, for messages.
    pub async fn archive(&self, what: &str, url: &str, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        self.whole(what, url, bytes_max, Content::Archive).await
    }

    async fn whole(
        &self,
        what: &str,
        url: &str,
        bytes_max: usize,
        content: Content,
    ) -> Result<Vec<u8>, Failure> {
        let reach = Reach::Anywhere;
        let wanted = Wanted { what, url, reach, content, bytes_max, guarded: None, etag: None };
        match self.get(&wanted).await? {
            Arrived::Body { bytes, .. } => Ok(bytes),
            Arrived::Unchanged => Err(failed(&wanted, Reason::FetchGarbled, "no body came".to_owned())),
        }
    }

    async fn follow(&self, wanted: &Wanted<'_>, mut url: Url) -> Result<Arrived, Failure> {
        let mut reach = wanted.reach;
        for _ in 0..=self.limits.redirects {
            let response = self.send(wanted, &url).await?;
            let Some(next) = sent_on(wanted, &url, &response)? else {
                return receive(wanted, &url, response).await;
            };
            // Whoever is elsewhere does not get to send us to this machine.
            if !web_address::is_loopback(&url) {
                reach = Reach::Elsewhere;
            }
            let shown = web_address::shown(&next);
            let refused =
                |why: &str| failed(wanted, Reason::FetchRedirected, format!("sent on to {shown}: {why}"));
            web_address::check(&next, reach).map_err(refused)?;
            if wanted.guarded.is_some_and(|guarded| !is_below(&next, guarded.prefix)) {
                return Err(refused("the token does not go there"));
            }
            url = next;
        }
        let message = format!("sent on more than {} times", self.limits.redirects);
        Err(failed(wanted, Reason::FetchRedirected, message))
    }

    async fn send(&self, wanted: &Wanted<'_>, url: &Url) -> Result<Response, Failure> {
        let mut request = self.client.get(url.clone()).header(ACCEPT, "*/*");
        if let Some(etag) = wanted.etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(guarded) = wanted.guarded {
            // Invariant: a token is sent below its prefix only, on every hop.
            if !is_below(url, guarded.prefix) {
                let message = format!("the token does not go to {}", web_address::shown(url));
                return Err(failed(wanted, Reason::AddressRefused, message));
            }
            let bearer = guarded.token.bearer();
            let bearer = bearer
                .ok_or_else(|| failed(wanted, Reason::Internal, "the token fits no header".to_owned()))?;
            request = request.header(AUTHORIZATION, bearer);
        }
        request.send().await.map_err(|error| before_answer(wanted, url, error))
    }
}

/// Where the answer sends the request, if it does.
fn sent_on(wanted: &Wanted<'_>, url: &Url, response: &Response) -> Result<Option<Url>, Failure> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let next = location.and_then(|location| url.join(location).ok());
    let next =
        next.ok_or_else(|| failed(wanted, Reason::FetchRedirected, "sent on to nowhere".to_owned()))?;
    Ok(Some(next))
}

/// The answer's body, once its head is one that we want.
async fn receive(wanted: &Wanted<'_>, url: &Url, mut response: Response) -> Result<Arrived, Failure> {
    let shown = web_address::shown(url);
    let headers = response.headers();
    let header_bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if header_bytes > HEADER_BYTES_MAX {
        let message = format!("{shown} answered with {header_bytes} bytes of headers");
        return Err(failed(wanted, Reason::FetchGarbled, message));
    }
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_MODIFIED if wanted.etag.is_some() => return Ok(Arrived::Unchanged),
        status => {
            let reason = match status.as_u16() {
                404 | 410 => Reason::FetchMissing,
                401 | 403 => Reason::FetchDenied,
                400..=599 => Reason::FetchRefused,
                _ => Reason::FetchGarbled,
            };
            return Err(failed(wanted, reason, format!("{shown} answered {}", status.as_u16())));
        }
    }
    if let Some(why) = unwanted(headers, wanted.content) {
        return Err(failed(wanted, Reason::FetchGarbled, format!("{shown} answered with {why}")));
    }
    let too_large = || {
        let message = format!("{shown} has more than {} bytes", wanted.bytes_max);
        failed(wanted, Reason::FetchTooLarge, message)
    };
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|announced| announced > wanted.bytes_max as u64) {
        return Err(too_large());
    }
    let etag =
        headers.get(ETAG).and_then(|value| value.to_str().ok()).filter(|etag| etag.len() <= ETAG_BYTES_MAX);
    let etag = etag.map(str::to_owned);
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if bytes.len() + piece.len() > wanted.bytes_max => return Err(too_large()),
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) => break,
            Err(error) => {
                let message =
                    format!("{shown} broke off after {} bytes: {}", bytes.len(), told(&error.without_url()));
                return Err(failed(wanted, Reason::FetchCutOff, message));
            }
        }
    }
    if announced.is_some_and(|announced| announced != bytes.len() as u64) {
        let message = format!("{shown} sent {} bytes and not as many as it said", bytes.len());
        return Err(failed(wanted, Reason::FetchCutOff, message));
    }
    Ok(Arrived::Body { bytes, etag })
}

/// Why an answer cannot be what was asked for, judged by its headers.
fn unwanted(headers: &HeaderMap, content: Content) -> Option<String> {
    let text = |name| {
        headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?").to_ascii_lowercase())
    };
    // Nothing packed was asked for, and nothing is unpacked: what is small here could be huge.
    if let Some(encoding) = text(CONTENT_ENCODING).filter(|encoding| encoding != "identity") {
        return Some(format!("a body packed as {}", super::entry::shown(&encoding)));
    }
    let kind = text(CONTENT_TYPE)?;
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    let is_page = matches!(kind.as_str(), "text/html" | "application/xhtml+xml");
    let is_media =
        ["image/", "audio/", "video/", "font/", "multipart/"].iter().any(|media| kind.starts_with(media));
    let is_archive = matches!(kind.as_str(), "application/zip" | "application/gzip" | "application/x-tar");
    let fits = match content {
        Content::Page => !is_media && !is_archive,
        Content::Archive => !is_page && !is_media,
        Content::Json | Content::Code => !is_page && !is_media && !is_archive,
    };
    (!fits).then(|| format!("the type {}", super::entry::shown(&kind)))
}

/// True when the address lies below the prefix, on the same computer and port.
fn is_below(url: &Url, prefix: &Url) -> bool {
    url.origin() == prefix.origin() && url.path().starts_with(prefix.path()) && prefix.path().ends_with('/')
}

fn before_answer(wanted: &Wanted<'_>, url: &Url, error: reqwest::Error) -> Failure {
    let shown = web_address::shown(url);
    let error = error.without_url();
    // A connection that was made and then brought no answer is another's fault than one that was not made.
    let (reason, what) = if error.is_connect() {
        (Reason::FetchUnreachable, "cannot be reached")
    } else if error.is_timeout() {
        (Reason::FetchSlow, "did not answer in time")
    } else {
        (Reason::FetchGarbled, "did not answer with HTTP that can be understood")
    };
    failed(wanted, reason, format!("{shown} {what}: {}", told(&error)))
}

/// An error with its causes, which say more than it does.
fn told(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    super::entry::shown(&text)
}

fn failed(wanted: &Wanted<'_>, reason: Reason, message: String) -> Failure {
    about(wanted, Failure::new(reason, message))
}

/// Every failure says which of the fetches it is about.
fn about(wanted: &Wanted<'_>, failure: Failure) -> Failure {
    Failure { message: format!("{}: {}", wanted.what, failure.message), ..failure }
}

#[cfg(test)]
pub(super) mod tests;
