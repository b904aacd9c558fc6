//! What each page is worth to `keep`, worked out from the whole history at every round.
//!
//! Slow and obvious: the history is read from its beginning every time, factors of weeks are looked up
//! in maps, ages are added up week by week, and the library's exponential is used.

use std::collections::BTreeMap;

use proptest::prelude::*;
use turnstone_frontier::{Arm, Change, PageId};
use turnstone_policy::Spec;
use turnstone_policy::keep::{self, Settings};

use crate::keep_web::{Keeping, Told, moving_web};

/// 1 − e^(−x)(1 + x), by its series where that loses nothing.
fn two_or_more(x: f64) -> f64 {
    if x < 0.01 {
        return x * x * (0.5 - x / 3.0 + x * x / 8.0 - x * x * x / 30.0);
    }
    1.0 - (-x).exp() * (1.0 + x)
}

fn gap(x: f64) -> f64 {
    -(-x).exp_m1()
}

fn posterior(seen: (f64, f64), prior: f64, weight: f64) -> f64 {
    (seen.0 + weight) / (seen.1 + weight / prior)
}

/// Site, whether it is by source, and the source or directory.
type Group = (u32, bool, u32);

#[derive(Clone, Copy, PartialEq)]
enum Have {
    Nothing,
    Copy,
    Absence,
    Refusal,
}

#[derive(Clone)]
struct Page {
    site: u32,
    group: Option<Group>,
    have: Have,
    was_stored: bool,
    misses: u32,
    faults: u32,
    hints: f64,
    /// The day of the last verdict, and the hour before which it is not asked for.
    seen: f64,
    not_before_hours: f64,
    changes: (f64, f64),
    shown: (f64, f64),
    links: usize,
    linked: usize,
}

#[derive(Default)]
struct Model {
    pages: Vec<Page>,
    /// Changes and usual days.
    by_group: BTreeMap<Group, (f64, f64)>,
    by_site: BTreeMap<u32, (f64, f64)>,
    all: (f64, f64),
    /// Changes in a week and how many were expected.
    site_weeks: BTreeMap<(u32, u64), (f64, f64)>,
    group_weeks: BTreeMap<(Group, u64), (f64, f64)>,
    /// New pages shown, and days; by kind, and how many were expected.
    shown: (f64, f64),
    shown_by_site: BTreeMap<u32, (f64, f64)>,
    shown_by_kind: BTreeMap<(u32, u32), (f64, f64)>,
    returns: BTreeMap<(bool, u32), (f64, f64)>,
    first: (f64, f64),
    first_by_site: BTreeMap<u32, (f64, f64)>,
    /// By site: fetches after a hint, those that found a change, changes, days.
    hints: BTreeMap<u32, [f64; 5]>,
    /// By arm: expected, came, spent, all fading.
    arms: [[f64; 3]; 4],
    has_begun: bool,
    unclaimed: usize,
}

