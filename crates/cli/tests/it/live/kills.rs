//! kill -9 at any moment, again and again: nothing is lost, nobody is asked early.
//!
//! Each round crawls a town, killing the crawl at random moments, also before it has begun and while it
//! recovers, until it ends by itself; then everything it left is compared with what the server saw
//! and with an undisturbed crawl of the same town. `make soak KILLS=300` does it for longer.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use turnstone_fetch::robots::{Record, Standing};
use turnstone_pagestore::{Entry, PageState, Position, Store};

use super::audit;
use super::crawler::{Crawler, status};
use super::dice::Dice;
use super::town::{Plan, Town};

const TOWN: Plan = Plan {
    hosts: 6,
    pages: 24,
    delay_ms: 25,
    scale: 100,
    faults: true,
};
/// Policies take turns.
const POLICIES: [&str; 2] = [
    "--policy breadth-first",
    "--policy rankmass --until pages=100000",
];

#[test]
fn c1_c2_nothing_is_lost_by_kills() {
    soak(17, 1);
}

/// `KILLS=300 SEED=1 cargo test --release -p turnstone-cli --test it soak_by_hand -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes: make soak"]
fn soak_by_hand() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    soak(number("KILLS", 300), number("SEED", 1));
}

fn soak(kills: u64, seed: u64) {
    let undisturbed: Vec<audit::Pages> = POLICIES.iter().map(|policy| calm(policy)).collect();
    let (mut done, mut round, mut repeated) = (0, 0, 0);
    while done < kills {
        let policy = round as usize % POLICIES.len();
        let what = format!("round {round}; again with: make soak KILLS={kills} SEED={seed}");
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9).wrapping_add(round));
        let ended = Round::new(POLICIES[policy], what).crawl(&mut dice, kills - done);
        done += ended.kills;
        repeated += ended.check(&undisturbed[policy]);
        round += 1;
    }
    println!("{done} kills in {round} rounds from seed {seed}: {repeated} requests made again");
}

/// The pages of a crawl that nobody disturbs.
fn calm(policy: &str) -> audit::Pages {
    let town = Town::open(TOWN);
    let crawler = Crawler::new(&format!("{} {policy}", town.arguments()));
    crawler.finish();
    town.assert_polite("undisturbed");
    audit::check(&crawler.directory());
    let store = Store::look(&crawler.directory()).unwrap();
    let pages = audit::pages(&store);
    let count = |state| pages.values().filter(|other| **other == state).count();
    assert_eq!(count(PageState::Waiting) + count(PageState::InFlight), 0);
    assert_eq!(count(PageState::Unknown), 0, "all come at last");
    assert!(count(PageState::Fetched) > 80, "{pages:?}");
    relative(&town, pages)
}

/// URLs without the port, which differs from town to town.
fn relative(town: &Town, pages: audit::Pages) -> audit::Pages {
    let port = format!(":{}", town.server.port());
    pages
        .into_iter()
        .map(|(url, state)| (url.replace(&port, ""), state))
        .collect()
}

/// A town, its crawl, and what was seen at each kill.
struct Round {
    what: String,
    town: Town,
    crawler: Crawler,
    kills: u64,
    /// The journal as it was at the last kill.
    journal: Vec<u8>,
    /// By URL: at how many kills it was in flight.
    in_flight: BTreeMap<String, u64>,
    /// By authority: at how many kills the journal had no rules of it.
    lawless: BTreeMap<String, u64>,
}

impl Round {
    fn new(policy: &str, what: String) -> Self {
        let town = Town::open(TOWN);
        let crawler = Crawler::new(&format!("{} {policy}", town.arguments()));
        Self {
            what,
            town,
            crawler,
            kills: 0,
            journal: Vec::new(),
            in_flight: BTreeMap::new(),
            lawless: BTreeMap::new(),
        }
    }

    /// Crawls and kills until the crawl ends by itself, or has been killed so often that it may.
    fn crawl(mut self, dice: &mut Dice, kills_max: u64) -> Self {
        while self.kills < kills_max {
            let running = self.crawler.start();
            let early = dice.below(4) == 0;
            let wait = dice.below(if early { 25_000 } else { 450_000 });
            std::thread::sleep(Duration::from_micros(wait));
            if !running.kill() {
                return self;
            }
            self.kills += 1;
            self.look();
        }
        self.crawler.finish();
        self
    }

    /// What a kill left: all that was there before, and all that was acknowledged.
    fn look(&mut self) {
        let directory = self.crawler.directory();
        if !directory.join("store/journal").exists() {
            self.everybody_lawless(&[]);
            return;
        }
        let store = Store::look(&directory).unwrap();
        let journal = audit::journal(&directory);
        assert!(
            journal.starts_with(&self.journal),
            "{}: what was written is written",
            self.what
        );
        self.journal = journal;
        let durable = status(&directory)["durable_fetches"].as_u64().unwrap_or(0);
        let fetches = store.index().tally().fetches;
        assert!(durable <= fetches, "{}: {durable} {fetches}", self.what);
        for page in store.pages_in(PageState::InFlight) {
            *self.in_flight.entry(store.url(page).unwrap()).or_default() += 1;
        }
        let lawful: Vec<String> = store
            .index()
            .robots()
            .filter(|(authority, _)| {
                let saved = store.robots(authority).unwrap().unwrap();
                let record = Record::restore(&saved).unwrap();
                record.standing != Standing::Unasked && record.chain.is_empty()
            })
            .map(|(authority, _)| authority.to_owned())
            .collect();
        self.everybody_lawless(&lawful);
    }

