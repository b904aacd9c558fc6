//! The papers' loops written down plainly, with arrays and linear searches, in the same integers.
//! The policies must fetch the same pages in the same order and prove the same mass.

use proptest::prelude::*;
use turnstone_frontier::{Coverage, PageId};
use turnstone_policy::Spec;
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::mass::{Fraction, ONE};

use crate::web::{Crawl, Web, web_with_trust};

/// What a crawl did: the pages in order, and what was proven at the end.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    order: Vec<PageId>,
    guaranteed: u64,
}

fn run(spec: &str, web: &Web, trust: &Trust, goal: Goal) -> Outcome {
    let spec: Spec = spec.parse().unwrap();
    let policy = coverage::build(&spec, trust, goal).unwrap();
    let mut crawl = Crawl::start(policy, web);
    crawl.run(web);
    let Coverage { guaranteed, .. } = crawl.scheduler.coverage().unwrap();
    Outcome {
        order: crawl.order,
        guaranteed,
    }
}

/// Masses in arrays.
struct Masses<'a> {
    web: &'a Web,
    trust: &'a Trust,
    damping: Fraction,
    residual: Vec<u64>,
    /// All that was ever expanded at a page: what it gave is a function of this.
    expanded: Vec<u128>,
    fetched: Vec<bool>,
    covered: u64,
    leak: bool,
}

impl<'a> Masses<'a> {
    fn new(web: &'a Web, trust: &'a Trust, goal: Goal, leak: bool) -> Self {
        let pages = 0..web.page_count();
        Self {
            web,
            trust,
            damping: goal.damping,
            residual: pages
                .map(|index| trust.of(PageId::from_index(index)))
                .collect(),
            expanded: vec![0; web.page_count()],
            fetched: vec![false; web.page_count()],
            covered: 0,
            leak,
        }
    }

    /// What a page gives to each page, once its mass is taken out.
    fn expand(&mut self, page: usize) -> Vec<(usize, u64)> {
        let mass = std::mem::take(&mut self.residual[page]);
        let before = self.expanded[page];
        let after = before + u128::from(mass);
        self.expanded[page] = after;
        let damping = self.damping;
        // A function of what was pushed, summed over whole ones and the rest.
        let grown = |share: &dyn Fn(u64) -> u64| {
            let pushed = |expanded| u128::from(share(damping.of_rounded_up(expanded)));
            let all = |expanded: u128| {
                let (wholes, rest) = (expanded / u128::from(ONE), expanded % u128::from(ONE));
                wholes * pushed(ONE) + pushed(rest as u64)
            };
            (all(after) - all(before)) as u64
        };
        self.covered += mass - grown(&|pushed| pushed);
        let links = &self.web.0[page];
        if links.is_empty() && self.leak {
            return Vec::new();
        }
        if links.is_empty() {
            let part = |trusted: u64| {
                grown(&|pushed| (u128::from(pushed) * u128::from(trusted) / u128::from(ONE)) as u64)
            };
            let trusted = self.trust.masses().iter();
            return trusted
                .map(|(page, mass)| (page.index(), part(*mass)))
                .collect();
        }
        let share = grown(&|pushed| pushed / links.len() as u64);
        links.iter().map(|link| (link.index(), share)).collect()
    }

    fn give(&mut self, gifts: Vec<(usize, u64)>) {
        for (page, mass) in gifts {
            self.residual[page] += mass;
        }
    }

    /// The page with the most mass among some, ties to the lowest id.
    fn best(&self, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let candidates =
            (0..self.residual.len()).filter(|page| self.residual[*page] > 0 && wanted(*page));
        candidates.reduce(|a, b| {
            if self.residual[b] > self.residual[a] {
                b
            } else {
                a
            }
        })
    }
}

/// Pick the page with the largest mass, download it if it is new, push its mass.
fn rankmass(web: &Web, trust: &Trust, goal: Goal, leak: bool) -> Outcome {
    let mut masses = Masses::new(web, trust, goal, leak);
    let mut order = Vec::new();
    while masses.covered < goal.mass() {
        let unfetched_left = masses.best(|page| !masses.fetched[page]).is_some();
        let Some(page) = masses.best(|_| true) else {
            break;
        };
        let held = masses.residual.iter().filter(|mass| **mass > 0).count() as u128;
        if !unfetched_left
            && u128::from(masses.residual[page]) * held <= u128::from(ONE / 1_000_000)
        {
            break;
        }
        if !std::mem::replace(&mut masses.fetched[page], true) {
            order.push(PageId::from_index(page));
        }
        let gifts = masses.expand(page);
        masses.give(gifts);
    }
    Outcome {
        order,
        guaranteed: masses.covered,
    }
}

