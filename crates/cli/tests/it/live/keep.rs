//! `turnstone keep`: budgets bind, kills change nothing of that, and a web that moves is followed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use turnstone_frontier::{Arm, Change, Fault, PageId};
use turnstone_ledger::{Ledger, Terms};
use turnstone_pagestore::{Entry, Position, Settled, Store};
use turnstone_policy::{Spec, keep as policy};

use super::audit;
use super::crawler::{Crawler, until};
use super::dice::Dice;
use super::town::{Plan, Town};
use crate::run::{done, turnstone};

/// Many requests at once, and a clock fast enough for slices of a minute to pass in a second.
const TOWN: Plan = Plan {
    hosts: 4,
    pages: 60,
    delay_ms: 0,
    scale: 60,
    faults: false,
};

/// A slice as the journal has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) budget: u64,
    pub(super) requests: u64,
    pub(super) new: u64,
    pub(super) changed: u64,
    pub(super) gone: u64,
    pub(super) hints: Vec<PageId>,
    pub(super) asked: Vec<PageId>,
}

/// The slices of a directory, by its journal.
pub(super) fn slices(directory: &Path) -> Vec<Told> {
    let store = Store::look(directory).unwrap();
    let mut slices: Vec<Told> = Vec::new();
    let mut scan = store.scan(Position::FIRST);
    while let Some((_, _, entry)) = scan.next().unwrap() {
        if let Entry::Round {
            question, budget, ..
        } = entry
        {
            assert_eq!(question, "keep");
            slices.push(Told {
                budget,
                ..Told::default()
            });
            continue;
        }
        let Some(slice) = slices.last_mut() else {
            continue;
        };
        match entry {
            Entry::Outcome(outcome) => {
                slice.requests += u64::from(outcome.facts.requests);
                if outcome.facts.requests > 0 {
                    slice.asked.push(outcome.page);
                }
                match outcome.settled {
                    Settled::Fetched(Change::New) => slice.new += 1,
                    Settled::Fetched(Change::Changed) => slice.changed += 1,
                    Settled::Failed(Fault::Gone) => slice.gone += 1,
                    _ => {}
                }
            }
            Entry::Robots { requests, .. } => slice.requests += u64::from(requests),
            Entry::Hint(hint) => slice.hints.push(hint.page),
            _ => {}
        }
    }
    slices
}

/// A town of which some pages are stored, and what keeps it.
fn keep(town: &Town, pages: u64, arguments: &str) -> Crawler {
    let crawler = Crawler::new(&format!(
        "{} --policy breadth-first --until pages={pages}",
        town.arguments()
    ));
    crawler.finish();
    let scale = town.plan.scale;
    Crawler::keep(crawler, &format!("--clock-scale {scale} {arguments}"))
}

#[test]
fn every_slice_spends_its_budget_and_no_more() {
    let town = Town::open(TOWN);
    let crawler = keep(
        &town,
        60,
        "--budget 36000/day --slice 1m --open 8 --until rounds=3",
    );
    let before = town.server.request_count();
    crawler.finish();
    let slices = slices(&crawler.directory());
    let spent: Vec<(u64, u64)> = slices.iter().map(|s| (s.budget, s.requests)).collect();
    assert_eq!(spent, [(25, 25); 3], "{}", crawler.said());
    assert_eq!(town.server.request_count() - before, 75);
    let lines = crawler.printed();
    let told = |line: &&str| line.contains("of 25 requests (coverage ");
    assert_eq!(lines.lines().filter(told).count(), 3, "{lines}");
    audit::check(&crawler.directory());
    why_tells_the_arm(&crawler.directory());
}

