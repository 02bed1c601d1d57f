//! The one HTTP client of all providers: limits on time and size, no redirects, and troubles told apart.
//!
//! Knows no provider. A redirect is never followed, because it would carry the key to somebody else.

use super::failed::{Trouble, retry_after};
use super::secret::{Secret, Secrets};
use super::trust;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, NoProxy, Proxy, RequestBuilder, Response, redirect::Policy};
use roost_protocol::{Failure, Reason};
use rustls::ClientConfig;
use serde::Serialize;
use serde_json::Value;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// How long a provider may take until its answer begins, as its users were always promised.
pub const FIRST_BYTE_WAIT: Duration = Duration::from_secs(60);

/// How long a provider may pause within its answer.
pub const PIECE_WAIT: Duration = Duration::from_secs(60);

/// Long enough for a distant server, short enough to tell a person that there is none.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// The longest replies of models are below one mebibyte; catalogues of models are not much larger.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// An error page is read only for its beginning.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// Never asked through a proxy: servers on this machine, and the metadata of the machine itself.
const HERE: &str = "localhost,127.0.0.0/8,::1,169.254.169.254";

/// Where to go through on the way to providers.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxySettings {
    /// The proxy's address.
    pub url: String,
    /// Names that are reached without it, separated by commas; this machine always is.
    pub not_for: String,
}

impl fmt::Debug for ProxySettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = without_password(&self.url);
        formatter.debug_struct("ProxySettings").field("url", &url).field("not_for", &self.not_for).finish()
    }
}

/// A client that can be cloned; clones share connections.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    shared: Arc<Shared>,
    first_byte_wait: Duration,
    piece_wait: Duration,
}

#[derive(Debug)]
struct Shared {
    proxy: Option<Proxy>,
    /// Made at the first use: reading this computer's certificates takes some milliseconds.
    client: OnceCell<Client>,
}

impl Wire {
    /// A client; fails when the proxy's address is not one.
    pub(crate) fn new(
        first_byte_wait: Duration,
        piece_wait: Duration,
        proxy: Option<&ProxySettings>,
    ) -> Result<Self, reqwest::Error> {
        let proxy = proxy.map(through).transpose()?;
        Ok(Self { shared: Arc::new(Shared { proxy, client: OnceCell::new() }), first_byte_wait, piece_wait })
    }

    /// The same client with less patience.
    pub(crate) fn within(&self, wait: Duration) -> Self {
        Self {
            shared: self.shared.clone(),
            first_byte_wait: wait.min(self.first_byte_wait),
            piece_wait: wait.min(self.piece_wait),
        }
    }

    /// The same with longer waits.
    pub(crate) fn patient(&self, wait: Duration) -> Self {
        Self {
            shared: self.shared.clone(),
            first_byte_wait: wait.max(self.first_byte_wait),
            piece_wait: wait.max(self.piece_wait),
        }
    }

    pub(crate) async fn get(&self, target: &Target) -> Result<Answer, Trouble> {
        let request = self.request(Method::GET, target).await?;
        self.send(request).await
    }

    pub(crate) async fn post_json(&self, target: &Target, body: &impl Serialize) -> Result<Answer, Trouble> {
        let request = self.request(Method::POST, target).await?;
        let body = serde_json::to_string(body)
            .map_err(|error| Trouble::garbled("was not asked", error.to_string()))?;
        self.send(request.header(CONTENT_TYPE, "application/json").body(body)).await
    }

    pub(crate) async fn post_form(&self, target: &Target, form: &[(&str, &str)]) -> Result<Answer, Trouble> {
        let request = self.request(Method::POST, target).await?;
        self.send(request.form(form)).await
    }

