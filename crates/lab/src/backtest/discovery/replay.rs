//! One policy discovering in one recorded site.
//!
//! At each snapshot the policy is asked first, through the scheduler, and answered afterwards: the
//! pages of a round are fetched side by side, so no answer can guide the same round. Then all new
//! pages get their ids in order, those the round found as discovered by a link, the others as told
//! by somebody else: the paper lets every algorithm know all pages of earlier snapshots, found or
//! not. New pages that were found are fetched too, since that is how their links are found.
//!
//! A recrawl is announced as a round without limit and answered page by page. Pages that show no
//! link to a new page, and are neither gone nor back, are passed over: no policy learns from them.
//!
//! A page of which the record does not know what it linked to is given back as if it had never been
//! asked for: the policy learns nothing from it. A snapshot that did not look at every known page is
//! no recrawl, whatever the period.
//!
//! A policy that guesses is answered at once, request by request: what a guess hits suggests the next. A hit is
//! not counted against the budget, for a new page must be fetched anyway; a miss is.
//!
//! Cost: O(log pages) a request and the links of what it brings.

use turnstone_frontier::{Change, Event, Fault, NoLinks, PageId};
use turnstone_policy::discovery::{DiscoveryPolicy, RECRAWL};

use super::guessing::Guessing;
use super::ids::Ids;
use super::steps::{Step, Steps};
use super::web::DiscoveryWeb;
use crate::driver::{Answer, Driver};

/// What follows a snapshot's round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next snapshot.
    GoOn,
    /// A full recrawl first.
    Recrawl,
}

impl Then {
    /// Whether a snapshot is one of the recrawls at 0, `period`, 2 · `period`, …
    pub fn at(snapshot: usize, period: u32) -> Self {
        if super::truth::is_recrawl(snapshot, period) {
            Self::Recrawl
        } else {
            Self::GoOn
        }
    }
}

/// A policy on its way through a site.
pub struct Replay {
    driver: Driver<Box<dyn DiscoveryPolicy>>,
    /// The last round announced.
    announced: Option<usize>,
    /// Pages whose presence changed since the last recrawl.
    moved: Vec<PageId>,
    buffer: Vec<PageId>,
    ids: Ids,
    guessing: Option<Guessing>,
}

/// What a round brought.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Known pages asked for, in order.
    pub asked: Vec<PageId>,
    /// By new page of the snapshot: whether it was found.
    pub found: Vec<bool>,
    /// Guessed addresses asked for.
    pub guesses: u64,
    /// Of these, those that were there.
    pub hits: u64,
}

impl Round {
    /// Requests that count against the budget.
    pub fn spent(&self) -> u64 {
        self.asked.len() as u64 + self.guesses - self.hits
    }
}

impl Replay {
    /// A policy that knows nothing yet.
    pub fn new(policy: Box<dyn DiscoveryPolicy>, web: &DiscoveryWeb) -> Self {
        let guessing = policy.guesses().then(|| Guessing::new(web));
        Self {
            driver: Driver::in_rounds(policy),
            announced: None,
            moved: Vec::new(),
            buffer: Vec::new(),
            ids: Ids::default(),
            guessing,
        }
    }

    /// The policy.
    pub fn policy(&self) -> &dyn DiscoveryPolicy {
        self.driver.scheduler().policy().as_ref()
    }

    /// A discovery round: what the policy asks for, and what that finds.
    pub fn round(&mut self, steps: &Steps<'_>, step: &Step, budget: u64) -> Round {
        if self.guessing.is_some() {
            return self.guess(steps, step, budget);
        }
        let asked = self.ask(step.snapshot, budget);
        Round {
            found: found_by(steps, step, &asked),
            asked,
            ..Round::default()
        }
    }

    /// A round in which every answer may suggest the next request.
    fn guess(&mut self, steps: &Steps<'_>, step: &Step, budget: u64) -> Round {
        self.announce(step.snapshot, budget);
        let mut round = Round {
            found: vec![false; (step.end.0 - step.first_new.0) as usize],
            ..Round::default()
        };
        let mut guessing = self.guessing.take().expect("the policy guesses");
        guessing.begin(steps.web(), step.snapshot);
        while round.spent() < budget {
            let driver = &mut self.driver;
            guessing.offer(&mut self.ids, |event| driver.tell(event, &NoLinks));
            let Some(id) = self.driver.next() else {
                break;
            };
            let page = match self.ids.page(id) {
                Some(page) => {
                    round.asked.push(page);
                    page
                }
                None => {
                    round.guesses += 1;
                    match guessing.answer(id, step.first_new.0..step.end.0) {
                        Some(page) => {
                            round.hits += 1;
                            round.found[(page.0 - step.first_new.0) as usize] = true;
                            guessing.know(steps.web(), page);
                            self.ids.settle(id, page);
                            page
                        }
                        None => {
                            self.driver
                                .answer(id, Answer::Failed(Fault::Gone), &NoLinks);
                            continue;
                        }
                    }
                }
            };
            let found = follow(steps, step, &[page], &mut round.found);
            for page in &found {
                self.know(&mut guessing, steps.web(), *page, false);
            }
            self.fetch(steps, page);
            for page in found {
                if !is_elsewhere(steps.web(), page) {
                    self.fetch(steps, page);
                }
            }
        }
        self.guessing = Some(guessing);
        round
    }

