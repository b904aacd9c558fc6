//! Every discovery policy against its definition, and what must hold for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use proptest::prelude::*;
use turnstone_frontier::{Event, Links, PageId, Policy, Ranking, Tick};
use turnstone_lab::backtest::discovery::{
    DiscoveryWeb, Plan, Replay, Round, Steps, Then, is_judged, is_recrawl, run_site,
};
use turnstone_lab::history::History;
use turnstone_policy::Spec;
use turnstone_policy::discovery::{Discovery, DiscoveryPolicy, Target, build};

use crate::sites::{SlowStep, site, slow_steps};

const SPECS: &[&str] = &[
    "od-1",
    "od-1:last=nonempty",
    "od-win",
    "od-win:decay=0.5",
    "od-all",
    "cliq-1",
    "cliq-1:eps_b=0.3,last=nonempty",
    "cliq-win",
    "cliq-win:last=nonempty,singletons=outside",
    "cov",
    "cov:last=nonempty",
    "cov-win",
    "cov-win:again=0.5,decay=0.5,least=0.2",
    "cov-win:few=1",
    "bandit",
    "bandit:hubs=0.5",
    "bandit:rule=ucb,keep=1",
    "bandit:rule=thompson",
    "hubs",
    "hubs:base=cov",
    "guess",
    "guess:caution=1,least=0,wasted=1",
];

/// Whether a policy is defined by its past recrawls alone, so that its whole order can be worked out beside it.
fn is_defined(spec: &str) -> bool {
    !["bandit", "hubs", "guess"]
        .iter()
        .any(|name| spec.starts_with(name))
}

fn policy(spec: &str, target: Target) -> Box<dyn DiscoveryPolicy> {
    let question = Discovery {
        target,
        ..Discovery::default()
    };
    build(&spec.parse::<Spec>().unwrap(), question).unwrap()
}

/// What a policy asks for at each snapshot from 1 on, recrawls every `period` snapshots.
fn asked(
    web: &DiscoveryWeb,
    policy: Box<dyn DiscoveryPolicy>,
    period: u32,
    budget: u64,
) -> Vec<Vec<u32>> {
    let mut replay = Replay::new(policy, web);
    let mut steps = Steps::new(web);
    let mut all = Vec::new();
    while let Some(step) = steps.step() {
        let mut round = Round::default();
        if step.snapshot > 0 {
            round = replay.round(&steps, &step, budget);
            all.push(round.asked.iter().map(|page| page.0).collect());
        }
        replay.end(&steps, &step, &round, Then::at(step.snapshot, period));
    }
    all
}

/// Past recrawls, oldest first: (snapshot, what it saw).
type Past<'a> = [(usize, &'a SlowStep)];

fn past(slow: &[SlowStep], now: usize, period: u32) -> Vec<(usize, &SlowStep)> {
    let recrawls = (0..now).filter(|past| is_recrawl(*past, period));
    recrawls.map(|past| (past, &slow[past])).collect()
}

/// By page: the share of the new pages it led to.
fn shares(step: &SlowStep) -> BTreeMap<u32, f64> {
    let all = step.found.len() as f64;
    let leads = step.leads.iter();
    leads
        .map(|(page, leads)| (*page, leads.len() as f64 / all))
        .collect()
}

fn sorted(mut scored: Vec<(f64, u32)>) -> Vec<u32> {
    scored.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, page)| page).collect()
}

/// p averaged over recrawls, weights falling by `decay` a snapshot. Halves are exact.
fn averages(past: &Past<'_>, now: usize, decay: f64) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    let mut weights = 0.0;
    for (snapshot, step) in past {
        let weight = decay.powi((now - snapshot) as i32);
        weights += weight;
        for (page, share) in shares(step) {
            *sums.entry(page).or_default() += weight * share;
        }
    }
    sums.into_iter()
        .map(|(page, sum)| (page, sum / weights))
        .collect()
}

fn last<'a>(past: &Past<'a>, nonempty: bool) -> Option<&'a SlowStep> {
    let fits = |step: &&SlowStep| !nonempty || !step.found.is_empty();
    past.iter().rev().map(|(_, step)| *step).find(fits)
}

