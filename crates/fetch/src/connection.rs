//! One connection, whichever protocol it speaks, and one exchange on it.
//!
//! A connection is owned by one fetch at a time and driven by that fetch's own task: no task per
//! connection, no hand-over between tasks, and nothing runs on a connection that nobody uses.
//! HTTP/2 is used the same way, one stream at a time: multiplexing would only help to ask one
//! host faster than is polite.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use tokio::time::Instant;
use url::{Position, Url};

use crate::body::{Body, BodyBounds};
use crate::connect::Connected;
use crate::error::{ErrorClass, Fault};
use crate::h1::H1;
use crate::h2::H2;
use crate::limits::Limits;
use crate::message::Permit;
use crate::message::{Method, Note, Protocol, TlsInfo, Truncation};
use crate::turn::MyTurn;

/// An open connection.
pub(crate) struct Connection {
    speaker: Speaker,
    pub(crate) remote: SocketAddr,
    pub(crate) tls: Option<TlsInfo>,
}

enum Speaker {
    H1(H1),
    H2(H2),
}

/// What an exchange needs to know.
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a Url,
    pub(crate) method: Method,
    /// The header lines but `Host`.
    pub(crate) headers: HeaderMap,
    /// To be passed on when the request is written.
    pub(crate) turn: Option<MyTurn>,
    pub(crate) permit: Option<Permit>,
    pub(crate) first_byte_end: Instant,
    pub(crate) body: BodyBounds,
}

/// What an exchange brought.
pub(crate) struct Exchange {
    pub(crate) status: StatusCode,
    pub(crate) protocol: Protocol,
    pub(crate) headers: HeaderMap,
    pub(crate) request_bytes: Vec<u8>,
    pub(crate) head_bytes: Vec<u8>,
    pub(crate) body: Body,
    pub(crate) notes: Vec<Note>,
    /// When the request was written.
    pub(crate) sent_at: Instant,
    pub(crate) first_byte: Duration,
}

impl Exchange {
    pub(crate) fn truncation(&self) -> Option<Truncation> {
        self.body.truncation
    }
}

impl Connection {
    /// Starts speaking on a stream just opened.
    pub(crate) async fn open(connected: Connected, limits: &Limits) -> Result<Self, Fault> {
        let Connected {
            stream,
            remote,
            tls,
            http2,
        } = connected;
        let speaker = if http2 {
            Speaker::H2(H2::open(stream, limits).await?)
        } else {
            Speaker::H1(H1::open(stream, limits).await?)
        };
        Ok(Self {
            speaker,
            remote,
            tls,
        })
    }

    /// Sends one request and receives its response.
    pub(crate) async fn exchange(&mut self, ask: Ask<'_>) -> Result<Exchange, Fault> {
        match &mut self.speaker {
            Speaker::H1(h1) => h1.exchange(ask).await,
            Speaker::H2(h2) => h2.exchange(ask).await,
        }
    }

    /// Whether another exchange can follow.
    pub(crate) fn is_open(&mut self) -> bool {
        match &mut self.speaker {
            Speaker::H1(h1) => h1.is_open(),
            Speaker::H2(h2) => h2.is_open(),
        }
    }

    /// Whether the peer may have seen the last request.
    pub(crate) fn was_asked(&self) -> bool {
        match &self.speaker {
            Speaker::H1(h1) => h1.was_asked(),
            Speaker::H2(h2) => h2.was_asked(),
        }
    }

    /// Whether the peer began to answer the last request.
    pub(crate) fn was_answered(&self) -> bool {
        match &self.speaker {
            Speaker::H1(h1) => h1.was_answered(),
            Speaker::H2(h2) => h2.was_answered(),
        }
    }
}

/// The fault of a head that did not come in time.
pub(crate) fn late_head(ask: &Ask<'_>) -> Fault {
    if Instant::now() >= ask.body.total_end {
        Fault::new(
            ErrorClass::TimeoutTotal,
            "the time for the whole fetch is over",
        )
    } else {
        Fault::new(
            ErrorClass::TimeoutFirstByte,
            "no whole response head in time",
        )
    }
}

/// Path and query as a request line carries them; the fragment stays at home.
pub(crate) fn request_target(url: &Url) -> &str {
    &url[Position::BeforePath..Position::AfterQuery]
}

/// Host and port as `Host` and `:authority` carry them; user and password stay at home.
pub(crate) fn authority(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}