    fn everybody_lawless(&mut self, but: &[String]) {
        for host in 0..TOWN.hosts as usize {
            let origin = self.town.server.origin(host).to_owned();
            if !but.contains(&origin) {
                *self.lawless.entry(origin).or_default() += 1;
            }
        }
    }

    /// Everything is as if nothing had happened. Returns how many requests were made again.
    fn check(self, undisturbed: &audit::Pages) -> u64 {
        let (what, directory) = (&self.what, self.crawler.directory());
        self.town.assert_polite(what);
        audit::check(&directory);
        let store = Store::look(&directory).unwrap();
        assert!(
            audit::journal(&directory).starts_with(&self.journal),
            "{what}"
        );
        let pages = relative(&self.town, audit::pages(&store));
        assert_eq!(&pages, undisturbed, "{what}");
        let mut repeated = 0;
        for (page, (fetched, requests)) in audit::outcomes(&store) {
            let url = store.url(page).unwrap();
            assert!(fetched <= 1, "{what}: {url} was stored {fetched} times");
            let asked = self.town.asked(&url);
            // One request a hand-out: also one that a kept connection swallowed has its own.
            let lost = self.in_flight.get(&url).copied().unwrap_or(0);
            assert!(
                asked <= requests + lost,
                "{what}: {url} asked for {asked} times, {requests} acknowledged, {lost} lost"
            );
            repeated += asked - requests.min(asked);
        }
        self.check_robots();
        repeated
    }

    /// robots.txt was asked for again only when the answer had been lost.
    fn check_robots(&self) {
        let lost = |host: usize| {
            let origin = self.town.server.origin(host);
            self.lawless.get(origin).copied().unwrap_or(0)
        };
        for host in 0..TOWN.hosts as usize {
            let url = format!("{}/robots.txt", self.town.server.origin(host));
            let asked = self.town.asked(&url);
            // The last but one also answers for the fourth.
            let allowed = match host {
                4 => 2 + lost(4) + lost(3),
                _ => 1 + lost(host),
            };
            assert!(asked <= allowed, "{}: {url} {asked} times", self.what);
        }
    }
}

/// A host that wants more time between requests than we would give gets it, also right after its
/// robots.txt, and whenever the crawl was killed.
#[test]
fn c1_a_crawl_delay_holds_over_kills() {
    let town = Town::open(Plan {
        hosts: 3,
        pages: 10,
        delay_ms: 20,
        scale: 1,
        faults: false,
    });
    let crawler = Crawler::new(&format!("{} --policy breadth-first", town.arguments()));
    let mut dice = Dice(7);
    for _ in 0..12 {
        let running = crawler.start();
        std::thread::sleep(Duration::from_micros(dice.below(200_000)));
        if !running.kill() {
            break;
        }
    }
    crawler.finish();
    town.assert_polite("Crawl-delay");
    audit::check(&crawler.directory());
    let pages = audit::pages(&Store::look(&crawler.directory()).unwrap());
    assert!(
        pages.values().all(|state| *state == PageState::Fetched),
        "{pages:?}"
    );
}

/// Power loss: of what was written since the last sync, any file may have lost its end.
#[test]
fn c3_a_power_loss_is_mended() {
    let town = Town::open(Plan {
        faults: false,
        ..TOWN
    });
    let crawler = Crawler::new(&format!("{} --policy breadth-first", town.arguments()));
    let directory = crawler.directory();
    for session in 0..6 {
        let running = crawler.start();
        std::thread::sleep(Duration::from_millis(150));
        assert!(running.kill(), "the town is too small");
        lose_half(&directory, session % 3);
    }
    crawler.finish();
    let said = crawler.said();
    assert!(said.contains("never reached the disk"), "{said}");
    audit::check(&directory);
    let store = Store::look(&directory).unwrap();
    let pages = audit::pages(&store);
    assert_eq!(pages.len(), 6 * 24 + 6 + 6);
    assert!(pages.values().all(|state| *state == PageState::Fetched));
}

/// Cuts half of what is not known to be durable off the WARC file, the index or the journal.
fn lose_half(directory: &Path, which: usize) {
    let store = Store::look(directory).unwrap();
    let note = store.note("durable").unwrap();
    let durable = note.map_or(Position::FIRST, |bytes| {
        Position(u64::from_le_bytes(bytes.try_into().unwrap()))
    });
    let (mut warc_end, mut index_end) = (0, 0);
    let mut scan = store.scan(Position::FIRST);
    while let Some((at, _, entry)) = scan.next().unwrap() {
        if let Entry::Outcome(outcome) = entry
            && let Some(capture) = outcome.facts.capture.filter(|_| at < durable)
        {
            (warc_end, index_end) = (capture.file_end, capture.index_end);
        }
    }
    let warc = format!("warc/{}.open", store.archive().file_name(1));
    let (name, keep) = [
        (warc.as_str(), warc_end),
        ("warc/index.cdxj", index_end),
        ("store/journal", durable.0),
    ][which];
    let Ok(file) = File::options().write(true).open(directory.join(name)) else {
        return;
    };
    let length = file.metadata().unwrap().len();
    file.set_len(keep + length.saturating_sub(keep) / 2)
        .unwrap();
}
