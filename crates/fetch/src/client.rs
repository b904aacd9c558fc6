//! The client: one fetch from URL to response, within its limits.
//!
//! A fetch takes a kept connection or opens one, sends one request, receives one response and
//! hands it over as it came: redirects are not followed, codings not decoded, cookies neither
//! kept nor sent but those that the user gave ([`Credentials`]), and proxy variables of the environment not read.
//!
//! One retry exists: when a kept connection turns out closed before a single byte of an answer,
//! the request is sent once more on a fresh one, unless the peer may have seen it and the request
//! says that it is not to be sent twice ([`Kept`]). `requests_sent` reports it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};
use http::{HeaderMap, HeaderValue};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::body::BodyBounds;
use crate::connect::{Connected, Connector};
use crate::connection::{Ask, Connection, Exchange};
use crate::credentials::Credentials;
use crate::dns::{Lookup, Resolve, SystemDns};
use crate::error::{ErrorClass, Fault, FetchError};
use crate::guard::Guard;
use crate::identity::Identity;
use crate::limits::Limits;
use crate::message::{Kept, Note, Protocol, Request, Response, Timings};
use crate::pool::{Origin, Pool};
use crate::proxy::Proxy;
use crate::room::Rooms;
use crate::signing::Signer;
use crate::tls::{Tls, TlsError};
use crate::turn::MyTurn;
use crate::wire::ByteStream;

const ACCEPTED: HeaderValue =
    HeaderValue::from_static("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
const ACCEPTED_CODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");

/// What a client is made of.
pub struct Config {
    /// Who we say we are.
    pub identity: Identity,
    /// What may be asked.
    pub guard: Guard,
    /// The limits of every fetch.
    pub limits: Limits,
    /// Whom we trust.
    pub tls: Tls,
    /// Where addresses come from; the machine's name servers if `None`.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// What everybody is sent beside the headers of our own.
    pub headers: HeaderMap,
    /// What some hosts alone are told.
    pub credentials: Credentials,
    /// Who signs our requests, if somebody does.
    pub signer: Option<Signer>,
    /// Through whom we ask; `None` for ourselves.
    pub proxy: Option<Proxy>,
}

impl Config {
    /// The public web within the default limits.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            guard: Guard::default(),
            limits: Limits::default(),
            tls: Tls::default(),
            resolver: None,
            headers: HeaderMap::new(),
            credentials: Credentials::default(),
            signer: None,
            proxy: None,
        }
    }
}

/// Fetches pages. Cheap to clone; clones share connections and limits.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Connector,
    limits: Limits,
    pool: Pool,
    open: Semaphore,
    rooms: Rooms,
    headers: HeaderMap,
    credentials: Credentials,
    signer: Option<Signer>,
}

impl Client {
    /// Makes a client; must be called within a tokio runtime, in which it then works.
    pub fn new(config: Config) -> Result<Self, TlsError> {
        let Config {
            identity,
            guard,
            limits,
            tls,
            resolver,
            headers: common,
            credentials,
            signer,
            proxy,
        } = config;
        let limits = limits.within_reason();
        let resolver = resolver.unwrap_or_else(|| Arc::new(SystemDns::new(&limits)));
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, identity.user_agent().clone());
        headers.insert(ACCEPT, ACCEPTED);
        headers.insert(ACCEPT_ENCODING, ACCEPTED_CODINGS);
        headers.extend(common);
        let connector = Connector {
            guard,
            identity,
            lookup: Lookup::new(resolver, &limits),
            tls: tls.client_config()?,
            verification: tls.verification,
            proxy,
        };
        let shared = Shared {
            connector,
            pool: Pool::new(&limits),
            open: Semaphore::new(limits.fetches_open_max),
            rooms: Rooms::new(limits.long_bodies_bytes_max),
            limits,
            headers,
            credentials,
            signer,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Closes the connections kept for reuse.
    pub fn close_idle(&self) {
        self.shared.pool.clear();
    }

    /// The addresses that a fetch of this URL would try, without asking any of them: for callers
    /// that are polite to addresses, not only to names.
    pub async fn addresses(&self, url: &Url) -> Result<Vec<IpAddr>, FetchError> {
        let found = async {
            judge_url(url, &self.shared.limits)?;
            let connector = &self.shared.connector;
            connector.candidates(url, &mut Timings::default()).await
        };
        let found = found.await.map_err(|Fault { class, detail }| FetchError {
            class,
            subject: subject(url),
            detail,
            requests_sent: 0,
        })?;
        Ok(found.iter().map(SocketAddr::ip).collect())
    }

    /// Asks once and returns what came. Dropping the future ends the fetch and its connection.
    pub async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        let _turn = self
            .shared
            .open
            .acquire()
            .await
            .expect("the semaphore is never closed");
        let mut run = Run::new(&self.shared, &request);
        let result = run.fetch().await;
        result.map_err(|fault| run.error(fault))
    }

