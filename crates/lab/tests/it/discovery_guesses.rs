//! Guesses and slots: what they find that links do not, what they cost, and the slots beside their definition.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use turnstone_frontier::{Event, Fault, Links, PageId, Policy, Ranking, Tick};
use turnstone_lab::backtest::discovery::{
    DiscoveryWeb, Plan, Replay, Round, Steps, Then, run_site,
};
use turnstone_lab::history::{Date, History, Page, Snapshot, Version, VersionId};
use turnstone_policy::Spec;
use turnstone_policy::discovery::{Discovery, DiscoveryPolicy, RECRAWL, Target, build};

use crate::sites::site;

fn policy(spec: &str) -> Box<dyn DiscoveryPolicy> {
    build(&spec.parse::<Spec>().unwrap(), Discovery::default()).unwrap()
}

/// A front page, and releases of five pages that nothing links to: one more every fourth week.
fn releases(weeks: u32) -> History {
    let names = ["", "api.html", "guide.html", "index-all.html", "start.html"];
    let page = |url: String| Page { url, is_xml: false };
    let mut pages = vec![page("/".to_owned())];
    let mut snapshots = Vec::new();
    let mut number = 0;
    for week in 0..weeks {
        let first = if week == 0 { 0 } else { pages.len() as u32 };
        let more = match week {
            0 => 3,
            _ => u32::from(week % 4 == 0),
        };
        for _ in 0..more {
            number += 1;
            pages.extend(names.map(|name| page(format!("/docs/1.{number}/{name}"))));
        }
        let new = first..pages.len() as u32;
        snapshots.push(Snapshot {
            set: new.map(|page| (PageId(page), VersionId(0))).collect(),
            gone: Vec::new(),
        });
    }
    let no_links: Vec<Vec<PageId>> = vec![Vec::new()];
    let no_hosts: Vec<Vec<u32>> = vec![Vec::new()];
    History {
        site: "releases.example".to_owned(),
        origin: "https://releases.example/".to_owned(),
        dates: (0..weeks)
            .map(|week| Date(18_000 + 7 * week as i32))
            .collect(),
        pages,
        versions: vec![Version::default()],
        links: no_links.into_iter().collect(),
        offsite_hosts: no_hosts.into_iter().collect(),
        snapshots,
        ..History::default()
    }
}

#[test]
fn releases_that_nothing_links_to_are_guessed() {
    let plan = Plan {
        policies: ["od-all", "guess"]
            .map(|spec| spec.parse().unwrap())
            .to_vec(),
        budgets: vec![1, 10],
        learners_at: vec![1, 10],
        periods: vec![1],
        question: Discovery::default(),
    };
    let outcome = run_site(releases(41), &plan);
    let [links, guesses] = &outcome.tallies[0][..] else {
        panic!("two policies");
    };
    assert_eq!((links[1].all_new, links[1].all_found), (50, 0));
    for tally in guesses {
        // A release in the first weeks is not worth a request yet.
        assert!(tally.all_new == 50 && tally.all_found >= 45, "{tally:?}");
        assert_eq!(tally.guess_hits, tally.all_found);
        let misses = tally.guesses - tally.guess_hits;
        assert!(misses <= tally.spent + tally.spent_idle, "{tally:?}");
    }
}

/// Rounds of a policy through a site, recrawled at every snapshot.
fn rounds(web: &DiscoveryWeb, policy: Box<dyn DiscoveryPolicy>, budget: u64) -> Vec<Round> {
    let mut replay = Replay::new(policy, web);
    let mut steps = Steps::new(web);
    let mut all = Vec::new();
    while let Some(step) = steps.step() {
        let mut round = Round::default();
        if step.snapshot > 0 {
            round = replay.round(&steps, &step, budget);
            all.push(round.clone());
        }
        replay.end(&steps, &step, &round, Then::Recrawl);
    }
    all
}

/// Beside a policy: by page, how many links it had when last seen, at the start of each round.
struct Beside {
    inner: Box<dyn DiscoveryPolicy>,
    links: Vec<Option<usize>>,
    rounds: Arc<Mutex<Vec<Vec<Option<usize>>>>>,
}

impl Policy for Beside {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { .. } => self.links.push(None),
            Event::Fetched { page, links, .. } => self.links[page.index()] = Some(links.len()),
            Event::Failed {
                page,
                fault: Fault::Gone,
            } => self.links[page.index()] = None,
            Event::Round { budget, .. } if budget != RECRAWL => {
                self.rounds.lock().unwrap().push(self.links.clone());
            }
            _ => {}
        }
        self.inner.observe(event, now, links, ranking);
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.inner.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.inner.restore(saved)
    }
}

impl DiscoveryPolicy for Beside {}

/// Of ten requests: the past has seven, the first page one, those with most links two.
fn slots(past: &[PageId], links: &[Option<usize>], budget: usize) -> Vec<PageId> {
    let mut many: Vec<PageId> = (0..links.len()).map(PageId::from_index).collect();
    many.retain(|page| links[page.index()].is_some());
    let home: Vec<PageId> = many.iter().copied().filter(|page| page.0 == 0).collect();
    many.sort_by_key(|page| (std::cmp::Reverse(links[page.index()]), *page));
    let mut taken: BTreeSet<PageId> = BTreeSet::new();
    let mut plan = Vec::new();
    for place in 0..budget.min(links.len()) {
        let source = match place % 10 {
            1 => &home[..],
            3 | 5 => &many[..],
            _ => past,
        };
        if let Some(page) = source.iter().find(|page| !taken.contains(page)) {
            taken.insert(*page);
            plan.push(*page);
        }
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn hubs_are_their_definition(history in site(), budget in 1u64..14) {
        let web = DiscoveryWeb::new(history, Target::Pages);
        let past = rounds(&web, policy("od-win"), 1_000);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let beside = Beside { inner: policy("hubs"), links: Vec::new(), rounds: seen.clone() };
        let got = rounds(&web, Box::new(beside), budget);
        let seen = seen.lock().unwrap();
        for ((got, past), links) in got.iter().zip(&past).zip(seen.iter()) {
            prop_assert_eq!(&got.asked, &slots(&past.asked, links, budget as usize));
        }
    }

    #[test]
    fn a_round_of_guesses_keeps_its_budget(history in site(), budget in 1u64..14) {
        let web = DiscoveryWeb::new(history, Target::Pages);
        for (spec, wasted) in [("guess", 0.6), ("guess:least=0,caution=1,wasted=0.2", 0.2)] {
            for round in rounds(&web, policy(spec), budget) {
                prop_assert!(round.spent() <= budget);
                let misses = round.guesses - round.hits;
                prop_assert!(misses <= ((wasted * budget as f64) as u64).max(1));
                let found = round.found.iter().filter(|found| **found).count() as u64;
                prop_assert!(round.hits <= found, "a hit is a new page");
                let asked: BTreeSet<PageId> = round.asked.iter().copied().collect();
                prop_assert_eq!(asked.len(), round.asked.len(), "nothing is asked for twice");
            }
        }
    }
}
