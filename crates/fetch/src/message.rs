//! What is asked and what comes back: plain structs, no behaviour beyond reading them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::error::ErrorClass;
use crate::room::Room;
use crate::tls::Verification;
use crate::turn::Spacing;
use crate::validators::Validators;

/// One thing to ask for.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to ask for; user name and password are never sent.
    pub url: Url,
    /// How to ask.
    pub method: Method,
    /// What an earlier response said, to be told only of changes.
    pub validators: Option<Validators>,
    /// A body limit for this request instead of the client's.
    pub body_bytes_max: Option<usize>,
    /// Whether a connection kept from an earlier fetch may be used.
    pub kept: Kept,
    /// How far apart it must be from other requests, where its caller cannot see to that.
    pub spacing: Option<Spacing>,
    /// Asked right before its first byte is written: if it says no, nothing is.
    pub permit: Option<Permit>,
}

/// Says whether a request may still be sent: for callers who may lose the right to.
#[derive(Clone)]
pub struct Permit(std::sync::Arc<dyn Fn() -> bool + Send + Sync>);

impl Permit {
    /// By a function that is quick and never waits.
    pub fn new(may: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(std::sync::Arc::new(may))
    }

    /// Whether a request may be sent now.
    pub fn may(&self) -> bool {
        (self.0)()
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permit")
    }
}

/// What to do about connections kept from earlier fetches. A peer may close one at any moment, also
/// while a request is on its way: then no byte of an answer comes, and nobody knows whether the peer
/// saw the request. GET and HEAD may be sent again (RFC 9110, section 9.2.2; RFC 9112, section 9.3.1),
/// but the peer may have been asked twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// Use one; if it turns out closed, ask once more on a fresh one, at once.
    #[default]
    AskAgain,
    /// Use one; if it turns out closed, fail by
    /// [`ErrorClass::StaleConnection`](crate::ErrorClass::StaleConnection): for callers that owe the
    /// peer a delay between any two requests.
    AskOnce,
    /// Use a fresh connection.
    Avoid,
}

impl Request {
    /// Asks for the page itself.
    pub fn get(url: Url) -> Self {
        Self {
            url,
            method: Method::Get,
            validators: None,
            body_bytes_max: None,
            kept: Kept::AskAgain,
            spacing: None,
            permit: None,
        }
    }

    /// Asks for the head only.
    pub fn head(url: Url) -> Self {
        Self {
            method: Method::Head,
            ..Self::get(url)
        }
    }
}

/// The methods a crawler needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The page itself.
    Get,
    /// The head only.
    Head,
}

/// What came back, whatever its status: redirects and errors of the site are responses too.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, 200 to 999.
    pub status: u16,
    /// The protocol spoken.
    pub protocol: Protocol,
    /// The header lines, parsed; repeated ones are kept in order.
    pub headers: HeaderMap,
    /// The request as sent. Over HTTP/2 there is no such text: then this is what HTTP/1.1 would
    /// have sent.
    pub request_bytes: Vec<u8>,
    /// The response head as received, status line to empty line, without informational heads.
    /// Over HTTP/2 it is written out in the form of HTTP/1.1; `protocol` tells.
    pub head_bytes: Vec<u8>,
    /// The body as received: chunks joined, content codings untouched.
    pub body: Vec<u8>,
    /// What a long body takes of the room that the client has for them; to be kept as long as the
    /// body, or what was made of it, is in memory.
    pub room: Option<Room>,
    /// Why the body is not whole, if it is not.
    pub truncation: Option<Truncation>,
    /// Oddities that a caller may want to act on.
    pub notes: Vec<Note>,
    /// The address that answered.
    pub remote: SocketAddr,
    /// How the connection was secured; `None` for http.
    pub tls: Option<TlsInfo>,
    /// When the request that was answered had been written: the host's delay counts from here.
    pub sent_at: Instant,
    /// How long each step took.
    pub timings: Timings,
    /// Whether the connection had served an earlier fetch.
    pub reused: bool,
    /// Requests that may have reached the peer: 1, or 2 after a retry. Each counts against the
    /// host's delay.
    pub requests_sent: u32,
}

/// The protocol of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// HTTP/2
    Http2,
}

/// A body that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// The reason in the words of a WARC file.
    pub mark: TruncationMark,
    /// The reason in ours: body-limit, too-slow, timeout-total or disconnect.
    pub cause: ErrorClass,
}

/// The values of `WARC-Truncated` that a fetch can cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationMark {
    /// Cut by us at the body limit.
    Length,
    /// Cut by us, for it took too long.
    Time,
    /// Cut by the peer or the network.
    Disconnect,
}

impl TruncationMark {
    /// The value of the `WARC-Truncated` field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
        }
    }
}

/// Something odd about a response that is still usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// 206 though no range was asked for: the body may be a part only.
    PartialUnasked,
    /// 304 though no validator was sent: ask again plainly.
    NotModifiedUnasked,
    /// Both a length and chunks were declared: the chunks were believed, the connection closed.
    LengthAndChunks,
}

/// How a connection was secured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsInfo {
    /// The version, such as `TLSv1_3`.
    pub version: String,
    /// The cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Whether the certificate was checked.
    pub verification: Verification,
}

/// How long each step of a fetch took. Steps that a kept connection saved are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// The look-up of the host's addresses.
    pub dns: Option<Duration>,
    /// The TCP connection.
    pub connect: Option<Duration>,
    /// The TLS handshake.
    pub tls: Option<Duration>,
    /// From the request to the first byte of the response.
    pub first_byte: Duration,
    /// From the start of the fetch to its end.
    pub total: Duration,
}

/// The most header lines that are read of a stored head.
const STORED_HEADERS_MAX: usize = 1000;

/// The header lines of a head as it was stored, status line to empty line; what is no header line is passed over.
pub fn header_map(head: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let lines = head.split(|&byte| byte == b'\n').skip(1);
    for line in lines.take(STORED_HEADERS_MAX) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        let pair = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value));
        if let (Ok(name), Ok(value)) = pair {
            headers.append(name, value);
        }
    }
    headers
}
