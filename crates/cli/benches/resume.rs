//! How long a crawl takes to go on after kill -9, and what a page costs, by how many are known.
//!
//! Simulates a RankMass crawl of an endless web in-process (no network): every fetched page links
//! to ten pages known already and ten new ones. The store is left as a kill leaves it, between
//! two checkpoints; then it is opened and folded as `turnstone crawl` does. The journal is in the
//! page cache, as it is after a kill.
//!
//! Run with `cargo bench -p turnstone-cli --bench resume -- PAGES…` (default 1000000).

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use turnstone_crawl::Plan;
use turnstone_fetch::Url;
use turnstone_fetch::scope::{Scope, ScopeRules};
use turnstone_fetch::urls::KeyOptions;
use turnstone_frontier::{Change, Next, PageId, Policy, Tick};
use turnstone_ledger::{Flips, Ledger, Opened, Past, Terms, sow};
use turnstone_pagestore::{Entry, Facts, NewPage, Settled, Store};
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::mass::Fraction;

const LINKS_OLD: u64 = 10;
const LINKS_NEW: u64 = 10;
const HOSTS: u64 = 10_000;

fn main() {
    let counts: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let counts = if counts.is_empty() {
        vec![1_000_000]
    } else {
        counts
    };
    for count in counts {
        measure(count);
    }
}

fn policy() -> Box<dyn Policy> {
    let trust = Trust::alike([PageId(0)]).unwrap();
    let goal = Goal {
        epsilon: Fraction::new(1e-6).unwrap(),
        ..Goal::default()
    };
    coverage::build(&"rankmass".parse().unwrap(), &trust, goal).unwrap()
}

fn terms() -> Terms {
    Terms {
        question: "crawl".into(),
        policy: "resume bench".into(),
        past: Past::All,
        pattern_trust: None,
        sitemaps: false,
        scope: "everywhere".into(),
    }
}

fn open(store: Store) -> (Ledger<Box<dyn Policy>>, Opened) {
    let none = |_: &Store| Ok(Flips::default());
    Ledger::open(store, terms(), false, Tick(0), none, |_| policy()).unwrap()
}

fn measure(pages: usize) {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let (fetched, costs) = crawl(folder.path(), pages);
    let crawled = started.elapsed();
    let bytes = std::fs::metadata(folder.path().join("store/journal"))
        .unwrap()
        .len();

    let started = Instant::now();
    let store = Store::open(folder.path(), "bench").unwrap();
    let opened = started.elapsed();
    let started = Instant::now();
    let (mut ledger, how) = open(store);
    let restored = started.elapsed();
    assert!(how.exact, "the fold must make every decision again");
    assert!(!how.replanned, "it is the same crawl");
    let next = ledger.next(ledger.index().latest());
    let index = ledger.index();
    println!(
        "{pages} pages known, {fetched} fetched, journal {} MB: simulated in {:.1} s; \
         opened in {:.2} s, folded {} entries in {:.2} s, index {:.1} bytes a page; next {next:?}",
        bytes / 1_000_000,
        crawled.as_secs_f64(),
        opened.as_secs_f64(),
        how.entries,
        restored.as_secs_f64(),
        index.allocated_bytes() as f64 / index.page_count() as f64,
    );
    let costs: Vec<String> = costs.iter().map(|cost| format!("{cost:.1}")).collect();
    println!(
        "  microseconds a fetched page, tenth by tenth of the crawl: {}",
        costs.join(" ")
    );
}

/// Simulates the crawl until it knows enough pages; returns how many it fetched, and what a page
/// cost in each tenth of the crawl: scheduling, policy, index and journal, checkpoints included.
fn crawl(folder: &std::path::Path, pages: usize) -> (u64, Vec<f64>) {
    let mut store = Store::create(folder, "bench").unwrap();
    let seed = Url::parse("http://host0.example/page/0").unwrap();
    sow(&mut store, &[seed], &KeyOptions::default(), Tick(0));
    let (mut ledger, _) = open(store);
    let session = Entry::Session {
        wall_ms: 0,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: u32::MAX,
        policy: "resume bench",
    };
    ledger.tell(Tick(0), &session);
    let plan = Plan::new(Scope::new(ScopeRules::default()).unwrap());
    let (mut fetched, mut dice) = (0, 1u64);
    let mut checkpointed = 0;
    let (mut costs, mut tenth) = (Vec::new(), (Instant::now(), 0));
    while ledger.index().page_count() < pages {
        let tick = Tick(fetched);
        let Next::Fetch(page) = ledger.next(tick) else {
            panic!("an endless web ended");
        };
        let mut links = Vec::new();
        for _ in 0..LINKS_OLD {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let known = ledger.index().page_count() as u64;
            links.push(PageId((dice >> 33) as u32 % known as u32));
        }
        for _ in 0..LINKS_NEW {
            let number = ledger.index().page_count() as u64;
            let url = format!("http://host{}.example/page/{number}", number % HOSTS);
            let key = ledger.store().keyer().key(&url);
            let host = ledger.host(tick, &format!("host{}.example", number % HOSTS));
            let new = NewPage {
                key,
                url: &url,
                host,
                seed: false,
                outside: false,
                listed: false,
                depth: 1,
                refused: ("", ""),
                metadata: &[],
            };
            links.push(ledger.add(tick, new));
        }
        links.sort_unstable();
        links.dedup();
        let facts = Facts {
            class: "ok".into(),
            status: 200,
            requests: 1,
            body_bytes: 20_000,
            wall_ms: 1_800_000_000_000 + fetched,
            mime: "text/html".into(),
            title: format!("Page number {}", page.0),
            digest: Some([fetched as u8; 20]),
            text_hash: fetched,
            ..Facts::default()
        };
        let settled = Settled::Fetched(Change::New);
        ledger.settle(tick, page, settled, &links, facts);
        fetched += 1;
        if fetched % 64 == 0 {
            ledger.store_mut().write().unwrap();
        }
        if ledger.index().page_count() >= pages / 10 * (costs.len() + 1) {
            let (started, before) = tenth;
            let took = started.elapsed().as_secs_f64();
            costs.push(took * 1e6 / (fetched - before) as f64);
            tenth = (Instant::now(), fetched);
        }
        let due = plan.checkpoint_due(ledger.index().page_count() as u64);
        // The last stretch is left without a checkpoint: the worst moment to be killed.
        if ledger.entries() - checkpointed >= due && ledger.index().page_count() < pages - pages / 5
        {
            checkpointed = ledger.entries();
            ledger.checkpoint().unwrap();
        }
    }
    ledger.store_mut().write().unwrap();
    (fetched, costs)
}
