//! What is believed of pages, and what a fetch is therefore worth: one currency for all arms.
//!
//! The currency is *page-days*: a day on which a page that is there is in the store as it is. A
//! page waits with a divergence D(t) since it was last fetched, and the worth of fetching it is
//! t·D(t) − ∫D (Olston and Pandey 2008): what has built up, less what would be had anyway by
//! fetching it later. So for
//!
//! - a stored page that changes Δ a day, of which X changes are expected since its copy:
//!   (1 − e^(−X)(1 + X))/Δ;
//! - a source that shows a new pages a day, which wait for it L days: aL²(1 − e^(−t/L)(1 + t/L)),
//!   about a·t²/2. A stored page is both: its worth is the sum, its arm that of the larger part;
//! - a page never fetched: the chance that it is there, times the days its copy will stay current
//!   within a horizon;
//! - a gone page that comes back r a day: (1 − e^(−rt)(1 + rt))/r, at most as a page never fetched; and as much as
//!   that once a page of its folder is back.
//!
//! Each is weighed as the user likes, and corrected by what requests of its arm brought lately.

use turnstone_frontier::{Arm, Tick};

use super::bursts::{Bursts, DAY_MS, Span};
use super::hints::{Hints, Proof};
use super::page::{Have, Page};
use super::rates::{Rates, Waits};
use super::returns::Returns;
use super::settings::Settings;
use super::sources::Sources;
use super::steady::{exp_gap, two_or_more};

/// What fetching a page now is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Worth {
    pub(super) arm: Arm,
    /// In page-days, weighed and corrected.
    pub(super) days: f64,
    /// What the arm expects: changes, pages found, pages stored or back.
    pub(super) expected: f64,
}

/// By what each arm's worth is to be corrected.
pub(super) type Corrections = [f64; 4];

/// No arm is corrected.
pub(super) const AS_SAID: Corrections = [1.0; 4];

/// Everything that is believed.
#[derive(Debug)]
pub(super) struct Beliefs {
    pub(super) settings: Settings,
    pub(super) bursts: Bursts,
    rates: Rates,
    sources: Sources,
    returns: Returns,
    hints: Hints,
}

impl Beliefs {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            rates: Rates::new(settings.pooling()),
            bursts: Bursts::new(settings.doubt()),
            sources: Sources::new(settings.trust()),
            returns: Returns::default(),
            hints: Hints::default(),
            settings,
        }
    }

    /// What fetching a page now is worth; nothing if we may not. `usual_days` is the age of its
    /// copy, if it has one.
    pub(super) fn worth(
        &self,
        page: &Page,
        usual_days: f64,
        now: Tick,
        corrections: &Corrections,
    ) -> Option<Worth> {
        let days = days_between(page.seen_at, now);
        match page.have {
            Have::Refusal => None,
            Have::Nothing => Some(self.coverage(page, corrections)),
            Have::Absence => Some(self.retest(page, days, corrections)),
            Have::Copy => Some(self.again(page, usual_days, days, corrections)),
        }
    }

    fn coverage(&self, page: &Page, corrections: &Corrections) -> Worth {
        let expected = self.returns.there(page.site);
        let arm = Arm::Coverage;
        Worth {
            arm,
            days: self.settings.stored * corrections[arm.index()] * expected * self.life(page),
            expected,
        }
    }

    fn retest(&self, page: &Page, days: f64, corrections: &Corrections) -> Worth {
        let (waiting, expected) = if page.misses == 0 {
            let there = self.returns.there(page.site);
            (there * self.life(page), there)
        } else {
            let rate = self.returns.rate(page.was_stored, page.misses);
            let waiting = (two_or_more(rate * days) / rate).min(self.life(page));
            (waiting, exp_gap(rate * days))
        };
        let arm = Arm::Retest;
        Worth {
            arm,
            days: self.settings.stored * corrections[arm.index()] * waiting,
            expected,
        }
    }

    fn again(&self, page: &Page, usual_days: f64, days: f64, corrections: &Corrections) -> Worth {
        let rate = self.rates.rate(page.home(), page.seen());
        let built_up = self
            .hints
            .built_up(page.site, rate * usual_days, rate, page.hints);
        let refresh = self.settings.changed * two_or_more(built_up) / rate;
        let refresh = refresh * corrections[Arm::Refresh.index()];
        let lasting = self.settings.lasting_days;
        let shows = self.sources.rate(page.site, page.kind(), page.shown());
        let waits = days / lasting;
        let discovery = self.settings.found * shows * lasting * lasting * two_or_more(waits);
        let discovery = discovery * corrections[Arm::Discovery.index()];
        let (arm, expected) = if discovery > refresh {
            (Arm::Discovery, shows * lasting * exp_gap(waits))
        } else {
            (Arm::Refresh, exp_gap(built_up))
        };
        Worth {
            arm,
            days: refresh + discovery,
            expected,
        }
    }

    /// How long a copy of a page never visited before will stay current, within the horizon.
    fn life(&self, page: &Page) -> f64 {
        1.0 / (self.rates.prior(page.home()) + 1.0 / self.settings.horizon_days)
    }

    /// A page was there, or was not: what that says of it and of others. The caller then notes the
    /// new copy.
    pub(super) fn learn(&mut self, page: &mut Page, verdict: Lesson, now: Tick) {
        let days = days_between(page.seen_at, now);
        match page.have {
            Have::Nothing | Have::Refusal => self.returns.first(page.site, verdict.is_there),
            Have::Absence => {
                self.returns
                    .learn(page.was_stored, page.misses, days, verdict.is_there);
            }
            Have::Copy if days > 0.0 => {
                self.learn_change(page, verdict.changed, now);
                let mut shown = page.shown();
                if verdict.is_there {
                    let found = f64::from(verdict.found);
                    self.sources
                        .learn(page.site, page.kind(), &mut shown, found, days);
                }
                page.set_shown(shown);
            }
            Have::Copy => {}
        }
    }

    fn learn_change(&mut self, page: &mut Page, changed: bool, now: Tick) {
        let home = page.home();
        let usual_days = self.bursts.usual_days(home, page.seen_at, now);
        let rate = self.rates.rate(home, page.seen());
        let seen = Waits::of_visit(usual_days, changed, rate);
        self.rates.learn(home, seen);
        page.add_seen(seen);
        let span = Span {
            from: page.seen_at,
            to: now,
            changed,
        };
        self.bursts.learn(home, rate, span);
        let proof = Proof {
            hinted: page.hints > 0,
            changed,
            expected: exp_gap(rate * usual_days),
            days: days_between(page.seen_at, now),
        };
        self.hints.learn(page.site, proof);
    }

    turnstone_frontier::saved_in_place!(pub(super) [mut rates, mut bursts, mut sources, mut returns, mut hints]);
}

/// What an answer said of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lesson {
    pub(super) is_there: bool,
    /// Whether our copy was out of date, if there was one.
    pub(super) changed: bool,
    /// Pages that nobody knew before.
    pub(super) found: u32,
}

pub(super) fn days_between(from: Tick, to: Tick) -> f64 {
    to.0.saturating_sub(from.0) as f64 / DAY_MS
}
