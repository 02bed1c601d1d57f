//! One connection of an agent: requests that are passed on, or one tunnel.
//!
//! Everything about a connection runs in its own task; what it starts besides ends with it.

use super::{
    answer::{Body, Stopped},
    authority::Authority,
    counted::Activity,
    headers,
    passage::{Admitted, Passage},
    secret::{self, SecretUse},
    strict::{HEAD_BYTES_MAX, Strict},
    target::Target,
    trust::Trust,
    tunnel::{FarEnd, Tunnel},
    upstream::{NotSent, Outgoing, Upstream},
};
use http_body_util::{BodyExt, Either, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri, Version,
    body::Incoming,
    header::{EXPECT, HOST, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use roost_protocol::Transport;
use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};

/// Longest wait for a head, and so for the next request on a connection that is kept: as long as common servers.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(75);

/// Most headers of one request or response: browsers with many cookies send half of it.
pub(super) const HEADERS_MAX: usize = 128;

/// How much of a refused body is read and thrown away: many clients read no answer before they have sent it all.
const REFUSED_BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long that may take: the agent is on this computer.
const REFUSED_BODY_WAIT_MAX: Duration = Duration::from_secs(1);

/// What all connections of one agent share.
pub(super) struct Setup {
    pub(super) passage: Passage,
    pub(super) secrets: Vec<SecretUse>,
    pub(super) authority: Authority,
    pub(super) trust: Trust,
}

/// One connection.
pub(super) struct Session {
    pub(super) setup: Arc<Setup>,
    pub(super) activity: Arc<Activity>,
    /// The other end of the tunnel, when these requests come out of one.
    inside: Option<Target>,
    /// The last server, for the next request. Requests of one connection never overlap.
    upstream: Mutex<Option<Upstream>>,
    tunnel: Mutex<Option<Tunnel>>,
}

/// Serves an agent's connection to its end.
pub(super) async fn serve(stream: TcpStream, setup: Arc<Setup>) {
    let session = Arc::new(Session::new(setup, Arc::default(), None));
    let whole = async {
        serve_requests(stream, session.clone()).await;
        let tunnel = session.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tunnel) = tunnel {
            tunnel.run(&session).await;
        }
    };
    tokio::select! {
        () = whole => {}
        () = session.activity.silence() => {}
    }
}

/// Serves requests until the connection ends or becomes a tunnel.
pub(super) async fn serve_requests<S>(stream: S, session: Arc<Session>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| session.clone().answer(request));
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(Strict::new(stream)), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        // The agent's own doing, and it has its answer where one was possible.
        tracing::debug!(%error, "connection of an agent ended early");
    }
}

impl Session {
    pub(super) fn new(setup: Arc<Setup>, activity: Arc<Activity>, inside: Option<Target>) -> Self {
        Self { setup, activity, inside, upstream: Mutex::default(), tunnel: Mutex::default() }
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let answered = if request.method() == Method::CONNECT {
            self.open_tunnel(request).await
        } else {
            match self.admit(&request) {
                Ok(admitted) => self.pass_on(&admitted, request).await,
                Err(stopped) => {
                    read_away(request).await;
                    Err(stopped)
                }
            }
        };
        Ok(answered.unwrap_or_else(|stopped| stopped.response()))
    }

    async fn open_tunnel(&self, request: Request<Incoming>) -> Result<Response<Body>, Stopped> {
        if self.inside.is_some() {
            return Err(Stopped::Malformed("there is no tunnel inside a tunnel"));
        }
        let passage = &self.setup.passage;
        let admitted = passage.admit(Target::of_tunnel(request.uri())?)?;
        let far_end =
            if self.setup.secrets.iter().any(|secret| secret.is_for(admitted.target(), Transport::Tls)) {
                FarEnd::Here
            } else {
                let server = passage.connect(&admitted, &self.activity).await?;
                server.row().requested();
                FarEnd::Server(server)
            };
        let tunnel = Tunnel { upgrade: hyper::upgrade::on(request), admitted, far_end };
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
        Ok(Response::new(Either::Right(Full::default())))
    }

    /// Decides on a request by its head.
    fn admit(&self, request: &Request<Incoming>) -> Result<Admitted, Stopped> {
        let target = match &self.inside {
            None => Target::of_request(request.uri())?,
            Some(_) if request.uri().authority().is_some() => {
                return Err(Stopped::Malformed("a request inside a tunnel names a path only"));
            }
            Some(target) => target.clone(),
        };
        headers::refuse_upgrade(request.headers())?;
        self.setup.passage.admit(target)
    }

