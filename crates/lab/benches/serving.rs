//! What serving a page costs: keep-alive connections that ask for one page after the other.
//!
//! ```text
//! cargo bench -p turnstone-lab --bench serving -- [PAGE_BYTES [CONNECTIONS [SECONDS]]]
//! ```
//!
//! Default 20000 8 4. One serving thread; its CPU seconds are read from `/proc`, so that the
//! clients and a busy machine do not count. Each line is one measurement.

#![allow(missing_docs, clippy::print_stdout)] // a benchmark speaks to the terminal

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use turnstone_frontier::PageId;
use turnstone_lab::serve::{Faults, GraphPages, Handle, Options, Politeness, Web, start};
use turnstone_lab::web::GraphWeb;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters};

/// Pages that are asked for in turn.
const PAGES: u32 = 50_000;
/// Ticks in a second of `/proc`, on every Linux.
const TICKS: f64 = 100.0;

fn main() {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let number = |index: usize, default: u64| numbers.get(index).copied().unwrap_or(default);
    let (page_bytes, connections) = (number(0, 20_000) as u32, number(1, 8));
    let seconds = number(2, 4);
    let parameters = WebParameters {
        pages: PAGES as usize,
        ..WebParameters::default()
    };
    let web = GeneratedWeb::new(&parameters).expect("the parameters are within their limits");
    let (graph, urls) = (web.graph(), web.urls());
    let strict = Politeness {
        delay_ms: Some(0),
        open: Some(1000),
        ..Politeness::default()
    };
    let faulty = Faults::parse("slow:rate=0;429:rate=0;5xx:rate=0", 1).expect("well written");
    for (name, with_urls, politeness, faults) in [
        (
            "pages by number",
            false,
            Politeness::default(),
            Faults::none(),
        ),
        ("pages by URL", true, Politeness::default(), Faults::none()),
        ("by URL, judged", true, strict, Faults::none()),
        ("by URL, judged, faults drawn", true, strict, faulty),
    ] {
        let web = GraphWeb {
            graph: graph.clone(),
            urls: with_urls.then(|| urls.clone()),
        };
        let pages = GraphPages {
            page_bytes,
            ..GraphPages::default()
        };
        let options = Options {
            politeness,
            faults,
            ..Options::default()
        };
        let handle = start(Web::graph(web, pages), options).expect("loopback can be bound");
        let (requests, bytes, cpu) = load(&handle, connections, Duration::from_secs(seconds));
        println!(
            "{name}: {requests} requests, {:.0} per CPU second, {:.0} per second, {:.1} KB each",
            requests as f64 / cpu,
            requests as f64 / seconds as f64,
            bytes as f64 / requests as f64 / 1e3
        );
        assert_eq!(handle.summary().violations, 0);
    }
}

/// Asks for a while: requests, bytes, and the CPU seconds of the serving thread.
fn load(handle: &Handle, connections: u64, time: Duration) -> (u64, u64, f64) {
    let stop = AtomicBool::new(false);
    let (requests, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let (began, cpu) = (Instant::now(), server_cpu_s());
    // The pages of one host, so that connections are kept.
    let first = handle.url_of(PageId(0));
    let origin_of = |url: &str| url[..url[7..].find('/').map_or(url.len(), |at| at + 7)].to_owned();
    let origin = origin_of(&first);
    let paths: Vec<String> = (0..PAGES)
        .map(|page| handle.url_of(PageId(page)))
        .filter(|url| origin_of(url) == origin)
        .map(|url| url[origin.len()..].to_owned())
        .collect();
    let before = server_cpu_s() - cpu;
    std::thread::scope(|scope| {
        for connection in 0..connections {
            let (stop, requests, bytes) = (&stop, &requests, &bytes);
            let (paths, authority) = (&paths, &origin[7..]);
            scope.spawn(move || {
                let mut stream = TcpStream::connect(authority).expect("it listens");
                let mut buffer = vec![0; 1 << 20];
                let mut at = connection as usize * 97;
                while !stop.load(Ordering::Relaxed) {
                    let path = &paths[at % paths.len()];
                    at += 1;
                    let head = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
                    stream.write_all(head.as_bytes()).expect("it reads");
                    let read = read_answer(&mut stream, &mut buffer);
                    requests.fetch_add(1, Ordering::Relaxed);
                    bytes.fetch_add(read as u64, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(time.saturating_sub(began.elapsed()));
        stop.store(true, Ordering::Relaxed);
    });
    let cpu = server_cpu_s() - cpu - before;
    (requests.into_inner(), bytes.into_inner(), cpu)
}

/// Reads one whole answer; how many bytes it had.
fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    let mut wanted = usize::MAX;
    while filled < wanted {
        filled += stream.read(&mut buffer[filled..]).expect("it answers");
        if wanted == usize::MAX
            && let Some(end) = find(&buffer[..filled], b"\r\n\r\n")
        {
            let length = find(&buffer[..end], b"Content-Length: ").expect("it says how long");
            let digits = &buffer[length + 16..end];
            let digits = &digits[..digits
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count()];
            let text = std::str::from_utf8(digits).expect("digits");
            wanted = end + 4 + text.parse::<usize>().expect("digits");
        }
    }
    filled
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// User and system time of the threads that serve.
fn server_cpu_s() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks: f64 = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
        name.ends_with("(serve-web").then_some(ticks / TICKS)
    };
    tasks.filter_map(of).sum()
}
