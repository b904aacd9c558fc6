//! Each policy of changes written down plainly, with linear searches and distances taken from
//! their definitions. The policies must fetch the same pages in the same order.

use std::collections::BTreeSet;

use proptest::prelude::*;
use turnstone_frontier::Random;
use turnstone_policy::changes::rate::{Evidence, Visit};
use turnstone_policy::changes::{self, Weighing, azar_rates, crawl_value};

use crate::store::{DAY, Past, Refreshing, past};

/// What a slow policy may do: fetch a page, and learn whether it had changed.
struct World<'a> {
    past: &'a Past,
    copies: Vec<u8>,
    /// By page: the cycle of its copy.
    copied_in: Vec<usize>,
    /// By page: when its copy was made.
    copied_at: Vec<u64>,
    cycle: usize,
    fetched: Vec<usize>,
}

impl World<'_> {
    fn pages(&self) -> usize {
        self.past.page_count()
    }

    fn left(&self) -> usize {
        let budget = self.past.budgets[self.cycle - 1] as usize;
        budget.min(self.pages()) - self.fetched.len()
    }

    fn now(&self) -> u64 {
        self.past.moment(self.cycle, self.fetched.len())
    }

    fn age_days(&self, page: usize) -> f64 {
        (self.now() - self.copied_at[page]) as f64 / DAY as f64
    }

    fn fetch(&mut self, page: usize) -> bool {
        assert!(self.left() > 0 && !self.fetched.contains(&page));
        self.copied_at[page] = self.now();
        self.fetched.push(page);
        self.copied_in[page] = self.cycle;
        let content = self.past.contents[self.cycle][page];
        std::mem::replace(&mut self.copies[page], content) != content
    }
}

