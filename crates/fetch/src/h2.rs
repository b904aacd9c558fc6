//! HTTP/2 by the `h2` crate, driven by hand, one stream at a time.
//!
//! The crate itself bounds resets, empty data and what header lines unfold to; the tape beneath
//! it bounds header blocks on the wire and ends floods of frames that bring no body. There are no
//! heads on the wire as text, so they are written out in the form of HTTP/1.1, as archives keep
//! them, and held to the limits in that form.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use tokio::time::{Instant, timeout_at};

use crate::body::{self, Piece};
use crate::connection::{Ask, Exchange, authority, late_head, request_target};
use crate::credentials::HIDDEN;
use crate::error::{ErrorClass, Fault};
use crate::h1::is_disconnect;
use crate::limits::Limits;
use crate::message::{Method, Protocol};
use crate::wire::{SharedTape, Stream, TapeKind, Wire};

/// What a peer may send ahead of our reading; far below the slack of the tape.
const WINDOW_BYTES: u32 = 256 << 10;
/// What header lines may unfold to on the way to us, in times of what a head may have: as much
/// as they can without a table, so that it is we who name the limit. `h2` ends what unfolds to
/// more, and calls a list of one to four times this much a protocol error.
const UNFOLD_FACTOR: usize = 8;
/// Streams of ours that were reset and are still remembered.
const RESET_STREAMS_MAX: usize = 8;

/// An HTTP/2 connection.
pub(crate) struct H2 {
    sender: SendRequest<Bytes>,
    driver: Driver,
    tape: SharedTape,
    answered: bool,
    spoilt: bool,
    informational_max: usize,
    header_bytes_max: usize,
    header_count_max: usize,
}

struct Driver {
    connection: Pin<Box<Connection<Wire, Bytes>>>,
    done: bool,
}

impl Driver {
    fn poll(&mut self, cx: &mut Context<'_>) {
        if !self.done {
            // Errors reach the fetch through its stream.
            self.done = self.connection.as_mut().poll(cx).is_ready();
        }
    }
}

impl H2 {
    pub(crate) async fn open(stream: Stream, limits: &Limits) -> Result<Self, Fault> {
        let tape = SharedTape::new(limits, TapeKind::Frames);
        let unfolded_bytes_max = limits.header_bytes_max.saturating_mul(UNFOLD_FACTOR);
        let (sender, connection) = Builder::new()
            .enable_push(false)
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(u32::try_from(unfolded_bytes_max).unwrap_or(u32::MAX))
            .max_concurrent_reset_streams(RESET_STREAMS_MAX)
            .handshake(Wire::new(stream, tape.clone()))
            .await
            .map_err(|error| fault(&error, &tape))?;
        Ok(Self {
            sender,
            driver: Driver {
                connection: Box::pin(connection),
                done: false,
            },
            tape,
            answered: false,
            spoilt: false,
            informational_max: limits.informational_max,
            header_bytes_max: limits.header_bytes_max,
            header_count_max: limits.header_count_max,
        })
    }

    pub(crate) async fn exchange(&mut self, mut ask: Ask<'_>) -> Result<Exchange, Fault> {
        self.tape.lock().rewind(ask.turn.take(), ask.permit.take());
        self.answered = false;
        // Until the body is whole, nothing may follow.
        self.spoilt = true;
        let asked = Instant::now();
        let end = ask.first_byte_end.min(ask.body.total_end);
        let response = match timeout_at(end, self.head(&ask)).await {
            Ok(response) => response?,
            Err(_) => return Err(late_head(&ask)),
        };
        let first_byte = asked.elapsed();
        let sent_at = self.tape.lock().sent_at.unwrap_or(asked);
        let (head, mut stream) = response.into_parts();
        let head_bytes = head_text(head.status, &head.headers);
        self.judge_head(&head.headers, head_bytes.len())?;
        let (driver, tape) = (&mut self.driver, &self.tape);
        let declared = head.headers.get(CONTENT_LENGTH);
        let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
        let poll_piece = |cx: &mut Context<'_>| poll_piece(driver, &mut stream, tape, cx);
        let body = body::collect(poll_piece, declared, &ask.body, &self.tape).await?;
        self.spoilt = body.truncation.is_some();
        Ok(Exchange {
            status: head.status,
            protocol: Protocol::Http2,
            request_bytes: request_text(&ask),
            head_bytes,
            headers: head.headers,
            body,
            notes: Vec::new(),
            sent_at,
            first_byte,
        })
    }

