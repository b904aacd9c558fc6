//! Which outcomes are events. A fold of the journal: the same journal always gives the same events.
//!
//! An event is news about a page that we have, or had: it came for the first time, differs from our
//! copy, went, moved, may not be asked for any more, or is there again. So each page has a standing,
//! and an event is a change of it:
//!
//! | kind | the page was | and now |
//! |---|---|---|
//! | `new` | never fetched | a copy came; in the first crawl too: the stream is the whole story, and `--since` cuts it |
//! | `changed` | there | its visible text differs from our copy |
//! | `gone` | there, moved or refused | it is not there any more: 404, 410, no such host, a soft 404 |
//! | `moved` | there, gone or refused | it leads elsewhere; told again when it leads elsewhere again |
//! | `refused` | there | it may not be asked for, or the server denies it, or it did not answer until we gave up |
//! | `back` | gone, moved or refused | it is there, with our old text or another |
//!
//! No event: a page that is as it was (304, same bytes, same text), a page that a survey finds alive and
//! that was there, a page that was never had and does not come (that is what `turnstone why` tells), an
//! answer without a verdict, of which there will be another.
//!
//! A page that only a list of an old crawl names was there by hearsay: that it is gone is an event,
//! and the first copy of it is `new`.
//!
//! With [`Chronicle::with_alive`] a page that a survey finds alive is told of, too: no news, but what the
//! survey was made for.
//!
//! Cost: O(links) an outcome, and [`PAGE_BYTES`] a known page.

use std::collections::BTreeSet;

use turnstone_frontier::{Change, Fault, HostId, PageId, Tick};
use turnstone_pagestore::{Entry, Outcome, Position, Settled};

/// What is kept of a known page.
pub const PAGE_BYTES: usize = size_of::<Known>();

/// The class of a page that a survey found alive: its body was not read.
const ALIVE: &str = "alive";

/// What happened to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It came for the first time.
    New,
    /// Its visible text differs from our copy.
    Changed,
    /// It is not there any more.
    Gone,
    /// It leads elsewhere.
    Moved,
    /// It may not be asked for any more, or is denied.
    Refused,
    /// It is there again.
    Back,
    /// A survey found it as it was. Told only to those who ask for it.
    Alive,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::New,
        Self::Changed,
        Self::Gone,
        Self::Moved,
        Self::Refused,
        Self::Back,
        Self::Alive,
    ];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Moved => "moved",
            Self::Refused => "refused",
            Self::Back => "back",
            Self::Alive => "alive",
        }
    }
}

/// How a page stood when it was last told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Never,
    Heard,
    There,
    Gone,
    Moved(PageId),
    Refused,
}

/// What is remembered of a page.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) at: Position,
    pub(crate) host: HostId,
    pub(crate) seed: bool,
    pub(crate) first_seen_ms: u64,
    pub(crate) found_by: Option<PageId>,
    digest: Option<[u8; 20]>,
    standing: Standing,
}

/// An outcome that is an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// What happened.
    pub kind: Kind,
    /// The page.
    pub page: PageId,
    /// When, in milliseconds of 1970.
    pub when_ms: u64,
    /// The digest of the copy before.
    pub old_digest: Option<[u8; 20]>,
    /// The digest of what came, where a body came.
    pub new_digest: Option<[u8; 20]>,
    /// Where it leads, if it moved.
    pub moved_to: Option<PageId>,
}

/// What became of every page, so far.
#[derive(Debug, Default)]
pub struct Chronicle {
    pages: Vec<Known>,
    hosts: Vec<String>,
    /// Pages from this one on were found by the outcome that comes next.
    unexplained: usize,
    /// The wall clock and the tick when the last process took over.
    session: (u64, Tick),
    question: String,
    /// Whether pages that a survey found as they were are told of.
    tells_alive: bool,
    /// Pages that were forgotten on request.
    forgotten: BTreeSet<PageId>,
}

impl Chronicle {
    /// A fold that also tells of pages that a survey found as they were.
    pub fn with_alive() -> Self {
        Self {
            tells_alive: true,
            ..Self::default()
        }
    }

    /// A fold that tells nothing of these pages.
    #[must_use]
    pub fn without(mut self, forgotten: BTreeSet<PageId>) -> Self {
        self.forgotten = forgotten;
        self
    }

