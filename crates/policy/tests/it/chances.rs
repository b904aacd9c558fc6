//! Logged chances against frequencies: over many seeds, a page drawn with chance c is drawn in a
//! share c of the rounds, so that one over its chance averages to one.

use std::sync::Arc;

use turnstone_frontier::{
    Chance, Change, Event, Fault, HostId, Next, NoLinks, PageId, Policy, Politeness, Scheduler,
    Tick, WholeGraphRank,
};
use turnstone_policy::discovery::{Discovery, build as discovery};
use turnstone_policy::explore::{Among, Explore};
use turnstone_policy::liveness::{OldCrawl, Sample, SampleBy, Start, build as liveness};
use turnstone_policy::{Spec, changes};

use crate::store::Past;

const PAGES: usize = 40;
const BUDGET: u64 = 8;
const SEEDS: u64 = 3000;

/// Pages of one site, in two directories, all alike.
fn store(pages: usize) -> Past {
    Past {
        links: vec![Vec::new(); pages],
        parent: vec![0, 0],
        directory_of: (0..pages as u32).map(|page| page % 2).collect(),
        cluster_of: vec![0; pages],
        nearest: vec![Vec::new()],
        importance: vec![1.0 / pages as f64; pages],
        contents: Vec::new(),
        budgets: Vec::new(),
        pace_ms: 0,
    }
}

/// Announces pages as fetched.
fn known<P: Policy>(policy: P, pages: usize) -> Scheduler<P> {
    let mut scheduler = Scheduler::new(policy, Politeness::OFF);
    for page in (0..pages).map(PageId::from_index) {
        let (host, seed) = (HostId(0), false);
        scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), &NoLinks);
        fetched(&mut scheduler, page);
    }
    scheduler
}

fn fetched<P: Policy>(scheduler: &mut Scheduler<P>, page: PageId) {
    let (change, links) = (Change::Unchanged, &[][..]);
    let event = Event::Fetched {
        page,
        change,
        links,
    };
    scheduler.observe(&event, Tick(1), &NoLinks);
}

/// One round: what is asked for, and with which chance.
fn round<P: Policy>(scheduler: &mut Scheduler<P>, round: u32) -> Vec<(PageId, Chance)> {
    let event = Event::Round {
        round,
        budget: BUDGET,
    };
    scheduler.observe(&event, Tick(1), &NoLinks);
    let mut asked = Vec::new();
    while let Next::Fetch(page) = scheduler.next(Tick(1)) {
        asked.push((page, scheduler.chance(page)));
        fetched(scheduler, page);
    }
    asked
}

/// By page: the mean over seeds of what its fetches weigh.
fn mean_weights(ask: impl Fn(u64) -> Vec<(PageId, Chance)>, pages: usize) -> Vec<f64> {
    let mut sums = vec![0.0; pages];
    for seed in 0..SEEDS {
        for (page, chance) in ask(seed) {
            sums[page.index()] += chance.weight() / SEEDS as f64;
        }
    }
    sums
}

/// Every page weighs one on average: with 3,000 seeds and chances of a fifth, four standard errors
/// are 0.15.
fn check(what: &str, ask: impl Fn(u64) -> Vec<(PageId, Chance)>) {
    let sizes: Vec<usize> = (0..20).map(|seed| ask(seed).len()).collect();
    assert!(
        sizes.iter().all(|size| *size as u64 == BUDGET),
        "{what}: {sizes:?}"
    );
    for (page, mean) in mean_weights(ask, PAGES).into_iter().enumerate() {
        assert!(
            (mean - 1.0).abs() < 0.15,
            "{what}: page {page} weighs {mean}"
        );
    }
}

fn changes(spec: &str, pages: usize, seed: u64) -> Box<dyn Policy> {
    let spec: Spec = spec.parse().unwrap();
    changes::build(&spec, &store(pages), seed).unwrap()
}

#[test]
fn random_samples_weigh_one_on_average() {
    check("rns", |seed| {
        round(&mut known(changes("rns", PAGES, seed), PAGES), 0)
    });
}

