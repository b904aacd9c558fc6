//! What arrived, who led to it, and what could be found, against the definitions.

use proptest::prelude::*;
use turnstone_frontier::PageId;
use turnstone_lab::backtest::discovery::{DiscoveryWeb, Steps, Truth, is_judged, is_recrawl};
use turnstone_policy::discovery::{Pick, Target, Until, greedy_cover, merge, upper_bound};

use crate::sites::{SlowStep, site, slow_steps};

/// The most that any cover of a size holds, by trying them all.
fn optimum(step: &SlowStep, budget: usize) -> usize {
    let pages: Vec<u32> = step.leads.keys().copied().collect();
    let covers = 0..1u32 << pages.len();
    let fitting = covers.filter(|cover| cover.count_ones() as usize <= budget);
    let members = |cover: u32| -> Vec<u32> {
        let chosen = (0..pages.len()).filter(|bit| cover >> bit & 1 == 1);
        chosen.map(|bit| pages[bit]).collect()
    };
    fitting
        .map(|cover| step.covered(&members(cover)))
        .max()
        .unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn steps_are_what_the_definition_says(history in site()) {
        let slow = slow_steps(&history);
        let web = DiscoveryWeb::new(history, Target::Pages);
        let mut steps = Steps::new(&web);
        for slow in &slow {
            let step = steps.step().unwrap();
            let sources: Vec<u32> = step.arrivals.sources().iter().map(|(page, _)| page.0).collect();
            let expected: Vec<u32> = slow.leads.keys().copied().collect();
            prop_assert_eq!(&sources, &expected);
            for (page, leads) in &slow.leads {
                prop_assert_eq!(step.arrivals.led_to(PageId(*page)) as usize, leads.len());
            }
            for (a, b) in sources.iter().zip(sources.iter().skip(1)) {
                let mut cover = step.arrivals.cover();
                cover.fetch(PageId(*a));
                cover.fetch(PageId(*b));
                prop_assert_eq!(cover.count() as usize, slow.covered(&[*a, *b]));
            }
            prop_assert_eq!(step.arrivals.found() as usize, slow.found.len());
            prop_assert_eq!(step.arrivals.orphans() as usize, slow.orphans);
        }
        prop_assert!(steps.step().is_none());
    }

    #[test]
    fn greedy_is_the_plain_loop_and_never_above_its_bound(history in site()) {
        let slow = slow_steps(&history);
        let web = DiscoveryWeb::new(history, Target::Pages);
        let mut steps = Steps::new(&web);
        for slow in &slow {
            let step = steps.step().unwrap();
            let all = greedy_cover(&step.arrivals, Until::All);
            let shown: Vec<(u32, usize)> =
                all.iter().map(|pick| (pick.page.0, pick.gain as usize)).collect();
            prop_assert_eq!(&shown, &slow.greedy());
            for budget in 0..4 {
                let some = greedy_cover(&step.arrivals, Until::Budget(budget));
                prop_assert_eq!(&some[..], &all[..budget.min(all.len())]);
                let covered: u32 = some.iter().map(|pick| pick.gain).sum();
                let bound = upper_bound(&step.arrivals, &all, budget);
                let best = optimum(slow, budget);
                prop_assert!(covered as usize <= best && best <= bound as usize);
                prop_assert!(bound <= step.arrivals.found());
            }
            for tenths in 0..=10u32 {
                let share = f64::from(tenths) / 10.0;
                let some = greedy_cover(&step.arrivals, Until::Share(share));
                let covered = |picks: &[Pick]| picks.iter().map(|pick| pick.gain).sum::<u32>();
                prop_assert!(covered(&some) * 10 >= tenths * step.arrivals.found());
                prop_assert!(some.is_empty()
                    || covered(&some[..some.len() - 1]) * 10 < tenths * step.arrivals.found());
            }
        }
    }

    #[test]
    fn covers_of_many_sites_merge_by_gain(histories in prop::collection::vec(site(), 1..4)) {
        let mut covers = Vec::new();
        for history in histories {
            let web = DiscoveryWeb::new(history, Target::Pages);
            let truth = Truth::of(&web, &[1], &[]);
            covers.extend(truth.cases.into_iter().map(|case| case.cover));
        }
        let merged = merge(&covers);
        // The plain loop over the union: the best next page of any site, ties to the first.
        let mut next = vec![0; covers.len()];
        for (site, pick) in merged {
            let best = (0..covers.len())
                .filter_map(|s| covers[s].get(next[s]).map(|pick| (s, pick.gain)))
                .reduce(|a, b| if b.1 > a.1 { b } else { a });
            prop_assert_eq!(best, Some((site, pick.gain)));
            prop_assert_eq!(covers[site][next[site]], pick);
            next[site] += 1;
        }
        prop_assert!(next.iter().zip(&covers).all(|(next, cover)| *next == cover.len()));
    }

    #[test]
    fn history_limits_are_what_the_definition_says(history in site(), period in 1u32..=6) {
        let slow = slow_steps(&history);
        let web = DiscoveryWeb::new(history, Target::Pages);
        let truth = Truth::of(&web, &[1, 3], &[]);
        let (mut found, mut new) = (0, 0);
        for (snapshot, step) in slow.iter().enumerate().skip(1) {
            if step.found.is_empty() || !is_judged(snapshot, period) {
                continue;
            }
            let past = (0..snapshot).filter(|past| is_recrawl(*past, period));
            let known: Vec<u32> = past.flat_map(|past| slow[past].leads.keys().copied()).collect();
            found += step.covered(&known) as u64;
            new += step.found.len() as u64;
        }
        let limit = &truth.limits[&period];
        prop_assert_eq!((limit.found, limit.new), (found, new));
        prop_assert!(limit.coverage().is_none_or(|coverage| coverage <= 1.0));
    }

    #[test]
    fn hosts_are_found_like_pages(history in site()) {
        let slow = slow_host_steps(&history);
        let web = DiscoveryWeb::new(history, Target::Hosts);
        let mut steps = Steps::new(&web);
        for (found, orphans) in slow {
            let step = steps.step().unwrap();
            prop_assert_eq!(step.arrivals.found() as usize, found);
            prop_assert_eq!(step.arrivals.orphans() as usize, orphans);
        }
    }
}

