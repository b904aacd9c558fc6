//! Little memory, one CPU: a crawl gets slower, and nothing else happens to it.
//!
//! Both webs are made so that everything is asked for at once: a crawl that keeps all it was sent
//! in memory, or that waits where other fetches should go on, does not come to its end here.

use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use turnstone_lab::serve::{
    Answer, Delivery, Handle, Options, Politeness, Request, RobotsCheck, Web, start,
};
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::Crawler;

/// What must pass between two requests to a host.
const DELAY_MS: u64 = 20;

fn serve(hosts: u32, answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static) -> Handle {
    let options = Options {
        politeness: Politeness {
            delay_ms: Some(DELAY_MS),
            open: Some(1),
            robots: RobotsCheck::Rules,
            ..Politeness::default()
        },
        ..Options::default()
    };
    start(Web::custom(hosts, answer), options).unwrap()
}

/// Links to pages of this host; the first host leads to all others.
fn front(request: &Request<'_>, paths: impl Iterator<Item = String>) -> String {
    let others = request.origins.iter().map(|origin| format!("{origin}/"));
    let others = others.filter(|_| request.host == 0);
    let links = others.chain(paths);
    links
        .map(|url| format!("<a href=\"{url}\">on</a>\n"))
        .collect()
}

/// Crawls by a command that narrows what the binary may have; every page must come.
fn check(server: &Handle, mut narrow: Command, connections: usize, pages: u64) -> Crawler {
    let crawler = Crawler::new("");
    narrow
        .arg(env!("CARGO_BIN_EXE_turnstone"))
        .args(["crawl", "--allow-private", "--everywhere"])
        .args(["--policy", "breadth-first"])
        .arg(format!("--delay={DELAY_MS}ms"))
        .arg(format!("--connections={connections}"))
        .arg("--output")
        .arg(crawler.directory())
        .arg(format!("{}/", server.origin(0)));
    let status = crawler.start_as(narrow).wait();
    let said = crawler.said();
    assert!(status.success(), "{status}: {said}");
    assert_eq!(server.violations(), []);
    let store = Store::look(&crawler.directory()).unwrap();
    assert_eq!(store.index().count(PageState::Fetched), pages, "{said}");
    assert_eq!(store.index().stored_count(), pages, "{said}");
    drop(store);
    audit::check(&crawler.directory());
    crawler
}

/// Short as sent, long when unpacked, and not short enough to be read in passing.
fn packed() -> Vec<u8> {
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    })
    .take(300 << 10)
    .collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&noise).unwrap();
    encoder.write_all(&vec![b'-'; 30 << 20]).unwrap();
    encoder.finish().unwrap()
}

/// All hosts send their longest file at the same time, more than the process may hold; the others
/// unpack to more than that.
#[test]
fn c10_little_memory_slows_a_crawl_down_and_no_more() {
    const HOSTS: u32 = 48;
    let packed = packed();
    let server = serve(HOSTS, move |request| match request.path {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow:\n"),
        "/" => Answer::html(front(
            request,
            ["/long", "/packed"].map(str::to_owned).into_iter(),
        )),
        "/long" => {
            let body = vec![u8::try_from(request.host).unwrap(); 9 << 20];
            let drip = Delivery::Drip {
                bytes: 3 << 20,
                every_ms: 200,
            };
            Answer::ok("application/octet-stream", body).deliver(drip)
        }
        "/packed" => Answer::text(packed.clone()).header("Content-Encoding", "gzip"),
        _ => Answer::not_found(),
    });
    let mut narrow = Command::new("prlimit");
    narrow.arg(format!("--data={}", 512 << 20));
    check(&server, narrow, HOSTS as usize, 3 * u64::from(HOSTS));
}

/// One at a time, these answers would take far longer than the crawl may.
#[test]
fn c10_one_cpu_slows_a_crawl_down_and_no_more() {
    const HOSTS: u32 = 40;
    const PAGES: u32 = 12;
    const LATE_MS: u64 = 150;
    let text = "<p>words and <b>more</b> words</p>\n".repeat(12 << 10);
    let server = serve(HOSTS, move |request| match request.path {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow:\n"),
        "/" => Answer::html(front(request, (2..=PAGES).map(|page| format!("/{page}")))),
        "/2" => Answer::html(format!("<title>{}</title>{text}", request.host)),
        "/3" => Answer::html("x".repeat(1000)).deliver(Delivery::Drip {
            bytes: 100,
            every_ms: LATE_MS / 10,
        }),
        path => Answer::html(format!("{path} of {}", request.host))
            .deliver(Delivery::Late { wait_ms: LATE_MS }),
    });
    let mut narrow = Command::new("taskset");
    narrow.args(["--cpu-list", &some_cpu()]);
    let began = Instant::now();
    check(&server, narrow, 64, u64::from(HOSTS * PAGES));
    let one_at_a_time = Duration::from_millis(u64::from(HOSTS * (PAGES - 2)) * LATE_MS);
    assert!(began.elapsed() < one_at_a_time / 2, "{:?}", began.elapsed());
}

/// A CPU that we may use.
fn some_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    list.trim().split([',', '-']).next().unwrap().to_owned()
}
