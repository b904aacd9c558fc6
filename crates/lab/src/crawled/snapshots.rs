//! Which fetches of a journal make up a snapshot.
//!
//! By day or by process every fetch falls where its date says. By round, what one round fetched is
//! a snapshot, whatever the site: a round in which nobody looked at a site is a snapshot of it too,
//! of which nothing is known. The crawl before the first round is one, and so is one after a round.
//! What was imported has no rounds, and goes by its days.
//!
//! An import of a site's history notes each snapshot that saw the whole site (`docs/formats.md`).

use serde::Deserialize;
use turnstone_pagestore::{Entry, Outcome, Position};

use crate::history::Date;

const DAY_MS: u64 = 86_400_000;

/// What stands for the policy, and for the notes, of an import.
const IMPORT: &str = "import";

/// The kind of the notes that say that a site was seen whole.
pub const WHOLE_SITE: &str = "snapshot";

/// What a snapshot of a crawled site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotBy {
    /// Everything fetched on one day (UTC).
    Day,
    /// Everything fetched by one process.
    Session,
    /// Everything fetched in one round; of what was imported, on one day.
    Round,
}

/// What makes two fetches one snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Day(u64),
    Session(u64),
    Round(u64),
    /// The whole site, as seen on a day: which snapshot of its history it was.
    Whole(u64, u64),
}

/// One snapshot of a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    key: Key,
    /// When.
    pub(super) date: Date,
}

impl Snapshot {
    /// Whether it saw the whole site.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.key, Key::Whole(..))
    }
}

/// A note that a site was seen whole.
#[derive(Debug, Deserialize)]
struct WholeSite {
    /// An address of the site.
    site: String,
    /// The day, since 1970-01-01.
    day: u64,
    /// Which snapshot of its history it was.
    snapshot: u64,
}

/// Where in the journal what came of the pages of a site stands, and in which snapshot.
#[derive(Debug, Default)]
pub(super) struct Visits {
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) fetches: Vec<(Position, u32)>,
    /// Rounds that are among its snapshots, or were before its first.
    rounds: usize,
}

impl Visits {
    /// Goes on to a snapshot, past the rounds in which nobody looked here.
    fn open(&mut self, snapshot: Snapshot, rounds: &[Snapshot]) {
        if !self.snapshots.is_empty() {
            self.snapshots.extend(&rounds[self.rounds..]);
        }
        self.rounds = rounds.len();
        if self.snapshots.last().map(|last| last.key) != Some(snapshot.key) {
            self.snapshots.push(snapshot);
        }
    }
}

/// Puts what a journal tells into snapshots, entry by entry.
#[derive(Debug)]
pub(super) struct Grouping {
    by: SnapshotBy,
    session: u64,
    began_ms: u64,
    /// The latest day: a clock that was set back does not turn time around.
    day: u64,
    importing: bool,
    round: u64,
    /// Whether the fetches of now belong to a round, rather than to a crawl.
    in_round: bool,
    /// The rounds that fetched something.
    rounds: Vec<Snapshot>,
}

impl Grouping {
    pub(super) fn new(by: SnapshotBy) -> Self {
        Self {
            by,
            session: 0,
            began_ms: 0,
            day: 0,
            importing: false,
            round: 0,
            in_round: false,
            rounds: Vec::new(),
        }
    }

    /// Takes note of an entry that is no outcome. `site_of` finds a site by its address.
    pub(super) fn entry(
        &mut self,
        entry: &Entry<'_>,
        sites: &mut [Visits],
        site_of: &dyn Fn(&str) -> Option<u32>,
    ) {
        match *entry {
            Entry::Session {
                wall_ms, policy, ..
            } => {
                self.session += 1;
                self.began_ms = self.began_ms.max(wall_ms);
                self.importing = policy == IMPORT;
                self.round += u64::from(self.in_round);
                self.in_round = false;
            }
            Entry::Round { .. } => {
                self.round += 1;
                self.in_round = true;
            }
            Entry::Note { kind: IMPORT, .. } => self.importing = true,
            Entry::Note {
                kind: WHOLE_SITE,
                bytes,
            } if self.by == SnapshotBy::Round => {
                // A note that cannot be read tells nothing; what it spoke of stays unknown.
                let Ok(whole) = serde_json::from_slice::<WholeSite>(bytes) else {
                    return;
                };
                if let Some(site) = site_of(&whole.site) {
                    self.whole(&whole, &mut sites[site as usize]);
                }
            }
            _ => {}
        }
    }

    /// The whole site was seen. An import that was killed may say so twice.
    fn whole(&mut self, whole: &WholeSite, site: &mut Visits) {
        let known = |snapshot: &Snapshot| match snapshot.key {
            Key::Whole(day, number) => (whole.day, whole.snapshot) <= (day, number),
            _ => false,
        };
        let last = site.snapshots.iter().rev().find(|last| last.is_whole());
        if last.is_some_and(known) {
            return;
        }
        self.day = self.day.max(whole.day);
        let snapshot = Snapshot {
            key: Key::Whole(whole.day, whole.snapshot),
            date: date(self.day),
        };
        site.open(snapshot, &self.rounds);
    }

    /// Puts an outcome into a snapshot of its site.
    pub(super) fn outcome(&mut self, outcome: &Outcome<'_>, at: Position, site: &mut Visits) {
        let wall_ms = outcome.facts.wall_ms;
        let day = (wall_ms.max(self.began_ms) / DAY_MS).max(self.day);
        self.day = day;
        let snapshot = |key, day| Snapshot {
            key,
            date: date(day),
        };
        let snapshot = match self.by {
            SnapshotBy::Day => snapshot(Key::Day(day), day),
            SnapshotBy::Session => snapshot(Key::Session(self.session), self.began_ms / DAY_MS),
            SnapshotBy::Round if self.importing => match site.snapshots.last() {
                Some(&last) if last.is_whole() && last.date == date(day) => last,
                _ => snapshot(Key::Day(day), day),
            },
            SnapshotBy::Round => {
                let key = Key::Round(self.round);
                if self.rounds.last().map(|last| last.key) != Some(key) {
                    self.rounds.push(snapshot(key, day));
                }
                self.rounds[self.rounds.len() - 1]
            }
        };
        site.open(snapshot, &self.rounds);
        site.fetches.push((at, site.snapshots.len() as u32 - 1));
    }

    /// The journal ends: rounds at the end in which nobody looked at a site are its snapshots too.
    pub(super) fn finish(self, sites: &mut [Visits]) {
        for site in sites.iter_mut().filter(|site| !site.snapshots.is_empty()) {
            site.snapshots.extend(&self.rounds[site.rounds..]);
        }
    }
}

fn date(day: u64) -> Date {
    Date(i32::try_from(day).unwrap_or(i32::MAX / 2))
}
