//! The one way in which the host fetches something for a page: to public computers it was granted, with nothing of the
//! host's own in the request.

use crate::host::Inner;
use reqwest::{Client, Method, Url, header::HeaderMap};
use roost_protocol::{Failure, Host as Computer, HostPort, Reason, Right};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::sync::OnceCell;

/// Longest answer that is handed to a page.
const BODY_BYTES_MAX: usize = 4 << 20;

/// From the first connection to the last byte.
const WITHIN: Duration = Duration::from_secs(60);

/// Headers that a page may set: none that says who asks or where it goes.
const HEADERS: [&str; 6] =
    ["accept", "accept-language", "content-type", "if-none-match", "if-modified-since", "x-requested-with"];

/// The client for pages, made when it is first needed.
#[derive(Default)]
pub(super) struct Egress(OnceCell<Client>);

/// What a page wants to have fetched.
#[derive(Debug)]
pub(super) struct Wanted {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<String>,
    target: HostPort,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) status: u16,
    pub(super) body: String,
    pub(super) headers: Map<String, Value>,
}

impl Wanted {
    /// Reads what a page sent. Addresses of this machine, numbers and other schemes are refused.
    pub(super) fn read(url: &str, init: &Value) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|_| "invalid url".to_owned())?;
        if !matches!(url.scheme(), "https" | "http") || !url.username().is_empty() || url.password().is_some()
        {
            return Err("this address is not used".to_owned());
        }
        let port = url.port_or_known_default().ok_or("invalid url")?;
        let target: HostPort = format!("{}:{port}", url.host_str().unwrap_or_default())
            .parse::<HostPortText>()
            .map_err(|_| "invalid url".to_owned())?
            .0;
        if !matches!(&target.host, Computer::Name(name) if name.contains('.') && !name.ends_with(".localhost"))
        {
            return Err("this address is not used".to_owned());
        }
        let method = init["method"].as_str().unwrap_or("GET").to_ascii_uppercase();
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| "invalid method".to_owned())?;
        let mut headers = HeaderMap::new();
        for (name, value) in init["headers"].as_object().into_iter().flatten() {
            let name = name.to_ascii_lowercase();
            let value = value.as_str().and_then(|value| value.parse().ok());
            if let (Some(known), Some(value)) = (HEADERS.iter().find(|known| **known == name), value) {
                headers.insert(*known, value);
            }
        }
        let body = init["body"].as_str().map(str::to_owned);
        Ok(Self { url, method, headers, body, target })
    }

    /// What the page must have been granted.
    pub(super) fn right(&self) -> Right {
        Right::Network(self.target.clone())
    }
}

/// A computer and a port as a right writes them.
struct HostPortText(HostPort);

impl std::str::FromStr for HostPortText {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match format!("network:{text}").parse::<Right>() {
            Ok(Right::Network(target)) => Ok(Self(target)),
            _ => Err(Failure::plain(Reason::InvalidRight)),
        }
    }
}

impl Inner {
    /// Fetches something. A redirect is handed to the page, which may ask for what it names.
    pub(super) async fn fetch_for_page(&self, wanted: Wanted) -> Result<Fetched, String> {
        let make = || roost_chat::guarded_client(roost_runtime::is_public_address);
        let client = self.pages.egress.0.get_or_try_init(make).await.map_err(|failure| failure.message)?;
        fetch(client, wanted).await
    }
}

async fn fetch(client: &Client, wanted: Wanted) -> Result<Fetched, String> {
    let Wanted { url, method, headers, body, .. } = wanted;
    let mut request = client.request(method, url).headers(headers).timeout(WITHIN);
    if let Some(body) = body {
        request = request.body(body);
    }
    let told = |error: reqwest::Error| error.without_url().to_string();
    let mut response = request.send().await.map_err(told)?;
    let status = response.status().as_u16();
    let mut shown = Map::new();
    for (name, value) in response.headers() {
        // Cookies are for browsers; a page has none here.
        if name != "set-cookie"
            && let Ok(value) = value.to_str()
        {
            shown.insert(name.as_str().to_owned(), value.into());
        }
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(told)? {
        if bytes.len() + piece.len() > BODY_BYTES_MAX {
            return Err(format!("the answer has more than {BODY_BYTES_MAX} bytes"));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Fetched { status, body: String::from_utf8_lossy(&bytes).into_owned(), headers: shown })
}

#[cfg(test)]
mod tests {
    use super::{Wanted, fetch};
    use serde_json::{Value, json};
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
    };

    #[test]
    fn this_machine_and_numbers_are_never_asked() {
        for url in [
            "http://localhost:7071/health",
            "http://127.0.0.1/",
            "https://[::1]/",
            "http://x.localhost/",
            "ftp://a.example/",
            "file:///etc/passwd",
            "https://me:secret@a.example/",
            "http://10.0.0.1/",
            "http://router/",
            "nonsense",
        ] {
            assert!(Wanted::read(url, &Value::Null).is_err(), "{url}");
        }
        let init = json!({"method": "post", "headers": {"Authorization": "x", "Cookie": "y", "Accept": "text/plain"}, "body": "b"});
        let wanted = Wanted::read("https://api.example.com/a?b", &init).unwrap();
        assert_eq!(wanted.right().to_string(), "network:api.example.com:443");
        assert_eq!((wanted.headers.len(), wanted.method.as_str()), (1, "POST"));
        for address in ["127.0.0.1", "10.1.1.1", "169.254.169.254", "::1", "fe80::1"] {
            assert!(!roost_runtime::is_public_address(address.parse().unwrap()), "{address}");
        }
    }

    /// Answers one request and gives what was asked.
    fn serve_once() -> (u16, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap();
            stream
                .write_all(
                    b"HTTP/1.1 201 Created\r\nSet-Cookie: a=b\r\nX-Kept: 1\r\nContent-Length: 5\r\n\r\nhello",
                )
                .unwrap();
            String::from_utf8_lossy(&bytes[..read]).into_owned()
        });
        (port, served)
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_not_followed() {
        let wanted =
            |port| Wanted::read(&format!("http://pages.localtest.example:{port}/"), &Value::Null).unwrap();
        let client = roost_chat::guarded_client(|_| false).await.unwrap();
        assert!(fetch(&client, wanted(9)).await.is_err());
        // The same way, with a name that is taken for this machine by the test alone.
        let (port, served) = serve_once();
        let client = roost_chat::guarded_client(|address| address.is_loopback()).await.unwrap();
        let mut local = wanted(port);
        local.url.set_host(Some("localhost")).unwrap();
        let fetched = fetch(&client, local).await.unwrap();
        assert_eq!((fetched.status, fetched.body.as_str()), (201, "hello"));
        assert!(fetched.headers.contains_key("x-kept") && !fetched.headers.contains_key("set-cookie"));
        let asked = served.join().unwrap().to_ascii_lowercase();
        assert!(!asked.contains("authorization") && !asked.contains("cookie"), "{asked}");
    }
}