    /// Asks once over `stream`, as if a connection had just brought it; for fuzzing, where bytes
    /// stand for a peer and there is no address to guard. Connections are kept as always.
    #[doc(hidden)]
    pub async fn fetch_over(
        &self,
        stream: impl ByteStream + 'static,
        protocol: Protocol,
        request: Request,
    ) -> Result<Response, FetchError> {
        let mut run = Run::new(&self.shared, &request);
        let connected = Connected {
            stream: Box::new(stream),
            remote: SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
            tls: None,
            http2: protocol == Protocol::Http2,
        };
        let exchanged = async {
            let mut fresh = Connection::open(connected, &self.shared.limits).await?;
            let exchange = run.exchange(&mut fresh).await?;
            Ok(run.finish(Origin::of(&request.url), fresh, exchange, Reuse::Fresh))
        };
        let result = exchanged.await;
        result.map_err(|fault| run.error(fault))
    }
}

/// One fetch under way.
struct Run<'a> {
    shared: &'a Shared,
    request: &'a Request,
    started: Instant,
    total_end: Instant,
    timings: Timings,
    requests_sent: u32,
}

impl<'a> Run<'a> {
    fn new(shared: &'a Shared, request: &'a Request) -> Self {
        let started = Instant::now();
        let total_end = started + shared.limits.total_time;
        Self {
            shared,
            request,
            started,
            total_end,
            timings: Timings::default(),
            requests_sent: 0,
        }
    }

    async fn fetch(&mut self) -> Result<Response, Fault> {
        judge_url(&self.request.url, &self.shared.limits)?;
        let origin = Origin::of(&self.request.url);
        let mut kept = match self.request.kept {
            Kept::Avoid => None,
            Kept::AskAgain | Kept::AskOnce => self.shared.pool.take(&origin),
        };
        loop {
            let (mut connection, reuse) = match kept.take() {
                Some(kept) => (kept, Reuse::Kept),
                // In a box, for it is large and most fetches never need it.
                None => (Box::pin(self.connect()).await?, Reuse::Fresh),
            };
            match self.exchange(&mut connection).await {
                Ok(exchange) => return Ok(self.finish(origin, connection, exchange, reuse)),
                Err(fault) if reuse == Reuse::Fresh || !closed_at_reuse(&fault, &connection) => {
                    return Err(fault);
                }
                Err(fault) if connection.was_asked() && self.request.kept == Kept::AskOnce => {
                    return Err(Fault::new(ErrorClass::StaleConnection, fault.detail));
                }
                Err(_) => {}
            }
        }
    }

    async fn connect(&mut self) -> Result<Connection, Fault> {
        let Shared {
            connector, limits, ..
        } = self.shared;
        let opening = async {
            let url = &self.request.url;
            let mut connected = connector.connect(url, limits, &mut self.timings).await;
            if matches!(&connected, Err(fault) if fault.class == ErrorClass::OutOfFiles) {
                // Connections that only wait to be used again are worth less than this one.
                self.shared.pool.clear();
                connected = connector.connect(url, limits, &mut self.timings).await;
            }
            Connection::open(connected?, limits).await
        };
        timeout_at(self.total_end, opening)
            .await
            .unwrap_or_else(|_| {
                let detail = "the time for the whole fetch ended before a connection was made";
                Err(Fault::new(ErrorClass::TimeoutTotal, detail))
            })
    }

