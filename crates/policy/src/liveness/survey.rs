//! What has been asked and what came back: verdicts by page, and a tally of them.
//!
//! A page is alive when it was fetched, and gone when it is not there or stands for another page
//! now. No verdict (a time-out, a 5xx) is no knowledge: the page keeps its rank and is asked for
//! again later, a few times; the sample does not wait for it. What may not be asked stays undecided.
//!
//! Cost: O(1) per event; one byte a page, and one small entry per page that gave no verdict.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{Event, Fault, PageId, Rank, Ranking, Restore, Save, Tick, corrupt};

/// After how long a page without a verdict is asked for again.
const RETRY_MS: u64 = 60_000;

/// How often a page is asked for before it is left undecided.
const TRIES_MAX: u8 = 4;

/// Pages of the sample rank from here on, above all others.
pub(super) const SAMPLE: Rank = 1 << 63;

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Fate {
    /// It has not been tested, or gave no verdict yet.
    Untested,
    /// It is there.
    Alive,
    /// It is not.
    Gone,
    /// It may not be asked for, or never gave a verdict.
    Undecided,
}

impl Fate {
    pub(super) fn restored(number: u8) -> io::Result<Self> {
        let verdicts = [Self::Untested, Self::Alive, Self::Gone, Self::Undecided];
        let found = verdicts
            .into_iter()
            .find(|verdict| *verdict as u8 == number);
        found.ok_or_else(|| corrupt("a page with no known verdict"))
    }
}

/// How many pages were found alive or gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Found alive.
    pub alive: u64,
    /// Found gone.
    pub gone: u64,
}

impl Tally {
    /// How many pages have a verdict.
    pub fn tested(self) -> u64 {
        self.alive + self.gone
    }

    fn count(&mut self, verdict: Fate) {
        match verdict {
            Fate::Alive => self.alive += 1,
            Fate::Gone => self.gone += 1,
            Fate::Untested | Fate::Undecided => {}
        }
    }
}

impl Save for Tally {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.alive, self.gone).save(out)
    }
}

impl Restore for Tally {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let (alive, gone) = Restore::restore(from)?;
        Ok(Self { alive, gone })
    }
}

/// Everything that was learnt so far.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Survey {
    /// By page.
    verdicts: Vec<Fate>,
    /// How often pages were asked for without a verdict.
    tries: BTreeMap<PageId, u8>,
    all: Tally,
    undecided: u64,
    sample: Tally,
    /// Pages of the sample that have not come back yet.
    sample_open: u64,
}

impl Survey {
    /// A page of the old crawl was announced.
    pub(super) fn announce(&mut self) {
        self.verdicts.push(Fate::Untested);
    }

    /// How many pages were announced.
    pub(super) fn page_count(&self) -> usize {
        self.verdicts.len()
    }

    /// These many pages were ranked as the sample.
    pub(super) fn expect_sample(&mut self, size: usize) {
        self.sample_open = size as u64;
    }

    pub(super) fn verdict(&self, page: PageId) -> Fate {
        self.verdicts[page.index()]
    }

    /// Whether a page belongs to the old crawl and has no verdict yet.
    pub(super) fn is_untested(&self, page: PageId) -> bool {
        self.verdicts.get(page.index()) == Some(&Fate::Untested)
    }

    /// How many pages are settled: alive, gone or undecided.
    pub(super) fn settled(&self) -> u64 {
        self.all.tested() + self.undecided
    }

