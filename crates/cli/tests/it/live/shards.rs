//! A crawl cut into shards, in one process, by the live loop: what it stores, proves and asks is what a crawl
//! in one piece does, over kill -9 at any moment.
//!
//! There is no command for it yet, so the process that is killed is this test binary, started again as a child
//! that crawls and does nothing else. The town is served by the parent, whose judge counts requests that come
//! too early.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::sync::watch;
use turnstone_cluster::shard::Cut;
use turnstone_crawl::{Clock, Crawl, Parts, Plan as CrawlPlan, StopLevel, Summary, join};
use turnstone_fetch::scope::{Scope, ScopeRules};
use turnstone_fetch::{Client, Config, Guard, Identity, Url};
use turnstone_frontier::{Coverage, PageId, Policy, Politeness, Tick};
use turnstone_ledger::{Ledger, Past, Stop, Until, cut, flips, sow};
use turnstone_pagestore::{Entry, PageState, Position, Store};
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::mass::Fraction;

use super::audit;
use super::crawler::Crawler;
use super::dice::Dice;
use super::town::{Plan, Town};

/// The robots.txt of the first is at the second: a shard asks no hosts of others, so pages of a host whose
/// robots.txt is in another shard are refused.
const ROBOTS: (usize, usize) = (3, 4);
const TOWN: Plan = Plan {
    hosts: 6,
    pages: 24,
    delay_ms: 25,
    scale: 100,
    faults: true,
};

fn goal(coverage: Option<f64>) -> Goal {
    // What is negligible to each shard adds up.
    let epsilon = coverage.map_or(1e-5, |share| 1.0 - share);
    Goal {
        epsilon: Fraction::new(epsilon).unwrap(),
        ..Goal::default()
    }
}

fn policy(coverage: Option<f64>) -> Box<dyn Policy> {
    let trust = Trust::alike([PageId(0)]).unwrap();
    coverage::build(&"rankmass".parse().unwrap(), &trust, goal(coverage)).unwrap()
}

/// What a child is told by its environment.
#[derive(Clone, Debug)]
struct Order {
    folder: PathBuf,
    shards: u32,
    /// The front page, and the hosts of the town.
    front: String,
    hosts: String,
    coverage: Option<f64>,
    requests: Option<u64>,
}

impl Order {
    fn of(town: &Town, folder: &Path, shards: u32) -> Self {
        let hosts: Vec<String> = (0..TOWN.hosts as usize)
            .map(|host| Url::parse(town.server.origin(host)).unwrap())
            .map(|url| url.host_str().unwrap().to_owned())
            .collect();
        Self {
            folder: folder.to_owned(),
            shards,
            front: format!("{}/", town.server.origin(0)),
            hosts: hosts.join(","),
            coverage: None,
            requests: None,
        }
    }

