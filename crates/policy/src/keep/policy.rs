//! The policy: at every round the requests worth most, whatever their arm, with floors kept.
//!
//! All pages are valued once a round ([`beliefs`](super::beliefs)) and the best ranked by their
//! worth, so the last request of each arm is worth the same but for floors; a page found within a
//! round is ranked at once. Between rounds every answer teaches. A request is booked in the arm it was
//! asked for, with all that it brought; one that was not planned (asked for before a restart, or by
//! another policy) in the arm that fits the page.
//!
//! Cost: O(pages) a round with one or two exponentials a page; O(links + weeks) a fetch; 60 bytes a
//! page, the entry in the ranking and 17 bytes for importance not counted.
//! Invariant: every answered request of a round is booked in exactly one arm. Nothing but the events,
//! what is known of pages' links and folders when they are told, and the seed decides.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{
    Arm, Change, Ends, Event, Fault, Links, PageId, Place, Policy, Rank, Ranking, Report, Restore,
    Save, Split, Tick, corrupt,
};

use super::accounts::{Accounts, Booking, Planned};
use super::beliefs::{AS_SAID, Beliefs, Lesson};
use super::choice::{Best, Candidate};
use super::lists::Lists;
use super::page::{Have, Page};
use super::recall::{Gone, RECALLED_EACH, is_lost};
use super::settings::Settings;
use crate::importance::Standing;

/// Pages that a floor pays for rank from here on.
const FLOOR: Rank = 1 << 62;
/// Units of rank for a page-day.
const DAY_RANK: f64 = (1u64 << 30) as f64;
/// How many pages beyond the budget are ranked, so that a host that may not be asked now does not
/// leave the rest of the budget idle: this part of it, and a few.
const MARGIN_PART: u64 = 4;
const MARGIN_LEAST: u64 = 16;
/// A page without a verdict rests an hour, and four times as long after each further one, so many
/// times at most.
const REST_MS: u64 = 3_600_000;
const REST_TIMES_MAX: u8 = 5;

/// Importance is passed on as soon as it is a tenth of what a page begins with: what is worth asking for
/// is not known better than that.
const EXACTNESS: u32 = 10;
/// Links along which importance is passed on after each answer, and by page at each round.
const LINKS_AN_ANSWER: usize = 256;
const LINKS_A_PAGE: usize = 4;

/// What a group is: pages of one site, and of one directory or first linked to by one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    site: u32,
    by: By,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// A folder, by its number.
    Folder(u64),
    /// A page that first linked to them.
    Source(u32),
}

/// The policy.
pub struct Keep {
    seed: u64,
    beliefs: Beliefs,
    standing: Standing,
    lists: Lists,
    accounts: Accounts,
    pages: Vec<Page>,
    groups: BTreeMap<GroupKey, u32>,
    /// Pages ranked in this round, and those of earlier ones that are still in flight.
    queued: Vec<PageId>,
    /// Pages from this number on were discovered since the last answer.
    unclaimed: u32,
    gone: Gone,
}

