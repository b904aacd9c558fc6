//! A bandit: learn where new pages are linked from without ever recrawling everything.
//!
//! Known pages are arms, a round pulls `budget` of them, and only what was fetched teaches
//! anything (the paper's section 6, left open there). Three rules choose the arms:
//!
//! - `epsilon`: those with the largest share of the new pages found in the rounds they were pulled
//!   in, for all but ε of the budget; the rest goes to pages never tried, at random, and then to
//!   those tried longest ago.
//! - `ucb`: the same with c·√(2 ln N / n) added to the share, N pages found in all and n of them
//!   while the arm was pulled (Auer, Cesa-Bianchi, Fischer 2002).
//! - `thompson`: a rate of new pages per round is drawn for each page from Gamma(a, b); the page
//!   with the largest rate × rounds since its last fetch comes first. After a fetch that showed k
//!   new pages in w rounds, a ← γa + k, b ← γb + w. Pages that an earlier fetch of the same round
//!   had shown do not count in k, so arms that show the same do not all stay rich.
//!
//! Before anything was learnt, pages never tried are all there is, and a few of them drawn at random find
//! much or nothing by luck. So a share of them (`hubs`) may go to those with most links, which list
//! what is new more often than others: the one of each host, then each host's second.
//!
//! The chance of a page never tried is that of its draw, so many of so many; hubs are certain. Thompson's
//! draws have no chance that could be written down; they count as certain, and tell nothing of other pages.
//!
//! γ (`keep`) forgets old rounds; 1 keeps them all. All draws are made when a round is ranked.
//!
//! Cost: O(pages) per round, O(pages log pages) with hubs, O(links) per fetch; 32 bytes per page. The rules use logarithms, so
//! decisions are the same for a seed on machines with the same mathematics library.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;

use turnstone_frontier::{
    Chance, Event, Fault, HostId, Links, PageId, Policy, Random, Ranking, Restore, Save, Tick,
    corrupt,
};

use super::DiscoveryPolicy;
use super::history_based::{clear, known_pages, queue, settle};
use super::out_degree::by_score;
use super::watch::{Phase, RECRAWL, Target, Watch, Yield};
use crate::catalog::ParameterInfo;
use crate::spec::{Spec, SpecError};

/// How arms are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// The best shares so far.
    Epsilon,
    /// The best shares that are still likely.
    Ucb {
        /// How much doubt counts.
        c: f64,
    },
    /// The best rates as drawn.
    Thompson {
        /// New pages a page is believed to have shown before its first fetch.
        prior: f64,
    },
}

/// What can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    rule: Rule,
    epsilon: f64,
    hubs: f64,
    keep: f64,
}

pub(crate) const PARAMETERS: &[ParameterInfo] = &[
    ParameterInfo {
        name: "rule",
        default: "epsilon",
        meaning: "how known pages are chosen: epsilon, ucb or thompson",
    },
    ParameterInfo {
        name: "epsilon",
        default: "0.1",
        meaning: "with epsilon and ucb: the share of the budget for pages never tried",
    },
    ParameterInfo {
        name: "hubs",
        default: "0",
        meaning: "with epsilon and ucb: of the pages never tried, the share that goes to those with \
                  most links, host by host",
    },
    ParameterInfo {
        name: "c",
        default: "1",
        meaning: "with ucb: how much doubt counts",
    },
    ParameterInfo {
        name: "prior",
        default: "0.02",
        meaning: "with thompson: new pages a page is believed to have shown in the round before \
                  its first fetch",
    },
    ParameterInfo {
        name: "keep",
        default: "0.95",
        meaning: "what a round still weighs at the page's next fetch, above 0 and at most 1",
    },
];

impl Settings {
    pub(crate) fn read(spec: &Spec) -> Result<Self, SpecError> {
        let number = |name, default, wanted: &str, fits: fn(f64) -> bool| {
            spec.read(name, default, wanted, |value| {
                value.parse().ok().filter(|number| fits(*number))
            })
        };
        let (share, is_share) = ("a number from 0 to 1", |share| (0.0..=1.0).contains(&share));
        let above = "a number above 0 and below 1,000";
        let c = number("c", 1.0, above, |c| c > 0.0 && c < 1000.0)?;
        let prior = number("prior", 0.02, above, |prior| prior > 0.0 && prior < 1000.0)?;
        let rules = [
            ("epsilon", Rule::Epsilon),
            ("ucb", Rule::Ucb { c }),
            ("thompson", Rule::Thompson { prior }),
        ];
        Ok(Self {
            rule: spec.choice("rule", Rule::Epsilon, &rules)?,
            epsilon: number("epsilon", 0.1, share, is_share)?,
            hubs: number("hubs", 0.0, share, is_share)?,
            keep: number("keep", 0.95, "a number above 0 and at most 1", |keep| {
                keep > 0.0 && keep <= 1.0
            })?,
        })
    }
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Arm {
    /// New pages it led to.
    reward: f64,
    /// New pages found while it was pulled; with Thompson, rounds it had to show something.
    trials: f64,
    /// The round after its last fetch, or after its discovery.
    since: u32,
    tried: bool,
    host: HostId,
    /// How many links it had when last fetched.
    links: u32,
}

turnstone_frontier::saved!(Arm: reward, trials, since, tried, host, links);

/// The bandit.
#[derive(Debug)]
pub(crate) struct Bandit {
    settings: Settings,
    watch: Watch,
    random: Random,
    /// By page.
    arms: Vec<Arm>,
    /// New pages found so far, faded like the rewards.
    found: f64,
    round: u32,
    /// Pages ranked for the current round.
    queued: Vec<PageId>,
    /// Of these, those that came back, in order.
    pulled: Vec<PageId>,
    /// How many pages never tried were drawn for it, and of how many.
    drawn: (u64, u64),
    /// Pages never tried that were chosen for their links.
    hubs: BTreeSet<PageId>,
}

impl Bandit {
    pub(crate) fn new(settings: Settings, target: Target, seed: u64) -> Self {
        Self {
            settings,
            watch: Watch::new(Phase::Discovery, target),
            random: Random::new(seed),
            arms: Vec::new(),
            found: 0.0,
            round: 0,
            queued: Vec::new(),
            pulled: Vec::new(),
            drawn: (0, 0),
            hubs: BTreeSet::new(),
        }
    }

