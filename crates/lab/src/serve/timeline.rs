//! What a page held at any snapshot of a history, and at which snapshot a site stands.
//!
//! A history tells what each snapshot changed; a server is asked for one page at one snapshot. So
//! the changes are sorted by page once: O(log changes of the page) a lookup, 8 bytes a change.

use std::sync::Mutex;

use turnstone_frontier::PageId;

use crate::history::{Date, History, VersionId};

/// Seconds in a day.
const DAY_S: i64 = 86_400;
/// How often a site may be moved before the first moves are forgotten.
const SETS_MAX: usize = 10_000;

/// The contents of every page over time.
#[derive(Debug)]
pub(super) struct Timeline {
    /// By page: where its changes begin; one entry more than pages.
    starts: Vec<u32>,
    /// (snapshot, content from then on), by page and then by snapshot.
    changes: Vec<(u32, Option<VersionId>)>,
}

impl Timeline {
    pub(super) fn of(history: &History) -> Self {
        let mut starts = vec![0u32; history.page_count() + 1];
        let touched = |page: PageId| page.index() + 1;
        for snapshot in &history.snapshots {
            let set = snapshot.set.iter().map(|(page, _)| *page);
            set.chain(snapshot.gone.iter().copied())
                .for_each(|page| starts[touched(page)] += 1);
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut changes = vec![(0, None); *starts.last().unwrap_or(&0) as usize];
        for (number, snapshot) in history.snapshots.iter().enumerate() {
            let set = snapshot.set.iter().map(|&(page, v)| (page, Some(v)));
            let gone = snapshot.gone.iter().map(|&page| (page, None));
            for (page, version) in set.chain(gone) {
                let at = &mut next[page.index()];
                changes[*at as usize] = (number as u32, version);
                *at += 1;
            }
        }
        Self { starts, changes }
    }

    /// The content of a page at a snapshot and the snapshot it dates from; none if absent.
    pub(super) fn at(&self, page: PageId, snapshot: usize) -> Option<(VersionId, usize)> {
        let index = page.index();
        let changes = &self.changes[self.starts[index] as usize..self.starts[index + 1] as usize];
        let until = changes.partition_point(|(since, _)| *since as usize <= snapshot);
        let (since, version) = *changes[..until].last()?;
        Some((version?, since as usize))
    }
}

/// A moment of a history, as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The snapshot with this number; the last of a shorter history.
    Number(usize),
    /// The last snapshot on or before this day; nothing is there before the first.
    Day(Date),
    /// The first snapshot.
    First,
    /// The last snapshot.
    Last,
}

/// The text names no moment of a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no moment of a history: give a snapshot's number, a date like 2019-03-10, first or last"
)]
pub struct NotAMoment(String);

impl std::str::FromStr for At {
    type Err = NotAMoment;

    fn from_str(text: &str) -> Result<Self, NotAMoment> {
        match text {
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            _ => (text.parse().map(Self::Number).ok())
                .or_else(|| text.parse().map(Self::Day).ok())
                .ok_or_else(|| NotAMoment(text.to_owned())),
        }
    }
}

/// Where a site stands in its history: at a snapshot, or on its way through them.
#[derive(Debug)]
pub(super) struct SiteTime {
    /// By snapshot, ascending; empty for a web without history.
    dates: Vec<Date>,
    /// Every time it was told, the last one last.
    sets: Mutex<Vec<Set>>,
}

/// What the site was last told.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// None before the first snapshot.
    snapshot: Option<usize>,
    /// The moment meant, in seconds since 1970.
    virtual_s: i64,
    /// When it was told, in microseconds since the server started.
    told_us: u64,
}

impl SiteTime {
    pub(super) fn new(dates: Vec<Date>) -> Self {
        let sets = Mutex::default();
        let time = Self { dates, sets };
        time.go(At::Last, 0);
        time
    }

    /// How many snapshots there are.
    pub(super) fn snapshot_count(&self) -> usize {
        self.dates.len().max(1)
    }

    /// The date of a snapshot.
    pub(super) fn date(&self, snapshot: usize) -> Option<Date> {
        self.dates.get(snapshot).copied()
    }

    /// Moves the site. A clock that runs goes on from there.
    pub(super) fn go(&self, at: At, now_us: u64) {
        let last = self.snapshot_count() - 1;
        let snapshot = match at {
            At::First => Some(0),
            At::Last => Some(last),
            At::Number(number) => Some(number.min(last)),
            At::Day(_) if self.dates.is_empty() => Some(0),
            At::Day(day) => self
                .dates
                .partition_point(|date| *date <= day)
                .checked_sub(1),
        };
        let of = |date: Date| i64::from(date.0) * DAY_S;
        let virtual_s = match at {
            At::Day(day) => of(day),
            _ => snapshot.and_then(|s| self.date(s)).map_or(0, of),
        };
        let mut sets = self.lock();
        // Before anything was asked, and when nothing moves, only the last word counts.
        sets.retain(|set| set.told_us != now_us);
        if sets.len() == SETS_MAX {
            sets.remove(1);
        }
        sets.push(Set {
            snapshot,
            virtual_s,
            told_us: now_us,
        });
    }

    /// The snapshot shown now; `scale` is how many virtual seconds pass in a second.
    pub(super) fn now(&self, scale: f64, now_us: u64) -> Option<usize> {
        let set = *self.lock().last().expect("it was told when it was made");
        if scale <= 0.0 || self.dates.is_empty() {
            return set.snapshot;
        }
        let passed_s = now_us.saturating_sub(set.told_us) as f64 / 1e6 * scale;
        let virtual_s = set.virtual_s.saturating_add(passed_s as i64);
        let reached = self
            .dates
            .partition_point(|date| i64::from(date.0) * DAY_S <= virtual_s);
        // Snapshots of one day cannot be told apart by the clock: never fall back behind what was set.
        reached.checked_sub(1).max(set.snapshot)
    }

    /// When a snapshot was first shown, in microseconds since the server started; nothing if it was
    /// from the start, or is not shown yet.
    pub(super) fn shown_us(&self, snapshot: usize, scale: f64) -> Option<u64> {
        let sets = self.lock();
        for (number, set) in sets.iter().enumerate() {
            if set.snapshot >= Some(snapshot) {
                return (number > 0).then_some(set.told_us);
            }
            let Some(date) = self.date(snapshot).filter(|_| scale > 0.0) else {
                continue;
            };
            let wait_s = (i64::from(date.0) * DAY_S - set.virtual_s).max(0) as f64 / scale;
            let at_us = set.told_us.saturating_add((wait_s * 1e6) as u64);
            let next = sets.get(number + 1);
            if next.is_none_or(|next| at_us < next.told_us) {
                return Some(at_us);
            }
        }
        None
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Set>> {
        self.sets.lock().expect("nobody panics holding it")
    }
}