    async fn pass_on(
        &self,
        admitted: &Admitted,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Stopped> {
        let request = self.prepare(request, admitted.target())?;
        let mut response = self.send(admitted, request).await?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let text = format!("{} changed to another protocol, which was not asked for", admitted.target());
            return Err(Stopped::Unreachable(text));
        }
        headers::clean(response.headers_mut());
        *response.version_mut() = Version::HTTP_11;
        Ok(response.map(Either::Left))
    }

    /// The request as the server gets it.
    fn prepare(&self, request: Request<Incoming>, target: &Target) -> Result<Request<Outgoing>, Stopped> {
        let (from, body) = request.into_parts();
        let malformed = |_| Stopped::Malformed("the address cannot be passed on");
        let path = from.uri.path_and_query().map_or("/", |path| path.as_str());
        let usual_port = if self.inside.is_some() { 443 } else { 80 };
        let host = HeaderValue::try_from(target.authority(usual_port))
            .map_err(|_| Stopped::Malformed("the name cannot be passed on"))?;
        let mut request = Request::new(Outgoing::new(body));
        *request.uri_mut() = path.parse::<Uri>().map_err(malformed)?;
        *request.headers_mut() = from.headers;
        headers::clean(request.headers_mut());
        request.headers_mut().insert(HOST, host);
        headers::tell_depth(request.headers_mut(), target, self.setup.passage.doorkeeper.depth());
        // TRACE asks the server to send back what it got.
        if from.method != Method::TRACE {
            self.fill_secrets(target, request.headers_mut())?;
        }
        *request.method_mut() = from.method;
        Ok(request)
    }

    /// Puts values where placeholders stand. Nothing is sent when the agent forgot to encrypt.
    fn fill_secrets(&self, target: &Target, headers: &mut HeaderMap) -> Result<(), Stopped> {
        let secrets = &self.setup.secrets;
        let transport = if self.is_inside() { Transport::Tls } else { Transport::PlainText };
        if transport == Transport::PlainText && secret::lacks_tls(secrets, target, headers) {
            let what = format!("send a secret to {target} without encryption");
            let next = "use https, or grant `secret:NAME@http://HOST:PORT:HEADER`".to_owned();
            return Err(self.setup.passage.refuse(what, None, next));
        }
        secret::fill(secrets, target, transport, headers);
        Ok(())
    }

    async fn send(
        &self,
        admitted: &Admitted,
        mut request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, Stopped> {
        let kept = self.upstream.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut kept) = kept.filter(|kept| kept.target() == admitted.target())
            && kept.is_ready_again().await
        {
            match kept.send(request).await {
                Ok(response) => return Ok(self.keep(kept, response)),
                // The server ended the connection in between, which it may at any time.
                Err(NotSent::Unused(unused)) => request = *unused,
                Err(NotSent::Stopped(stopped)) => return Err(stopped),
            }
        }
        let mut fresh = Upstream::open(self, admitted).await?;
        match fresh.send(request).await {
            Ok(response) => Ok(self.keep(fresh, response)),
            Err(NotSent::Stopped(stopped)) => Err(stopped),
            Err(NotSent::Unused(_)) => {
                Err(Stopped::Unreachable(format!("{} ended the connection at once", admitted.target())))
            }
        }
    }

    fn keep(&self, upstream: Upstream, response: Response<Incoming>) -> Response<Incoming> {
        *self.upstream.lock().unwrap_or_else(PoisonError::into_inner) = Some(upstream);
        response
    }

    /// True when requests go on encrypted, because they came out of a tunnel that ends here.
    pub(super) fn is_inside(&self) -> bool {
        self.inside.is_some()
    }
}

/// Lets a client finish sending what is refused, so that it reads why. One that asks before it sends is not waited
/// for: reading would tell it to go on.
async fn read_away(request: Request<Incoming>) {
    if request.headers().contains_key(EXPECT) {
        return;
    }
    let mut body = request.into_body();
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, |data| data.len());
            if bytes > REFUSED_BODY_BYTES_MAX {
                break;
            }
        }
    };
    // Whether it finished or not, the answer comes next.
    timeout(REFUSED_BODY_WAIT_MAX, reading).await.ok();
}