#[test]
fn so_do_explored_pages_and_those_of_the_policy_inside() {
    for spec in ["round-robin", "rns"] {
        let ask = |seed| {
            let inner = changes(spec, PAGES, seed);
            let policy = Explore::new(inner, 0.5, Among::Known, seed);
            round(&mut known(policy, PAGES), 0)
        };
        // What both choose is asked for once, so rounds may be shorter.
        for (page, mean) in mean_weights(ask, PAGES).into_iter().enumerate() {
            // Of pages that both may draw, those we drew do not know it: 0.9 + 0.1/0.19.
            let wanted = if spec == "round-robin" { 1.0 } else { 1.43 };
            assert!(
                (mean - wanted).abs() < 0.2,
                "{spec}: page {page} weighs {mean}"
            );
        }
    }
}

#[test]
fn so_do_pages_a_bandit_never_tried() {
    let spec: Spec = "bandit".parse().unwrap();
    let ask = |seed| {
        let question = Discovery {
            seed,
            ..Discovery::default()
        };
        round(&mut known(discovery(&spec, question).unwrap(), PAGES), 0)
    };
    check("bandit", ask);
    // In later rounds those never tried stand for each other alone.
    let question = Discovery::default();
    let mut scheduler = known(discovery(&spec, question).unwrap(), PAGES);
    for number in 0..4 {
        let untried = PAGES as f64 - f64::from(number) * BUDGET as f64;
        let asked = round(&mut scheduler, number);
        let weight: f64 = asked.iter().map(|(_, chance)| chance.weight()).sum();
        assert!((weight - untried).abs() < 1e-6, "round {number}: {weight}");
    }
}

struct NoRank;

impl WholeGraphRank for NoRank {
    fn page_count(&self) -> usize {
        PAGES
    }

    fn rank(&self, _: &[f64]) -> Vec<f64> {
        vec![1.0 / PAGES as f64; PAGES]
    }

    fn indegree(&self) -> Vec<u32> {
        vec![0; PAGES]
    }
}

#[test]
fn so_does_a_random_sample_of_an_old_crawl() {
    let spec: Spec = "pa".parse().unwrap();
    let old = Arc::new(OldCrawl::new(Arc::new(NoRank)));
    check("pa", |seed| {
        let start = Start {
            old: Arc::clone(&old),
            sample: Sample {
                by: SampleBy::Random,
                size: BUDGET as usize,
            },
            seed,
        };
        let mut scheduler = Scheduler::new(liveness(&spec, &start).unwrap(), Politeness::OFF);
        for page in (0..PAGES).map(PageId::from_index) {
            let (host, seed) = (HostId(0), false);
            scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), &NoLinks);
        }
        let mut asked = Vec::new();
        while let Next::Fetch(page) = scheduler.next(Tick(1)) {
            asked.push((page, scheduler.chance(page)));
            fetched(&mut scheduler, page);
        }
        let (sample, rest) = asked.split_at(BUDGET as usize);
        assert!(rest.iter().all(|(_, chance)| *chance == Chance::CERTAIN));
        sample.to_vec()
    });
}

#[test]
fn pages_drawn_from_any_cohort_are_drawn_about_as_often_as_logged() {
    let pages = 200;
    let ask = |seed| {
        let policy = changes("cohorts:explore=0.2", pages, seed);
        let mut asked = round(&mut known(policy, pages), 0);
        asked.retain(|(_, chance)| *chance != Chance::CERTAIN);
        asked
    };
    let weights = mean_weights(ask, pages);
    let mean = weights.iter().sum::<f64>() / pages as f64;
    // A page that its cohort led to before cannot be drawn: a little less than logged.
    assert!((0.93..1.03).contains(&mean), "{mean}");
}

#[test]
fn an_exploring_policy_goes_on_as_saved_and_keeps_to_its_budget() {
    let make = || Explore::new(changes("rns", PAGES, 7), 0.5, Among::Fetched, 7);
    let mut scheduler = known(make(), PAGES);
    for number in 0..5 {
        let event = Event::Round {
            round: number,
            budget: BUDGET,
        };
        scheduler.observe(&event, Tick(1), &NoLinks);
        let mut asked = Vec::new();
        while let Next::Fetch(page) = scheduler.next(Tick(1)) {
            let mut saved = Vec::new();
            scheduler.save(&mut saved).unwrap();
            let again = Scheduler::restore(make(), &mut saved.as_slice()).unwrap();
            assert_eq!(again.chance(page), scheduler.chance(page));
            scheduler = again;
            asked.push(page);
            fetched(&mut scheduler, page);
        }
        assert!(asked.len() as u64 <= BUDGET, "round {number}: {asked:?}");
        asked.sort_unstable();
        asked.dedup();
        assert!(
            asked.len() as u64 >= BUDGET / 2,
            "round {number}: {asked:?}"
        );
    }
}

