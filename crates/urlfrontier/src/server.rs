//! The server: connections and their limits, and who may ask.
//!
//! A client that is silent may stay, for some keep one stream for the life of a crawl; one that is *gone* is found by
//! HTTP/2 pings and dropped. One that does not read is held up by flow control and costs what is read ahead for it.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Request, Status};

use crate::crawls::{Crawls, CrawlsError, Settings};
use crate::owner::Owner;
use crate::service::Service;
use crate::wire::turnstone::pages_server::PagesServer;
use crate::wire::urlfrontier::url_frontier_server::UrlFrontierServer;

/// The longest message, as gRPC has it everywhere.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// The most connections at once; more wait to be taken.
pub const CONNECTIONS_MAX: usize = 1024;
/// The most calls under way on a connection.
const CALLS_MAX: u32 = 256;
/// How much a client may send ahead on a stream, and on a connection.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;
/// How often a connection is tried on which nothing comes, and how long an answer may take.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIME: Duration = Duration::from_secs(20);

/// Crawls that were taken over, to be served.
pub struct Frontier {
    owner: Owner,
    thread: std::thread::JoinHandle<()>,
    token: Option<Arc<str>>,
}

impl Frontier {
    /// Takes a directory over. Where there is a token, whoever asks must show it: `authorization: Bearer TOKEN`.
    pub fn open(
        directory: &Path,
        settings: Settings,
        token: Option<String>,
    ) -> Result<Self, CrawlsError> {
        let (owner, thread) = Owner::of(Crawls::open(directory, settings)?);
        let token = token.map(Arc::from);
        Ok(Self {
            owner,
            thread,
            token,
        })
    }

    /// Serves until `end` comes; then what was taken is on the disk.
    pub async fn serve(
        self,
        listener: TcpListener,
        end: impl Future<Output = ()>,
    ) -> Result<(), io::Error> {
        let address = listener.local_addr()?.to_string().into();
        let Self {
            owner,
            thread,
            token,
        } = self;
        let service = Service { owner, address };
        let gate = move |request: Request<()>| admit(token.as_deref(), request);
        let frontier =
            UrlFrontierServer::new(service.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let pages = PagesServer::new(service).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let serving = Server::builder()
            .max_concurrent_streams(CALLS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(PING_EVERY))
            .http2_keepalive_timeout(Some(PING_TIME))
            .layer(tonic::service::InterceptorLayer::new(gate))
            .add_service(frontier)
            .add_service(pages)
            .serve_with_incoming(connections(listener));
        tokio::select! {
            served = serving => served.map_err(io::Error::other)?,
            () = end => {}
        }
        // Nobody can ask any more once the streams are gone: then the thread ends.
        drop(thread);
        Ok(())
    }
}

fn admit(token: Option<&str>, request: Request<()>) -> Result<Request<()>, Status> {
    let Some(token) = token else {
        return Ok(request);
    };
    let shown = request
        .metadata()
        .get("authorization")
        .and_then(|shown| shown.to_str().ok());
    let shown = shown
        .and_then(|shown| shown.strip_prefix("Bearer "))
        .unwrap_or_default();
    // As long as the longer of both, wherever they differ.
    let differ = token
        .bytes()
        .zip(shown.bytes())
        .fold(0, |differ, (a, b)| differ | (a ^ b));
    match token.len() == shown.len() && differ == 0 {
        true => Ok(request),
        false => Err(Status::unauthenticated(
            "show the token of this server as metadata: authorization: Bearer TOKEN",
        )),
    }
}

/// Connections, as many as there may be.
fn connections(listener: TcpListener) -> impl futures_util::Stream<Item = io::Result<Held>> {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    stream::unfold((listener, permits), |(listener, permits)| async {
        let permit = permits.clone().acquire_owned().await.ok()?;
        let held = loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // Small answers must not wait for each other.
                    let _ = stream.set_nodelay(true);
                    break Held {
                        stream,
                        _permit: permit,
                    };
                }
                // Out of files, for example: those that are open will close.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        };
        Some((Ok(held), (listener, permits)))
    })
}

/// A connection that counts as long as it lives.
struct Held {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

impl Connected for Held {
    type ConnectInfo = Option<SocketAddr>;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.peer_addr().ok()
    }
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Held {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