    fn start(&self) -> Child {
        let number = |number: Option<String>| number.unwrap_or_default();
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "live::shards::child", "--ignored", "--nocapture"])
            .env("SHARDS_FOLDER", &self.folder)
            .env("SHARDS", self.shards.to_string())
            .env("SHARDS_FRONT", &self.front)
            .env("SHARDS_HOSTS", &self.hosts)
            .env(
                "SHARDS_COVERAGE",
                number(self.coverage.map(|it| it.to_string())),
            )
            .env(
                "SHARDS_REQUESTS",
                number(self.requests.map(|it| it.to_string())),
            )
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }

    fn told() -> Option<Self> {
        let word = |name: &str| std::env::var(name).ok();
        Some(Self {
            folder: word("SHARDS_FOLDER")?.into(),
            shards: word("SHARDS")?.parse().ok()?,
            front: word("SHARDS_FRONT")?,
            hosts: word("SHARDS_HOSTS")?,
            coverage: word("SHARDS_COVERAGE")?.parse().ok(),
            requests: word("SHARDS_REQUESTS")?.parse().ok(),
        })
    }

    fn plan(&self) -> CrawlPlan {
        let rules = ScopeRules {
            hosts: self.hosts.split(',').map(str::to_owned).collect(),
            ..ScopeRules::default()
        };
        let mut plan = CrawlPlan::new(Scope::new(rules).unwrap());
        plan.politeness = Politeness {
            delay_ms: TOWN.delay_ms * TOWN.scale,
            open_max: 1,
        };
        plan.per_address = false;
        plan.until = Until {
            coverage: self.coverage.is_some(),
            requests: self.requests,
            ..Until::default()
        };
        plan
    }

    /// A secret by which every shard has hosts, and `ROBOTS` those that they need.
    fn secret(&self) -> [u8; 16] {
        let hosts: Vec<&str> = self.hosts.split(',').collect();
        let fits = |secret: &[u8; 16]| {
            let cut = Cut::new(*secret, self.shards);
            let shard = |host: usize| cut.shard_of(hosts[host]).0;
            let used: BTreeSet<u32> = (0..hosts.len()).map(shard).collect();
            used.len() == self.shards as usize && shard(ROBOTS.0) == shard(ROBOTS.1)
        };
        (0..=u8::MAX).map(|byte| [byte; 16]).find(fits).unwrap()
    }

    fn shard(&self, shard: u32) -> PathBuf {
        self.folder.join(format!("shards/{shard}"))
    }

    fn open(&self, shard: u32) -> Crawl<Box<dyn Policy>> {
        let folder = self.shard(shard);
        let mut store = match folder.join("store/journal").exists() {
            true => Store::open(&folder, "a test").unwrap(),
            false => {
                let mut store = Store::create_shard(&folder, "a test", self.secret()).unwrap();
                cut(&mut store, shard, self.shards, Tick(0));
                store
            }
        };
        if store.end() == Position::FIRST {
            cut(&mut store, shard, self.shards, Tick(0));
        }
        let plan = self.plan();
        let clock = Clock::resume(store.index(), u32::try_from(TOWN.scale).unwrap());
        sow(
            &mut store,
            &[Url::parse(&self.front).unwrap()],
            &plan.keys,
            clock.now(),
        );
        store.write().unwrap();
        let terms = plan.terms("crawl", "rankmass", Past::All);
        let scope = plan.scope.clone();
        let (ledger, opened) = Ledger::open(
            store,
            terms,
            false,
            clock.now(),
            |store| flips(store, &scope),
            |_| policy(self.coverage),
        )
        .unwrap();
        assert!(opened.exact, "every hand-out is decided again");
        let config = Config {
            guard: Guard {
                private: "all".parse().unwrap(),
                ..Guard::default()
            },
            ..Config::new(Identity::loopback_only())
        };
        let parts = Parts {
            plan,
            ledger,
            client: Client::new(config).unwrap(),
            clock,
            archive: None,
        };
        Crawl::new(parts).unwrap().0
    }

    /// Crawls until the crawl ends by itself.
    fn crawl(&self) -> Vec<Summary> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut crawls: Vec<_> = (0..self.shards).map(|shard| self.open(shard)).collect();
            join(&mut crawls).unwrap();
            let (_stop, told) = watch::channel(StopLevel::Run);
            let mut owners = tokio::task::JoinSet::new();
            for crawl in crawls {
                owners.spawn(crawl.run(told.clone()));
            }
            let mut ended = Vec::new();
            // The first that fails ends all.
            while let Some(owner) = owners.join_next().await {
                ended.push(owner.unwrap().unwrap());
            }
            ended
        })
    }

    /// Every page that some shard has, each once; and what all prove.
    fn look(&self) -> (audit::Pages, Coverage, u64) {
        let (mut pages, mut masses, mut requests) = (audit::Pages::new(), Vec::new(), 0);
        for shard in 0..self.shards {
            let store = Store::look(&self.shard(shard)).unwrap();
            requests += store.index().tally().requests;
            for (url, state) in audit::pages(&store) {
                if state != PageState::Away {
                    assert_eq!(
                        pages.insert(url.clone(), state),
                        None,
                        "{url} is of two shards"
                    );
                }
            }
            let terms = self.plan().terms("crawl", "rankmass", Past::All);
            let folded = Ledger::replay(&store, &terms, policy(self.coverage)).unwrap();
            masses.push(folded.scheduler.shard().unwrap().masses());
        }
        let total: i128 = masses.iter().map(|masses| masses.total()).sum();
        assert_eq!(
            total,
            i128::from(Coverage::ONE),
            "mass is conserved to the last bit"
        );
        assert!(masses.iter().all(|masses| masses.balanced()));
        let coverage = Coverage::of_shards(masses, goal(self.coverage).mass());
        (pages, coverage, requests)
    }
}

