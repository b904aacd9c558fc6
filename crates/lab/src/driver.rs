//! The lab's one driver: a policy asks through the scheduler, under a virtual clock, and a web answers.
//!
//! It calls the same `next` and `observe` as the live crawl. What the backtests differ in is not the loop
//! but the web: a graph that stands still, sites that move from day to day, a site that is made up as it
//! is asked. So a web is a trait, [`Answers`], with two halves: what asking does to it (a copy is renewed,
//! pages become known, a tally grows), and then what it answers. The order is fixed here: asked, newcomers
//! announced, answer observed; a policy therefore never sees a link to a page that it was not told of.
//!
//! The web is handed in and not owned, because several policies may go side by side through one web that
//! moves.
//!
//! Discovery alone does not answer as it is asked: the pages of its round are fetched side by side, so that
//! no answer guides the same round. It takes [`Driver::next`] and [`Driver::answer`] apart.
//!
//! Cost: that of the scheduler and the policy.

use std::io;

use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, PageId, Policy, Politeness, Scheduler, Tick,
};

use crate::requests::Requests;

/// A web as it is now.
pub trait Answers {
    /// A page is asked for: whatever that does is done here.
    fn asked(&mut self, page: PageId) {
        let _ = page;
    }

    /// The next page that became known and was not announced yet, in the order of numbers.
    fn newcomer(&mut self) -> Option<Newcomer>;

    /// What asking for a page brings, after [`Answers::asked`].
    fn answer(&self, page: PageId) -> Answer<'_>;

    /// What a policy is lent.
    fn lent(&self) -> &dyn Links;
}

/// A page that became known.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    /// The page.
    pub page: PageId,
    /// Its host.
    pub host: HostId,
    /// Whether somebody named it; else a link led to it.
    pub seed: bool,
}

/// What a request brought.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The page is there.
    Fetched(Change, &'a [PageId]),
    /// It is not, or may not be asked for.
    Failed(Fault),
}

/// A policy behind its scheduler, and the requests under way.
#[derive(Debug)]
pub struct Driver<P> {
    scheduler: Scheduler<P>,
    requests: Requests,
}

impl<P: Policy> Driver<P> {
    /// A driver whose clock goes on by itself, as hosts may be asked.
    pub fn new(policy: P, politeness: Politeness) -> Self {
        Self {
            scheduler: Scheduler::new(policy, politeness),
            requests: Requests::new(politeness),
        }
    }

    /// A driver whose clock stands still until [`Driver::at`] moves it: for rounds.
    pub fn in_rounds(policy: P) -> Self {
        Self {
            scheduler: Scheduler::new(policy, Politeness::OFF),
            requests: Requests::in_rounds(),
        }
    }

    /// Goes on from a scheduler that was saved when no request was open, with a policy made for it.
    pub fn restore(
        policy: P,
        saved: &mut dyn io::Read,
        politeness: Politeness,
    ) -> io::Result<Self> {
        Ok(Self {
            scheduler: Scheduler::restore(policy, saved)?,
            requests: Requests::new(politeness),
        })
    }

    /// The same, but with politeness off so many requests are under way at once: each answer is
    /// told that many requests later.
    #[must_use]
    pub fn with_open(mut self, open_max: usize) -> Self {
        self.requests = self.requests.with_open(open_max);
        self
    }

    /// One more page asked for and answered; none when nothing may be asked for.
    #[inline]
    pub fn step(&mut self, web: &mut impl Answers) -> Option<PageId> {
        let page = self.next()?;
        self.fetch(web, page);
        Some(page)
    }

    /// The page to be answered for next; none when nothing may be asked for.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "what follows depends on the answer"
    )]
    pub fn next(&mut self) -> Option<PageId> {
        self.requests.next(&mut self.scheduler)
    }

    /// Asks a web for a page, handed out or not, and tells the policy.
    #[inline]
    pub fn fetch(&mut self, web: &mut impl Answers, page: PageId) {
        web.asked(page);
        self.announce(web);
        self.answer(page, web.answer(page), web.lent());
    }

    /// Tells the policy what a request brought.
    #[inline]
    pub fn answer(&mut self, page: PageId, answer: Answer<'_>, lent: &dyn Links) {
        let event = match answer {
            Answer::Fetched(change, links) => Event::Fetched {
                page,
                change,
                links,
            },
            Answer::Failed(fault) => Event::Failed { page, fault },
        };
        self.tell(&event, lent);
    }

    /// Announces the pages that became known.
    #[inline]
    pub fn announce(&mut self, web: &mut impl Answers) {
        while let Some(Newcomer { page, host, seed }) = web.newcomer() {
            let event = Event::Discovered { page, host, seed };
            self.tell(&event, web.lent());
        }
    }

    /// Tells the policy of anything, now.
    #[inline]
    pub fn tell(&mut self, event: &Event<'_>, lent: &dyn Links) {
        self.scheduler.observe(event, self.requests.now(), lent);
    }

    /// Moves the clock on.
    pub fn at(&mut self, now: Tick) {
        self.requests.at(now);
    }

    /// The scheduler and its policy, to be looked at.
    pub fn scheduler(&self) -> &Scheduler<P> {
        &self.scheduler
    }

    /// How many requests were made.
    pub fn requests(&self) -> u64 {
        self.requests.made()
    }

    /// The virtual seconds that have passed, if requests take any.
    pub fn seconds(&self) -> Option<f64> {
        self.requests.seconds()
    }
}
