//! Raw servers on loopback, and a client with limits small enough for tests.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use turnstone_fetch::{
    AllowPrivate, Client, Config, FetchError, Guard, Identity, Limits, Request, Response, Url,
};

/// A server that ends with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Runs `handle` for every connection; the number counts them from 0.
    pub(crate) async fn start<F, W>(handle: F) -> Self
    where
        F: Fn(TcpStream, usize) -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let task = tokio::spawn(async move {
            let mut tasks = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tasks.spawn(handle(stream, count.fetch_add(1, Ordering::SeqCst)));
            }
        });
        Self {
            address,
            connections,
            task,
        }
    }

    /// Answers the first request of every connection with `reply`, then does `after`.
    pub(crate) async fn reply(reply: impl Into<Vec<u8>>, after: After) -> Self {
        let reply: Arc<[u8]> = reply.into().into();
        Self::start(move |mut stream, _| {
            let reply = reply.clone();
            async move {
                read_request(&mut stream).await;
                // The client may have heard enough before the end.
                let _ = stream.write_all(&reply).await;
                after.run(stream).await;
            }
        })
        .await
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many connections others than this question have made so far.
    ///
    /// Connections are accepted in the order they were made, so once the one made here is
    /// through, all earlier ones have been counted.
    pub(crate) async fn reached(&self) -> usize {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(b"\r\n\r\n").await.unwrap();
        stream.read_u8().await.unwrap();
        self.connections() - 1
    }

    pub(crate) fn url(&self) -> Url {
        format!("http://{}/page?q=1#part", self.address)
            .parse()
            .unwrap()
    }
}

/// What a server does after its reply.
#[derive(Clone, Copy)]
pub(crate) enum After {
    /// Closes the connection.
    Close,
    /// Says nothing more, and does not close.
    Hold,
}

impl After {
    async fn run(self, mut stream: TcpStream) {
        match self {
            Self::Close => drop(stream),
            // Ends when the client closes.
            Self::Hold => drain(&mut stream).await,
        }
    }
}

/// Reads until the other side closes.
pub(crate) async fn drain(stream: &mut TcpStream) {
    let mut buffer = [0; 1024];
    while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
}

/// Reads one request head; empty if the client went away.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return Vec::new(),
        }
    }
    head
}

/// Limits that bite within a fraction of a second.
pub(crate) fn limits() -> Limits {
    Limits {
        dns_time: Duration::from_millis(300),
        connect_time: Duration::from_secs(2),
        tls_time: Duration::from_millis(500),
        first_byte_time: Duration::from_millis(300),
        total_time: Duration::from_secs(5),
        throughput_window: Duration::from_millis(200),
        throughput_bytes_per_s_min: 1000,
        header_bytes_max: 16 << 10,
        body_bytes_max: 100_000,
        decoded_bytes_max: 400_000,
        ..Limits::default()
    }
}

/// A configuration that may ask this machine.
pub(crate) fn config(limits: Limits) -> Config {
    let guard = Guard {
        private: AllowPrivate::All,
        ..Guard::default()
    };
    Config {
        guard,
        limits,
        ..Config::new(Identity::loopback_only())
    }
}

pub(crate) fn client() -> Client {
    Client::new(config(limits())).unwrap()
}

/// Fetches `server`'s page with a fresh client.
pub(crate) async fn get(server: &Server) -> Result<Response, FetchError> {
    client().fetch(Request::get(server.url())).await
}

/// One line that says how a fetch went.
pub(crate) fn summary(result: &Result<Response, FetchError>) -> String {
    let response = match result {
        Ok(response) => response,
        Err(error) => return error.class.to_string(),
    };
    let mut text = format!("{} {} bytes", response.status, response.body.len());
    if let Some(truncation) = response.truncation {
        text += &format!(", cut: {} ({})", truncation.mark.as_str(), truncation.cause);
    }
    for note in &response.notes {
        text += &format!(", {note:?}");
    }
    text
}
