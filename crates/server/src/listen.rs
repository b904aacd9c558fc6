//! Listening: connections with limits on everything that a stranger could hold.
//!
//! There are at most [`CONNECTIONS_MAX`] at once; others wait in the system's queue. A head has
//! [`HEAD_BYTES_MAX`] bytes and ten seconds, also the first one and the one after an answer, so nobody sits
//! here in silence. A client that does not read what it is sent holds a small buffer for ten seconds and is
//! dropped: that is what keeps a forgotten dashboard from costing anything.
//!
//! `hyper` by hand and not `axum::serve`: that has none of these limits.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};

/// The most connections at once.
pub const CONNECTIONS_MAX: usize = 400;
/// What is kept of a head that is not whole yet; as much again may come before that is noticed.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// How long a head may take, and a silence between requests.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a client may not read.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// What the system keeps for a client that does not read.
const SEND_BYTES: u32 = 64 << 10;
/// Connections that wait.
const BACKLOG: u32 = 256;
/// How long to wait when the system has no file left for a connection.
const NO_FILES: Duration = Duration::from_millis(100);

/// How many connections there are and were.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) open: AtomicU64,
    pub(crate) ever: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// Takes a port. Must be called within a tokio runtime.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A server that is started again finds its port; two at once do not share it.
    socket.set_reuseaddr(true)?;
    // Connections have it from their listener.
    socket.set_send_buffer_size(SEND_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Answers until it is dropped.
pub(crate) async fn answer(listener: TcpListener, router: Router, traffic: Arc<Traffic>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(NO_FILES).await;
            continue;
        };
        let (service, traffic) = (TowerToHyperService::new(router.clone()), traffic.clone());
        traffic.ever.fetch_add(1, Ordering::Relaxed);
        traffic.open.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let served = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(HEAD_BYTES_MAX)
                .serve_connection(TokioIo::new(Impatient::new(stream)), service)
                .await;
            traffic.open.fetch_sub(1, Ordering::Relaxed);
            traffic
                .dropped
                .fetch_add(u64::from(served.is_err()), Ordering::Relaxed);
            drop(permit);
        });
    }
}

/// A stream that fails when the other side does not read for a while.
struct Impatient {
    stream: TcpStream,
    /// Runs while a write waits.
    patience: Pin<Box<Sleep>>,
    waits: bool,
}

impl Impatient {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            patience: Box::pin(tokio::time::sleep(WRITE_TIME)),
            waits: false,
        }
    }

    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            self.patience.as_mut().reset(Instant::now() + WRITE_TIME);
        }
        ready!(self.patience.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