#[test]
#[ignore = "the child of the tests here"]
fn child() {
    if let Some(order) = Order::told() {
        order.crawl();
    }
}

/// URLs without the port, which differs from town to town.
fn relative(town: &Town, pages: audit::Pages) -> audit::Pages {
    let origin = |url: &str| {
        let host = (0..TOWN.hosts as usize).find(|host| url.starts_with(town.server.origin(*host)));
        host.map(|host| format!("{host}{}", &url[town.server.origin(host).len()..]))
    };
    let pages = pages.into_iter();
    pages
        .filter_map(|(url, state)| Some((origin(&url)?, state)))
        .collect()
}

/// What the binary makes of the town in one piece.
fn whole() -> audit::Pages {
    let town = Town::open(TOWN);
    let more = "--policy rankmass --until pages=100000 --ignore-addresses --no-warc";
    let crawler = Crawler::new(&format!("{} {more}", town.arguments()));
    crawler.finish();
    let store = Store::look(&crawler.directory()).unwrap();
    relative(&town, audit::pages(&store))
}

#[test]
fn shards_store_and_prove_what_a_whole_crawl_does_over_kills() {
    let whole = whole();
    for (shards, kills) in [(1, 0), (2, 0), (2, 12), (3, 8)] {
        let town = Town::open(TOWN);
        let folder = tempfile::tempdir().unwrap();
        let order = Order::of(&town, folder.path(), shards);
        let mut dice = Dice(u64::from(shards) * 100 + kills);
        for _ in 0..kills {
            let mut child = order.start();
            std::thread::sleep(Duration::from_millis(20 + dice.below(400)));
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{shards} shards: {status}");
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let status = order.start().wait().unwrap();
        assert!(status.success(), "{shards} shards: {status}");
        let what = format!("{shards} shards, {kills} kills");
        town.assert_polite(&what);
        let (pages, coverage, _) = order.look();
        assert!(coverage.met(), "{what}: {coverage:?}");
        assert_eq!(relative(&town, pages), whole, "{what}");
        assert_eq!(crossed(&order) > 0, shards > 1, "{what}");
    }
}

/// How many transfers were taken in.
fn crossed(order: &Order) -> usize {
    let mut count = 0;
    for shard in 0..order.shards {
        let store = Store::look(&order.shard(shard)).unwrap();
        let mut scan = store.scan(Position::FIRST);
        while let Some((_, _, entry)) = scan.next().unwrap() {
            count += usize::from(matches!(entry, Entry::Received { .. }));
        }
    }
    count
}

#[test]
fn the_goal_and_budgets_are_those_of_all_shards() {
    let town = Town::open(TOWN);
    let folder = tempfile::tempdir().unwrap();
    let mut order = Order::of(&town, folder.path(), 3);
    order.requests = Some(40);
    for _ in 0..3 {
        let mut child = order.start();
        std::thread::sleep(Duration::from_millis(150));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ended = order.crawl();
    assert!(
        ended.iter().all(|shard| shard.stop == Stop::Requests),
        "{ended:?}"
    );
    let (_, coverage, requests) = order.look();
    assert!(!coverage.met());
    assert_eq!(requests, 40, "the budget is spent and not passed");
    assert!(town.server.requests().len() <= 40);
    town.assert_polite("budget");

    let folder = tempfile::tempdir().unwrap();
    let mut order = Order::of(&town, folder.path(), 3);
    order.coverage = Some(0.6);
    let ended = order.crawl();
    assert!(
        ended.iter().all(|shard| shard.stop == Stop::Coverage),
        "{ended:?}"
    );
    let (pages, coverage, _) = order.look();
    assert!(coverage.met(), "{coverage:?}");
    let waiting = pages.values().filter(|state| **state == PageState::Waiting);
    assert!(waiting.count() > 0, "it stopped before all was there");
}