    async fn exchange(&mut self, connection: &mut Connection) -> Result<Exchange, Fault> {
        let limits = &self.shared.limits;
        let body_bytes_max = self.request.body_bytes_max.unwrap_or(limits.body_bytes_max);
        let mut headers = self.shared.headers.clone();
        let condition = self
            .request
            .validators
            .as_ref()
            .and_then(|known| known.condition());
        if let Some((name, value)) = condition {
            headers.insert(name, value.clone());
        }
        let turn = self.turn().await?;
        self.say_who_asks(&mut headers)?;
        let ask = Ask {
            url: &self.request.url,
            method: self.request.method,
            headers,
            turn,
            permit: self.request.permit.clone(),
            first_byte_end: Instant::now() + limits.first_byte_time,
            body: BodyBounds::new(
                limits,
                body_bytes_max,
                self.total_end,
                self.shared.rooms.clone(),
            ),
        };
        let exchange = connection.exchange(ask).await;
        self.requests_sent += u32::from(connection.was_asked());
        exchange
    }

    /// What this host is told of us: secrets that are meant for it, and a signature.
    fn say_who_asks(&self, headers: &mut HeaderMap) -> Result<(), Fault> {
        let (shared, url) = (self.shared, &self.request.url);
        shared.credentials.tell(url, headers);
        let Some(signer) = &shared.signer else {
            return Ok(());
        };
        let signed = signer.sign(url, headers);
        signed.map_err(|error| Fault::new(ErrorClass::UrlRefused, error.to_string()))
    }

    /// Waits for the request's turn, if it has to.
    async fn turn(&self) -> Result<Option<MyTurn>, Fault> {
        let Some(spacing) = &self.request.spacing else {
            return Ok(None);
        };
        match timeout_at(self.total_end, spacing.wait()).await {
            Ok(turn) => Ok(Some(turn)),
            Err(_) => {
                let detail = "the time for the whole fetch ended before its turn had come";
                Err(Fault::new(ErrorClass::TimeoutTotal, detail))
            }
        }
    }

    fn error(&self, Fault { class, detail }: Fault) -> FetchError {
        FetchError {
            class,
            subject: subject(&self.request.url),
            detail,
            requests_sent: self.requests_sent,
        }
    }

    fn finish(
        &mut self,
        origin: Origin,
        mut connection: Connection,
        exchange: Exchange,
        reuse: Reuse,
    ) -> Response {
        let timings = Timings {
            first_byte: exchange.first_byte,
            total: self.started.elapsed(),
            ..self.timings
        };
        let truncation = exchange.truncation();
        let status = exchange.status.as_u16();
        let mut notes = exchange.notes;
        notes.extend(status_note(status, self.request));
        let response = Response {
            status,
            protocol: exchange.protocol,
            headers: exchange.headers,
            request_bytes: exchange.request_bytes,
            head_bytes: exchange.head_bytes,
            body: exchange.body.bytes,
            room: exchange.body.room,
            truncation,
            notes,
            remote: connection.remote,
            tls: connection.tls.clone(),
            sent_at: exchange.sent_at.into_std(),
            timings,
            reused: reuse == Reuse::Kept,
            requests_sent: self.requests_sent,
        };
        if truncation.is_none() && connection.is_open() {
            self.shared.pool.put(origin, connection);
        }
        response
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reuse {
    Kept,
    Fresh,
}

/// Whether a kept connection was closed before it brought a byte of an answer: GET and HEAD may
/// then be sent once more without harm.
fn closed_at_reuse(fault: &Fault, kept: &Connection) -> bool {
    fault.class == ErrorClass::Disconnect && !kept.was_answered()
}

fn judge_url(url: &Url, limits: &Limits) -> Result<(), Fault> {
    if !matches!(url.scheme(), "http" | "https") {
        let detail = format!("{}: is not http or https", url.scheme());
        return Err(Fault::new(ErrorClass::UrlRefused, detail));
    }
    if url.as_str().len() > limits.url_bytes_max {
        let detail = format!(
            "the URL has {} bytes, the limit is {}",
            url.as_str().len(),
            limits.url_bytes_max
        );
        return Err(Fault::new(ErrorClass::UrlTooLong, detail));
    }
    Ok(())
}

fn status_note(status: u16, request: &Request) -> Option<Note> {
    match status {
        206 => Some(Note::PartialUnasked),
        304 if request.validators.is_none() => Some(Note::NotModifiedUnasked),
        _ => None,
    }
}

/// The URL for an error text: no password, no fragment, no end without end.
fn subject(url: &Url) -> String {
    const CHARS_MAX: usize = 300;
    let mut url = url.clone();
    url.set_fragment(None);
    // Both fail only for URLs that cannot hold either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let text = url.as_str();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