/// By snapshot: hosts never linked to before that old pages lead to, and those they do not.
fn slow_host_steps(history: &turnstone_lab::history::History) -> Vec<(usize, usize)> {
    use std::collections::BTreeSet;
    let mut walk = history.walk();
    let (mut old, mut known) = (BTreeSet::new(), BTreeSet::new());
    let mut counts = Vec::new();
    while walk.step().is_some() {
        let present: Vec<PageId> = walk.present().map(|(page, _)| page).collect();
        let hosts = |page: PageId| {
            let version = walk.version(page).unwrap();
            history.offsite_hosts.row(version.index()).iter().copied()
        };
        let all: BTreeSet<u32> = present.iter().flat_map(|page| hosts(*page)).collect();
        let new: BTreeSet<u32> = all.difference(&known).copied().collect();
        let mut reached: BTreeSet<PageId> = present
            .iter()
            .copied()
            .filter(|page| old.contains(page))
            .collect();
        let mut open: Vec<PageId> = reached.iter().copied().collect();
        while let Some(page) = open.pop() {
            for &link in walk.links(page) {
                if walk.version(link).is_some() && !old.contains(&link) && reached.insert(link) {
                    open.push(link);
                }
            }
        }
        let found: BTreeSet<u32> = reached.iter().flat_map(|page| hosts(*page)).collect();
        let found = found.intersection(&new).count();
        counts.push((found, new.len() - found));
        known.extend(all);
        old.extend(present);
    }
    counts
}
