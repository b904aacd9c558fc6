//! A site that answers as a function of host and path, and the client that reads it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use turnstone_fetch::robots::{Access, Record, RefreshOptions};
use turnstone_fetch::{Client, FetchError, Limits, Redirect, Request, Response, Url};

use crate::server::{config, drain, limits, read_request};

pub(super) const AGENT: &str = "turnstone";

/// What a site does with a request.
pub(super) enum Reply {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes and says no more, without closing.
    Stall(Vec<u8>),
}

/// A whole response.
pub(super) fn reply(status: u16, headers: &[&str], body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let mut head = format!(
        "HTTP/1.1 {status} So\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for line in headers {
        head += &format!("{line}\r\n");
    }
    Reply::Bytes([head.as_bytes(), b"\r\n", body].concat())
}

pub(super) fn ok(body: impl AsRef<[u8]>) -> Reply {
    reply(200, &[], body)
}

pub(super) fn gone() -> Reply {
    reply(404, &[], "")
}

pub(super) fn redirect(to: impl AsRef<str>) -> Reply {
    reply(302, &[&format!("Location: {}", to.as_ref())], "")
}

/// One or more hosts of this machine, 127.0.0.1 and on.
pub(super) struct Site {
    addresses: Vec<SocketAddr>,
    asked: Arc<Mutex<Vec<String>>>,
    hosts: JoinSet<()>,
}

impl Site {
    /// A site of one host, which answers a path.
    pub(super) async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::hosts(1, move |_| move |_, path: &str| answer(path)).await
    }

    /// A site of several hosts. `answer` is given where they are, and makes what answers a path
    /// at a host, counted from 0.
    pub(super) async fn hosts<A>(count: u8, answer: impl FnOnce(Vec<String>) -> A) -> Self
    where
        A: Fn(usize, &str) -> Reply + Send + Sync + 'static,
    {
        let mut listeners = Vec::new();
        for number in 1..=count {
            listeners.push(
                TcpListener::bind(SocketAddr::from(([127, 0, 0, number], 0)))
                    .await
                    .unwrap(),
            );
        }
        let addresses: Vec<_> = listeners.iter().map(|l| l.local_addr().unwrap()).collect();
        let origins = addresses.iter().map(|address| format!("http://{address}"));
        let answer = Arc::new(answer(origins.collect()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut hosts = JoinSet::new();
        for (host, listener) in listeners.into_iter().enumerate() {
            let (answer, asked) = (answer.clone(), asked.clone());
            hosts.spawn(async move {
                let mut connections = JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    let (answer, asked) = (answer.clone(), asked.clone());
                    connections.spawn(serve(stream, move |path| {
                        asked.lock().unwrap().push(format!("{host}{path}"));
                        answer(host, path)
                    }));
                }
            });
        }
        Self {
            addresses,
            asked,
            hosts,
        }
    }

    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.addresses[0])
    }

    pub(super) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.origin())).unwrap()
    }

    /// What was asked so far, host number and path, since the last look.
    pub(super) fn asked(&self) -> String {
        std::mem::take(&mut *self.asked.lock().unwrap()).join(" ")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.hosts.abort_all();
    }
}

async fn serve(mut stream: TcpStream, answer: impl Fn(&str) -> Reply) {
    let request = read_request(&mut stream).await;
    let text = String::from_utf8_lossy(&request);
    let Some(path) = text.split(' ').nth(1) else {
        return;
    };
    // The client may have heard enough before the end.
    match answer(path) {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
        Reply::Stall(bytes) => {
            let _ = stream.write_all(&bytes).await;
            drain(&mut stream).await;
        }
    }
}

pub(super) fn client() -> Client {
    crate::server::client()
}

/// A client that takes as much as a crawl does, within the short times of a test.
pub(super) fn wide_client() -> Client {
    let wide = Limits::default();
    let limits = Limits {
        body_bytes_max: wide.body_bytes_max,
        decoded_bytes_max: wide.decoded_bytes_max,
        total_time: wide.total_time,
        throughput_window: wide.throughput_window,
        ..limits()
    };
    Client::new(config(limits)).unwrap()
}

/// Fetches and follows redirects, five at most; where it ended and what came.
pub(super) async fn land(client: &Client, url: Url) -> (Url, Response) {
    let mut url = url;
    for _ in 0..5 {
        let response = client.fetch(Request::get(url.clone())).await.unwrap();
        match Redirect::of(response.status, &response.headers, &url) {
            Redirect::To { url: target, .. } => url = target,
            _ => return (url, response),
        }
    }
    panic!("{url} redirects on and on");
}

/// A crawler of one authority: asks for robots.txt when it must, for pages when it may.
pub(super) struct Visitor {
    pub(super) client: Client,
    pub(super) record: Record,
    pub(super) options: RefreshOptions,
}

impl Visitor {
    pub(super) fn new(client: Client, origin: &str) -> Self {
        Self {
            client,
            record: Record::new(origin),
            options: RefreshOptions::default(),
        }
    }

    /// Brings robots.txt up to date.
    pub(super) async fn refresh(&mut self, now_s: u64) {
        while let Some(request) = self.record.request(now_s) {
            let fetched = self.client.fetch(request).await;
            let limits = self.client.limits().clone();
            self.record
                .observe_fetch(now_s, &fetched, &limits, AGENT, &self.options);
        }
    }

    /// Asks for a page if that is allowed; else says why not.
    pub(super) async fn visit(
        &mut self,
        url: Url,
        now_s: u64,
    ) -> Result<Result<Response, FetchError>, String> {
        self.refresh(now_s).await;
        match self.record.access(now_s, &self.options) {
            Access::Unknown => return Err("unknown".into()),
            Access::Closed { why, .. } => return Err(format!("closed: {why}")),
            Access::Rules { rules, .. } if !rules.check_url(&url).allowed => {
                let line = rules.check_url(&url).line.map(|line| line.number);
                return Err(format!("line {}", line.unwrap_or(0)));
            }
            Access::Rules { .. } | Access::Open { .. } => {}
        }
        Ok(self.client.fetch(Request::get(url)).await)
    }

    /// One word on whether a page was asked for.
    pub(super) async fn word(&mut self, url: Url, now_s: u64) -> String {
        match self.visit(url, now_s).await {
            Ok(_) => "asked".into(),
            Err(why) => why,
        }
    }
}