/// Runs a slow policy through all cycles.
fn slowly(past: &Past, mut cycle: impl FnMut(&mut World<'_>)) -> Vec<Vec<usize>> {
    let mut world = World {
        past,
        copies: past.contents[0].clone(),
        copied_in: vec![0; past.page_count()],
        copied_at: (0..past.page_count())
            .map(|page| past.moment(0, page))
            .collect(),
        cycle: 0,
        fetched: Vec::new(),
    };
    let mut all = Vec::new();
    for number in 1..=past.budgets.len() {
        world.cycle = number;
        cycle(&mut world);
        all.push(std::mem::take(&mut world.fetched));
    }
    all
}

fn quickly(spec: &str, past: &Past, seed: u64) -> Vec<Vec<usize>> {
    let policy = changes::build(&spec.parse().unwrap(), past, seed).unwrap();
    Refreshing::start(policy, past).run()
}

/// Pages by a distance of their own definition; none when infinite.
type Distance = fn(&Past, usize, usize) -> Option<i64>;

/// Siblings 0; else steps along out-links; else the negative of steps along in-links.
fn link_distance(reach: i64) -> impl Fn(&Past, usize, usize) -> Option<i64> {
    move |past, seed, page| {
        let links = |from: usize, to: usize| past.links[from].iter().any(|l| l.index() == to);
        let all = 0..past.page_count();
        if all
            .clone()
            .any(|parent| links(parent, seed) && links(parent, page))
        {
            return Some(0);
        }
        let mut near = BTreeSet::from([seed]);
        for step in 1..=past.page_count() as i64 {
            let more: Vec<usize> = all
                .clone()
                .filter(|to| {
                    near.iter().any(|from| match reach > 0 {
                        true => links(*from, *to),
                        false => links(*to, *from),
                    })
                })
                .collect();
            near.extend(more);
            if near.contains(&page) {
                return Some(if reach > 0 { step } else { -step });
            }
        }
        None
    }
}

/// (m − c) + (n − c) − 2 on the parts of both addresses, its sign by depth.
fn directory_distance(past: &Past, seed: usize, page: usize) -> Option<i64> {
    let parts = |page: usize| {
        let mut parts = vec![past.directory_of[page]];
        while past.parent[parts[0] as usize] != parts[0] {
            parts.insert(0, past.parent[parts[0] as usize]);
        }
        // The file name, never shared.
        parts.push(u32::MAX - page as u32);
        parts
    };
    let (u, v) = (parts(seed), parts(page));
    let (m, n) = (u.len() as i64, v.len() as i64);
    let shared = u.iter().zip(&v).take_while(|(a, b)| a == b).count() as i64;
    let c = shared.min(m.min(n) - 1);
    let magnitude = (m - c) + (n - c) - 2;
    match (c, n <= m) {
        (0, _) => None,
        (_, true) => Some(magnitude),
        (_, false) => Some(-magnitude),
    }
}

fn cluster_distance(past: &Past, seed: usize, page: usize) -> Option<i64> {
    let (own, other) = (past.cluster_of[seed], past.cluster_of[page]);
    let nearest = &past.nearest[own as usize];
    match own == other {
        true => Some(0),
        false => Some(nearest.iter().position(|c| *c == other)? as i64 + 1),
    }
}

/// φ of a sample: (cycle, whether it changed, by cycle whether it was fetched and changed).
type Phi<'a> = &'a dyn Fn(usize, usize, bool, &[(usize, bool)]) -> f64;

/// Algorithms 1 and 2 of the paper.
fn sampling(
    past: &Past,
    seed: u64,
    reach: i64,
    distance: &dyn Fn(&Past, usize, usize) -> Option<i64>,
    (phi, draws): (Phi<'_>, bool),
) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..past.page_count()).collect();
    let mut seen: Vec<Vec<(usize, bool)>> = vec![Vec::new(); past.page_count()];
    slowly(past, |world| {
        for at in 0..world.left() {
            let other = at + random.below((order.len() - at) as u64) as usize;
            order.swap(at, other);
        }
        for sample in order.clone() {
            if world.left() == 0 {
                return;
            }
            if world.fetched.contains(&sample) {
                continue;
            }
            let changed = world.fetch(sample);
            seen[sample].push((world.cycle, changed));
            let phi = phi(sample, world.cycle, changed, &seen[sample]);
            let fires = if draws {
                random.unit() < phi
            } else {
                phi > 0.0
            };
            if !fires {
                continue;
            }
            let within = |d: i64| {
                if reach >= 0 {
                    0 <= d && d <= reach
                } else {
                    reach <= d && d <= 0
                }
            };
            let mut near: Vec<(i64, usize)> = (0..world.pages())
                .filter_map(|page| Some((distance(past, sample, page)?, page)))
                .filter(|(d, _)| within(*d))
                .map(|(d, page)| (d.abs(), page))
                .collect();
            near.sort_unstable();
            for (_, page) in near {
                if world.left() > 0 && !world.fetched.contains(&page) {
                    let changed = world.fetch(page);
                    seen[page].push((world.cycle, changed));
                }
            }
        }
    })
}

fn changed_only(_: usize, _: usize, changed: bool, _: &[(usize, bool)]) -> f64 {
    f64::from(u8::from(changed))
}

/// Samples of every site, then whole sites.
fn gsb(past: &Past, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    let sites: BTreeSet<u32> = (0..past.page_count()).map(|page| past.site(page)).collect();
    slowly(past, |world| {
        let budget = past.budgets[world.cycle - 1] as f64;
        let average = past.page_count() as f64 / sites.len() as f64;
        let share = budget / past.page_count() as f64;
        let samples = (average * share).sqrt().round().max(1.0) as usize;
        let mut chosen: Vec<usize> = Vec::new();
        for site in &sites {
            let mut pages: Vec<usize> = (0..past.page_count())
                .filter(|page| past.site(*page) == *site)
                .collect();
            for at in 0..samples.min(pages.len()) {
                let other = at + random.below((pages.len() - at) as u64) as usize;
                pages.swap(at, other);
                if chosen.len() < world.left() {
                    chosen.push(pages[at]);
                }
            }
        }
        // The scheduler hands out pages of one rank by id.
        chosen.sort_unstable();
        let mut found: Vec<(i64, u32)> = sites.iter().map(|site| (0, *site)).collect();
        for page in chosen {
            let site = past.site(page);
            let changed = world.fetch(page);
            let entry = found.iter_mut().find(|(_, other)| *other == site).unwrap();
            entry.0 -= i64::from(changed);
        }
        found.sort_unstable();
        for (_, site) in found {
            for page in 0..past.page_count() {
                let wanted = past.site(page) == site && !world.fetched.contains(&page);
                if wanted && world.left() > 0 {
                    world.fetch(page);
                }
            }
        }
    })
}

