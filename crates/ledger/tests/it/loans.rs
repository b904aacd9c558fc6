//! A crawl whose pages are lent, killed at any moment, is the crawl that it was: the same pages are lent next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use turnstone_frontier::{PageId, Policy, Random, Tick, Wish};
use turnstone_ledger::{Began, Came, Ledger, Loans, Named, Past, Said, Terms, ToldOf, usual_host};
use turnstone_pagestore::{Store, StoreError};
use turnstone_policy::Spec;
use turnstone_policy::importance::{self, Bonus};

type Crawl = Loans<Box<dyn Policy>>;

/// The wall clock at tick 0.
const EPOCH_S: u64 = 1_700_000_000;

fn open(folder: &Path, policy: &str, tick: Tick) -> Crawl {
    let store = match folder.join("store/journal").exists() {
        true => Store::open(folder, "test").unwrap(),
        false => Store::create(folder, "test").unwrap(),
    };
    let began = Began {
        tick,
        wall_ms: EPOCH_S * 1000 + tick.0,
        boot: "",
        boot_ms: 0,
        delay_s: 1,
        policy,
    };
    let make = |_: &Store| -> Result<Option<Box<dyn Policy>>, StoreError> {
        let spec: Option<Spec> = (policy != "oldest").then(|| policy.parse().unwrap());
        let make = |spec: Spec| importance::build(&spec, &Bonus::default(), 1).unwrap();
        Ok(spec.map(|spec| Box::new(make(spec)) as Box<dyn Policy>))
    };
    Loans::open(store, &began, make).unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("store")).unwrap();
    std::fs::copy(from.join("store/journal"), to.join("store/journal")).unwrap();
}

fn host_of(url: &str) -> Option<String> {
    Some(usual_host(url))
}

fn url_of(number: u64) -> String {
    format!("http://h{}/{number}", number % 7)
}

/// What the rules allow, kept slowly beside.
#[derive(Default)]
struct Truth {
    /// By page: when its loan ends.
    lent: BTreeMap<PageId, Tick>,
    /// By host: when it was lent from last.
    served: BTreeMap<String, Tick>,
    delays: BTreeMap<String, u64>,
    done: BTreeSet<PageId>,
    due_s: BTreeMap<PageId, u64>,
}

impl Truth {
    /// Whether what was lent may have been.
    fn check(&mut self, crawl: &Crawl, wish: &Wish, host: &str, pages: &[PageId]) {
        let now = wish.now;
        self.lent.retain(|_, until| *until > now);
        if let Some(served) = self.served.insert(host.to_owned(), now) {
            let delay = self.delays.get(host).copied().unwrap_or(1);
            assert!(
                served.0 / 1000 + delay < now.0 / 1000,
                "{host} has not rested"
            );
        }
        let of_host = |page: &&PageId| crawl.index().host_name(crawl.index().host(**page)) == host;
        let lent = self.lent.keys().filter(of_host).count();
        assert!(lent < wish.loans_max as usize, "{host} has {lent} loans");
        assert!(pages.len() <= wish.loans_max as usize);
        for page in pages {
            assert!(!self.done.contains(page), "{page} is done");
            let due_s = self.due_s.get(page).copied().unwrap_or(0);
            assert!(due_s <= EPOCH_S + now.0 / 1000, "{page} is not due");
            assert_eq!(self.lent.insert(*page, wish.until), None, "{page} is lent");
        }
    }
}

fn check(policy: &str, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Random::new(seed);
    let (mut crawl, mut truth) = (open(folder.path(), policy, Tick(0)), Truth::default());
    let mut now = Tick(0);
    let mut most = 0;
    for step in 0..600 {
        now = now.plus(dice.below(700));
        let number = dice.below(150);
        let url = url_of(number);
        let named = Named {
            url: &url,
            host: &usual_host(&url),
            metadata: b"m",
        };
        match dice.below(12) {
            0..=3 => {
                crawl.discover(now, &named);
            }
            4..=6 => {
                let wish = Wish {
                    now,
                    until: now.plus(1000 * (1 + dice.below(20))),
                    pages_max: 1 + dice.below(6) as u32,
                    loans_max: 1 + dice.below(4) as u32,
                    only: None,
                };
                let mut pages = Vec::new();
                while let Some(host) = crawl.lend(&wish, &mut pages) {
                    let host = crawl.index().host_name(host).to_owned();
                    truth.check(&crawl, &wish, &host, &pages);
                    most = most.max(pages.len());
                    pages.clear();
                }
            }
            7..=9 => {
                let links: Vec<String> = (0..dice.below(5))
                    .map(|_| url_of(dice.below(300)))
                    .collect();
                let due_s = match dice.below(3) {
                    0 => 0,
                    later => EPOCH_S + now.0 / 1000 + later * dice.below(30),
                };
                let digest = [number as u8];
                let came = (dice.below(3) > 0).then(|| Came {
                    status: [200, 200, 200, 404, 301, 0][dice.below(6) as usize],
                    moved_to: Some("http://h1/1"),
                    links: (dice.below(4) > 0).then(|| links.iter().map(String::as_str).collect()),
                    digest: &digest,
                    ..Came::default()
                });
                crawl
                    .tell(now, &named, &ToldOf { due_s, came }, host_of)
                    .unwrap();
                let page = crawl.find(&url, named.host).unwrap();
                truth.lent.remove(&page);
                truth.due_s.insert(page, due_s);
                match due_s {
                    0 => truth.done.insert(page),
                    _ => truth.done.remove(&page),
                };
            }
            10 => {
                if let Some((host, _)) = crawl.queue(named.host) {
                    let delay = dice.below(4);
                    crawl.say(now, host, Said::Delay(delay as u32));
                    truth.delays.insert(named.host.to_owned(), delay);
                }
            }
            _ => {
                if let Some(page) = crawl.find(&url, named.host) {
                    crawl.forget(now, page).unwrap();
                    truth.lent.remove(&page);
                    truth.done.insert(page);
                    assert_eq!(crawl.find(&url, named.host), None);
                }
            }
        }
        if step % 97 == 96 {
            // Killed, and looked at from its journal alone: it lends what the living one lends.
            crawl.write().unwrap();
            let other = tempfile::tempdir().unwrap();
            copy(folder.path(), other.path());
            drop(crawl);
            crawl = open(folder.path(), policy, now);
            let mut twin = open(other.path(), policy, now);
            let mut later = now;
            for _ in 0..10 {
                later = later.plus(dice.below(3000));
                let wish = Wish {
                    now: later,
                    until: later.plus(5000),
                    pages_max: 3,
                    loans_max: 3,
                    only: None,
                };
                let (mut mine, mut its) = (Vec::new(), Vec::new());
                let hosts = (crawl.lend(&wish, &mut mine), twin.lend(&wish, &mut its));
                assert_eq!(
                    (hosts.0, &mine),
                    (hosts.1, &its),
                    "{policy}, seed {seed}, step {step}"
                );
                if let Some(host) = hosts.0 {
                    let host = crawl.index().host_name(host).to_owned();
                    truth.check(&crawl, &wish, &host, &mine);
                }
            }
            now = later;
        }
    }
    assert!(
        most > 1,
        "never more than one page of a host was lent at once"
    );
}

