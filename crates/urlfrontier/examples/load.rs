//! What the frontier bears: URLs put a second, how long a call for URLs takes, memory, and how long a restart takes.
//!
//! ```sh
//! cargo run --release -p turnstone-urlfrontier --example load -- 10000000
//! ```
//!
//! Server and client are two processes on one machine and share its cores, over loopback. The number is that of
//! URLs; a hundred of them are in a queue. Everything goes through the protocol, and every acknowledgement is
//! counted; the server keeps its journal in a folder that is removed afterwards, or in the one named second.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::expect_used,
    missing_docs
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;
use tonic::transport::Channel;
use turnstone_urlfrontier::wire::urlfrontier::url_frontier_client::UrlFrontierClient;
use turnstone_urlfrontier::wire::urlfrontier::*;
use turnstone_urlfrontier::{Frontier, Settings};

const PER_QUEUE: u64 = 100;
const BATCH: u64 = 1000;
const STREAMS: u64 = 2;
const CALLS: usize = 2000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap();
    if let [word, folder] = arguments.as_slice()
        && word == "serve"
    {
        return runtime.block_on(serve(Path::new(folder)));
    }
    let urls = arguments
        .first()
        .map_or(1_000_000, |urls| urls.parse().unwrap());
    let temporary = tempfile::tempdir().unwrap();
    let folder = arguments.get(1).map_or(temporary.path(), Path::new);
    runtime.block_on(measure(urls, folder));
}

async fn serve(folder: &Path) {
    let began = Instant::now();
    let settings = Settings {
        make: Arc::new(|_| Ok(None)),
        policy: "oldest".to_owned(),
        delay_s: 1,
    };
    let frontier = Frontier::open(folder, settings, None).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!(
        "{} {}",
        listener.local_addr().unwrap(),
        began.elapsed().as_millis()
    );
    frontier
        .serve(listener, std::future::pending())
        .await
        .unwrap();
}

struct Server {
    child: Child,
    address: String,
    opened_ms: u64,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("serve")
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let (address, opened) = line.trim().split_once(' ').expect("the server listens");
        Self {
            child,
            address: address.to_owned(),
            opened_ms: opened.parse().unwrap(),
        }
    }

    /// Memory of its own, in bytes: what is not backed by a file.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .unwrap();
        line.split_whitespace()
            .next()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            * 1024
    }

    /// Processor seconds.
    fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        ticks as f64 / 100.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn client(address: &str) -> UrlFrontierClient<Channel> {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap();
    let channel = channel
        .initial_stream_window_size(2 << 20)
        .connect()
        .await
        .unwrap();
    UrlFrontierClient::new(channel)
}

fn batch(number: u64, of: u64) -> DiscoveredBatch {
    let items = (number * BATCH..((number + 1) * BATCH).min(of)).map(|at| {
        // Neighbours in a batch are of one host, as the links of a page are.
        let host = at / PER_QUEUE;
        UrlInfo {
            url: format!(
                "https://www.host{host}.example/section/{}/page-{at}.html",
                at % 17
            ),
            key: format!("www.host{host}.example"),
            ..UrlInfo::default()
        }
    });
    DiscoveredBatch {
        id: number.to_string(),
        items: items.collect(),
    }
}

/// Puts all, in several streams; returns how many were taken.
async fn put(client: &UrlFrontierClient<Channel>, urls: u64) -> u64 {
    let taken = Arc::new(AtomicU64::new(0));
    let streams = (0..STREAMS).map(|stream| {
        let (mut client, taken) = (client.clone(), taken.clone());
        tokio::spawn(async move {
            let batches = (stream..urls.div_ceil(BATCH)).step_by(STREAMS as usize);
            let batches = tokio_stream::iter(batches.map(move |number| batch(number, urls)));
            let mut acks = client.put_discovered(batches).await.unwrap().into_inner();
            while let Some(ack) = acks.next().await {
                let ok = ack
                    .unwrap()
                    .statuses
                    .iter()
                    .filter(|status| **status == 0)
                    .count();
                taken.fetch_add(ok as u64, Ordering::Relaxed);
            }
        })
    });
    for stream in streams.collect::<Vec<_>>() {
        stream.await.unwrap();
    }
    taken.load(Ordering::Relaxed)
}