/// For every arm that a request was spent on, `why` tells so of a page; and with which chance.
fn why_tells_the_arm(directory: &Path) {
    let store = Store::look(directory).unwrap();
    let mut scan = store.scan(Position::FIRST);
    let mut by_arm = BTreeMap::new();
    let (mut kept, mut requests) = (false, 0);
    while let Some((_, _, entry)) = scan.next().unwrap() {
        match entry {
            Entry::Round { question, .. } => kept |= question == "keep",
            Entry::Outcome(outcome) if outcome.facts.requests > 0 => {
                assert_eq!(outcome.facts.arm.is_some(), kept, "{:?}", outcome.facts);
                requests += u32::from(kept);
                by_arm.insert(outcome.facts.arm.map(Arm::name), outcome.page);
            }
            _ => {}
        }
    }
    assert!(requests > 50 && by_arm.len() > 2, "{requests} {by_arm:?}");
    for (arm, page) in by_arm {
        let url = store.url(page).unwrap();
        let parent = directory.parent().unwrap();
        let json = done(parent, &format!("why crawl {url} --json")).json();
        let last = store.outcome(page).unwrap().unwrap().facts.arm;
        let told = serde_json::json!(last.map(Arm::name));
        assert_eq!(
            (&json["arm"], &json["chance"]),
            (&told, &1.0.into()),
            "{json}"
        );
        let history = json["history"].as_array().unwrap();
        assert!(
            history
                .iter()
                .any(|past| past["arm"] == serde_json::json!(arm))
        );
        let text = done(parent, &format!("why crawl {url}")).out;
        let said = match last {
            Some(last) => format!("for {last}; chosen for certain"),
            None => "chosen for certain".to_owned(),
        };
        assert!(text.contains(&said), "{text}");
    }
}

#[test]
fn a_host_is_asked_no_more_than_its_budget_of_a_day() {
    let town = Town::open(TOWN);
    let crawler = keep(
        &town,
        60,
        "--rate 1000/s --host-budget 40/day --slice 1m --open 8 --until rounds=3",
    );
    // What the crawl before asked for counts too.
    crawler.finish();
    let mut asked = [0; 4];
    for request in town.server.requests() {
        asked[request.host as usize] += 1;
    }
    assert_eq!(asked, [40; 4], "{}", crawler.said());
}

#[test]
fn requests_come_no_faster_than_the_rate() {
    let town = Town::open(Plan { scale: 1, ..TOWN });
    let crawler = keep(
        &town,
        20,
        "--rate 25/s --slice 2s --open 8 --until rounds=1",
    );
    let before = town.server.request_count() as usize;
    crawler.finish();
    let requests = town.server.requests();
    let times: Vec<u64> = requests[before..].iter().map(|r| r.arrived_us).collect();
    assert!((30..=50).contains(&times.len()), "{}", times.len());
    let span_ms = (times[times.len() - 1] - times[0]) / 1000;
    // The first may have been late on its way, the last early.
    assert!(
        span_ms + 40 >= 40 * (times.len() as u64 - 1),
        "{} requests in {span_ms} ms",
        times.len()
    );
}

#[test]
fn goals_are_counted_from_the_start() {
    let town = Town::open(TOWN);
    let crawler = keep(&town, 30, "--rate 1000/s --slice 1h --until requests=17");
    for _ in 0..2 {
        let before = town.server.request_count();
        crawler.finish();
        assert_eq!(town.server.request_count() - before, 17);
    }
}

/// One long slice, killed again and again: never more than its budget, whatever was lost.
#[test]
fn a_slice_goes_on_after_kills_with_what_is_left() {
    for seed in 1..=3 {
        let town = Town::open(Plan {
            pages: 250,
            delay_ms: 10,
            scale: 10,
            ..TOWN
        });
        // More than can be spent before the last kill.
        let crawler = keep(&town, 20, "--budget 14400/day --slice 1h --until rounds=1");
        let before = town.server.request_count();
        let mut dice = Dice(seed);
        let mut kills = 0;
        for _ in 0..6 {
            let running = crawler.start();
            std::thread::sleep(Duration::from_millis(20 + dice.below(180)));
            kills += u64::from(running.kill());
        }
        crawler.finish();
        let asked = town.server.request_count() - before;
        // Each of four hosts may have had a request open at each kill, which counts though it may not have
        // been sent.
        let least = 600 - kills * 4;
        assert!(
            (least..=600).contains(&asked),
            "seed {seed}: {asked} requests, {kills} kills: {}",
            crawler.said()
        );
        assert_eq!(slices(&crawler.directory()).len(), 1, "one slice");
        town.assert_polite("kept");
        audit::check(&crawler.directory());
    }
}

/// What is kept can be decided again, page by page, from the journal alone: by a plain policy, and by
/// the one that is taken by default, with all that it is lent beside events.
#[test]
fn a_kept_journal_is_decided_again_alike() {
    decided_again("uniform");
    decided_again("keep");
}