/// The best page of each cluster with its share: pages that overlap enough, joined in steps.
fn heads(step: &SlowStep, overlap: f64) -> Vec<(f64, u32)> {
    let mut left: BTreeSet<u32> = step.leads.keys().copied().collect();
    let mut heads = Vec::new();
    while let Some(first) = left.pop_first() {
        let (mut cluster, mut open) = (vec![first], vec![first]);
        while let Some(page) = open.pop() {
            let near: Vec<u32> = left
                .iter()
                .copied()
                .filter(|other| {
                    let (a, b) = (&step.leads[&page], &step.leads[other]);
                    let jaccard = a.intersection(b).count() as f64 / a.union(b).count() as f64;
                    jaccard >= overlap - 1e-9
                })
                .collect();
            for page in near {
                left.remove(&page);
                cluster.push(page);
                open.push(page);
            }
        }
        let shares = shares(step);
        let best = sorted(cluster.iter().map(|page| (shares[page], *page)).collect())[0];
        heads.push((shares[&best], best));
    }
    heads
}

/// The page that adds most of what past new pages are still worth, again and again.
fn cover_window(past: &Past<'_>, (decay, again, least, few): (f64, f64, f64, f64)) -> Vec<u32> {
    let finds: Vec<_> = past
        .iter()
        .filter(|(_, step)| !step.found.is_empty())
        .collect();
    let Some((latest, _)) = finds.last() else {
        return Vec::new();
    };
    let mut worth: BTreeMap<u32, u64> = BTreeMap::new();
    let mut covered: BTreeSet<u32> = BTreeSet::new();
    for (snapshot, step) in &finds {
        let all = (1u64 << 44) as f64 * decay.powi((latest - snapshot) as i32);
        let each = (all / (step.found.len() as f64 + few)) as u64;
        worth.extend(step.found.iter().map(|page| (*page, each)));
    }
    let least = (least * worth.values().sum::<u64>() as f64) as u64;
    let gone = &past.last().expect("there is a find").1.gone;
    let mut order = Vec::new();
    loop {
        let mut best: Option<(u64, usize, std::cmp::Reverse<u32>)> = None;
        let leaders: BTreeSet<u32> = finds
            .iter()
            .flat_map(|find| find.1.leads.keys().copied())
            .collect();
        for page in leaders
            .into_iter()
            .filter(|page| !order.contains(page) && !gone.contains(page))
        {
            let led = finds
                .iter()
                .filter_map(|(_, step)| step.leads.get(&page))
                .flatten();
            let adds = led.map(|page| worth[page]).sum();
            let links = finds
                .iter()
                .rev()
                .find_map(|(_, step)| step.told.get(&page))
                .copied();
            best = best.max(Some((adds, links.unwrap_or(0), std::cmp::Reverse(page))));
        }
        let Some((adds, _, std::cmp::Reverse(page))) =
            best.filter(|best| best.0 > 0 && best.0 >= least)
        else {
            return order;
        };
        assert!(adds > 0);
        order.push(page);
        let led = finds
            .iter()
            .filter_map(|(_, step)| step.leads.get(&page))
            .flatten();
        for page in led.filter(|page| covered.insert(**page)) {
            let worth = worth.get_mut(page).expect("it is worth something");
            *worth = (*worth as f64 * again) as u64;
        }
    }
}

fn slow_order(spec: &str, past: &Past<'_>, now: usize) -> Vec<u32> {
    let flip = |map: BTreeMap<u32, f64>| map.into_iter().map(|(page, p)| (p, page)).collect();
    let nothing = SlowStep::default();
    let last = |nonempty| last(past, nonempty).unwrap_or(&nothing);
    let with_singles = |mut all: Vec<(f64, u32)>, inside: &SlowStep, outside_only: bool| {
        let averages = averages(past, now, 1.0).into_iter();
        let fits = |page: &u32| !outside_only || !inside.leads.contains_key(page);
        all.extend(
            averages
                .filter(|(page, _)| fits(page))
                .map(|(page, p)| (p, page)),
        );
        let mut seen = BTreeSet::new();
        let order = sorted(all).into_iter();
        order.filter(|page| seen.insert(*page)).collect()
    };
    match spec {
        "od-1" => sorted(flip(shares(last(false)))),
        "od-1:last=nonempty" => sorted(flip(shares(last(true)))),
        "od-win" | "od-all" => sorted(flip(averages(past, now, 1.0))),
        "od-win:decay=0.5" => sorted(flip(averages(past, now, 0.5))),
        "cliq-1" => sorted(heads(last(false), 0.2)),
        "cliq-1:eps_b=0.3,last=nonempty" => sorted(heads(last(true), 0.7)),
        "cliq-win" => with_singles(heads(last(false), 0.2), last(false), false),
        "cliq-win:last=nonempty,singletons=outside" => {
            with_singles(heads(last(true), 0.2), last(true), true)
        }
        "cov" => last(false).greedy().iter().map(|pick| pick.0).collect(),
        "cov:last=nonempty" => last(true).greedy().iter().map(|pick| pick.0).collect(),
        "cov-win" => cover_window(past, (1.0, 0.02, 0.001, 0.1)),
        "cov-win:again=0.5,decay=0.5,least=0.2" => cover_window(past, (0.5, 0.5, 0.2, 0.1)),
        "cov-win:few=1" => cover_window(past, (1.0, 0.02, 0.001, 1.0)),
        other => panic!("no definition of {other}"),
    }
}

