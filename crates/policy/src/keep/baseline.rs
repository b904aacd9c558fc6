//! What crawlers do today, with the same budget and under the same rules, for comparison.
//!
//! New pages are fetched first, in the order in which they were found; what is left of a round goes
//! to the pages a rule puts first. A page that was not there stays in turn, and is given up when it
//! was missed three times in a row.
//!
//! - [`Uniform`]: the page asked for longest ago. All pages in turn.
//! - [`Interval`]: the page most overdue by an interval of its own, which shrinks by a fifth after a
//!   change and grows by two fifths after none, within a minute and a year, from 30 days on; half
//!   as long again after a page was not there (Apache Nutch's `AdaptiveFetchSchedule` with its
//!   defaults: `dec_rate` 0.2, `inc_rate` 0.4). Where Nutch would leave budget unspent because
//!   nothing is due, the page due next is fetched.
//!
//! Cost: O(pages) a round.

use std::io;

use turnstone_frontier::{Change, Event, Fault, Links, PageId, Place, Policy, Ranking, Tick};

/// Misses in a row after which a page is given up.
const MISSES_MAX: u8 = 3;
/// Milliseconds of a day.
const DAY_MS: f64 = 86_400_000.0;
/// No interval is shorter or longer, in days: a minute, a year.
const INTERVAL_DAYS: (f64, f64) = (1.0 / 1440.0, 365.0);
/// What an interval grows by when the page was not there.
const GONE_GROWS: f64 = 1.5;

/// Puts pages in order.
pub trait Rule: Send {
    /// A page is known from now on.
    fn know(&mut self);

    /// What was seen of a page.
    fn learn(&mut self, page: PageId, outcome: Sight);

    /// When a page that was asked for at `asked` should be asked for again.
    fn due(&self, page: PageId, asked: Tick) -> u64;

    /// Writes what it learnt.
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()>;

    /// Becomes what was saved.
    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()>;
}

/// What was seen of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// There, and not as our copy.
    Changed,
    /// There, and as our copy.
    Unchanged,
    /// Not there.
    Gone,
}

/// All pages in turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl Rule for Uniform {
    fn know(&mut self) {}

    fn learn(&mut self, _: PageId, _: Sight) {}

    fn due(&self, _: PageId, asked: Tick) -> u64 {
        asked.0
    }

    fn save(&self, _: &mut dyn io::Write) -> io::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut dyn io::Read) -> io::Result<()> {
        Ok(())
    }
}

/// How intervals change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// What an interval shrinks by after a change, as a share of itself.
    pub shrink: f64,
    /// What it grows by after none.
    pub grow: f64,
    /// The first interval.
    pub initial_days: f64,
}

/// Intervals that shrink and grow.
#[derive(Debug)]
pub struct Interval {
    steps: Steps,
    /// By page.
    days: Vec<f32>,
}

impl Interval {
    /// Intervals of all pages alike at first.
    pub fn new(steps: Steps) -> Self {
        let days = Vec::new();
        Self { steps, days }
    }
}

impl Rule for Interval {
    fn know(&mut self) {
        self.days.push(self.steps.initial_days as f32);
    }

    fn learn(&mut self, page: PageId, outcome: Sight) {
        let factor = match outcome {
            Sight::Changed => 1.0 - self.steps.shrink,
            Sight::Unchanged => 1.0 + self.steps.grow,
            Sight::Gone => GONE_GROWS,
        };
        let days = &mut self.days[page.index()];
        let (least, most) = INTERVAL_DAYS;
        *days = (f64::from(*days) * factor).clamp(least, most) as f32;
    }

    fn due(&self, page: PageId, asked: Tick) -> u64 {
        asked.0 + (f64::from(self.days[page.index()]) * DAY_MS) as u64
    }

    turnstone_frontier::saved_in_place!([days],
        |it| it.days.iter().any(|days| !days.is_finite()) => "an interval that is no number");
}

/// New pages as they come, then what the rule puts first.
#[derive(Debug)]
pub struct InTurn<R> {
    rule: R,
    /// By page: when it was last asked for, if it was.
    asked: Vec<Option<Tick>>,
    /// By page: misses in a row.
    misses: Vec<u8>,
    queued: Vec<PageId>,
    has_begun: bool,
}

impl<R: Rule> InTurn<R> {
    /// Follows a rule.
    pub fn new(rule: R) -> Self {
        Self {
            rule,
            asked: Vec::new(),
            misses: Vec::new(),
            queued: Vec::new(),
            has_begun: false,
        }
    }

    fn begin(&mut self, budget: u64, ranking: &mut Ranking) {
        self.has_begun = true;
        self.queued.retain(|page| {
            let is_out = ranking.place(*page) == Place::InFlight;
            if !is_out {
                ranking.take(*page);
            }
            is_out
        });
        let mut order: Vec<(u64, PageId)> = Vec::new();
        for (index, asked) in self.asked.iter().enumerate() {
            let page = PageId::from_index(index);
            if ranking.place(page) == Place::InFlight {
                continue;
            }
            match asked {
                None => order.push((0, page)),
                // After all new pages.
                Some(asked) if self.misses[index] < MISSES_MAX => {
                    order.push((self.rule.due(page, *asked).saturating_add(1), page));
                }
                Some(_) => {}
            }
        }
        let wanted = usize::try_from(budget).map_or(order.len(), |budget| budget.min(order.len()));
        if wanted > 0 && wanted < order.len() {
            order.select_nth_unstable(wanted - 1);
        }
        order.truncate(wanted);
        order.sort_unstable();
        for (place, (_, page)) in order.into_iter().enumerate() {
            self.queue(page, (1 << 62) - place as u64, ranking);
        }
    }

    fn queue(&mut self, page: PageId, rank: u64, ranking: &mut Ranking) {
        ranking.set(page, rank);
        ranking.queue(page);
        self.queued.push(page);
    }

    fn settle(&mut self, page: PageId, outcome: Option<Sight>, now: Tick, ranking: &mut Ranking) {
        ranking.take(page);
        let first = self.asked[page.index()].replace(now).is_none();
        let misses = &mut self.misses[page.index()];
        match outcome {
            Some(Sight::Gone) => *misses = misses.saturating_add(1),
            Some(_) => *misses = 0,
            None => {}
        }
        if let Some(outcome) = outcome.filter(|outcome| !first || *outcome == Sight::Gone) {
            self.rule.learn(page, outcome);
        }
    }
}

impl<R: Rule> Policy for InTurn<R> {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                self.asked.push(None);
                self.misses.push(0);
                self.rule.know();
                if self.has_begun {
                    // Before all that is in turn, the first found first.
                    self.queue(page, (1 << 63) - u64::from(page.0), ranking);
                }
            }
            Event::Round { budget, .. } => self.begin(budget, ranking),
            Event::Fetched { page, change, .. } => {
                let outcome = match change {
                    Change::Unchanged => Sight::Unchanged,
                    Change::New | Change::Changed => Sight::Changed,
                };
                self.settle(page, Some(outcome), now, ranking);
            }
            Event::Moved { page, .. }
            | Event::Failed {
                page,
                fault: Fault::Gone,
            } => self.settle(page, Some(Sight::Gone), now, ranking),
            Event::Failed { page, .. } => self.settle(page, None, now, ranking),
            Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. } => {}
        }
    }

    turnstone_frontier::saved_in_place!([asked, misses, queued, has_begun, mut rule],
        |it| it.asked.len() != it.misses.len() => "misses of pages that are not known");
}
