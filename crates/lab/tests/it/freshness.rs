//! How fresh a store is after a round, as estimated, against the truth: over all samples there are, and
//! over many random small webs.

use std::sync::Arc;

use turnstone_frontier::{
    Chance, Change, Event, HostId, Next, NoLinks, PageId, Policy, Politeness, Random, Scheduler,
    Tick,
};
use turnstone_lab::freshness::{Freshness, Looks};
use turnstone_policy::changes::{self, ClusterMap, DirectoryTree, LinkMap, Store};
use turnstone_policy::explore::{Among, Explore};

const DAY: u64 = 86_400_000;
const WEBS: u64 = 400;

/// Pages of one site in directories, some of which changed much and some hardly.
struct Web {
    directory_of: Vec<u32>,
    changed: Vec<bool>,
}

impl Web {
    fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let directories: Vec<f64> = (0..6).map(|_| random.unit() * random.unit()).collect();
        let directory_of: Vec<u32> = (0..400).map(|_| random.below(6) as u32).collect();
        let changed = directory_of
            .iter()
            .map(|directory| random.unit() < directories[*directory as usize])
            .collect();
        Self {
            directory_of,
            changed,
        }
    }

    fn count(&self) -> usize {
        self.changed.len()
    }
}

impl Store for Web {
    fn sites(&self) -> Arc<[u32]> {
        vec![0; self.count()].into()
    }

    fn links(&self) -> Arc<LinkMap> {
        Arc::default()
    }

    fn directories(&self) -> Arc<DirectoryTree> {
        let below: Vec<u32> = self.directory_of.iter().map(|of| of + 1).collect();
        Arc::new(DirectoryTree::new(below, vec![0; 7]))
    }

    fn clusters(&self, _: usize) -> Arc<ClusterMap> {
        Arc::default()
    }

    fn importance(&self) -> Arc<[f64]> {
        vec![1.0; self.count()].into()
    }
}

/// One round: what is estimated after it, and what is true.
fn round(web: &Web, spec: &str, explore: f64, seed: u64) -> (Freshness, f64) {
    let policy = changes::build(&spec.parse().unwrap(), web, seed).unwrap();
    let policy: Box<dyn Policy> = match explore {
        0.0 => policy,
        share => Box::new(Explore::new(policy, share, Among::Known, seed)),
    };
    let mut scheduler = Scheduler::new(policy, Politeness::OFF);
    for page in (0..web.count()).map(PageId::from_index) {
        let (host, seed) = (HostId(0), false);
        scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), &NoLinks);
    }
    let now = Tick(14 * DAY);
    let (round, budget) = (0, 120);
    scheduler.observe(&Event::Round { round, budget }, now, &NoLinks);
    let mut looks = Looks::default();
    let mut stale = web.changed.clone();
    while let Next::Fetch(page) = scheduler.next(now) {
        let changed = std::mem::replace(&mut stale[page.index()], false);
        looks.add(changed, scheduler.chance(page));
        let change = match changed {
            true => Change::Changed,
            false => Change::Unchanged,
        };
        let links = &[];
        let event = Event::Fetched {
            page,
            change,
            links,
        };
        scheduler.observe(&event, now, &NoLinks);
    }
    let stale = stale.iter().filter(|stale| **stale).count();
    let truth = 1.0 - stale as f64 / web.count() as f64;
    (looks.freshness(web.count() as u64), truth)
}

/// How often the interval holds the truth, and how far the estimate is off on average, signed.
fn held(spec: &str, explore: f64) -> (f64, f64) {
    let (mut held, mut off) = (0, 0.0);
    for seed in 0..WEBS {
        let (freshness, truth) = round(&Web::random(seed), spec, explore, seed + 1);
        held += u32::from(freshness.low <= truth && truth <= freshness.high);
        off += freshness.share.expect("enough pages were drawn") - truth;
    }
    (f64::from(held) / WEBS as f64, off / WEBS as f64)
}

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    let rounds = [
        ("rns", 0.0),
        ("uniform", 0.5),
        ("crawl-value", 0.5),
        ("cohorts:ahead=16,explore=0", 0.5),
        ("cohorts:ahead=16,explore=0.1", 0.5),
        ("cohorts:explore=0.6", 0.0),
    ];
    for (spec, explore) in rounds {
        let (held, off) = held(spec, explore);
        assert!(held >= 0.92, "{spec} with {explore}: {held}");
        assert!(off.abs() < 0.015, "{spec} with {explore}: off by {off}");
    }
}

/// The pages that a policy chose tell nothing of the others: no number is better than a wrong one.
#[test]
fn a_chosen_round_is_not_taken_for_the_store() {
    for seed in 0..50 {
        let (freshness, truth) = round(&Web::random(seed), "cohorts:explore=0", 0.0, seed);
        assert_eq!((freshness.share, freshness.drawn), (None, 0));
        assert_eq!((freshness.low, freshness.high), (0.3, 1.0));
        assert!(freshness.low <= truth, "{truth}");
    }
}

/// With a few pages drawn there is an interval, and it is wide; with all pages seen there is none.
#[test]
fn few_pages_tell_little_and_all_pages_tell_all() {
    let mut looks = Looks::default();
    for page in 0..50 {
        looks.add(page % 2 == 0, Chance::CERTAIN);
    }
    looks.add(false, Chance::of(1, 1000));
    let freshness = looks.freshness(1000);
    assert_eq!((freshness.share, freshness.drawn), (None, 1));
    assert!(
        freshness.low < 0.3 && freshness.high == 1.0,
        "{freshness:?}"
    );
    let all = looks.freshness(51);
    assert_eq!((all.share, all.low, all.high), (Some(1.0), 1.0, 1.0));
    assert_eq!(Looks::default().freshness(0).share, None);
}

/// The estimate from its definition, over every sample of three of seven pages: on average it is what
/// is true, and it is what weights written out say.
#[test]
fn over_all_samples_the_estimate_is_the_truth() {
    let changed = [true, false, false, true, true, false, false];
    let (mut samples, mut sum) = (0, 0.0);
    for sample in 0u32..1 << changed.len() {
        if sample.count_ones() != 3 {
            continue;
        }
        let mut looks = Looks::default();
        let mut written_out = Vec::new();
        for (page, changed) in changed.iter().enumerate() {
            if sample >> page & 1 == 1 {
                looks.add(*changed, Chance::of(3, 7));
                written_out.extend([*changed; 7]);
            }
        }
        let share = looks.changed_share().unwrap();
        let expected = written_out.iter().filter(|changed| **changed).count() as f64
            / written_out.len() as f64;
        assert!((share - expected).abs() < 1e-9, "{share} {expected}");
        assert!((looks.effective() - 3.0).abs() < 1e-9);
        samples += 1;
        sum += share;
    }
    assert!((sum / f64::from(samples) - 3.0 / 7.0).abs() < 1e-9);
}

/// Unequal chances: each page counts for one over its chance.
#[test]
fn rare_pages_count_for_more() {
    let mut looks = Looks::default();
    looks.add(true, Chance::of(1, 2));
    looks.add(false, Chance::of(1, 8));
    let share = looks.changed_share().unwrap();
    assert!((share - 2.0 / 10.0).abs() < 1e-9, "{share}");
    assert!((looks.effective() - 100.0 / 68.0).abs() < 1e-9);
}