fn round_robin(past: &Past) -> Vec<Vec<usize>> {
    let mut cursor = 0;
    slowly(past, |world| {
        for _ in 0..world.left() {
            world.fetch(cursor);
            cursor = (cursor + 1) % past.page_count();
        }
    })
}

/// Fetches the pages with the largest keys, decided before the first answer; then learns.
fn by_key(
    past: &Past,
    seed: u64,
    mut keys: impl FnMut(&World<'_>, &[(usize, f64, bool)]) -> Vec<f64>,
) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    let lots: Vec<u32> = (0..past.page_count())
        .map(|_| random.bits() as u32)
        .collect();
    // Every visit so far: page, age of the copy, whether it had changed.
    let mut visits: Vec<(usize, f64, bool)> = Vec::new();
    slowly(past, |world| {
        let keys = keys(world, &visits);
        let mut order: Vec<usize> = (0..world.pages()).collect();
        order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]).then(lots[*a].cmp(&lots[*b])));
        for page in order.into_iter().take(world.left()) {
            let age = world.age_days(page);
            let changed = world.fetch(page);
            visits.push((page, age, changed));
        }
    })
}

/// Change rates as they stand after some visits, from scratch: what each level saw, added up.
fn rates(past: &Past, visits: &[(usize, f64, bool)]) -> Vec<f64> {
    let mut log: Vec<(usize, Evidence)> = Vec::new();
    let rate = |log: &[(usize, Evidence)], page: usize| {
        let sum = |wanted: &dyn Fn(usize) -> bool| {
            let mut sum = Evidence::default();
            log.iter()
                .filter(|(page, _)| wanted(*page))
                .for_each(|(_, e)| sum.add(*e));
            sum
        };
        let store = sum(&|_| true).posterior(1.0 / 60.0, 0.5);
        let site = sum(&|p| past.site(p) == past.site(page)).posterior(store, 0.5);
        let near = |p: usize| past.directory_of[p] == past.directory_of[page];
        let directory = sum(&near).posterior(site, 0.5);
        sum(&|p| p == page).posterior(directory, 0.5)
    };
    for &(page, interval, changed) in visits {
        let evidence = Evidence::of_visit(Visit { interval, changed }, rate(&log, page));
        log.push((page, evidence));
    }
    (0..past.page_count())
        .map(|page| rate(&log, page))
        .collect()
}

/// What the last two verdicts of a page were.
fn outcome(verdicts: &[bool]) -> usize {
    let one = |changed: bool| usize::from(changed);
    match *verdicts {
        [] => 0,
        [last] => 1 + one(last),
        [.., before, last] => 3 + 2 * one(before) + one(last),
    }
}

