//! LiveRank: one policy, many orders.
//!
//! Every LiveRank tests a sample first, perhaps an empty one, then the rest. What differs is
//! how the rest is ordered and when that is known; an [`Order`] says so at three moments: before
//! anything is tested, when the sample is back, and each time a page is found alive.
//!
//! All pages of the old crawl must be announced by `Discovered` events; when the last one is, the
//! ranking begins. Pages announced later do not belong to the old crawl and are never ranked. The
//! links are those of the old crawl, of any page, tested or not.
//!
//! A page of a random sample was drawn with the chance of the sample; the rest follows from it.

use std::fmt;
use std::io;
use std::sync::Arc;

use turnstone_frontier::{
    Chance, Event, Links, PageId, Policy, Rank, Ranking, Restore, Save, Tick, corrupt,
};

use super::estimate::AliveEstimate;
use super::sample::{Sample, SampleBy};
use super::survey::{SAMPLE, Survey, Tally};
use super::{LivenessPolicy, OldCrawl};

/// How pages outside the sample are ordered.
pub(super) trait Order: Send + fmt::Debug {
    /// Before anything is tested; the sample is ranked already. `random` is the random order of
    /// the crawl's seed.
    fn begin(&mut self, _: &OldCrawl, _random: &[PageId], _: &mut Rest<'_>) {}

    /// Every page of the sample has come back.
    fn sample_is_back(&mut self, _: &OldCrawl, _seed: u64, _: &mut Rest<'_>) {}

    /// A page is alive, and linked to these pages in the old crawl.
    fn alive(&mut self, _links: &[PageId], _: &mut Rest<'_>) {}

    /// Whether `alive` does anything.
    fn follows_links(&self) -> bool {
        false
    }

    /// What the order itself must remember, as one number.
    fn remembered(&self) -> u64 {
        0
    }

    /// Takes that number back.
    fn remember(&mut self, _: u64) {}
}

/// The pages an order may rank: those of the old crawl that are neither tested nor in the sample.
pub(super) struct Rest<'a> {
    pub(super) survey: &'a Survey,
    pub(super) ranking: &'a mut Ranking,
}

impl Rest<'_> {
    /// Whether the order decides about this page.
    pub(super) fn has(&self, page: PageId) -> bool {
        self.survey.is_untested(page) && self.ranking.rank(page) < SAMPLE
    }

    /// All of these pages that the order decides about, ranked in the order given.
    pub(super) fn rank_in_order(&mut self, pages: &[PageId]) {
        let mut rank = pages.len() as Rank;
        for &page in pages {
            if self.has(page) {
                self.ranking.set(page, rank);
            }
            rank -= 1;
        }
    }
}

/// A LiveRank: a sample, then an order.
pub(super) struct LiveRank<O> {
    old: Arc<OldCrawl>,
    sample: Option<Sample>,
    seed: u64,
    survey: Survey,
    order: O,
}

impl<O: Order> LiveRank<O> {
    pub(super) fn new(old: &Arc<OldCrawl>, sample: Option<Sample>, seed: u64, order: O) -> Self {
        Self {
            old: Arc::clone(old),
            sample,
            seed,
            survey: Survey::default(),
            order,
        }
    }

    /// All pages are known: rank the sample, and the rest as far as it can be.
    fn begin(&mut self, links: &dyn Links, ranking: &mut Ranking) {
        let random = self.old.at_random(self.seed);
        let host_of = |page| ranking.host(page);
        let sample = self.sample.map_or_else(Vec::new, |sample| {
            sample.draw(&self.old, &random, links, host_of)
        });
        self.survey.expect_sample(sample.len());
        for (place, &page) in sample.iter().enumerate() {
            ranking.set(page, SAMPLE + (sample.len() - place) as Rank);
        }
        let survey = &self.survey;
        self.order
            .begin(&self.old, &random, &mut Rest { survey, ranking });
        if sample.is_empty() {
            self.sample_is_back(ranking);
        }
    }

    fn sample_is_back(&mut self, ranking: &mut Ranking) {
        let survey = &self.survey;
        self.order
            .sample_is_back(&self.old, self.seed, &mut Rest { survey, ranking });
    }
}

impl<O: Order> Policy for LiveRank<O> {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        if let Event::Discovered { page, .. } = *event {
            if page.index() < self.old.page_count() {
                self.survey.announce();
            }
            if page.index() + 1 == self.old.page_count() {
                self.begin(links, ranking);
            }
            return;
        }
        let learnt = self.survey.observe(event, now, ranking);
        if let Some(page) = learnt.alive.filter(|_| self.order.follows_links()) {
            let mut buffer = Vec::new();
            let links = links.links_of(page, &mut buffer);
            let survey = &self.survey;
            self.order.alive(links, &mut Rest { survey, ranking });
        }
        if learnt.sample_is_back {
            self.sample_is_back(ranking);
        }
    }

    fn chance(&self, page: PageId, ranking: &Ranking) -> Chance {
        match self.sample {
            Some(Sample {
                by: SampleBy::Random,
                size,
            }) if ranking.rank(page) >= SAMPLE => {
                Chance::of(size as u64, self.old.page_count() as u64)
            }
            _ => Chance::CERTAIN,
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.survey.save(out)?;
        self.order.remembered().save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.survey = Restore::restore(saved)?;
        if self.survey.page_count() > self.old.page_count() {
            return Err(corrupt("more pages than the old crawl has"));
        }
        self.order.remember(Restore::restore(saved)?);
        Ok(())
    }
}

impl<O: Order> LivenessPolicy for LiveRank<O> {
    fn tally(&self) -> Tally {
        self.survey.all()
    }

    fn sample(&self) -> Option<Sample> {
        self.sample
    }

    fn sample_tally(&self) -> Tally {
        self.survey.sample()
    }

    fn estimate(&self) -> Option<AliveEstimate> {
        let begun = self.survey.page_count() == self.old.page_count();
        let is_random = self
            .sample
            .is_some_and(|sample| sample.by == SampleBy::Random);
        let Tally { alive, gone } = self.survey.sample();
        if !begun || !is_random || !self.survey.sample_is_back() {
            return None;
        }
        AliveEstimate::new(self.old.page_count() as u64, alive, gone)
    }
}
