//! What a page costs on its way into a WARC file and out of it.
//!
//! ```text
//! cargo bench -p turnstone-pagestore --bench warc              a generated page of 20 kB
//! cargo bench -p turnstone-pagestore --bench warc -- PAGE…     pages of yours, all of them in turn
//! ```
//!
//! Each line is one measurement: what, microseconds of CPU a page (one thread, best of five rounds),
//! and the size. Nothing is synced: that is the disk's pace, not ours.

#![allow(clippy::print_stdout)] // a benchmark speaks to the terminal
#![allow(missing_docs)]

use std::fs;
use std::time::{Duration, Instant};

use turnstone_pagestore::warc::{
    Capture, Digest, Ends, Exchange, INDEX_NAME, Keep, Packer, Payload, Reader, RealFolder,
    Settings, Writer, capture, sort_index,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const ROUND: usize = 500;

fn main() -> Outcome {
    let files: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let mut pages = files.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
    if pages.is_empty() {
        pages.push(generated_page(20_000));
    }
    let bytes: usize = pages.iter().map(Vec::len).sum();
    println!(
        "{} pages, {} bytes on average",
        pages.len(),
        bytes / pages.len()
    );

    measure("digest of the body alone", || {
        Digest::of(&[&pages[0]]).0.len()
    });
    for level in [1, 2, 3, 4, 6, 9, 12] {
        let mut packer = Packer::new(level);
        let mut i = 0;
        measure(&format!("capture at level {level}"), || {
            i += 1;
            captured(&pages[i % pages.len()], i, &mut packer)
                .bytes()
                .len()
        });
    }
    let folder = tempfile::tempdir()?;
    append(folder.path(), &pages)?;
    let path = folder.path().join("bench-00001.warc.gz");
    measure_once("read", || {
        let mut reader = Reader::open(&path).expect("just written");
        let mut records = 0;
        while reader.next_record().expect("just written").is_some() {
            records += 1;
        }
        records / 2
    });
    let index = folder.path().join(INDEX_NAME);
    measure_once("sort the index", || {
        sort_index(&index, 1 << 26).expect("just written");
        ROUND * 20
    });
    Ok(())
}

fn captured(page: &[u8], number: usize, packer: &mut Packer) -> Capture {
    let exchange = Exchange {
        target_uri: &format!("https://www.example.org/some/page/{number}.html"),
        date_ms: 1_714_566_600_000 + number as u64,
        address: Some([192, 0, 2, 1].into()),
        request: b"GET /some/page.html HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: turnstone (+https://example.org/bot)\r\nAccept: text/html\r\nAccept-Encoding: gzip, br\r\n\r\n",
        head: b"HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n",
        payload: Payload::new(page),
        truncated: None,
        fields: &[],
        namespace: b"a crawl of bench",
        number: 0,
    };
    capture(&exchange, Keep::Response, packer).expect("the exchange is right")
}

fn append(path: &std::path::Path, pages: &[Vec<u8>]) -> Outcome {
    let settings = Settings::new("bench", [0; 16]);
    let (mut writer, _) = Writer::open(path, settings, Ends::default(), Box::new(RealFolder))?;
    let mut packer = Packer::default();
    let captures: Vec<Capture> = (0..ROUND)
        .map(|i| captured(&pages[i % pages.len()], i, &mut packer))
        .collect();
    let begun = Cpu::now();
    for round in 0..20 {
        for (i, capture) in captures.iter().enumerate() {
            writer.append(capture, &format!("org,example)/some/page/{i}-{round}.html"))?;
        }
    }
    let us = begun.elapsed().as_secs_f64() * 1e6 / (20 * ROUND) as f64;
    println!("{:28} {us:9.2} us a page", "append, with index line");
    writer.sync()?;
    writer.finish(1 << 26)?;
    Ok(())
}

/// CPU time of this thread where the system tells it (Linux), else the time by the clock.
struct Cpu {
    clock: Instant,
    spent: Option<Duration>,
}

impl Cpu {
    fn now() -> Self {
        Self {
            clock: Instant::now(),
            spent: Self::spent(),
        }
    }

    fn elapsed(&self) -> Duration {
        match (self.spent, Self::spent()) {
            (Some(before), Some(after)) => after - before,
            _ => self.clock.elapsed(),
        }
    }

    fn spent() -> Option<Duration> {
        let told = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let ns = told.split(' ').next()?.parse().ok()?;
        Some(Duration::from_nanos(ns))
    }
}

/// The best of five rounds; `page` returns how many bytes it made of one page.
fn measure(what: &str, mut page: impl FnMut() -> usize) {
    let mut best = f64::INFINITY;
    let mut bytes = 0;
    for _ in 0..5 {
        let begun = Cpu::now();
        bytes = (0..ROUND).map(|_| page()).sum::<usize>() / ROUND;
        best = best.min(begun.elapsed().as_secs_f64() * 1e6 / ROUND as f64);
    }
    println!("{what:28} {best:9.2} us a page, {bytes} bytes");
}

/// One round, which returns for how many pages it was.
fn measure_once(what: &str, mut round: impl FnMut() -> usize) {
    let begun = Cpu::now();
    let pages = round();
    let us = begun.elapsed().as_secs_f64() * 1e6 / pages as f64;
    println!("{what:28} {us:9.2} us a page, {pages} pages");
}

/// Text with the unevenness of words and the repetition of markup.
fn generated_page(bytes: usize) -> Vec<u8> {
    let mut page = String::from("<!DOCTYPE html><html><head><title>A page</title></head><body>\n");
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    while page.len() < bytes {
        page.push_str("<div class=\"entry\"><p><a href=\"/archive/");
        page.push_str(&next(100_000).to_string());
        page.push_str(".html\">");
        for _ in 0..20 {
            // Common words are short and come often.
            let rank = next(50) * next(50) + 1;
            let mut word = rank * 2_654_435_761 % 1_000_003;
            for _ in 0..2 + rank.ilog2() {
                page.push(char::from(b'a' + (word % 26) as u8));
                word = word / 3 + 7;
            }
            page.push(' ');
        }
        page.push_str("</a></p></div>\n");
    }
    page.into_bytes()
}
