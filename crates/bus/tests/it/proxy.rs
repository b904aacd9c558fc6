//! A wire that can be cut in one direction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Carries bytes to a server; answers can be swallowed.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    deaf: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let deaf = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&deaf);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else {
                    continue;
                };
                tokio::spawn(carry(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, deaf }
    }

    /// What says whether answers are swallowed.
    pub(crate) fn deafness(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.deaf)
    }

    /// Swallows all answers from now on, or none. A connection that missed one ends with the first
    /// answer after it: half a message would be worse than none.
    pub(crate) fn swallow_answers(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::SeqCst);
    }
}

async fn carry(client: TcpStream, server: TcpStream, deaf: Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let mut buffer = vec![0; 64 << 10];
    let mut missed = false;
    while let Ok(read) = from_server.read(&mut buffer).await {
        let is_deaf = deaf.load(Ordering::SeqCst);
        if read == 0 || (missed && !is_deaf) {
            break;
        }
        missed |= is_deaf;
        if !is_deaf && to_client.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    up.abort();
}