    /// The round is over: credits the arms that were pulled.
    fn learn(&mut self, seen: &Yield) {
        let keep = self.settings.keep;
        let found = f64::from(seen.arrivals.found());
        self.found = self.found * keep + found;
        let mut cover = seen.arrivals.cover();
        for page in std::mem::take(&mut self.pulled) {
            let arm = &mut self.arms[page.index()];
            let (reward, trials) = match self.settings.rule {
                Rule::Epsilon | Rule::Ucb { .. } => (seen.arrivals.led_to(page), found),
                Rule::Thompson { .. } => {
                    let waited = (seen.round + 1).saturating_sub(arm.since);
                    (cover.fetch(page), f64::from(waited.max(1)))
                }
            };
            arm.reward = arm.reward * keep + f64::from(reward);
            arm.trials = arm.trials * keep + trials;
            arm.since = seen.round + 1;
            arm.tried = true;
        }
    }

    fn choose(&mut self, budget: usize) -> Vec<PageId> {
        let scores = self.scores();
        let quota = match self.settings.rule {
            Rule::Thompson { .. } => budget,
            _ => ((1.0 - self.settings.epsilon) * budget as f64).round() as usize,
        };
        let mut chosen = by_score(scores);
        chosen.truncate(quota);
        if !matches!(self.settings.rule, Rule::Thompson { .. }) {
            self.explore(budget, &mut chosen);
        }
        chosen
    }

    /// Fills the budget with pages never tried, at random, then with those tried longest ago.
    fn explore(&mut self, budget: usize, chosen: &mut Vec<PageId>) {
        let pages = |tried: bool| {
            let arms = self.arms.iter().enumerate();
            let arms = arms.filter(move |(_, arm)| arm.tried == tried);
            arms.map(|(index, _)| PageId::from_index(index))
        };
        let mut untried: Vec<PageId> = pages(false).collect();
        let mut others: Vec<PageId> = Vec::new();
        if chosen.len() + untried.len() < budget {
            let taken: BTreeSet<PageId> = chosen.iter().copied().collect();
            others.extend(pages(true).filter(|page| !taken.contains(page)));
            others.sort_by_key(|page| (self.arms[page.index()].since, *page));
        }
        let wanted = budget.saturating_sub(chosen.len()).min(untried.len());
        let hubs = self.most_links(
            &untried,
            (self.settings.hubs * wanted as f64).round() as usize,
        );
        chosen.extend_from_slice(&hubs);
        self.hubs = hubs.into_iter().collect();
        untried.retain(|page| !self.hubs.contains(page));
        let wanted = wanted - self.hubs.len();
        self.drawn = (wanted as u64, untried.len() as u64);
        for place in 0..wanted {
            let left = (untried.len() - place) as u64;
            untried.swap(place, place + self.random.below(left) as usize);
        }
        chosen.extend_from_slice(&untried[..wanted]);
        others.truncate(budget.saturating_sub(chosen.len()));
        chosen.extend(others);
    }

    /// Of some pages those with most links: the best of each host, then each host's second.
    fn most_links(&self, pages: &[PageId], wanted: usize) -> Vec<PageId> {
        if wanted == 0 {
            return Vec::new();
        }
        let arm = |page: PageId| &self.arms[page.index()];
        let linking = pages.iter().copied().filter(|page| arm(*page).links > 0);
        let mut linking: Vec<PageId> = linking.collect();
        linking.sort_by_key(|page| (arm(*page).host, Reverse(arm(*page).links), *page));
        let hosts = linking.chunk_by(|a, b| arm(*a).host == arm(*b).host);
        let placed = hosts.flat_map(|pages| pages.iter().enumerate());
        let mut placed: Vec<(usize, PageId)> = placed.map(|(place, page)| (place, *page)).collect();
        placed.sort_by_key(|(place, page)| (*place, Reverse(arm(*page).links), *page));
        let best = placed.into_iter().map(|(_, page)| page);
        best.take(wanted).collect()
    }