fn decided_again(spec: &str) {
    let town = Town::open(Plan {
        faults: true,
        ..TOWN
    });
    let crawler = Crawler::new("");
    let directory = crawler.directory();
    let parent = directory.parent().unwrap();
    fs::write(parent.join("urls"), format!("{}/\n", town.server.origin(0))).unwrap();
    done(parent, "import urls -o crawl");
    let hosts: Vec<String> = (0..TOWN.hosts as usize)
        .map(|host| format!("\"{}\"", host_name(town.server.origin(host))))
        .collect();
    let config = format!(
        "seeds = [\"{}/\"]\nallow-private = \"all\"\n[scope]\nhosts = [{}]\n",
        town.server.origin(0),
        hosts.join(",")
    );
    fs::write(directory.join("turnstone.toml"), config).unwrap();
    let arguments = format!(
        "--clock-scale 60 --delay 0s --open 2 --policy {spec} --rate 100/s --slice 30s \
         --until requests=160"
    );
    let crawler = Crawler::keep(crawler, &arguments);
    crawler.finish();
    let store = Store::look(&directory).unwrap();
    assert!(store.index().stored_count() > 50, "{}", crawler.said());
    decides_alike(&directory, spec);
}

/// Every page that was handed out is decided again from the journal alone.
fn decides_alike(directory: &Path, spec: &str) {
    let store = Store::look(directory).unwrap();
    let terms = store.index().plan().and_then(Terms::read).unwrap();
    let spec: Spec = spec.parse().unwrap();
    let replayed = Ledger::replay(&store, &terms, policy::build(&spec, 1).unwrap());
    let replayed = replayed.unwrap_or_else(|error| panic!("{spec}: {error}"));
    assert!(replayed.exact);
}

fn host_name(origin: &str) -> &str {
    let rest = origin.strip_prefix("http://").unwrap();
    rest.split(':').next().unwrap()
}

/// Slices, faults and kills at any moment: nothing is lost, nobody is asked early, and what the
/// server saw is no more than all budgets together.
#[test]
fn kills_at_any_moment_lose_nothing() {
    let town = Town::open(Plan {
        hosts: 6,
        pages: 24,
        delay_ms: 25,
        scale: 100,
        faults: true,
    });
    // Fifteen requests in six seconds of the crawl's clock.
    let crawler = keep(&town, 20, "--rate 2.5/s --slice 6s");
    let before = town.server.request_count();
    let mut dice = Dice(7);
    let mut journal = Vec::new();
    for _ in 0..12 {
        let running = crawler.start();
        let early = dice.below(4) == 0;
        let wait = dice.below(if early { 25_000 } else { 450_000 });
        std::thread::sleep(Duration::from_micros(wait));
        running.kill();
        let now = audit::journal(&crawler.directory());
        assert!(now.starts_with(&journal), "what was written is written");
        journal = now;
    }
    let running = crawler.start();
    let directory = crawler.directory();
    let many = slices(&directory).len() + 5;
    until("more slices", || slices(&directory).len() >= many);
    let status = done(directory.parent().unwrap(), "status crawl --json").json();
    assert_eq!(status["state"], "running");
    assert_eq!(status["slice"]["budget"], 15, "{status}");
    assert!(status["slice"]["split"][3]["why"].is_string(), "{status}");
    running.signal("TERM");
    assert!(running.wait().success(), "{}", crawler.said());
    let slices = slices(&directory);
    assert!(slices.iter().all(|slice| slice.requests <= slice.budget));
    let budgets: u64 = slices.iter().map(|slice| slice.budget).sum();
    let asked = town.server.request_count() - before;
    assert!(asked <= budgets, "{asked} of {budgets}");
    assert!(slices.iter().map(|slice| slice.new).sum::<u64>() > 20);
    town.assert_polite("kept");
    audit::check(&directory);
    decides_alike(&directory, "keep");
}

#[test]
fn what_cannot_be_kept_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &str, code: i32, expected: &str| {
        let ran = turnstone(folder.path(), arguments);
        assert_eq!((ran.code, ran.err.trim_end()), (code, expected));
    };
    check(
        "keep nothing",
        1,
        "turnstone: nothing: not a crawl directory; make one with `turnstone crawl` or `turnstone import`",
    );
    let rate = "turnstone: --rate: 'fast' is not a rate; give one like 0.5/s, 100/hour or 5000/day";
    check("keep nothing --rate fast", 2, rate);
    let floor = "turnstone: --floor: 'refresh=120%': '120%' is not a share up to 100%; give one like 10% or 0.1";
    check("keep nothing --floor refresh=120%", 2, floor);
    let end = "turnstone: --floor: 'sleep=1%': there are coverage, refresh, discovery and retest";
    check("keep nothing --floor sleep=1%", 2, end);
    let goal = "turnstone: --until: 'pages=3': there are time, requests and rounds";
    check("keep nothing --until pages=3", 2, goal);
}
