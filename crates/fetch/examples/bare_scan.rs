//! The crawl that a bench is measured against: a bare hyper loop that fetches and scans.
//!
//! `cargo run --release -p turnstone-fetch --example bare_scan -- TASKS < URLS` fetches each URL
//! once over kept connections, one for each task and address, and hands the body to html5ever's
//! tokenizer, counting the `href`s of `a`. No robots.txt, no limits, no URL is resolved, nothing is
//! kept: what a page costs at the very least. Prints pages, links and bytes.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement")]

use std::cell::Cell;
use std::collections::HashMap;
use std::io::BufRead as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use http_body::Body as _;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use url::Url;

static LINKS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static PAGES: AtomicU64 = AtomicU64::new(0);

struct Count(Cell<u64>);

impl TokenSink for Count {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        if let Token::TagToken(Tag {
            kind: TagKind::StartTag,
            name,
            attrs,
            ..
        }) = token
            && &*name == "a"
            && attrs
                .iter()
                .any(|attribute| &*attribute.name.local == "href")
        {
            self.0.set(self.0.get() + 1);
        }
        TokenSinkResult::Continue
    }
}

fn scan(body: &[u8]) -> u64 {
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(String::from_utf8_lossy(body).as_ref()));
    let tokenizer = Tokenizer::new(Count(Cell::new(0)), TokenizerOpts::default());
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink.0.get()
}

fn main() {
    let tasks: usize = std::env::args()
        .nth(1)
        .map_or(64, |text| text.parse().expect("TASKS is a number"));
    let urls: Vec<Url> = std::io::stdin()
        .lock()
        .lines()
        .map(|line| Url::parse(&line.unwrap()).expect("each line is a URL"))
        .collect();
    let work = Arc::new(Mutex::new(urls));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut set = tokio::task::JoinSet::new();
        for _ in 0..tasks {
            set.spawn(run(work.clone()));
        }
        set.join_all().await;
    });
    println!(
        "{} pages, {} links, {} bytes",
        PAGES.load(Ordering::Relaxed),
        LINKS.load(Ordering::Relaxed),
        BYTES.load(Ordering::Relaxed)
    );
}

async fn run(work: Arc<Mutex<Vec<Url>>>) {
    let mut kept: HashMap<String, hyper::client::conn::http1::SendRequest<String>> = HashMap::new();
    loop {
        let Some(url) = work.lock().unwrap().pop() else {
            return;
        };
        let authority = url.authority().to_owned();
        if kept
            .get(&authority)
            .is_none_or(hyper::client::conn::http1::SendRequest::is_closed)
        {
            let stream = TcpStream::connect(&authority).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
                .await
                .unwrap();
            tokio::spawn(connection);
            kept.insert(authority.clone(), sender);
        }
        let sender = kept.get_mut(&authority).unwrap();
        sender.ready().await.unwrap();
        let request = http::Request::get(url.path())
            .header("host", &authority)
            .header("user-agent", "bare")
            .header("accept", "text/html")
            .body(String::new())
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        let body = collect(response.into_body()).await;
        PAGES.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(body.len() as u64, Ordering::Relaxed);
        LINKS.fetch_add(scan(&body), Ordering::Relaxed);
    }
}

async fn collect(mut body: hyper::body::Incoming) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx));
        let Some(frame) = frame.await else {
            return bytes;
        };
        if let Ok(data) = frame.unwrap().into_data() {
            bytes.extend_from_slice(&data);
        }
    }
}