    /// What the rule makes of each page it may exploit.
    fn scores(&mut self) -> Vec<(f64, PageId)> {
        let mut scores = Vec::new();
        let doubt = 2.0 * self.found.max(1.0).ln();
        for (index, arm) in self.arms.iter().enumerate() {
            let score = match self.settings.rule {
                Rule::Epsilon if arm.reward > 0.0 => arm.reward / arm.trials,
                Rule::Ucb { c } if arm.trials > 0.0 => {
                    arm.reward / arm.trials + c * (doubt / arm.trials).sqrt()
                }
                Rule::Epsilon | Rule::Ucb { .. } => continue,
                Rule::Thompson { prior } => {
                    let rate = gamma(&mut self.random, prior + arm.reward) / (1.0 + arm.trials);
                    rate * f64::from((self.round + 1).saturating_sub(arm.since).max(1))
                }
            };
            scores.push((score, PageId::from_index(index)));
        }
        scores
    }
}

/// A draw from the Gamma distribution with this shape and scale 1 (Marsaglia and Tsang 2000).
fn gamma(random: &mut Random, shape: f64) -> f64 {
    let boost = if shape < 1.0 {
        (1.0 - random.unit()).powf(1.0 / shape)
    } else {
        1.0
    };
    let d = (if shape < 1.0 { shape + 1.0 } else { shape }) - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        // 1 - unit is above 0, so its logarithm is finite.
        if v > 0.0 && (1.0 - random.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v * boost;
        }
    }
}

/// A draw from the normal distribution (Box and Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

impl Policy for Bandit {
    fn observe(&mut self, event: &Event<'_>, _: Tick, _: &dyn Links, ranking: &mut Ranking) {
        settle(event, ranking);
        if let Event::Fetched { page, links, .. } = *event {
            self.arms[page.index()].links = links.len() as u32;
        }
        match *event {
            Event::Discovered { page, host, .. } => {
                self.watch.discover(page, host);
                self.arms.push(Arm {
                    since: self.round + 1,
                    host,
                    ..Arm::default()
                });
            }
            Event::Fetched { page, links, .. } if self.watch.watching().is_some() => {
                self.watch.fetch(page, links);
                self.pull(page);
            }
            // Lost hand-outs are asked for again in this round.
            Event::Failed {
                page,
                fault: Fault::Gone | Fault::Refused | Fault::Unknown,
            }
            | Event::Moved { page, .. }
                if self.watch.watching().is_some() =>
            {
                self.pull(page);
            }
            Event::Round { round, budget } => {
                if let Some(seen) = self.watch.begin(round, budget) {
                    self.learn(&seen);
                }
                self.round = round;
                clear(&mut self.queued, ranking);
                if budget != RECRAWL {
                    self.queued = self.choose(usize::try_from(budget).unwrap_or(usize::MAX));
                    queue(&self.queued, ranking);
                }
            }
            Event::Fetched { .. }
            | Event::Failed { .. }
            | Event::Moved { .. }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. } => {}
        }
    }

    fn chance(&self, page: PageId, _: &Ranking) -> Chance {
        let untried = self.arms.get(page.index()).is_some_and(|arm| !arm.tried);
        let untried = untried && !self.hubs.contains(&page);
        match self.settings.rule {
            Rule::Epsilon | Rule::Ucb { .. } if untried => Chance::of(self.drawn.0, self.drawn.1),
            _ => Chance::CERTAIN,
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.watch.save(out)?;
        self.random.save(out)?;
        self.drawn.save(out)?;
        self.hubs.iter().copied().collect::<Vec<_>>().save(out)?;
        self.arms.save(out)?;
        self.found.save(out)?;
        self.round.save(out)?;
        self.queued.save(out)?;
        self.pulled.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.watch.restore(saved)?;
        self.random = Restore::restore(saved)?;
        self.drawn = Restore::restore(saved)?;
        let hubs: Vec<PageId> = Restore::restore(saved)?;
        self.hubs = hubs.into_iter().collect();
        self.arms = Restore::restore(saved)?;
        if self.arms.len() != self.watch.page_count() {
            return Err(corrupt("arms and pages that do not agree"));
        }
        self.found = Restore::restore(saved)?;
        self.round = Restore::restore(saved)?;
        self.queued = Restore::restore(saved)?;
        self.pulled = Restore::restore(saved)?;
        known_pages(&self.queued, self.arms.len())?;
        known_pages(&self.pulled, self.arms.len())
    }
}

impl Bandit {
    /// A page that was asked for came back, with or without its links.
    fn pull(&mut self, page: PageId) {
        if !self.watch.is_new(page) {
            self.pulled.push(page);
        }
    }
}

impl DiscoveryPolicy for Bandit {
    fn learns_from_rounds(&self) -> bool {
        true
    }
}