fn add_all(sums: &mut [f64; 5], more: [f64; 5]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

fn add(to: &mut (f64, f64), what: (f64, f64)) {
    to.0 += what.0;
    to.1 += what.1;
}

fn visit(days: f64, changed: bool, believed: f64) -> (f64, f64) {
    let x = believed * days;
    match changed {
        false => (0.0, days),
        true if x < 1e-4 => (1.0, 0.5 * days),
        true => (1.0, 1.0 / believed - days / x.exp_m1()),
    }
}

impl Model {
    fn factor(&self, page: &Page, week: u64) -> (f64, f64) {
        let doubt = Settings::default().burst;
        let of = |seen: Option<&(f64, f64)>| seen.map_or(1.0, |s| (doubt + s.0) / (doubt + s.1));
        let group = page.group.map(|group| (group, week));
        (
            of(self.site_weeks.get(&(page.site, week))),
            group.map_or(1.0, |key| of(self.group_weeks.get(&key))),
        )
    }

    /// The weeks from one day to another, with the days of each.
    fn weeks(from: f64, to: f64) -> Vec<(u64, f64)> {
        let mut weeks = Vec::new();
        let mut start = from;
        while start < to {
            let week = (start / 7.0).floor();
            let end = (7.0 * (week + 1.0)).min(to);
            weeks.push((week as u64, end - start));
            start = end;
        }
        weeks
    }

    fn usual_days(&self, page: &Page, now: f64) -> f64 {
        let weeks = Self::weeks(page.seen, now).into_iter();
        weeks
            .map(|(week, days)| {
                let (site, group) = self.factor(page, week);
                days * site * group
            })
            .sum()
    }

    fn prior(&self, page: &Page) -> f64 {
        let all = posterior(self.all, 1.0 / 60.0, 0.5);
        let site = self.by_site.get(&page.site).copied().unwrap_or_default();
        let site = posterior(site, all, 0.5);
        let group = page.group.and_then(|group| self.by_group.get(&group));
        posterior(group.copied().unwrap_or_default(), site, 0.5)
    }

    fn rate(&self, page: &Page) -> f64 {
        posterior(page.changes, self.prior(page), Settings::default().pool).max(1e-4)
    }

    fn kind(page: &Page) -> (u32, u32) {
        let class = |count: usize| (usize::BITS - count.leading_zeros()).min(11);
        (class(page.links), class(page.linked))
    }

    fn site_shows(&self, site: u32) -> f64 {
        let all = posterior(self.shown, 0.002, 0.5);
        let site = self.shown_by_site.get(&site).copied().unwrap_or_default();
        posterior(site, all, 0.5)
    }

    fn shows(&self, page: &Page) -> f64 {
        let kind = self.shown_by_kind.get(&Self::kind(page));
        let (came, expected) = kind.copied().unwrap_or_default();
        let factor = (came + 0.5) / (expected + 0.5);
        posterior(page.shown, self.site_shows(page.site) * factor, 0.02)
    }

    fn comes_back(&self, page: &Page) -> f64 {
        let misses = page.misses.clamp(1, 8);
        let seen = self.returns.get(&(page.was_stored, misses));
        let prior = 0.02 / f64::from(1u32 << (misses - 1));
        posterior(seen.copied().unwrap_or_default(), prior, 0.5)
    }

    fn there(&self, site: u32) -> f64 {
        let all = (self.first.1 + 4.0 * 0.9) / (self.first.0 + 4.0);
        let (asked, there) = self.first_by_site.get(&site).copied().unwrap_or_default();
        (there + 4.0 * all) / (asked + 4.0)
    }

    fn built_up(&self, page: &Page, expected: f64, rate: f64) -> f64 {
        let [hinted, proven, quiet, awaited, days] =
            self.hints.get(&page.site).copied().unwrap_or_default();
        let recall = (1.0 - ((quiet + 2.0) / (awaited + 2.0)).min(1.0)) * proven / (proven + 2.0);
        let silent = (1.0 - recall) * expected;
        if page.hints == 0.0 {
            return silent;
        }
        let wrong = ((hinted - proven + 1.0) / (days + 200.0)).max(1e-4);
        let announced = recall.max(1.0 / (hinted + 2.0)) * rate;
        silent + (page.hints * ((announced + wrong) / wrong).ln()).min(30.0)
    }

    /// The arm, what it expects, and the worth.
    fn worth(&self, page: &Page, now: f64, correct: bool) -> Option<(Arm, f64, f64)> {
        let settings = Settings::default();
        let correction = |arm: Arm| {
            let [expected, came, spent] = self.arms[arm.index()];
            let usual = if spent > 0.0 {
                16.0 * expected / spent
            } else {
                1.0
            };
            match correct && expected + usual > 0.0 {
                true => ((came + usual) / (expected + usual)).clamp(0.125, 8.0),
                false => 1.0,
            }
        };
        let life = 1.0 / (self.prior(page) + 1.0 / settings.horizon_days);
        let days = now - page.seen;
        Some(match page.have {
            Have::Refusal => return None,
            Have::Nothing => {
                let there = self.there(page.site);
                let worth = settings.stored * correction(Arm::Coverage) * there * life;
                (Arm::Coverage, there, worth)
            }
            // A page of its folder is back.
            Have::Absence if page.misses == 0 => {
                let there = self.there(page.site);
                let worth = settings.stored * correction(Arm::Retest) * there * life;
                (Arm::Retest, there, worth)
            }
            Have::Absence => {
                let rate = self.comes_back(page);
                let waiting = (two_or_more(rate * days) / rate).min(life);
                let worth = settings.stored * correction(Arm::Retest) * waiting;
                (Arm::Retest, gap(rate * days), worth)
            }
            Have::Copy => {
                let rate = self.rate(page);
                let built_up = self.built_up(page, rate * self.usual_days(page, now), rate);
                let refresh = two_or_more(built_up) / rate * settings.changed;
                let refresh = refresh * correction(Arm::Refresh);
                let (shows, lasting) = (self.shows(page), settings.lasting_days);
                let found = settings.found * shows * lasting * lasting;
                let found = found * two_or_more(days / lasting) * correction(Arm::Discovery);
                match found > refresh {
                    true => (
                        Arm::Discovery,
                        shows * lasting * gap(days / lasting),
                        refresh + found,
                    ),
                    false => (Arm::Refresh, gap(built_up), refresh + found),
                }
            }
        })
    }

    fn learn_change(&mut self, at: usize, changed: bool, now: f64) {
        let page = self.pages[at].clone();
        let (rate, usual) = (self.rate(&page), self.usual_days(&page, now));
        let seen = visit(usual, changed, rate);
        add(&mut self.pages[at].changes, seen);
        add(self.by_site.entry(page.site).or_default(), seen);
        add(&mut self.all, seen);
        if let Some(group) = page.group {
            add(self.by_group.entry(group).or_default(), seen);
        }
        let scale = if changed {
            1.0 / gap(rate * usual)
        } else {
            0.0
        };
        for (week, days) in Self::weeks(page.seen, now) {
            let (site, group) = self.factor(&page, week);
            let came = rate * days * site * group * scale;
            add(
                self.site_weeks.entry((page.site, week)).or_default(),
                (came, rate * days * group),
            );
            if let Some(key) = page.group {
                add(
                    self.group_weeks.entry((key, week)).or_default(),
                    (came, rate * days * site),
                );
            }
        }
        let hints = self.hints.entry(page.site).or_default();
        let one = f64::from(u8::from(changed));
        if page.hints > 0.0 {
            add_all(hints, [1.0, one, 0.0, 0.0, now - page.seen]);
        } else {
            add_all(hints, [0.0, 0.0, one, gap(rate * usual), now - page.seen]);
        }
    }

    /// Takes in an answer: whether it was there, whether it changed, and the pages found.
    fn learn(&mut self, at: usize, is_there: bool, changed: bool, found: usize, now: f64) {
        let page = self.pages[at].clone();
        let days = now - page.seen;
        match page.have {
            Have::Nothing | Have::Refusal => {
                let first = (1.0, f64::from(u8::from(is_there)));
                add(&mut self.first, first);
                add(self.first_by_site.entry(page.site).or_default(), first);
            }
            Have::Absence => {
                let seen = visit(days, is_there, self.comes_back(&page));
                let misses = page.misses.clamp(1, 8);
                add(
                    self.returns.entry((page.was_stored, misses)).or_default(),
                    seen,
                );
            }
            Have::Copy if days > 0.0 => {
                self.learn_change(at, changed, now);
                if is_there {
                    let came = found as f64;
                    let expected = self.site_shows(page.site) * days;
                    let kind = self.shown_by_kind.entry(Self::kind(&page)).or_default();
                    add(kind, (came, expected));
                    add(
                        self.shown_by_site.entry(page.site).or_default(),
                        (came, days),
                    );
                    add(&mut self.shown, (came, days));
                    let own = &mut self.pages[at].shown;
                    *own = (0.95 * own.0 + came, 0.95 * own.1 + days);
                }
            }
            Have::Copy => {}
        }
    }

    fn claim(&mut self, source: usize, links: &[usize]) -> usize {
        let is_first = !self.pages[source].was_stored;
        let mut found = 0;
        for &link in links {
            let is_new = link >= self.unclaimed;
            let page = &mut self.pages[link];
            page.linked += usize::from(is_first || is_new);
            if is_new && page.have == Have::Nothing {
                found += 1;
                page.group = page.group.or(Some((page.site, true, source as u32)));
            }
        }
        self.unclaimed = self.pages.len();
        found
    }

    /// Up to eight gone pages of the group, and up to eight of the links, are expected back.
    fn recall(&mut self, group: Option<Group>, links: &[usize]) {
        let lost = |page: &Page| page.have == Have::Absence && page.was_stored && page.misses > 0;
        let of_group = |at: &usize| group.is_some() && self.pages[*at].group == group;
        let all = (0..self.pages.len()).filter(|at| lost(&self.pages[*at]));
        let mut called: Vec<usize> = all.filter(of_group).take(8).collect();
        let linked = links.iter().copied().filter(|at| lost(&self.pages[*at]));
        called.extend(linked.take(8));
        for at in called {
            self.pages[at].misses = 0;
        }
    }

    fn answer(&mut self, at: usize, told: &Told, now: f64, arm: Option<Arm>) {
        let before = self.pages[at].clone();
        let said = self.worth(&before, now, false);
        let verdict = match told {
            Told::Page { change, links, .. } => {
                let found = self.claim(at, links);
                Some((true, *change != Change::Unchanged, found))
            }
            Told::Gone { .. } => Some((false, true, 0)),
            _ => None,
        };
        if let Some((is_there, changed, found)) = verdict {
            self.learn(at, is_there, changed, found, now);
        }
        let page = &mut self.pages[at];
        match told {
            Told::Refused { .. } => page.have = Have::Refusal,
            Told::NoVerdict { .. } => {
                page.not_before_hours = 24.0 * now + f64::from(4u32.pow(page.faults.min(5)));
                page.faults += 1;
            }
            _ => {
                if let Told::Page { links, .. } = told {
                    (page.have, page.links) = (Have::Copy, links.len());
                    (page.was_stored, page.misses) = (true, 0);
                } else {
                    page.have = Have::Absence;
                    page.misses += 1;
                }
                (page.seen, page.hints, page.faults) = (now, 0.0, 0);
                page.not_before_hours = 0.0;
            }
        }
        if let Told::Page { links, .. } = told
            && before.have == Have::Absence
            && before.was_stored
        {
            self.recall(before.group, links);
        }
        let Some(arm) = arm.filter(|_| !matches!(told, Told::Refused { .. })) else {
            return;
        };
        let fading = &mut self.arms[arm.index()];
        for number in fading.iter_mut() {
            *number *= 1.0 - 1.0 / 256.0;
        }
        fading[2] += 1.0;
        if let (Some((is_there, changed, found)), Some((as_said, expected, _))) = (verdict, said)
            && as_said == arm
        {
            fading[0] += expected;
            fading[1] += match arm {
                Arm::Discovery => found as f64,
                Arm::Refresh => f64::from(u8::from(before.have == Have::Copy && changed)),
                _ => f64::from(u8::from(before.have != Have::Copy && is_there)),
            };
        }
    }

    /// Everything that was told, from the beginning.
    fn read(told: &[(u64, Told)], arms: &[Option<Arm>]) -> Self {
        let mut model = Self::default();
        let mut arms = arms.iter().copied();
        for (day, told) in told {
            let now = *day as f64;
            match told {
                Told::Discovered { site, directory } => model.pages.push(Page {
                    site: *site,
                    group: directory.map(|directory| (*site, false, directory)),
                    have: Have::Nothing,
                    was_stored: false,
                    misses: 0,
                    faults: 0,
                    hints: 0.0,
                    seen: 0.0,
                    not_before_hours: 0.0,
                    changes: (0.0, 0.0),
                    shown: (0.0, 0.0),
                    links: 0,
                    linked: 0,
                }),
                Told::Page { page, .. }
                | Told::Gone { page }
                | Told::NoVerdict { page }
                | Told::Refused { page } => {
                    let arm = model.has_begun.then(|| arms.next().flatten()).flatten();
                    model.answer(*page, told, now, arm);
                }
                Told::Hinted { page } => model.pages[*page].hints += 1.0,
                Told::Round { .. } => model.has_begun = true,
            }
        }
        model
    }
}

/// What the policy ranks a page at, in page-days.
fn ranked(crawl: &Keeping<'_>, page: usize) -> f64 {
    let rank = crawl.scheduler.ranking().rank(PageId::from_index(page));
    (rank & ((1 << 62) - 1)) as f64 / (1u64 << 30) as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_page_is_worth_what_its_history_says(web in moving_web(), fault_every in 3usize..12) {
        // What pages count for has a reference of its own.
        let spec: Spec = "keep:importance=0".parse().unwrap();
        let mut crawl = Keeping::start(&web, keep::build(&spec, 1).unwrap());
        crawl.fault_every = fault_every;
        while crawl.step() {
            let Some(&(day, Told::Round { budget })) = crawl.told.last() else {
                continue;
            };
            let model = Model::read(&crawl.told, &crawl.arms);
            for (number, page) in model.pages.iter().enumerate() {
                let worth = model.worth(page, day as f64, true);
                let asked = worth.filter(|_| budget > 0 && page.not_before_hours <= 24.0 * day as f64);
                let wanted = asked.map_or(0.0, |(_, _, worth)| worth);
                let got = ranked(&crawl, number);
                prop_assert!(
                    (got - wanted).abs() <= 1e-4 * wanted + 1e-8,
                    "page {} on day {}: {} is not {}", number, day, got, wanted
                );
                if let Some((arm, ..)) = asked {
                    prop_assert_eq!(crawl.scheduler.arm(PageId::from_index(number)), Some(arm));
                }
            }
        }
    }
}