/// Calls for ten URLs of ten queues each; returns the times and the URLs.
async fn get(
    client: &mut UrlFrontierClient<Channel>,
    calls: usize,
) -> (Vec<Duration>, Vec<UrlInfo>) {
    let (mut times, mut urls) = (Vec::new(), Vec::new());
    for _ in 0..calls {
        let began = Instant::now();
        let params = GetParams {
            max_queues: 10,
            max_urls_per_queue: 10,
            delay_requestable: 600,
            ..GetParams::default()
        };
        let mut lent = client.get_ur_ls(params).await.unwrap().into_inner();
        while let Some(url) = lent.message().await.unwrap() {
            urls.push(url);
        }
        times.push(began.elapsed());
    }
    (times, urls)
}

fn show(what: &str, mut times: Vec<Duration>, urls: usize) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{what}: {} calls, {urls} URLs; median {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

async fn measure(urls: u64, folder: &Path) {
    let server = Server::start(folder);
    let mut calls = client(&server.address).await;
    let (began, memory) = (Instant::now(), server.memory());
    let taken = put(&calls, urls).await;
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(taken, urls, "every URL is new");
    let per_url = (server.memory() - memory) as f64 / urls as f64;
    println!(
        "put: {urls} discovered URLs in {seconds:.1} s, {:.0} a second, durable; {:.1} processor seconds of the server",
        urls as f64 / seconds,
        server.cpu()
    );
    println!("memory: {per_url:.1} bytes a URL, {PER_QUEUE} URLs a queue");

    let (times, lent) = get(&mut calls, CALLS).await;
    show("get, nothing else", times, lent.len());
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, mut other) = (stop.clone(), client(&server.address).await);
    let puts = tokio::spawn(async move {
        // As fast as they are taken: known ones, which are skipped, and new ones.
        let batches = (0..u64::MAX)
            .map(move |number| batch(number % 2 * 1_000_000_000 / BATCH + number, u64::MAX));
        let batches = batches.take_while(move |_| !stopped.load(Ordering::Relaxed));
        let mut acks = other
            .put_discovered(tokio_stream::iter(batches))
            .await
            .unwrap()
            .into_inner();
        let (mut count, began) = (0, Instant::now());
        while let Some(ack) = acks.next().await {
            count += ack.unwrap().statuses.len();
        }
        count as f64 / began.elapsed().as_secs_f64()
    });
    let (times, more) = get(&mut calls, CALLS).await;
    show("get, while URLs are put", times, more.len());
    stop.store(true, Ordering::Relaxed);
    println!("put meanwhile: {:.0} a second", puts.await.unwrap());

    let told: Vec<UrlItem> = lent
        .iter()
        .chain(&more)
        .map(|info| UrlItem {
            item: Some(url_item::Item::Known(KnownUrlItem {
                info: Some(info.clone()),
                refetchable_from_date: 0,
            })),
            ..UrlItem::default()
        })
        .collect();
    let (count, began) = (told.len(), Instant::now());
    let mut acks = calls
        .put_ur_ls(tokio_stream::iter(told))
        .await
        .unwrap()
        .into_inner();
    let mut ok = 0;
    while let Some(ack) = acks.next().await {
        ok += usize::from(ack.unwrap().status == 0);
    }
    assert_eq!(ok, count);
    println!(
        "told, one message each: {:.0} a second",
        count as f64 / began.elapsed().as_secs_f64()
    );
    drop(server);
    let server = Server::start(folder);
    println!(
        "restart: {:.1} s, after kill -9",
        server.opened_ms as f64 / 1e3
    );
}