    /// Takes in one entry; says whether it is an event.
    pub fn apply(&mut self, at: Position, tick: Tick, entry: &Entry<'_>) -> Option<Noted> {
        match entry {
            Entry::Session { wall_ms, .. } => {
                self.session = (*wall_ms, tick);
                // What was found before a kill and never explained stays so.
                self.unexplained = self.pages.len();
            }
            Entry::Host { name, .. } | Entry::Away { name, .. } => {
                self.hosts.push((*name).to_owned());
            }
            Entry::Plan { question, .. } | Entry::Round { question, .. } => {
                self.question = (*question).to_owned();
            }
            Entry::Page { host, seed, .. } => {
                let known = Known {
                    at,
                    host: *host,
                    seed: *seed,
                    first_seen_ms: self.wall_ms(tick),
                    found_by: None,
                    digest: None,
                    standing: Standing::Never,
                };
                self.pages.push(known);
            }
            Entry::Outcome(outcome) => {
                self.explain(outcome);
                let noted = self.settled(tick, outcome);
                return noted.filter(|noted| !self.forgotten.contains(&noted.page));
            }
            _ => {}
        }
        None
    }

    /// The question that is being asked: `crawl`, `keep`…
    pub fn question(&self) -> &str {
        &self.question
    }

    pub(crate) fn page(&self, page: PageId) -> &Known {
        &self.pages[page.index()]
    }

    pub(crate) fn host_name(&self, host: HostId) -> &str {
        self.hosts.get(host.index()).map_or("", String::as_str)
    }

    fn wall_ms(&self, tick: Tick) -> u64 {
        let (wall_ms, began) = self.session;
        wall_ms + tick.0.saturating_sub(began.0)
    }

    /// Pages are announced right before the outcome whose links they are.
    fn explain(&mut self, outcome: &Outcome<'_>) {
        if self.unexplained == self.pages.len() {
            return;
        }
        let (from, by) = (self.unexplained, outcome.page);
        self.unexplained = self.pages.len();
        let pages = &mut self.pages;
        let mut found = |page: PageId| {
            if page.index() >= from && page != by {
                pages[page.index()].found_by.get_or_insert(by);
            }
        };
        outcome.links.each(&mut found);
        if let Settled::Moved(to) = outcome.settled {
            found(to);
        }
    }

    fn settled(&mut self, tick: Tick, outcome: &Outcome<'_>) -> Option<Noted> {
        use Standing::{Gone, Heard, Moved, Never, Refused, There};
        let facts = &outcome.facts;
        let when_ms = match facts.wall_ms {
            0 => self.wall_ms(tick),
            wall_ms => wall_ms,
        };
        let alive = self.tells_alive.then_some(Kind::Alive);
        let known = &mut self.pages[outcome.page.index()];
        let before = known.standing;
        let (now, kind) = match (before, outcome.settled) {
            (Never, Settled::Fetched(_)) if facts.hearsay => (Heard, None),
            (_, Settled::Fetched(_)) if facts.hearsay => (before, None),
            (Never | Heard, Settled::Fetched(_)) if facts.class == ALIVE => (Heard, alive),
            (Never | Heard, Settled::Fetched(_)) => (There, Some(Kind::New)),
            (There, Settled::Fetched(_)) if facts.class == ALIVE => (There, alive),
            (There, Settled::Fetched(Change::Changed)) => (There, Some(Kind::Changed)),
            (There, Settled::Fetched(_)) => (There, None),
            (Gone | Moved(_) | Refused, Settled::Fetched(_)) => (There, Some(Kind::Back)),
            // Never had: that it does not come is no news.
            (Never, Settled::Failed(_) | Settled::Moved(_)) => (Never, None),
            (Gone, Settled::Failed(_)) => (Gone, None),
            (_, Settled::Failed(Fault::Gone)) => (Gone, Some(Kind::Gone)),
            (There | Heard, Settled::Failed(Fault::Refused)) => (Refused, Some(Kind::Refused)),
            (_, Settled::Failed(_)) => (before, None),
            (Moved(same), Settled::Moved(to)) if same == to => (before, None),
            (_, Settled::Moved(to)) => (Moved(to), Some(Kind::Moved)),
        };
        known.standing = now;
        let old_digest = known.digest;
        let mut new_digest = None;
        if let Settled::Fetched(_) = outcome.settled
            && facts.digest.is_some()
        {
            (known.digest, new_digest) = (facts.digest, facts.digest);
        }
        Some(Noted {
            kind: kind?,
            page: outcome.page,
            when_ms,
            old_digest,
            new_digest,
            moved_to: match outcome.settled {
                Settled::Moved(to) => Some(to),
                _ => None,
            },
        })
    }
}