/// A policy that is saved, thrown away and restored after every event.
struct Reborn {
    spec: &'static str,
    target: Target,
    inner: Box<dyn DiscoveryPolicy>,
}

impl Policy for Reborn {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        self.inner.observe(event, now, links, ranking);
        let mut saved = Vec::new();
        self.inner.save(&mut saved).unwrap();
        self.inner = policy(self.spec, self.target);
        self.inner.restore(&mut saved.as_slice()).unwrap();
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.inner.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.inner.restore(saved)
    }
}

impl DiscoveryPolicy for Reborn {
    fn guesses(&self) -> bool {
        self.inner.guesses()
    }
}

fn plan(target: Target, period: u32) -> Plan {
    Plan {
        policies: SPECS.iter().map(|spec| spec.parse().unwrap()).collect(),
        budgets: vec![1, 3, 100],
        learners_at: vec![1, 3],
        periods: vec![period],
        question: Discovery {
            target,
            ..Discovery::default()
        },
    }
}

/// No policy finds more than the limit allows, and greedy covers as much as anyone could.
fn check_bounds(history: History, target: Target, period: u32) -> Result<(), TestCaseError> {
    let plan = plan(target, period);
    let outcome = run_site(history, &plan);
    let limit = &outcome.truth.limits[&period];
    let bounds = outcome.truth.bounds(period, &plan.budgets);
    for (spec, tallies) in plan.policies.iter().zip(&outcome.tallies[0]) {
        for (tally, bound) in tallies.iter().zip(&bounds) {
            let learns = ["bandit", "hubs", "guess"].contains(&spec.name());
            if learns && tally.cases == 0 {
                // Learners are run for some of the budgets only.
                continue;
            }
            prop_assert_eq!(tally.new, limit.new);
            prop_assert!(tally.found <= tally.new && tally.all_found <= tally.all_new);
            prop_assert!(tally.guess_hits <= tally.guesses);
            if spec.name() == "guess" {
                // A guess may hit what no page that was asked for leads to.
                continue;
            }
            prop_assert_eq!(tally.all_found, tally.found, "{}", spec);
            prop_assert!(tally.found <= bound.0 && bound.0 <= tally.new, "{}", spec);
            // Some try pages that never led anywhere, and od-all is given more recrawls.
            if !["bandit", "hubs", "od-all"].contains(&spec.name()) {
                prop_assert!(tally.found <= limit.found, "{} above its limit", spec);
            }
        }
    }
    let greedy = outcome.truth.greedy(period, &plan.budgets);
    for (tally, bound) in greedy.iter().zip(&bounds) {
        prop_assert!(tally.found <= bound.0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn every_policy_is_its_definition(history in site(), period in 1u32..4) {
        let slow = slow_steps(&history);
        let web = DiscoveryWeb::new(history, Target::Pages);
        for spec in SPECS.iter().filter(|spec| is_defined(spec)) {
            let period = if *spec == "od-all" { 1 } else { period };
            for (index, asked) in asked(&web, policy(spec, Target::Pages), period, 100).iter().enumerate() {
                let now = index + 1;
                let past = past(&slow, now, period);
                prop_assert_eq!(asked, &slow_order(spec, &past, now), "{} at {}", spec, now);
            }
        }
    }

    #[test]
    fn tallies_are_what_the_definitions_cover(history in site(), period in 1u32..4) {
        let slow = slow_steps(&history);
        let plan = plan(Target::Pages, period);
        let outcome = run_site(history, &plan);
        for (spec, tallies) in plan.policies.iter().zip(&outcome.tallies[0]) {
            let spec = spec.to_string();
            if !is_defined(&spec) {
                continue;
            }
            let every = if spec == "od-all" { 1 } else { period };
            for (budget, tally) in plan.budgets.iter().zip(tallies) {
                let (mut fetched, mut found) = (0, 0);
                for now in (1..slow.len()).filter(|now| is_judged(*now, period)) {
                    let mut order = slow_order(&spec, &past(&slow, now, every), now);
                    order.truncate(*budget as usize);
                    if !slow[now].found.is_empty() {
                        fetched += order.len() as u64;
                        found += slow[now].covered(&order) as u64;
                    }
                }
                prop_assert_eq!((tally.fetched, tally.found), (fetched, found), "{}", spec);
            }
        }
    }

    #[test]
    fn a_small_round_asks_for_the_first_pages_of_a_large_one(history in site(), period in 1u32..4) {
        let web = DiscoveryWeb::new(history, Target::Pages);
        for spec in SPECS.iter().filter(|spec| !policy(spec, Target::Pages).learns_from_rounds()) {
            let large = asked(&web, policy(spec, Target::Pages), period, 100);
            let small = asked(&web, policy(spec, Target::Pages), period, 2);
            for (small, large) in small.iter().zip(&large) {
                prop_assert_eq!(&small[..], &large[..large.len().min(2)], "{}", spec);
            }
        }
    }

    #[test]
    fn saved_and_restored_after_every_event_it_decides_alike(history in site(), period in 1u32..4, budget in 1u64..6) {
        for target in [Target::Pages, Target::Hosts] {
            let web = DiscoveryWeb::new(history.clone(), target);
            for spec in SPECS {
                let reborn = Reborn { spec, target, inner: policy(spec, target) };
                let expected = asked(&web, policy(spec, target), period, budget);
                prop_assert_eq!(asked(&web, Box::new(reborn), period, budget), expected, "{}", spec);
            }
        }
    }

    #[test]
    fn nobody_finds_more_than_can_be_found(history in site(), period in 1u32..4) {
        check_bounds(history.clone(), Target::Pages, period)?;
        check_bounds(history, Target::Hosts, period)?;
    }
}

#[test]
fn a_bandit_learns_what_a_hub_is() {
    // Page 0 links to every new page; 20 other pages never change.
    let pages = 60u32;
    let mut links: Vec<Vec<PageId>> = vec![Vec::new()];
    let mut snapshots = vec![turnstone_lab::history::Snapshot {
        set: (0..21)
            .map(|page| (PageId(page), turnstone_lab::history::VersionId(0)))
            .collect(),
        gone: Vec::new(),
    }];
    for new in 21..pages {
        let version = turnstone_lab::history::VersionId(links.len() as u32);
        links.push((21..=new).map(PageId).collect());
        snapshots.push(turnstone_lab::history::Snapshot {
            set: vec![
                (PageId(0), version),
                (PageId(new), turnstone_lab::history::VersionId(0)),
            ],
            gone: Vec::new(),
        });
    }
    let page = |id: u32| turnstone_lab::history::Page {
        url: format!("/{id}"),
        is_xml: false,
    };
    let history = History {
        pages: (0..pages).map(page).collect(),
        offsite_hosts: links.iter().map(|_| Vec::new()).collect(),
        versions: vec![Default::default(); links.len()],
        links: links.into_iter().collect(),
        snapshots,
        ..History::default()
    };
    let web = DiscoveryWeb::new(history, Target::Pages);
    for spec in ["bandit", "bandit:rule=ucb", "bandit:rule=thompson"] {
        let rounds = asked(&web, policy(spec, Target::Pages), 1000, 4);
        let late = &rounds[20..];
        let hits = late.iter().filter(|asked| asked.contains(&0)).count();
        assert!(
            hits * 10 >= late.len() * 9,
            "{spec}: {hits} of {}",
            late.len()
        );
    }
}

#[test]
fn judged_snapshots_are_not_recrawls() {
    assert!((1..10).all(|snapshot| is_judged(snapshot, 1)));
    let judged: Vec<usize> = (1..9).filter(|snapshot| is_judged(*snapshot, 4)).collect();
    assert_eq!(judged, [1, 2, 3, 5, 6, 7]);
}