    /// Makes a page of the record known to the guesser and the policy.
    fn know(&mut self, guessing: &mut Guessing, web: &DiscoveryWeb, page: PageId, seed: bool) {
        match guessing.know(web, page) {
            Some(guess) => self.ids.settle(guess, page),
            None => self.discover(web, page, seed),
        }
    }

    /// Begins a discovery round: the pages the policy asks for, best first.
    pub fn ask(&mut self, snapshot: usize, budget: u64) -> Vec<PageId> {
        self.announce(snapshot, budget);
        let mut asked = Vec::new();
        while (asked.len() as u64) < budget
            && let Some(page) = self.driver.next()
        {
            asked.push(page);
        }
        asked
    }

    /// Ends a snapshot: answers what was asked for, makes every new page known, and recrawls the
    /// site if it is time.
    pub fn end(&mut self, steps: &Steps<'_>, step: &Step, round: &Round, then: Then) {
        // What is new in a round is what is discovered after it was announced.
        let announced = self.announced == Some(step.snapshot);
        if then == Then::Recrawl && !announced {
            self.announce(step.snapshot, RECRAWL);
        }
        match self.guessing.take() {
            Some(mut guessing) => {
                guessing.begin(steps.web(), step.snapshot);
                for (at, page) in step.new_pages().enumerate() {
                    if !round.found.get(at).copied().unwrap_or(false) {
                        self.know(&mut guessing, steps.web(), page, true);
                    }
                }
                self.guessing = Some(guessing);
            }
            None => self.answer(steps, step, round),
        }
        self.moved.extend(step.gone.iter().chain(&step.back));
        if then == Then::Recrawl {
            if announced {
                self.announce(step.snapshot, RECRAWL);
            }
            self.recrawl(steps, step);
        }
    }

    /// Makes the new pages known and answers what was asked for.
    fn answer(&mut self, steps: &Steps<'_>, step: &Step, round: &Round) {
        let found = |at: usize| round.found.get(at).copied().unwrap_or(false);
        for (at, page) in step.new_pages().enumerate() {
            self.discover(steps.web(), page, !found(at));
        }
        for &page in &round.asked {
            self.fetch(steps, page);
        }
        for (at, page) in step.new_pages().enumerate() {
            if found(at) && !is_elsewhere(steps.web(), page) {
                self.fetch(steps, page);
            }
        }
    }

    /// Fetches every page that has something to tell.
    fn recrawl(&mut self, steps: &Steps<'_>, step: &Step) {
        let mut moved = std::mem::take(&mut self.moved);
        moved.sort_unstable();
        moved.dedup();
        for page in moved {
            if step.telling.binary_search(&page).is_err() {
                self.fetch(steps, page);
            }
        }
        for &page in &step.telling {
            self.fetch(steps, page);
        }
    }

    fn announce(&mut self, snapshot: usize, budget: u64) {
        self.announced = Some(snapshot);
        let round = u32::try_from(snapshot).expect("fewer than 2^32 snapshots");
        self.observe(&Event::Round { round, budget });
    }

    fn discover(&mut self, web: &DiscoveryWeb, page: PageId, seed: bool) {
        let host = web.host(page);
        let (page, is_new) = self.ids.issue(page);
        if is_new {
            self.observe(&Event::Discovered { page, host, seed });
        }
    }

    fn fetch(&mut self, steps: &Steps<'_>, of: PageId) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let links;
        let answer = if !steps.is_known(of) {
            Answer::Failed(Fault::Lost)
        } else if !steps.is_present(of) {
            Answer::Failed(Fault::Gone)
        } else {
            links = self.ids.links(steps.links(of, &mut buffer));
            // Discovery asks what a page links to, not whether its text is the same.
            Answer::Fetched(Change::Changed, &links)
        };
        self.driver.answer(self.ids.of(of), answer, &NoLinks);
        self.buffer = buffer;
    }

    fn observe(&mut self, event: &Event<'_>) {
        self.driver.tell(event, &NoLinks);
    }
}

/// Whether a page is another host's, which is known of but not fetched.
fn is_elsewhere(web: &DiscoveryWeb, page: PageId) -> bool {
    web.host(page) != super::web::OWN_HOST
}

/// By new page: whether the pages asked for lead to it.
pub(super) fn found_by(steps: &Steps<'_>, step: &Step, asked: &[PageId]) -> Vec<bool> {
    let mut found = vec![false; (step.end.0 - step.first_new.0) as usize];
    follow(steps, step, asked, &mut found);
    found
}

/// Notes the new pages that some pages lead to. Returns those that were not found before, in order of id.
fn follow(steps: &Steps<'_>, step: &Step, from: &[PageId], found: &mut [bool]) -> Vec<PageId> {
    let mut first = Vec::new();
    if found.is_empty() {
        return first;
    }
    let mut buffer = Vec::new();
    let tells = |page: &&PageId| step.telling.binary_search(page).is_ok() && steps.is_known(**page);
    let mut open: Vec<PageId> = from.iter().filter(tells).copied().collect();
    while let Some(page) = open.pop() {
        for &link in steps.links(page, &mut buffer) {
            if link < step.first_new {
                continue;
            }
            if !std::mem::replace(&mut found[(link.0 - step.first_new.0) as usize], true) {
                first.push(link);
                open.push(link);
            }
        }
    }
    first.sort_unstable();
    first
}