    async fn request(&self, method: Method, target: &Target) -> Result<RequestBuilder, Trouble> {
        let mut request = self.client().await?.request(method, &target.url).header(ACCEPT, target.accept);
        for (name, value) in &target.headers {
            request = request.header(name, value);
        }
        Ok(request)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, Trouble> {
        let response = match timeout(self.first_byte_wait, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(before_answer(error)),
            Err(_) => return Err(Trouble::Silent(self.first_byte_wait)),
        };
        let status = response.status();
        let mut answer = Answer { response, piece_wait: self.piece_wait, bytes_left: ANSWER_BYTES_MAX };
        if status.is_success() {
            return Ok(answer);
        }
        let header = answer.response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|value| retry_after(value, SystemTime::now()));
        answer.bytes_left = ERROR_BYTES_MAX;
        let mut text = Vec::new();
        // An error page that breaks off or is too long is still an error with this status.
        while let Ok(Some(piece)) = answer.piece().await {
            text.extend(piece);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Err(Trouble::Status { status: status.as_u16(), text, retry_after })
    }

    async fn client(&self) -> Result<&Client, Trouble> {
        let made = || make(self.shared.proxy.clone());
        self.shared.client.get_or_try_init(made).await.map_err(Trouble::Unreachable)
    }
}

/// A client for whoever else asks other computers: the same trust, proxy and patience for connections as for providers,
/// no redirects, and nothing that is packed is unpacked.
pub async fn web_client(proxy: Option<&ProxySettings>) -> Result<Client, Failure> {
    let wrong = |message: String| Failure::new(Reason::InvalidSettings, format!("the proxy: {message}"));
    let proxy = proxy.map(through).transpose().map_err(|error| wrong(error.without_url().to_string()))?;
    make(proxy).await.map_err(|message| Failure::new(Reason::Internal, message))
}

fn through(settings: &ProxySettings) -> Result<Proxy, reqwest::Error> {
    let not_for = NoProxy::from_string(&format!("{HERE},{}", settings.not_for));
    Ok(Proxy::all(&settings.url)?.no_proxy(not_for))
}

async fn make(proxy: Option<Proxy>) -> Result<Client, String> {
    // Reads many files.
    let made = tokio::task::spawn_blocking(move || client(proxy, trust::configuration())).await;
    made.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

pub(super) fn client(proxy: Option<Proxy>, tls: ClientConfig) -> Result<Client, reqwest::Error> {
    // Not the variables of the environment, which are read once, elsewhere.
    let direct = Client::builder().no_proxy();
    let builder = match proxy {
        None => direct,
        Some(proxy) => direct.proxy(proxy),
    };
    builder
        .use_preconfigured_tls(tls)
        .connect_timeout(CONNECT_WAIT)
        .redirect(Policy::none())
        .user_agent(concat!("roost/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Where a request goes and what it carries besides its body.
#[derive(Clone)]
pub(crate) struct Target {
    url: String,
    accept: &'static str,
    headers: Vec<(HeaderName, HeaderValue)>,
    secrets: Secrets,
}

impl Target {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        let url = url.into();
        let mut secrets = Secrets::default();
        if let Some(password) = password_in(&url) {
            secrets.add(&password);
        }
        Self { url, accept: "application/json", headers: Vec::new(), secrets }
    }

    pub(crate) fn accepting(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((HeaderName::from_static(name), HeaderValue::from_static(value)));
        self
    }

    /// With a header that holds a credential after a word such as `Bearer `.
    pub(crate) fn with_secret(mut self, name: &'static str, word: &str, secret: &Secret) -> Self {
        self.secrets.add(secret);
        // A credential that cannot stand in a header is not sent; the provider then says that it is missing.
        if let Ok(mut value) = HeaderValue::from_str(&format!("{word}{}", secret.reveal())) {
            value.set_sensitive(true);
            self.headers.push((HeaderName::from_static(name), value));
        }
        self
    }

    pub(crate) fn with_bearer(self, secret: Option<&Secret>) -> Self {
        match secret {
            Some(secret) => self.with_secret("authorization", "Bearer ", secret),
            None => self,
        }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }
}

/// An address as it may be shown.
pub(crate) fn without_password(url: &str) -> String {
    match password_in(url) {
        Some(password) => url.replacen(password.reveal(), "***", 1),
        None => url.to_owned(),
    }
}

/// The password in `https://user:password@host`.
fn password_in(url: &str) -> Option<Secret> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Secret::parse(user.split_once(':').map_or(user, |(_, password)| password))
}

/// An answer whose status is a success and whose body is still to come.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
    piece_wait: Duration,
    bytes_left: usize,
}

impl Answer {
    /// Whether the body says it is JSON; a server that does not stream answers so even when asked for a stream.
    pub(crate) fn is_json(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("json"))
    }

    /// The next bytes; none at the end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        let piece = match timeout(self.piece_wait, self.response.chunk()).await {
            Ok(Ok(Some(piece))) => piece,
            Ok(Ok(None)) => return Ok(None),
            Ok(Err(error)) => {
                return Err(Trouble::garbled(
                    "broke off in the middle of its answer",
                    told(&error.without_url()),
                ));
            }
            Err(_) => return Err(Trouble::Silent(self.piece_wait)),
        };
        match self.bytes_left.checked_sub(piece.len()) {
            Some(left) => self.bytes_left = left,
            None => return Err(Trouble::garbled("answered with more than can be held", "")),
        }
        Ok(Some(piece.into()))
    }

    /// The whole body as JSON, decoded as UTF-8 whatever its header says.
    pub(crate) async fn json(mut self) -> Result<Value, Trouble> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece().await? {
            bytes.extend(piece);
        }
        let text = String::from_utf8_lossy(&bytes);
        serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|_| Trouble::garbled("answered with something that is not JSON", text))
    }
}

fn before_answer(error: reqwest::Error) -> Trouble {
    let error = error.without_url();
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return Trouble::garbled("answered with something that is not HTTP", told(&error));
        }
        source = cause.source();
    }
    Trouble::Unreachable(told(&error))
}

/// An error with its causes, which say more than it does.
fn told(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{ProxySettings, Target, password_in, without_password};
    use crate::model::secret::Secret;

    #[test]
    fn a_target_does_not_show_what_it_carries() {
        let target =
            Target::new("http://me:hidden-word@h/v1").with_bearer(Secret::parse("very-secret").as_ref());
        assert!(!format!("{:?}", target.headers).contains("very-secret"));
        assert_eq!(target.secrets().removed_from("very-secret hidden-word"), "[removed] [removed]");
    }

    #[test]
    fn passwords_are_found_in_addresses() {
        let found = |url| password_in(url).map(|secret| secret.reveal().to_owned());
        assert_eq!(found("https://a:b@c/d"), Some("b".into()));
        assert_eq!(found("https://token@c"), Some("token".into()));
        assert_eq!(found("https://c/d@e"), None);
        assert_eq!(found("c"), None);
        assert_eq!(without_password("https://a:bcd@e/f"), "https://a:***@e/f");
        let proxy = ProxySettings { url: "http://a:bcd@e".into(), not_for: String::new() };
        assert!(!format!("{proxy:?}").contains("bcd"));
    }
}