/// Cohorts from their definition: everything is added up anew for every fetch.
fn cohorts(past: &Past, seed: u64, weighing: Weighing) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    // Every answer: (page, outcome before, evidence).
    let mut log: Vec<(usize, usize, Evidence)> = Vec::new();
    let mut verdicts: Vec<Vec<bool>> = vec![Vec::new(); past.page_count()];
    let rate = |log: &[(usize, usize, Evidence)], page: usize, outcome: usize| {
        let after = |outcome: usize, first: f64| {
            let sum = |wanted: &dyn Fn(usize) -> bool| {
                let mut sum = Evidence::default();
                let fitting = log.iter().filter(|(p, o, _)| *o == outcome && wanted(*p));
                fitting.for_each(|(_, _, e)| sum.add(*e));
                sum
            };
            let store = sum(&|_| true).posterior(first, 0.5);
            let site = sum(&|p| past.site(p) == past.site(page)).posterior(store, 0.5);
            sum(&|p| past.directory_of[p] == past.directory_of[page]).posterior(site, 0.5)
        };
        let first = after(0, 1.0 / 60.0);
        match outcome {
            0 => first,
            1 | 2 => after(outcome, first),
            _ => after(outcome, after(1 + (outcome - 3) % 2, first)),
        }
    };
    slowly(past, |world| {
        // Pages by (site, cycle of the copy, the last first, outcome, directory), those of about
        // the same age together, shuffled within.
        type Key = (u32, std::cmp::Reverse<usize>, usize, usize, u32);
        let mut keyed: Vec<(Key, u64, usize)> = (0..world.pages())
            .map(|page| {
                let copied = std::cmp::Reverse(world.copied_in[page]);
                let outcome = outcome(&verdicts[page]);
                let spans = [1, 2, 4, 8, 16, 32, 64, 128, 256];
                let age_days = world.age_days(page);
                let span = spans.iter().filter(|days| f64::from(**days) <= age_days);
                let directory = past.directory_of[page];
                let key = (past.site(page), copied, span.count(), outcome, directory);
                (key, random.bits(), page)
            })
            .collect();
        keyed.sort_unstable();
        let mut groups: Vec<(Key, u32, Vec<usize>)> = Vec::new();
        for (key, _, page) in &keyed {
            if groups.last().is_none_or(|(last, ..)| last != key) {
                groups.push((*key, random.bits() as u32, Vec::new()));
            }
            groups.last_mut().unwrap().2.push(*page);
        }
        let league = |key: &Key| (key.0, key.1, key.2, key.3);
        let (before, now) = (log.clone(), world.now());
        let expected: Vec<(f64, f64)> = groups
            .iter()
            .map(|(key, _, pages)| {
                let copied: u64 = pages.iter().map(|page| now - world.copied_at[*page]).sum();
                let age_days = (copied / pages.len() as u64) as f64 / DAY as f64;
                let expected = -(-rate(&before, pages[0], key.3) * age_days).exp_m1();
                let changed = match key.3 {
                    0 => vec![true],
                    1 | 2 => vec![key.3 == 2, true],
                    other => vec![(other - 3) % 2 == 1, true],
                };
                let x = rate(&before, pages[0], outcome(&changed)) * weighing.horizon_days;
                (expected, -(-x).exp_m1() / x)
            })
            .collect();
        // Answers of this cycle, by group.
        let mut answers: Vec<(usize, bool)> = Vec::new();
        while world.left() > 0 {
            let mut choice = None;
            if random.unit() < weighing.explore {
                let any = random.below(world.pages() as u64) as usize;
                choice = (!world.fetched.contains(&any)).then_some(any);
            }
            let worth = |number: usize| {
                let (key, lot, _) = &groups[number];
                let in_league: Vec<bool> = answers
                    .iter()
                    .filter(|(other, _)| league(&groups[*other].0) == league(key))
                    .map(|(_, changed)| *changed)
                    .collect();
                // Told at 1 to 8 answers, then when there are an eighth more.
                let mut told = 0;
                for count in 1..=in_league.len() {
                    if count >= told + (told / 8).max(1) {
                        told = count;
                    }
                }
                let changes = in_league[..told].iter().filter(|changed| **changed).count();
                let site = weighing.blend_site(told as u32, changes as u32, expected[number].0);
                let own = answers.iter().filter(|(other, _)| *other == number);
                let changes = own.clone().filter(|(_, changed)| *changed).count();
                let chance = weighing.blend_cohort(own.count() as u32, changes as u32, site);
                (
                    std::cmp::Reverse(weighing.worth(chance, expected[number].1)),
                    *lot,
                    number,
                )
            };
            let page = choice.unwrap_or_else(|| {
                let left = |number: &usize| {
                    groups[*number]
                        .2
                        .iter()
                        .any(|page| !world.fetched.contains(page))
                };
                let best = (0..groups.len())
                    .filter(left)
                    .min_by_key(|number| worth(*number));
                let pages = &groups[best.unwrap()].2;
                *pages
                    .iter()
                    .rev()
                    .find(|page| !world.fetched.contains(page))
                    .unwrap()
            });
            let age = world.age_days(page);
            let changed = world.fetch(page);
            let number = groups
                .iter()
                .position(|(.., pages)| pages.contains(&page))
                .unwrap();
            answers.push((number, changed));
            let outcome = outcome(&verdicts[page]);
            let visit = Visit {
                interval: age,
                changed,
            };
            let evidence = Evidence::of_visit(visit, rate(&log, page, outcome));
            log.push((page, outcome, evidence));
            verdicts[page].push(changed);
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rns_is_the_papers_loop(past in past(), seed in 0u64..1000) {
        let nothing: Distance = |_, _, _| None;
        let expected = sampling(&past, seed, 0, &nothing, (&changed_only, false));
        prop_assert_eq!(quickly("rns", &past, seed), expected);
    }

    #[test]
    fn link_neighbours_are_the_papers_loop(past in past(), seed in 0u64..1000, reach in -3i64..4) {
        // Siblings are 0 whichever way links are followed.
        let distance = link_distance(if reach == 0 { 1 } else { reach });
        let spec = format!("link-neighbours:d={reach}");
        let expected = sampling(&past, seed, reach, &distance, (&changed_only, false));
        prop_assert_eq!(quickly(&spec, &past, seed), expected);
    }

    #[test]
    fn directory_neighbours_are_the_papers_loop(past in past(), seed in 0u64..1000, reach in -4i64..5) {
        let spec = format!("directory-neighbours:d={reach}");
        let expected = sampling(&past, seed, reach, &directory_distance, (&changed_only, false));
        prop_assert_eq!(quickly(&spec, &past, seed), expected);
    }

    #[test]
    fn cluster_neighbours_are_the_papers_loop(past in past(), seed in 0u64..1000, reach in 0i64..4) {
        let spec = format!("cluster-neighbours:d={reach}");
        let expected = sampling(&past, seed, reach, &cluster_distance, (&changed_only, false));
        prop_assert_eq!(quickly(&spec, &past, seed), expected);
    }

    #[test]
    fn triggers_are_the_papers_probabilities(past in past(), seed in 0u64..1000) {
        let always: Phi<'_> = &|_, _, _, _| 1.0;
        let share = |part: f64, whole: f64| 1.0 - (-part / whole).exp();
        let ones = |seen: &[(usize, bool)], weight: &dyn Fn(usize) -> f64| -> f64 {
            seen.iter().filter(|(_, changed)| *changed).map(|(cycle, _)| weight(*cycle)).sum()
        };
        let number = |cycle: usize| cycle as f64;
        let history: Phi<'_> = &|_, cycle, _, seen| share(ones(seen, &|_| 1.0), number(cycle));
        let history_observed: Phi<'_> =
            &|_, _, _, seen| share(ones(seen, &|_| 1.0), seen.len() as f64);
        let weighted: Phi<'_> = &|_, cycle, _, seen| {
            share(ones(seen, &number), number(cycle) * (number(cycle) + 1.0) / 2.0)
        };
        let weighted_observed: Phi<'_> = &|_, _, _, seen| {
            share(ones(seen, &number), seen.iter().map(|(cycle, _)| number(*cycle)).sum())
        };
        let logs: Vec<f64> = past.importance.iter().map(|rank| rank.ln()).collect();
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let pagerank: Phi<'_> = &|page, _, _, _| {
            let level = if most > least { (10.0 * (logs[page] - least) / (most - least)).round() } else { 0.0 };
            (level + 1.0) / 11.0
        };
        for (trigger, phi, draws) in [
            ("always", always, false),
            ("history", history, true),
            ("history,cycles=observed", history_observed, true),
            ("weighted-history", weighted, true),
            ("weighted-history,cycles=observed", weighted_observed, true),
            ("pagerank", pagerank, true),
        ] {
            let spec = format!("directory-neighbours:d=1,trigger={trigger}");
            let expected = sampling(&past, seed, 1, &directory_distance, (phi, draws));
            prop_assert_eq!(quickly(&spec, &past, seed), expected, "{}", spec);
        }
    }

    #[test]
    fn gsb_is_samples_then_sites(past in past(), seed in 0u64..1000) {
        prop_assert_eq!(quickly("gsb", &past, seed), gsb(&past, seed));
    }

    #[test]
    fn round_robin_goes_round(past in past()) {
        prop_assert_eq!(quickly("round-robin", &past, 1), round_robin(&past));
    }

    #[test]
    fn uniform_takes_the_oldest(past in past(), seed in 0u64..1000) {
        let expected = by_key(&past, seed, |world, _| {
            (0..world.pages()).map(|page| world.age_days(page)).collect()
        });
        prop_assert_eq!(quickly("uniform", &past, seed), expected);
    }

    #[test]
    fn interval_takes_the_most_overdue(past in past(), seed in 0u64..1000) {
        let expected = by_key(&past, seed, |world, visits| {
            let overdue = |page: usize| {
                let own = visits.iter().filter(|(other, _, _)| *other == page);
                let days = own.fold(30f32, |days, (_, _, changed)| {
                    let factor = if *changed { 1.0 - 0.5 } else { 1.0 + 0.5 };
                    (days * factor).clamp(1.0 / 24.0, 365.0)
                });
                world.age_days(page) - f64::from(days)
            };
            (0..world.pages()).map(overdue).collect()
        });
        prop_assert_eq!(quickly("interval:step=0.5", &past, seed), expected);
    }

    #[test]
    fn crawl_value_takes_the_largest_index(past in past(), seed in 0u64..1000) {
        let expected = by_key(&past, seed, |world, visits| {
            let rates = rates(&past, visits);
            let value = |page: usize| {
                crawl_value(past.importance[page], rates[page], world.age_days(page))
            };
            (0..world.pages()).map(value).collect()
        });
        prop_assert_eq!(quickly("crawl-value:weight=pagerank", &past, seed), expected);
    }

    #[test]
    fn azar_takes_who_is_owed_most(past in past(), seed in 0u64..1000) {
        let mut owed = vec![0.0; past.page_count()];
        let expected = by_key(&past, seed, |world, visits| {
            for (page, owed) in owed.iter_mut().enumerate() {
                if world.cycle > 1 && world.copied_in[page] == world.cycle - 1 {
                    *owed = f64::max(*owed - 1.0, -1.0);
                }
            }
            let pages: Vec<(f64, f64)> = rates(&past, visits)
                .into_iter()
                .zip(&past.importance)
                .map(|(rate, importance)| (*importance, rate * 14.0))
                .collect();
            let rho = azar_rates(&pages, world.left() as f64);
            owed.iter_mut().zip(rho).for_each(|(owed, rho)| *owed += rho);
            owed.clone()
        });
        prop_assert_eq!(quickly("azar:weight=pagerank", &past, seed), expected);
    }

    #[test]
    fn cohorts_are_what_their_definition_says(past in past(), seed in 0u64..1000, explore in 0u32..3) {
        let explore = f64::from(explore) / 4.0;
        let spec = format!("cohorts:explore={explore}");
        let weighing = Weighing { explore, ..Weighing::default() };
        prop_assert_eq!(quickly(&spec, &past, seed), cohorts(&past, seed, weighing));
    }

    #[test]
    fn azar_rates_are_optimal(
        pages in prop::collection::vec((1u32..100, 1u32..100), 1..12), budget in 1u32..400,
    ) {
        let pages: Vec<(f64, f64)> = pages
            .into_iter()
            .map(|(importance, rate)| (f64::from(importance) / 50.0, f64::from(rate) / 20.0))
            .collect();
        let budget = f64::from(budget) / 20.0;
        let rho = azar_rates(&pages, budget);
        prop_assert!((rho.iter().sum::<f64>() - budget).abs() < 1e-9 * budget.max(1.0));
        // At the optimum the next bit of rate buys the same everywhere, and less where there is none.
        let gain = |at: usize| pages[at].0 * pages[at].1 / (rho[at] + pages[at].1).powi(2);
        let played: Vec<f64> = (0..pages.len()).filter(|at| rho[*at] > 0.0).map(gain).collect();
        let (least, most) = (
            played.iter().copied().fold(f64::INFINITY, f64::min),
            played.iter().copied().fold(0.0, f64::max),
        );
        prop_assert!(most - least <= 1e-9 * most);
        for at in (0..pages.len()).filter(|at| rho[*at] == 0.0) {
            prop_assert!(gain(at) <= least * (1.0 + 1e-9));
        }
    }
}