#[test]
fn loans_keep_the_rules_over_kills() {
    for seed in 0..6 {
        for policy in ["oldest", "opic", "opic:select=random"] {
            check(policy, seed);
        }
    }
}

/// A living crawl and one folded from its journal, side by side without a kill.
#[test]
fn the_fold_is_what_lives() {
    for policy in ["oldest", "opic"] {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut crawl = open(folder.path(), policy, Tick(0));
        let mut dice = Random::new(7);
        let mut now = Tick(0);
        for _ in 0..400 {
            now = now.plus(dice.below(900));
            let url = url_of(dice.below(100));
            let named = Named {
                url: &url,
                host: &usual_host(&url),
                metadata: &[],
            };
            let wish = Wish {
                now,
                until: now.plus(4000),
                pages_max: 2,
                loans_max: 2,
                only: None,
            };
            match dice.below(3) {
                0 => drop(crawl.discover(now, &named)),
                1 => drop(crawl.lend(&wish, &mut Vec::new())),
                _ => {
                    let link = url_of(dice.below(100));
                    let came = Came {
                        status: 200,
                        links: Some(vec![&link]),
                        ..Came::default()
                    };
                    let due_s = EPOCH_S + now.0 / 1000 + dice.below(20);
                    let told = ToldOf {
                        due_s,
                        came: Some(came),
                    };
                    crawl.tell(now, &named, &told, host_of).unwrap();
                }
            }
        }
        crawl.write().unwrap();
        copy(folder.path(), other.path());
        let mut folded = open(other.path(), policy, now);
        for _ in 0..50 {
            now = now.plus(700);
            let wish = Wish {
                now,
                until: now.plus(60_000),
                pages_max: 5,
                loans_max: 5,
                only: None,
            };
            let (mut mine, mut its) = (Vec::new(), Vec::new());
            assert_eq!(crawl.lend(&wish, &mut mine), folded.lend(&wish, &mut its));
            assert_eq!(mine, its, "{policy}");
        }
    }
}

/// A page that is lent costs no more memory than one of a crawl of our own.
#[test]
fn pages_cost_no_more_than_those_of_a_crawl() {
    const PAGES: u64 = 20_000;
    let url = |number: u64| format!("http://host{}/page/{number}", number / 100);
    let folder = tempfile::tempdir().unwrap();
    let mut lent = open(folder.path(), "oldest", Tick(0));
    for number in 0..PAGES {
        let url = url(number);
        let named = Named {
            url: &url,
            host: &usual_host(&url),
            metadata: &[],
        };
        assert!(lent.discover(Tick(0), &named));
    }
    let own = tempfile::tempdir().unwrap();
    let store = Store::create(own.path(), "test").unwrap();
    let terms = Terms {
        question: "crawl".to_owned(),
        policy: "opic".to_owned(),
        past: Past::All,
        pattern_trust: None,
        sitemaps: false,
        scope: String::new(),
    };
    let make =
        |_: &Store| importance::build(&"opic".parse().unwrap(), &Bonus::default(), 1).unwrap();
    let opened = Ledger::open(
        store,
        terms,
        false,
        Tick(0),
        |_| Ok(Default::default()),
        make,
    );
    let mut ledger = opened.unwrap().0;
    for number in 0..PAGES {
        let url = url(number);
        let host = ledger.host(Tick(0), &usual_host(&url));
        let key = ledger.store().keyer().key(&url);
        ledger.add(
            Tick(0),
            turnstone_pagestore::NewPage {
                key,
                url: &url,
                host,
                seed: false,
                outside: false,
                listed: false,
                depth: 0,
                refused: ("", ""),
                metadata: &[],
            },
        );
    }
    let mine = ledger.index().allocated_bytes() + ledger.scheduler().ranking().allocated_bytes();
    let settled = PAGES as usize / 8;
    assert!(
        lent.allocated_bytes() <= mine + 2 * settled,
        "{} bytes against {mine}",
        lent.allocated_bytes()
    );
}