    async fn head(&mut self, ask: &Ask<'_>) -> Result<http::Response<RecvStream>, Fault> {
        let Self {
            sender,
            driver,
            tape,
            informational_max,
            ..
        } = self;
        let ready = poll_fn(|cx| {
            driver.poll(cx);
            sender.poll_ready(cx)
        });
        ready.await.map_err(|error| fault(&error, tape))?;
        let sent = sender.send_request(request(ask)?, true);
        let (mut response, _) = sent.map_err(|error| fault(&error, tape))?;
        let mut informational = 0;
        let response = poll_fn(|cx| {
            driver.poll(cx);
            informational += poll_informational(&mut response, cx);
            if informational > *informational_max {
                let detail = format!("more than {informational_max} informational heads");
                return Poll::Ready(Err(Fault::new(ErrorClass::HeaderLimit, detail)));
            }
            Pin::new(&mut response)
                .poll(cx)
                .map_err(|error| head_fault(&error, tape))
        });
        let response = response.await?;
        self.answered = true;
        Ok(response)
    }

    fn judge_head(&self, headers: &HeaderMap, head_bytes: usize) -> Result<(), Fault> {
        if head_bytes > self.header_bytes_max {
            let detail = format!("response head over {} bytes", self.header_bytes_max);
            return Err(Fault::new(ErrorClass::HeaderLimit, detail));
        }
        if headers.len() > self.header_count_max {
            let detail = format!("more than {} header lines", self.header_count_max);
            return Err(Fault::new(ErrorClass::HeaderLimit, detail));
        }
        Ok(())
    }

    pub(crate) fn is_open(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        self.driver.poll(&mut cx);
        !self.spoilt
            && !self.driver.done
            && matches!(self.sender.poll_ready(&mut cx), Poll::Ready(Ok(())))
    }

    pub(crate) fn was_asked(&self) -> bool {
        self.tape.lock().any_sent
    }

    pub(crate) fn was_answered(&self) -> bool {
        self.answered
    }
}

/// Takes informational heads off the stream; returns how many there were.
fn poll_informational(response: &mut ResponseFuture, cx: &mut Context<'_>) -> usize {
    let mut count = 0;
    while let Poll::Ready(Some(Ok(_))) = response.poll_informational(cx) {
        count += 1;
    }
    count
}

fn poll_piece(
    driver: &mut Driver,
    stream: &mut RecvStream,
    tape: &SharedTape,
    cx: &mut Context<'_>,
) -> Poll<Piece> {
    driver.poll(cx);
    stream.poll_data(cx).map(|piece| {
        piece.map(|data| {
            let data = data.map_err(|error| fault(&error, tape))?;
            // Only a stream that is gone refuses to widen its window, and it says so itself.
            let _ = stream.flow_control().release_capacity(data.len());
            Ok(data)
        })
    })
}

fn request(ask: &Ask<'_>) -> Result<http::Request<()>, Fault> {
    let refused = |error: http::Error| Fault::new(ErrorClass::UrlRefused, error.to_string());
    let uri = http::Uri::builder()
        .scheme(ask.url.scheme())
        .authority(authority(ask.url))
        .path_and_query(request_target(ask.url))
        .build()
        .map_err(refused)?;
    let mut request = http::Request::new(());
    *request.version_mut() = http::Version::HTTP_2;
    *request.method_mut() = match ask.method {
        Method::Get => http::Method::GET,
        Method::Head => http::Method::HEAD,
    };
    *request.uri_mut() = uri;
    *request.headers_mut() = ask.headers.clone();
    Ok(request)
}

fn request_text(ask: &Ask<'_>) -> Vec<u8> {
    let method = match ask.method {
        Method::Get => "GET",
        Method::Head => "HEAD",
    };
    let (target, host) = (request_target(ask.url), authority(ask.url));
    let mut text = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n").into_bytes();
    header_text(&mut text, &ask.headers);
    text
}

fn head_text(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or("");
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    header_text(&mut text, headers);
    text
}

fn header_text(text: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(if value.is_sensitive() {
            HIDDEN
        } else {
            value.as_bytes()
        });
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
}

/// What went wrong before there was a head: then it is only for header lines that `h2` itself
/// asks a peer to calm down.
fn head_fault(error: &h2::Error, tape: &SharedTape) -> Fault {
    let mut fault = fault(error, tape);
    if error.is_library() && error.reason() == Some(Reason::ENHANCE_YOUR_CALM) {
        fault.class = ErrorClass::HeaderLimit;
    }
    fault
}

/// What went wrong, in our classes; the tape knows best.
fn fault(error: &h2::Error, tape: &SharedTape) -> Fault {
    if let Some(fault) = tape.lock().fault.take() {
        return fault;
    }
    let gone = error.get_io().is_some_and(|io| is_disconnect(io.kind()));
    let ended = error.is_remote()
        && matches!(
            error.reason(),
            Some(
                Reason::NO_ERROR | Reason::REFUSED_STREAM | Reason::CANCEL | Reason::INTERNAL_ERROR
            )
        );
    let class = if gone || ended {
        ErrorClass::Disconnect
    } else {
        ErrorClass::Protocol
    };
    Fault::new(class, format!("HTTP/2: {error}"))
}
