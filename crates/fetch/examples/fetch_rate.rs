//! Fetches per CPU second: our client against a bare hyper loop, on the same loopback server.
//!
//! `cargo run --release -p turnstone-fetch --example fetch_rate -- [FETCHES] [TASKS]` starts a
//! server of 20 KB pages in a process of its own, then lets each client fetch in turn, three
//! rounds, and prints fetches per second of CPU time spent in this process (user and system).
//! The bare loop is what hyper's own examples do: one connection per task, its driver spawned,
//! the body collected, nothing checked.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement")]

use std::io::BufRead;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use http_body::Body as _;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use turnstone_fetch::{AllowPrivate, Client, Config, Guard, Identity, Request, Url};

const PAGE_BYTES: usize = 20_000;
const ROUNDS: usize = 3;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    if first.as_deref() == Some("--serve") {
        return runtime().block_on(serve());
    }
    let fetches: usize = first.map_or(40_000, |text| text.parse().expect("FETCHES is a number"));
    let tasks = arguments
        .next()
        .map_or(8, |text| text.parse().expect("TASKS is a number"));
    let (mut server, address) = start_server();
    let mut ratios = Vec::new();
    for round in 0..=ROUNDS {
        let bare = rate(fetches, || {
            runtime().block_on(run_bare(address, fetches, tasks));
        });
        let ours = rate(fetches, || {
            runtime().block_on(run_ours(address, fetches, tasks));
        });
        if round > 0 {
            // Round 0 warms up.
            println!("round {round}: bare hyper {bare:.0}, ours {ours:.0} fetches per CPU second");
            ratios.push(ours / bare);
        }
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "ours / bare: median {:.2} of {ratios:.2?}",
        ratios[ROUNDS / 2]
    );
    server.kill().unwrap();
    server.wait().unwrap();
}

fn start_server() -> (Child, SocketAddr) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut child = command
        .arg("--serve")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, line.trim().parse().unwrap())
}

/// Answers every request head with the same page.
async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: bench\r\n\
         Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: {PAGE_BYTES}\r\n\r\n"
    );
    let page: &'static [u8] = [head.into_bytes(), vec![b'x'; PAGE_BYTES]].concat().leak();
    while let Ok((mut stream, _)) = listener.accept().await {
        stream.set_nodelay(true).unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            // Requests are small and never pipelined: one read is one request.
            while matches!(stream.read(&mut buffer).await, Ok(1..)) {
                if stream.write_all(page).await.is_err() {
                    break;
                }
            }
        });
    }
}

async fn run_ours(address: SocketAddr, fetches: usize, tasks: usize) {
    let guard = Guard {
        private: AllowPrivate::All,
        ..Guard::default()
    };
    let mut config = Config {
        guard,
        ..Config::new(Identity::loopback_only())
    };
    config.limits.idle_connections_per_host_max = tasks;
    let client = Client::new(config).unwrap();
    let url = Url::parse(&format!("http://{address}/some/page.html")).unwrap();
    let mut set = JoinSet::new();
    for _ in 0..tasks {
        let (client, url) = (client.clone(), url.clone());
        set.spawn(async move {
            for _ in 0..fetches / tasks {
                let response = client.fetch(Request::get(url.clone())).await.unwrap();
                assert_eq!((response.status, response.body.len()), (200, PAGE_BYTES));
            }
        });
    }
    set.join_all().await;
}

async fn run_bare(address: SocketAddr, fetches: usize, tasks: usize) {
    let mut set = JoinSet::new();
    for _ in 0..tasks {
        set.spawn(async move {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream))
                    .await
                    .unwrap();
            tokio::spawn(connection);
            for _ in 0..fetches / tasks {
                sender.ready().await.unwrap();
                let request = http::Request::get("/some/page.html")
                    .header("host", "127.0.0.1")
                    .header("user-agent", "bare")
                    .header(
                        "accept",
                        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                    )
                    .header("accept-encoding", "gzip, deflate, br, zstd")
                    .body(String::new())
                    .unwrap();
                let response = sender.send_request(request).await.unwrap();
                assert_eq!(response.status(), 200);
                assert_eq!(collect(response.into_body()).await.len(), PAGE_BYTES);
            }
        });
    }
    set.join_all().await;
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

/// Fetches per second of this process's CPU time.
fn rate(fetches: usize, work: impl FnOnce()) -> f64 {
    let (before, started) = (cpu_seconds(), Instant::now());
    work();
    let spent = cpu_seconds() - before;
    assert!(
        spent > 0.0,
        "no CPU time counted in {:?}",
        started.elapsed()
    );
    fetches as f64 / spent
}

/// User and system time of this process, from `/proc` (in ticks of a hundredth of a second).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("needs Linux");
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    ticks as f64 / 100.0
}