/// Before anything is learnt, half of a round goes to the pages with most links, host by host; these were
/// certain, and the others drawn from the rest.
#[test]
fn hubs_are_certain_and_the_rest_is_drawn() {
    for seed in 0..20 {
        let question = Discovery {
            seed,
            ..Discovery::default()
        };
        let spec: Spec = "bandit:hubs=0.5".parse().unwrap();
        let policy = discovery(&spec, question).unwrap();
        let mut scheduler = Scheduler::new(policy, Politeness::OFF);
        for page in (0..PAGES).map(PageId::from_index) {
            // The pages of host 0 have more links than those of host 1.
            let host = HostId(u32::from(page.index() < PAGES / 2));
            let seed = false;
            scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), &NoLinks);
            let links: Vec<PageId> = (0..page.0).map(PageId).collect();
            let event = Event::Fetched {
                page,
                change: Change::New,
                links: &links,
            };
            scheduler.observe(&event, Tick(0), &NoLinks);
        }
        let asked = round(&mut scheduler, 0);
        assert_eq!(asked.len() as u64, BUDGET);
        let certain = asked
            .iter()
            .filter(|(_, chance)| *chance == Chance::CERTAIN);
        let certain: Vec<u32> = certain.map(|(page, _)| page.0).collect();
        assert_eq!(certain, [39, 19, 38, 18], "seed {seed}");
        let drawn = Chance::of(4, 36);
        assert!(asked[4..].iter().all(|(_, chance)| *chance == drawn));
    }
}

/// Rounds among pages of which every fourth was never fetched and every fifth is gone; every second
/// round is cut short. What each round asks for and with which chance, saved and restored before
/// every request or not at all.
fn explored(share: f64, restores: bool) -> Vec<Vec<(PageId, Chance)>> {
    let make = || Explore::new(changes("rns", PAGES, 7), share, Among::Fetched, 7);
    let mut scheduler = Scheduler::new(make(), Politeness::OFF);
    for page in (0..PAGES).map(PageId::from_index) {
        let (host, seed) = (HostId(0), false);
        scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), &NoLinks);
        if was_fetched(page) {
            fetched(&mut scheduler, page);
        }
        if is_gone(page) {
            let fault = Fault::Gone;
            scheduler.observe(&Event::Failed { page, fault }, Tick(1), &NoLinks);
        }
    }
    let mut rounds = Vec::new();
    for round in 0..8 {
        let budget = BUDGET;
        scheduler.observe(&Event::Round { round, budget }, Tick(1), &NoLinks);
        let most = if round % 2 == 0 { 2 } else { usize::MAX };
        let mut asked = Vec::new();
        while asked.len() < most {
            if restores {
                let mut saved = Vec::new();
                scheduler.save(&mut saved).unwrap();
                scheduler = Scheduler::restore(make(), &mut saved.as_slice()).unwrap();
            }
            let Next::Fetch(page) = scheduler.next(Tick(1)) else {
                break;
            };
            asked.push((page, scheduler.chance(page)));
            fetched(&mut scheduler, page);
        }
        rounds.push(asked);
    }
    rounds
}

fn was_fetched(page: PageId) -> bool {
    page.0 % 4 != 3
}

fn is_gone(page: PageId) -> bool {
    page.0 % 5 == 4
}

#[test]
fn only_what_is_there_is_drawn_and_no_round_inherits() {
    // The policy inside has no budget: all pages are drawn.
    for asked in &explored(1.0, false) {
        assert!(asked.len() as u64 <= BUDGET, "{asked:?}");
        for (page, _) in asked {
            assert!(was_fetched(*page) && !is_gone(*page), "{page:?} was drawn");
        }
    }
    assert_eq!(explored(0.5, false), explored(0.5, true));
}
