//! RankMass with a test: certified no more often above the truth than it says, with several requests open; costs
//! little more than the proof where webs are so small that it cannot gain; and goes on alike after it was saved at any moment.

use turnstone_frontier::{
    Change, Event, Fault, HostId, Next, PageId, Politeness, Random, Scheduler, Tick,
};
use turnstone_policy::Spec;
use turnstone_policy::coverage::{self, Confidence, CoveragePolicy, Goal, Trust};

use crate::certificate::{PAGES, Truth, confidence, goal};

struct Crawl {
    truth: Truth,
    ranks: Vec<f64>,
    scheduler: Scheduler<Box<dyn CoveragePolicy>>,
    stored: f64,
    requests: u64,
    is_wrong: bool,
}

fn policy(confidence: Option<Confidence>) -> Box<dyn CoveragePolicy> {
    let spec: Spec = "rankmass".parse().unwrap();
    let trust = Trust::alike([PageId(0)]).unwrap();
    let goal = Goal {
        confidence,
        ..goal()
    };
    coverage::build(&spec, &trust, goal).unwrap()
}

impl Crawl {
    fn start(number: u64, confidence: Option<Confidence>) -> Self {
        let truth = Truth::draw(&mut Random::new(number));
        let mut scheduler = Scheduler::new(policy(confidence), Politeness::OFF);
        for page in (0..PAGES as u32).map(PageId) {
            let (host, seed) = (HostId(0), page.0 == 0);
            scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), &truth);
        }
        Self {
            ranks: truth.ranks(),
            truth,
            scheduler,
            stored: 0.0,
            requests: 0,
            is_wrong: false,
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.scheduler.observe(event, Tick(0), &self.truth);
    }

    fn answer(&mut self, page: PageId) {
        self.requests += 1;
        if self.truth.dead[page.index()] {
            let fault = Fault::Gone;
            self.tell(&Event::Failed { page, fault });
        } else if let Some(to) = self.truth.moved[page.index()] {
            self.tell(&Event::Moved { page, to });
        } else {
            let links = self.truth.seen[page.index()].clone();
            let unseen = (self.truth.links[page.index()].len() - links.len()) as u64;
            if unseen > 0 {
                self.tell(&Event::Unseen {
                    page,
                    links: unseen,
                });
            }
            self.stored += self.ranks[page.index()];
            let change = Change::New;
            self.tell(&Event::Fetched {
                page,
                change,
                links: &links,
            });
        }
        let coverage = self.scheduler.coverage().unwrap();
        let certified = coverage.certified_fraction().unwrap_or(0.0);
        self.is_wrong |= certified > self.stored + 1e-9;
        assert!(coverage.guaranteed_fraction() <= self.stored + 1e-9);
        assert!(coverage.possible_fraction() >= certified);
    }

    /// Sends `open` requests at once, and answers the last first. Returns whether there was one.
    fn step(&mut self, open: usize) -> bool {
        let mut pages = Vec::new();
        while pages.len() < open {
            match self.scheduler.next(Tick(0)) {
                Next::Fetch(page) => pages.push(page),
                Next::WaitUntil(_) | Next::Empty => break,
            }
        }
        for page in pages.iter().rev() {
            self.answer(*page);
        }
        !pages.is_empty()
    }

    fn run(&mut self, open: usize) {
        while !self.scheduler.coverage().unwrap().met() && self.step(open) {}
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.scheduler.save(&mut bytes).unwrap();
        bytes
    }
}

#[test]
fn it_certifies_more_than_is_there_no_more_often_than_it_says() {
    let (mut wrong, mut with, mut without, mut surfers) = (0, 0, 0, 0);
    let runs = 200;
    for number in 0..runs {
        let open = 1 + (number % 4) as usize;
        let mut certified = Crawl::start(number, Some(confidence(number)));
        certified.run(open);
        wrong += u64::from(certified.is_wrong);
        with += certified.requests;
        surfers += certified.scheduler.policy().tests().unwrap().surfers;
        let mut proven = Crawl::start(number, None);
        proven.run(open);
        without += proven.requests;
    }
    assert!(wrong * 20 <= runs, "{wrong} of {runs} are above the truth");
    assert!(surfers > runs, "{surfers} surfers");
    assert!(
        with * 20 < without * 21,
        "{with} requests to certify, {without} to prove"
    );
}

#[test]
fn it_goes_on_alike_after_it_was_saved_anywhere() {
    let mut tested = 0;
    for number in 0..12 {
        let mut through = Crawl::start(number, Some(confidence(number)));
        through.run(3);
        let rounds = through.requests.div_ceil(3);
        for after in 0..rounds {
            if after % 5 != number % 5 {
                continue;
            }
            let mut crawl = Crawl::start(number, Some(confidence(number)));
            for _ in 0..after {
                crawl.step(3);
            }
            let saved = crawl.bytes();
            let restored =
                Scheduler::restore(policy(Some(confidence(number))), &mut saved.as_slice());
            crawl.scheduler = restored.unwrap();
            assert_eq!(crawl.bytes(), saved);
            crawl.run(3);
            assert_eq!(crawl.bytes(), through.bytes(), "web {number} after {after}");
        }
        tested += through.scheduler.policy().tests().unwrap().surfers;
    }
    assert!(tested > 0);
}

#[test]
fn a_test_starts_over_when_a_page_comes_back_with_other_links() {
    let number = (0..50).find(|number| {
        let mut crawl = Crawl::start(*number, Some(confidence(*number)));
        crawl.run(1);
        crawl.scheduler.policy().tests().unwrap().surfers > 0
    });
    let number = number.expect("one of fifty is tested");
    let mut crawl = Crawl::start(number, Some(confidence(number)));
    crawl.run(1);
    let (page, change, links) = (PageId(0), Change::Changed, [PageId(1)]);
    crawl.tell(&Event::Fetched {
        page,
        change,
        links: &links,
    });
    let tests = crawl.scheduler.policy().tests().unwrap();
    assert_eq!((tests.surfers, tests.undone), (0, 1));
    let coverage = crawl.scheduler.coverage().unwrap();
    assert_eq!(coverage.certified, Some(coverage.guaranteed));
}
