//! How fast robots rules are matched and keys of URLs made.
//!
//! `cargo bench -p turnstone-fetch --bench rules`. The robots file has 100 KiB of rules for one agent.
//!
//! Times are CPU time of this thread where Linux tells it (`/proc/thread-self/schedstat`), so that
//! neighbours on the machine do not count; elsewhere the wall clock.
#![allow(missing_docs, reason = "made by criterion's macros")]

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput};
use turnstone_fetch::robots::Rules;
use turnstone_fetch::urls::{KeyOptions, canonical_key};
use url::Url;

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(CpuTime::new())
        .without_plots()
        .sample_size(20);
    robots(&mut criterion);
    keys(&mut criterion);
    criterion.final_summary();
}

/// CPU time of this thread.
struct CpuTime {
    began: Instant,
}

impl CpuTime {
    fn new() -> CpuTime {
        CpuTime {
            began: Instant::now(),
        }
    }

    fn now(&self) -> Duration {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let spent = stat
            .and_then(|s| s.split(' ').next()?.parse().ok())
            .map(Duration::from_nanos);
        spent.unwrap_or_else(|| self.began.elapsed())
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        self.now()
    }

    fn end(&self, start: Duration) -> Duration {
        self.now().saturating_sub(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn robots(criterion: &mut Criterion<CpuTime>) {
    let mut file = String::from("User-agent: *\n");
    let mut i = 0;
    while file.len() < 100 * 1024 {
        match i % 5 {
            0 => writeln!(file, "Disallow: /*/private-{i}/*.php$"),
            1 => writeln!(file, "Allow: /shop/category-{i}/"),
            _ => writeln!(file, "Disallow: /folder-{i}/sub/"),
        }
        .expect("a string");
        i += 1;
    }
    let rules = Rules::parse(file.as_bytes(), "turnstone");
    let paths = [
        "/",
        "/folder-777/sub/page.html?x=1",
        "/no/rule/matches/this/path.html",
        "/shop/category-501/item?color=red",
        "/a/private-900/b.php",
    ];
    let mut group = criterion.benchmark_group("robots, 100 KiB");
    group.throughput(Throughput::Bytes(file.len() as u64));
    group.bench_function("parse", |b| {
        b.iter(|| Rules::parse(black_box(file.as_bytes()), "turnstone"));
    });
    group.throughput(Throughput::Elements(paths.len() as u64));
    group.bench_function(format!("check against {} rules", rules.rule_count()), |b| {
        b.iter(|| {
            paths
                .iter()
                .filter(|path| rules.check(black_box(path)).allowed)
                .count()
        });
    });
    group.finish();
}

fn keys(criterion: &mut Criterion<CpuTime>) {
    let url = Url::parse(
        "https://www.site.example/path/to/a/page.html?id=42&utm_source=x&name=caf%c3%a9",
    )
    .expect("a plain URL");
    let mut group = criterion.benchmark_group("urls");
    group.throughput(Throughput::Elements(1));
    group.bench_function("canonical_key", |b| {
        b.iter(|| canonical_key(black_box(&url), &KeyOptions::default()));
    });
    group.finish();
}
