//! One connection's byte stream, and the tape that runs along with it.
//!
//! An archive needs the bytes of the request and of the response head as they were on the wire,
//! and `hyper` hands out neither. So the stream is taped where the bytes pass: everything sent,
//! and everything received up to the end of the response head. While taping it also enforces
//! what must hold before a parser sees the bytes: length and number of header lines,
//! informational (1xx) heads, line ends, and no flood of bytes that bring no body.
//!
//! Cost: the head is copied once; a body is only counted.
//! Invariant: a tape holds at most one request head and `header_bytes_max` bytes.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::error::{ErrorClass, Fault};
use crate::frames::Frames;
use crate::limits::{Limits, WIRE_OVERHEAD_FACTOR, WIRE_SLACK_BYTES};
use crate::message::Permit;
use crate::turn::MyTurn;

/// What a connection speaks over: TCP, under TLS or not.
pub(crate) type Stream = Box<dyn ByteStream>;

/// Bytes in both directions.
#[doc(hidden)]
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A stream whose bytes pass by a tape.
pub(crate) struct Wire {
    stream: Stream,
    tape: SharedTape,
}

impl Wire {
    pub(crate) fn new(stream: Stream, tape: SharedTape) -> Self {
        Self { stream, tape }
    }
}

/// The tape is read by the fetch while the connection, which writes it, lives elsewhere.
#[derive(Clone)]
pub(crate) struct SharedTape(Arc<Mutex<Tape>>);