    /// How many bytes all this takes.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.verdicts.capacity()
    }

    /// The pages with a verdict, by id.
    pub(super) fn pages(&self, verdict: Fate) -> impl Iterator<Item = PageId> + '_ {
        let found = move |(index, found): (usize, &Fate)| {
            (*found == verdict).then(|| PageId::from_index(index))
        };
        self.verdicts.iter().enumerate().filter_map(found)
    }

    pub(super) fn all(&self) -> Tally {
        self.all
    }

    pub(super) fn sample(&self) -> Tally {
        self.sample
    }

    /// Whether every page of the sample has come back.
    pub(super) fn sample_is_back(&self) -> bool {
        self.sample_open == 0
    }

    /// Folds one answer in. Returns the page if it was found alive, or whether this answer was the
    /// last that the sample waited for.
    pub(super) fn observe(
        &mut self,
        event: &Event<'_>,
        now: Tick,
        ranking: &mut Ranking,
    ) -> Learnt {
        match *event {
            Event::Fetched { page, .. } => self.settle(page, Fate::Alive, ranking),
            Event::Moved { page, .. } => self.settle(page, Fate::Gone, ranking),
            Event::Failed { page, fault } => match fault {
                Fault::Gone => self.settle(page, Fate::Gone, ranking),
                Fault::Refused => self.settle(page, Fate::Undecided, ranking),
                Fault::Unknown => self.ask_again(page, now, ranking),
                Fault::Lost => {
                    ranking.queue(page);
                    Learnt::default()
                }
            },
            Event::Discovered { .. }
            | Event::Held { .. }
            | Event::Unseen { .. }
            | Event::Hinted { .. }
            | Event::Crossed(_)
            | Event::Guessed { .. }
            | Event::Round { .. } => Learnt::default(),
        }
    }

    fn settle(&mut self, page: PageId, verdict: Fate, ranking: &mut Ranking) -> Learnt {
        let in_sample = ranking.take(page) >= SAMPLE;
        if !self.is_untested(page) {
            return Learnt::default();
        }
        self.verdicts[page.index()] = verdict;
        self.all.count(verdict);
        self.undecided += u64::from(verdict == Fate::Undecided);
        let first_time = self.tries.remove(&page).is_none();
        if in_sample {
            self.sample.count(verdict);
        }
        Learnt {
            alive: (verdict == Fate::Alive).then_some(page),
            sample_is_back: in_sample && first_time && self.one_back(),
        }
    }

    fn ask_again(&mut self, page: PageId, now: Tick, ranking: &mut Ranking) -> Learnt {
        if !self.is_untested(page) {
            return Learnt::default();
        }
        let tries = self.tries.entry(page).or_default();
        *tries += 1;
        let (first_time, given_up) = (*tries == 1, *tries >= TRIES_MAX);
        if given_up {
            return self.settle(page, Fate::Undecided, ranking);
        }
        ranking.defer(page, now.plus(RETRY_MS));
        let in_sample = ranking.rank(page) >= SAMPLE;
        Learnt {
            alive: None,
            sample_is_back: in_sample && first_time && self.one_back(),
        }
    }

    /// One more page of the sample came back. Returns whether it was the last.
    fn one_back(&mut self) -> bool {
        let left = self.sample_open.checked_sub(1);
        self.sample_open = left.expect("no more pages come back than were in the sample");
        self.sample_open == 0
    }
}

/// What one answer taught.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learnt {
    /// This page is alive.
    pub(super) alive: Option<PageId>,
    /// The last page of the sample came back.
    pub(super) sample_is_back: bool,
}

impl Save for Survey {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let verdicts: Vec<u8> = self.verdicts.iter().map(|verdict| *verdict as u8).collect();
        verdicts.save(out)?;
        self.tries.save(out)?;
        self.all.save(out)?;
        self.sample.save(out)?;
        self.sample_open.save(out)
    }
}

impl Restore for Survey {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let verdicts: Vec<u8> = Restore::restore(from)?;
        let verdicts: Vec<Fate> = verdicts
            .into_iter()
            .map(Fate::restored)
            .collect::<io::Result<_>>()?;
        let undecided = verdicts
            .iter()
            .filter(|verdict| **verdict == Fate::Undecided);
        let survey = Self {
            undecided: undecided.count() as u64,
            verdicts,
            tries: Restore::restore(from)?,
            all: Restore::restore(from)?,
            sample: Restore::restore(from)?,
            sample_open: Restore::restore(from)?,
        };
        let mut counted = Tally::default();
        for verdict in &survey.verdicts {
            counted.count(*verdict);
        }
        if counted != survey.all {
            return Err(corrupt("verdicts that were counted wrongly"));
        }
        Ok(survey)
    }
}
