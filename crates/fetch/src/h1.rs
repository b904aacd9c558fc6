//! HTTP/1.1 by `hyper`, driven by hand.
//!
//! `hyper` frames the messages (lengths, chunks, keep-alive) and is strict where leniency lets a
//! second response be smuggled in; the tape beneath it keeps the bytes and the limits.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout_at};

use crate::body::{self, Piece};
use crate::connection::{Ask, Exchange, authority, late_head, request_target};
use crate::credentials::{hide, sensitive};
use crate::error::{ErrorClass, Fault};
use crate::limits::Limits;
use crate::message::{Method, Note, Protocol};
use crate::wire::{SharedTape, Stream, TapeKind, Wire};

/// The least that `hyper` accepts as its buffer.
const BUFFER_BYTES_MIN: usize = 8 << 10;

/// A request has no body; an empty text is the simplest thing that says so.
type NoBody = String;

/// An HTTP/1.1 connection.
pub(crate) struct H1 {
    sender: SendRequest<NoBody>,
    driver: Driver,
    tape: SharedTape,
    /// Set when what came forbids trusting what comes next.
    spoilt: bool,
}

/// The connection's own work, done only while somebody polls it.
struct Driver {
    connection: Pin<Box<Connection<TokioIo<Wire>, NoBody>>>,
    done: bool,
}

impl Driver {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if !self.done {
            // Errors reach the fetch through its request or its body.
            self.done = self.connection.as_mut().poll(cx).is_ready();
        }
    }
}

impl H1 {
    pub(crate) async fn open(stream: Stream, limits: &Limits) -> Result<Self, Fault> {
        let tape = SharedTape::new(limits, TapeKind::Text);
        let wire = TokioIo::new(Wire::new(stream, tape.clone()));
        let (sender, connection) = Builder::new()
            .title_case_headers(true)
            .max_headers(limits.header_count_max)
            // More than a head may have, so that the tape, which names the limit, ends it first.
            .max_buf_size(limits.header_bytes_max.saturating_add(BUFFER_BYTES_MIN))
            .allow_obsolete_multiline_headers_in_responses(true)
            .handshake(wire)
            .await
            .map_err(|error| Fault::new(ErrorClass::Protocol, error.to_string()))?;
        let driver = Driver {
            connection: Box::pin(connection),
            done: false,
        };
        Ok(Self {
            sender,
            driver,
            tape,
            spoilt: false,
        })
    }

    pub(crate) async fn exchange(&mut self, mut ask: Ask<'_>) -> Result<Exchange, Fault> {
        self.tape.lock().rewind(ask.turn.take(), ask.permit.take());
        let asked = Instant::now();
        let headers = std::mem::take(&mut ask.headers);
        let secrets = sensitive(&headers);
        let response = self.head(&ask, headers).await?;
        let (head, mut incoming) = response.into_parts();
        self.spoilt = !trusted(&head.headers);
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            self.spoilt = true;
            return Err(Fault::new(
                ErrorClass::Protocol,
                "101 though no upgrade was asked for",
            ));
        }
        let (driver, tape) = (&mut self.driver, &self.tape);
        let declared = incoming.size_hint().exact();
        let poll_piece = |cx: &mut Context<'_>| poll_piece(driver, &mut incoming, tape, cx);
        let body = body::collect(poll_piece, declared, &ask.body, &self.tape).await?;
        self.spoilt |= body.truncation.is_some();

        let mut tape = self.tape.lock();
        let first_byte = tape
            .first_byte
            .map_or_else(|| asked.elapsed(), |first| first - asked);
        let sent_at = tape.sent_at.unwrap_or(asked);
        Ok(Exchange {
            status: head.status,
            protocol: protocol(head.version),
            notes: notes(&head.headers),
            headers: head.headers,
            request_bytes: hide(std::mem::take(&mut tape.sent), &secrets),
            head_bytes: std::mem::take(&mut tape.head),
            body,
            sent_at,
            first_byte,
        })
    }

    async fn head(
        &mut self,
        ask: &Ask<'_>,
        mut headers: HeaderMap,
    ) -> Result<http::Response<Incoming>, Fault> {
        let refused = |error: String| Fault::new(ErrorClass::UrlRefused, error);
        let host = HeaderValue::from_str(authority(ask.url));
        headers.insert(HOST, host.map_err(|error| refused(error.to_string()))?);
        let mut request = http::Request::new(NoBody::new());
        *request.method_mut() = match ask.method {
            Method::Get => http::Method::GET,
            Method::Head => http::Method::HEAD,
        };
        let target = http::Uri::try_from(request_target(ask.url));
        *request.uri_mut() = target.map_err(|error| refused(error.to_string()))?;
        *request.headers_mut() = headers;

        let mut sending = pin!(self.sender.send_request(request));
        let driver = &mut self.driver;
        let head = poll_fn(|cx| {
            if let Poll::Ready(done) = sending.as_mut().poll(cx) {
                return Poll::Ready(done);
            }
            driver.poll(cx);
            sending.as_mut().poll(cx)
        });
        let end = ask.first_byte_end.min(ask.body.total_end);
        match timeout_at(end, head).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(fault(&error, &self.tape)),
            Err(_) => Err(late_head(ask)),
        }
    }

    /// Lets the connection notice what happened meanwhile, then asks whether it can go on.
    pub(crate) fn is_open(&mut self) -> bool {
        self.driver.poll(&mut Context::from_waker(Waker::noop()));
        !self.spoilt && !self.driver.done && self.sender.is_ready()
    }

    pub(crate) fn was_asked(&self) -> bool {
        self.tape.lock().any_sent
    }

    pub(crate) fn was_answered(&self) -> bool {
        self.tape.lock().first_byte.is_some()
    }
}

fn poll_piece(
    driver: &mut Driver,
    incoming: &mut Incoming,
    tape: &SharedTape,
    cx: &mut Context<'_>,
) -> Poll<Piece> {
    let mut driven = false;
    loop {
        match Pin::new(&mut *incoming).poll_frame(cx) {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(fault(&error, tape)))),
            Poll::Ready(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data)));
                } // else trailers, which nobody reads
            }
            Poll::Pending if driven => return Poll::Pending,
            Poll::Pending => {
                driver.poll(cx);
                driven = true;
            }
        }
    }
}

/// Whether the next response on this connection can be told from the rest of this one.
fn trusted(headers: &HeaderMap) -> bool {
    !(headers.contains_key(CONTENT_LENGTH) && headers.contains_key(TRANSFER_ENCODING))
}

fn notes(headers: &HeaderMap) -> Vec<Note> {
    if trusted(headers) {
        Vec::new()
    } else {
        vec![Note::LengthAndChunks]
    }
}

fn protocol(version: Version) -> Protocol {
    if version == Version::HTTP_10 {
        Protocol::Http10
    } else {
        Protocol::Http11
    }
}

/// What went wrong, in our classes; the tape knows best.
fn fault(error: &hyper::Error, tape: &SharedTape) -> Fault {
    if let Some(fault) = tape.lock().fault.take() {
        return fault;
    }
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<io::Error>());
    let gone = error.is_incomplete_message()
        || error.is_canceled()
        || error.is_closed()
        || io.is_some_and(|io| is_disconnect(io.kind()));
    let class = if gone {
        ErrorClass::Disconnect
    } else {
        ErrorClass::Protocol
    };
    let detail = match source {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    Fault::new(class, detail)
}

/// The ways in which a stream ends without a word.
pub(crate) fn is_disconnect(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut, UnexpectedEof,
    };
    matches!(
        kind,
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | TimedOut | UnexpectedEof
    )
}