impl SharedTape {
    pub(crate) fn new(limits: &Limits, kind: TapeKind) -> Self {
        Self(Arc::new(Mutex::new(Tape::new(limits, kind))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Tape> {
        self.0
            .lock()
            .expect("no code panics while it holds the tape")
    }
}

/// What the bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TapeKind {
    /// HTTP/1: heads are taped.
    Text,
    /// HTTP/2: bytes are only counted, those of header blocks apart; the heads are compressed.
    Frames,
}

/// What passed in one exchange.
pub(crate) struct Tape {
    kind: TapeKind,
    header_bytes_max: usize,
    header_count_max: usize,
    informational_max: usize,

    /// The request, as sent.
    pub(crate) sent: Vec<u8>,
    /// The response head, as received, status line to empty line.
    pub(crate) head: Vec<u8>,
    /// When the first byte of the request was written.
    pub(crate) sent_at: Option<Instant>,
    /// Passed on when the first byte is written.
    turn: Option<MyTurn>,
    /// Asked before the first byte is written.
    permit: Option<Permit>,
    /// When the first byte of the response came.
    pub(crate) first_byte: Option<Instant>,
    /// Whether anything was sent at all; true as soon as the peer may have seen the request.
    pub(crate) any_sent: bool,
    /// The limit that was hit; the stream fails from then on.
    pub(crate) fault: Option<Fault>,

    in_head: bool,
    line_start: usize,
    lines: usize,
    informational: usize,
    head_bytes: usize,
    received: u64,
    delivered: u64,
    /// Not wound back: a frame may be under way between two exchanges.
    frames: Frames,
}

impl Tape {
    fn new(limits: &Limits, kind: TapeKind) -> Self {
        Self {
            kind,
            header_bytes_max: limits.header_bytes_max,
            header_count_max: limits.header_count_max,
            informational_max: limits.informational_max,
            sent: Vec::new(),
            head: Vec::new(),
            sent_at: None,
            turn: None,
            permit: None,
            first_byte: None,
            any_sent: false,
            fault: None,
            in_head: kind == TapeKind::Text,
            line_start: 0,
            lines: 0,
            informational: 0,
            head_bytes: 0,
            received: 0,
            delivered: 0,
            frames: Frames::default(),
        }
    }

    /// Winds back for the next exchange on the same connection.
    pub(crate) fn rewind(&mut self, turn: Option<MyTurn>, permit: Option<Permit>) {
        self.turn = turn;
        self.permit = permit;
        self.sent.clear();
        self.head.clear();
        self.sent_at = None;
        self.first_byte = None;
        self.any_sent = false;
        self.in_head = self.kind == TapeKind::Text;
        self.line_start = 0;
        self.lines = 0;
        self.informational = 0;
        self.head_bytes = 0;
        self.received = 0;
        self.delivered = 0;
    }

    /// Body bytes arrived at the fetch: they explain bytes on the wire.
    pub(crate) fn deliver(&mut self, bytes: usize) {
        self.delivered += bytes as u64;
    }

    /// Whether what is to be sent may be: asked as late as can be, for whoever is stopped in between would send
    /// what was permitted long ago.
    fn may_send(&mut self) -> bool {
        if self.any_sent || self.permit.as_ref().is_none_or(Permit::may) {
            return true;
        }
        let detail = "the right to send this request ended before it was sent";
        self.fault = Some(Fault::new(ErrorClass::NotPermitted, detail));
        false
    }

    fn send(&mut self, bytes: &[u8]) {
        self.any_sent |= !bytes.is_empty();
        let sent_at = *self.sent_at.get_or_insert_with(Instant::now);
        if let Some(turn) = self.turn.take() {
            turn.wrote(sent_at);
        }
        if self.kind == TapeKind::Text {
            self.sent.extend_from_slice(bytes);
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.first_byte.get_or_insert_with(Instant::now);
        self.received += bytes.len() as u64;
        let explained = self.delivered.saturating_mul(WIRE_OVERHEAD_FACTOR);
        if self.received > WIRE_SLACK_BYTES + explained {
            let detail = format!(
                "{} bytes came, {} of them body",
                self.received, self.delivered
            );
            return Err(Fault::new(ErrorClass::Protocol, detail));
        }
        match self.kind {
            TapeKind::Frames => {
                let block_bytes = self.frames.pass(bytes);
                self.receive_head_bytes(block_bytes)
            }
            TapeKind::Text if self.in_head => self.receive_head(bytes),
            TapeKind::Text => Ok(()),
        }
    }

    fn receive_head_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.head_bytes += bytes;
        if self.head_bytes > self.header_bytes_max {
            let detail = format!("response head over {} bytes", self.header_bytes_max);
            return Err(Fault::new(ErrorClass::HeaderLimit, detail));
        }
        Ok(())
    }

    fn receive_head(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        while self.in_head && !bytes.is_empty() {
            let line_end = bytes.iter().position(|&byte| byte == b'\n');
            let (taken, rest) = bytes.split_at(line_end.map_or(bytes.len(), |at| at + 1));
            self.receive_head_bytes(taken.len())?;
            self.head.extend_from_slice(taken);
            bytes = rest;
            if line_end.is_some() {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), Fault> {
        let line = &self.head[self.line_start..];
        if !line.ends_with(b"\r\n") {
            let detail = "a line of the response head ends with a bare line feed";
            return Err(Fault::new(ErrorClass::Protocol, detail));
        }
        let (empty, first) = (line.len() == 2, self.line_start == 0);
        self.line_start = self.head.len();
        if !empty {
            self.lines += 1;
            if self.lines > self.header_count_max + 1 {
                let detail = format!("more than {} header lines", self.header_count_max);
                return Err(Fault::new(ErrorClass::HeaderLimit, detail));
            }
        } else if first {
            // Parsers skip empty lines before a head; so do we.
            self.start_head();
        } else {
            self.end_head()?;
        }
        Ok(())
    }

    fn end_head(&mut self) -> Result<(), Fault> {
        let status = self.head.get(9..12).unwrap_or_default();
        if !status.starts_with(b"1") || status == b"101" {
            self.in_head = false;
            return Ok(());
        }
        self.informational += 1;
        if self.informational > self.informational_max {
            let detail = format!("more than {} informational heads", self.informational_max);
            return Err(Fault::new(ErrorClass::HeaderLimit, detail));
        }
        self.start_head();
        Ok(())
    }

    fn start_head(&mut self) {
        self.head.clear();
        self.line_start = 0;
        self.lines = 0;
    }
}

/// How a fault passes through `hyper` and `h2`; the tape says which it was.
fn tape_fault() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "limit reached")
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let mut tape = self.tape.lock();
        if tape.fault.is_some() {
            return Poll::Ready(Err(tape_fault()));
        }
        if let Err(fault) = tape.receive(&buf.filled()[before..]) {
            tape.fault = Some(fault);
            return Poll::Ready(Err(tape_fault()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.tape.lock().may_send() {
            return Poll::Ready(Err(tape_fault()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.tape.lock().send(&buf[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