impl Keep {
    /// A policy with these settings. The seed breaks ties.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            seed,
            beliefs: Beliefs::new(settings),
            standing: Standing::new(EXACTNESS),
            lists: Lists::default(),
            accounts: Accounts::new(settings.floors),
            pages: Vec::new(),
            groups: BTreeMap::new(),
            queued: Vec::new(),
            unclaimed: 0,
            gone: Gone::default(),
        }
    }

    fn discover(&mut self, page: PageId, site: u32, folder: Option<u64>) {
        assert_eq!(page.index(), self.pages.len(), "page ids are dense");
        let group = match folder {
            Some(folder) => self.group(site, By::Folder(folder)),
            None => Page::NONE,
        };
        self.pages.push(Page::new(site, group));
        self.standing.know();
    }

    /// What a page matters: 1 is the average, and all that counts where importance does not.
    fn weight(&self, page: PageId) -> f64 {
        let dial = self.beliefs.settings.importance;
        let counts = self.lists.counts(page, self.standing.of(page));
        1.0 + dial * (counts - 1.0)
    }

    fn group(&mut self, site: u32, by: By) -> u32 {
        let next = self.groups.len() as u32;
        *self.groups.entry(GroupKey { site, by }).or_insert(next)
    }

    /// A round: everything is valued anew.
    fn begin(&mut self, round: u32, budget: u64, now: Tick, ranking: &mut Ranking) {
        self.clear(ranking);
        let due = self.accounts.begin(round, budget);
        let margin = budget / MARGIN_PART + MARGIN_LEAST;
        let wanted = if budget == 0 {
            0
        } else {
            budget.saturating_add(margin)
        };
        let known = self.pages.len();
        let limit = |count: u64| usize::try_from(count).map_or(known, |count| count.min(known));
        let mut best = Best::of(limit(wanted));
        let mut by_arm = due.map(|due| Best::of(limit(due)));
        let mut planned = [Planned::default(); 4];
        self.each_candidate(now, |candidate| {
            planned[candidate.arm.index()].candidates += 1;
            by_arm[candidate.arm.index()].offer(candidate);
            best.offer(candidate);
        });
        let mut left = budget;
        let floored = by_arm.map(Best::finish).into_iter().flatten();
        let floored = floored.map(|candidate| (candidate, FLOOR));
        let others = best.finish().into_iter().map(|candidate| (candidate, 0));
        for (candidate, base) in floored.chain(others) {
            if self.pages[candidate.page.index()].arm.is_some() {
                continue;
            }
            self.queue(candidate, base, ranking);
            if left > 0 {
                left -= 1;
                let planned = &mut planned[candidate.arm.index()];
                planned.requests += 1;
                planned.by_floor += u64::from(base == FLOOR);
                planned.marginal = candidate.worth;
            }
        }
        self.accounts.plan(planned);
    }

    /// Every page that may be asked for, valued.
    fn each_candidate(&self, now: Tick, mut offer: impl FnMut(Candidate)) {
        let mut ages = self.beliefs.bursts.ages(now);
        let corrections = Arm::ALL.map(|arm| self.accounts.correction(arm));
        for (index, page) in self.pages.iter().enumerate() {
            if page.arm.is_some() || page.not_before > now {
                continue;
            }
            let usual_days = match page.have {
                Have::Copy => ages.age(page.home(), page.seen_at),
                _ => 0.0,
            };
            let worth = self.beliefs.worth(page, usual_days, now, &corrections);
            let Some(worth) = worth else { continue };
            let page = PageId::from_index(index);
            offer(Candidate {
                worth: worth.days * self.weight(page),
                lot: lot(self.seed, page),
                page,
                arm: worth.arm,
            });
        }
    }

    fn queue(&mut self, candidate: Candidate, base: Rank, ranking: &mut Ranking) {
        self.pages[candidate.page.index()].arm = Some(candidate.arm);
        self.queued.push(candidate.page);
        let rank = ((candidate.worth * DAY_RANK) as u64).clamp(1, FLOOR - 1);
        ranking.set(candidate.page, base + rank);
        ranking.queue(candidate.page);
    }

    /// Takes back what was ranked and not handed out.
    fn clear(&mut self, ranking: &mut Ranking) {
        let pages = &mut self.pages;
        self.queued.retain(|&id| {
            let page = &mut pages[id.index()];
            let is_out = page.arm.is_some() && ranking.place(id) == Place::InFlight;
            if page.arm.is_some() && !is_out {
                page.arm = None;
                ranking.take(id);
            }
            is_out
        });
    }

    /// A request came back.
    fn settle(&mut self, id: PageId, answer: Answer<'_>, now: Tick, ranking: &mut Ranking) {
        let before = self.pages[id.index()];
        ranking.take(id);
        self.pages[id.index()].arm = None;
        let arm = before.arm.or(before.usual_arm());
        let usual_days = match before.have {
            Have::Copy => self
                .beliefs
                .bursts
                .usual_days(before.home(), before.seen_at, now),
            _ => 0.0,
        };
        let said = self.beliefs.worth(&before, usual_days, now, &AS_SAID);
        let verdict = match answer {
            Answer::Page { change, links } => Some(Lesson {
                is_there: true,
                changed: change != Change::Unchanged,
                found: self.claim(id, links, now, ranking),
            }),
            Answer::Gone => Some(Lesson {
                is_there: false,
                changed: true,
                found: 0,
            }),
            Answer::NoVerdict | Answer::Refused => None,
        };
        let mut page = self.pages[id.index()];
        if let Some(verdict) = verdict {
            self.beliefs.learn(&mut page, verdict, now);
        }
        page.note(&answer, now);
        self.pages[id.index()] = page;
        self.gone.note(id, &page);
        if let Answer::Page { links, .. } = answer
            && before.have == Have::Absence
            && before.was_stored
        {
            self.recall(page.group, links, now, ranking);
        }
        if let Some(arm) = arm.filter(|_| !matches!(answer, Answer::Refused)) {
            let mut booking = self.booking(&before, arm, verdict);
            let said = said.filter(|said| said.arm == arm && verdict.is_some());
            booking.expected = said.map_or(0.0, |said| said.expected);
            if said.is_none() {
                // Asked for to another end than it would be now: nothing to compare with.
                booking.came = 0.0;
            }
            self.accounts.book(arm, booking);
        }
        let out = ranking.in_flight_count() as u64;
        if self.accounts.spent_in_round() + out >= self.accounts.budget() {
            self.clear(ranking);
        }
    }

    /// What a request brought.
    fn booking(&self, before: &Page, arm: Arm, verdict: Option<Lesson>) -> Booking {
        let Some(verdict) = verdict else {
            return Booking::default();
        };
        let settings = &self.beliefs.settings;
        let one_if = |is_so: bool| f64::from(u8::from(is_so));
        let found = f64::from(verdict.found);
        let renewed = one_if(before.have == Have::Copy && verdict.changed);
        let stored = one_if(before.have != Have::Copy && verdict.is_there);
        Booking {
            expected: 0.0,
            came: match arm {
                Arm::Discovery => found,
                Arm::Refresh => renewed,
                Arm::Coverage | Arm::Retest => stored,
            },
            gain: settings.found * found + settings.changed * renewed + settings.stored * stored,
        }
    }

    /// Counts the pages that these links were first to show, gives them a group, and ranks them.
    fn claim(&mut self, source: PageId, links: &[PageId], now: Tick, ranking: &mut Ranking) -> u32 {
        let is_first = !self.pages[source.index()].was_stored;
        let unclaimed = std::mem::replace(&mut self.unclaimed, self.pages.len() as u32);
        let mut found = 0;
        for &link in links {
            let is_new = link.0 >= unclaimed;
            let page = &mut self.pages[link.index()];
            page.linked += u32::from(is_first || is_new);
            if !is_new || page.have != Have::Nothing {
                continue;
            }
            found += 1;
            if page.group == Page::NONE {
                let site = page.site;
                let group = self.group(site, By::Source(source.0));
                self.pages[link.index()].group = group;
            }
            if self.accounts.has_begun() {
                self.queue_new(link, now, ranking);
            }
        }
        found
    }

    /// A page of a group is back: some gone pages of it, and some that it links to, are expected back.
    fn recall(&mut self, group: u32, links: &[PageId], now: Tick, ranking: &mut Ranking) {
        let lost = |link: &&PageId| is_lost(&self.pages[link.index()]);
        let mut called: Vec<PageId> = self.gone.first(group);
        called.extend(links.iter().filter(lost).take(RECALLED_EACH).copied());
        for id in called {
            let page = &mut self.pages[id.index()];
            page.misses = 0;
            let page = *page;
            self.gone.note(id, &page);
            let is_free = page.not_before <= now && ranking.place(id) != Place::InFlight;
            if is_free && self.accounts.has_begun() {
                // What it was ranked for before, it is worth more now.
                self.pages[id.index()].arm = None;
                self.queue_new(id, now, ranking);
            }
        }
    }

    /// Ranks a page that was just found, or is expected back.
    fn queue_new(&mut self, id: PageId, now: Tick, ranking: &mut Ranking) {
        let page = &self.pages[id.index()];
        let worth = self.beliefs.worth(page, 0.0, now, &AS_SAID);
        if let Some(worth) = worth.filter(|_| page.arm.is_none()) {
            let candidate = Candidate {
                worth: worth.days * self.weight(id),
                lot: 0,
                page: id,
                arm: worth.arm,
            };
            self.queue(candidate, 0, ranking);
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
enum Answer<'a> {
    Page { change: Change, links: &'a [PageId] },
    Gone,
    NoVerdict,
    Refused,
}

impl Page {
    /// Notes what we have of the page now.
    fn note(&mut self, answer: &Answer<'_>, now: Tick) {
        match answer {
            Answer::Page { links, .. } => {
                self.have = Have::Copy;
                self.links = links.len() as u32;
                self.was_stored = true;
                self.misses = 0;
            }
            Answer::Gone => {
                self.have = Have::Absence;
                self.misses = self.misses.saturating_add(1);
            }
            Answer::Refused => {
                self.have = Have::Refusal;
                return;
            }
            Answer::NoVerdict => {
                let rest = REST_MS << (2 * self.faults.min(REST_TIMES_MAX));
                self.faults = self.faults.saturating_add(1);
                self.not_before = now.plus(rest);
                return;
            }
        }
        self.seen_at = now;
        self.hints = 0;
        self.faults = 0;
        self.not_before = Tick(0);
    }
}

/// A page's lot: the same for a seed, in no order otherwise (the finish of splitmix64).
fn lot(seed: u64, page: PageId) -> u32 {
    let mut bits = seed.wrapping_add((u64::from(page.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 32) as u32
}

/// A [`GroupKey`] as it is saved: its site; whether it goes by a source, and by which.
type SavedKey = (u32, (bool, u64));

impl Policy for Keep {
    fn observe(&mut self, event: &Event<'_>, now: Tick, known: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, host, .. } => {
                self.discover(page, host.0, known.folder_of(page));
            }
            Event::Round { round, budget } => {
                self.standing.work(LINKS_A_PAGE * self.pages.len(), known);
                self.begin(round, budget, now, ranking);
            }
            Event::Fetched {
                page,
                change,
                links,
            } => {
                self.lists.fetched(page, change, self.standing.of(page));
                self.standing.fetched(page, links, known);
                self.standing.work(LINKS_AN_ANSWER, known);
                self.settle(page, Answer::Page { change, links }, now, ranking);
            }
            // A page that stands for another is no longer there itself.
            Event::Moved { page, .. }
            | Event::Failed {
                page,
                fault: Fault::Gone,
            } => self.settle(page, Answer::Gone, now, ranking),
            Event::Failed {
                page,
                fault: Fault::Unknown | Fault::Lost,
            } => self.settle(page, Answer::NoVerdict, now, ranking),
            Event::Failed {
                page,
                fault: Fault::Refused,
            } => self.settle(page, Answer::Refused, now, ranking),
            Event::Hinted { page, by } => {
                let hints = &mut self.pages[page.index()].hints;
                *hints = hints.saturating_add(1);
                if let Some(by) = by {
                    self.lists.hinted(page, by);
                }
            }
            Event::Unseen { .. }
            | Event::Held { .. }
            | Event::Guessed { .. }
            | Event::Crossed(_) => {}
        }
    }

    fn report(&self) -> Report<'_> {
        Report {
            ends: Some(self),
            ..Report::default()
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.pages.save(out)?;
        (self.groups.len() as u64).save(out)?;
        for (key, number) in &self.groups {
            let by = match key.by {
                By::Folder(of) => (false, of),
                By::Source(of) => (true, u64::from(of)),
            };
            ((key.site, by), *number).save(out)?;
        }
        self.queued.save(out)?;
        self.unclaimed.save(out)?;
        self.beliefs.save(out)?;
        self.standing.save(out)?;
        self.lists.save(out)?;
        self.accounts.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.pages = Restore::restore(saved)?;
        let groups: Vec<(SavedKey, u32)> = Restore::restore(saved)?;
        let key = |(site, (is_source, of)): SavedKey| {
            let by = match is_source {
                false => By::Folder(of),
                true => By::Source(of as u32),
            };
            GroupKey { site, by }
        };
        self.groups = groups.into_iter().map(|(of, n)| (key(of), n)).collect();
        self.queued = Restore::restore(saved)?;
        self.unclaimed = Restore::restore(saved)?;
        self.gone = Gone::of(&self.pages);
        let known = self.pages.len();
        let count = self.groups.len() as u32;
        let groups = self.pages.iter().map(|page| page.group);
        if self.queued.iter().any(|page| page.index() >= known)
            || groups
                .filter(|group| *group != Page::NONE)
                .any(|group| group >= count)
        {
            return Err(corrupt("pages that do not add up"));
        }
        self.beliefs.restore(saved)?;
        self.standing.restore_into(saved)?;
        self.lists.restore(saved)?;
        if self.standing.known() != known {
            return Err(corrupt("importance of pages that are not known"));
        }
        self.accounts.restore(saved)
    }
}

impl Ends for Keep {
    fn split(&self) -> Option<Split> {
        self.accounts.split()
    }

    fn arm(&self, page: PageId) -> Option<Arm> {
        let page = self.pages.get(page.index())?;
        page.arm.or(page.usual_arm())
    }
}