/// Download the best share of the known unfetched pages, then sweep all fetched pages at once.
fn windowed(web: &Web, trust: &Trust, goal: Goal, share: f64) -> Outcome {
    let mut masses = Masses::new(web, trust, goal, false);
    let mut order = Vec::new();
    while masses.covered < goal.mass() {
        let frontier = (0..web.page_count())
            .filter(|page| !masses.fetched[*page] && masses.residual[*page] > 0)
            .count();
        let window = (share * frontier as f64 - 1e-9).ceil() as usize;
        for _ in 0..window {
            let best = masses.best(|page| !masses.fetched[page]).unwrap();
            masses.fetched[best] = true;
            order.push(PageId::from_index(best));
        }
        let held: u64 = (0..web.page_count())
            .filter(|page| masses.fetched[*page])
            .map(|page| masses.residual[page])
            .sum();
        if window == 0 && held <= ONE / 1_000_000 {
            break;
        }
        let mut gifts = Vec::new();
        for page in 0..web.page_count() {
            if masses.fetched[page] && masses.residual[page] > 0 {
                gifts.extend(masses.expand(page));
            }
        }
        masses.give(gifts);
    }
    Outcome {
        order,
        guaranteed: masses.covered,
    }
}

/// Download a level, then the next, until what may be missing is small enough.
fn l_neighbor(web: &Web, trust: &Trust, goal: Goal) -> Outcome {
    let mut level: Vec<PageId> = trust.masses().iter().map(|(page, _)| *page).collect();
    let mut order: Vec<PageId> = Vec::new();
    let mut missing = ONE;
    loop {
        order.extend(&level);
        missing = goal.damping.of_rounded_up(missing);
        let mut next: Vec<PageId> = level
            .iter()
            .flat_map(|page| &web.0[page.index()])
            .copied()
            .filter(|page| !order.contains(page))
            .collect();
        next.sort();
        next.dedup();
        if next.is_empty() {
            return Outcome {
                order,
                guaranteed: ONE,
            };
        }
        if ONE - missing >= goal.mass() {
            return Outcome {
                order,
                guaranteed: ONE - missing,
            };
        }
        level = next;
    }
}

fn goal() -> impl Strategy<Value = Goal> {
    (0.3f64..0.95, 0.005f64..0.5).prop_map(|(damping, epsilon)| Goal {
        damping: Fraction::new(damping).unwrap(),
        epsilon: Fraction::new(epsilon).unwrap(),
        confidence: None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn rankmass_is_the_papers_loop((web, trust) in web_with_trust(), goal in goal()) {
        prop_assert_eq!(run("rankmass:push=exact", &web, &trust, goal), rankmass(&web, &trust, goal, false));
    }

    #[test]
    fn rankmass_with_leaks_is_the_papers_loop((web, trust) in web_with_trust(), goal in goal()) {
        let expected = rankmass(&web, &trust, goal, true);
        prop_assert_eq!(run("rankmass:push=exact,dangling=leak", &web, &trust, goal), expected);
    }

    #[test]
    fn windowed_is_the_papers_loop((web, trust) in web_with_trust(), goal in goal(), tenths in 1u32..=10) {
        let share = f64::from(tenths) / 10.0;
        let spec = format!("windowed-rankmass:window={share}");
        let mut expected = windowed(&web, &trust, goal, share);
        let mut got = run(&spec, &web, &trust, goal);
        // Within a window the order is that of the ranking; both sort by mass, then id.
        prop_assert_eq!(got.order.len(), expected.order.len());
        if share == 1.0 {
            got.order.sort();
            expected.order.sort();
        }
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn l_neighbor_is_the_papers_loop((web, trust) in web_with_trust(), goal in goal()) {
        prop_assert_eq!(run("l-neighbor", &web, &trust, goal), l_neighbor(&web, &trust, goal));
    }
}
