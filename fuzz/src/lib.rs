//! A peer made of bytes, and a client to ask it: how the targets for heads and chunks get in.
//!
//! The peer hears one request and answers with the bytes it was given, in pieces of the sizes it
//! was given; then it closes or falls silent. The client is the real one down to the parsers, its
//! limits small, its clock a fake that jumps ahead when nothing moves: silence costs no time.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Runtime;
use turnstone_fetch::{Client, Config, FetchError, Identity, Limits, Method, Protocol, Request, Response, Url};

/// What a peer does, told by the first bytes of a fuzzer's input.
pub struct Script {
    /// How it is asked.
    pub method: Method,
    /// What is spoken.
    pub protocol: Protocol,
    /// Whether it closes after its answer; else it falls silent.
    pub closes: bool,
    /// The sizes of its pieces, in turn.
    pub pieces: [u8; 2],
    /// A number that the target may use.
    pub choice: u8,
}

impl Script {
    /// Splits an input into a script and the bytes that the peer sends.
    pub fn split(data: &[u8]) -> Option<(Self, &[u8])> {
        let ([flags, first, second], bytes) = data.split_first_chunk()?;
        let script = Self {
            method: if flags & 1 == 1 { Method::Head } else { Method::Get },
            protocol: if flags & 2 == 2 { Protocol::Http2 } else { Protocol::Http11 },
            closes: flags & 4 == 0,
            pieces: [*first, *second],
            choice: flags >> 3,
        };
        Some((script, bytes))
    }
}

/// Limits that inputs of a few kilobytes can reach.
pub fn limits() -> Limits {
    Limits {
        header_bytes_max: 512,
        header_count_max: 8,
        informational_max: 2,
        body_bytes_max: 256,
        decoded_bytes_max: 1024,
        decoded_free_bytes: 64,
        decoded_ratio_max: 8,
        codings_max: 2,
        ..Limits::default()
    }
}

/// What two fetches on one connection bring; the second finds whatever the first left behind.
pub struct Talk {
    /// The answer to the request.
    pub first: Result<Response, FetchError>,
    /// What the client took for an answer to a request that the peer never answered.
    pub second: Result<Response, FetchError>,
}

/// Asks a peer that answers with `bytes`, then asks once more.
pub fn talk(script: &Script, bytes: &[u8]) -> Talk {
    let (runtime, client) = &*CLIENT;
    runtime.block_on(async {
        client.close_idle();
        let peer = Peer::new(script, bytes);
        let first = client.fetch_over(peer, script.protocol, request(script.method)).await;
        // No connection left to use: then the guard refuses this address, and none is opened.
        let second = client.fetch(request(Method::Get)).await;
        Talk { first, second }
    })
}

/// Made once, because its list of certificate authorities takes longer than a talk.
static CLIENT: LazyLock<(Runtime, Client)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("this machine has a runtime");
    let config = Config { limits: limits(), ..Config::new(Identity::loopback_only()) };
    let client = runtime.block_on(async { Client::new(config) });
    (runtime, client.expect("the default configuration works"))
});

fn request(method: Method) -> Request {
    let url = Url::parse("http://127.0.0.1/page").expect("a plain URL");
    Request { method, ..Request::get(url) }
}

/// The peer's end of a connection, as the client holds it.
struct Peer {
    rest: Vec<u8>,
    pieces: [u8; 2],
    closes: bool,
    asked: bool,
    reader: Option<Waker>,
}

impl Peer {
    fn new(script: &Script, bytes: &[u8]) -> Self {
        Self { rest: bytes.to_vec(), pieces: script.pieces, closes: script.closes, asked: false, reader: None }
    }
}

impl AsyncRead for Peer {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.asked || (self.rest.is_empty() && !self.closes) {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let piece = match self.pieces[0] {
            0 => usize::MAX,
            size => usize::from(size),
        };
        self.pieces.swap(0, 1);
        let len = piece.min(self.rest.len()).min(buf.remaining());
        buf.put_slice(&self.rest[..len]);
        self.rest.drain(..len);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Peer {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
