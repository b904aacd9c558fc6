//! A certificate is above the truth no more often than it says: with pages dead, moved and cut, several surfers
//! under way, and the store growing while it is tested. And it goes on alike after it was saved at any moment.

use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, Next, PageId, Politeness, Random, Save as _, Scheduler,
    Tick,
};
use turnstone_policy::coverage::{
    Certificate, Confidence, Dangling, Goal, Push, RankMass, Supposed, Trust,
};
use turnstone_policy::mass::{Fraction, as_fraction};

const DAMPING: f64 = 0.85;
pub(crate) const PAGES: u64 = 150;

/// What the stakes start from: any guess is valid.
const SUPPOSED: Supposed = Supposed {
    mean: 0.7,
    variance: 0.05,
};

/// A web as it is: what a page answers, and its links as they are and as they are seen.
pub(crate) struct Truth {
    pub(crate) links: Vec<Vec<PageId>>,
    pub(crate) seen: Vec<Vec<PageId>>,
    pub(crate) dead: Vec<bool>,
    pub(crate) moved: Vec<Option<PageId>>,
}

impl Links for Truth {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &self.seen[page.index()]
    }
}

impl Truth {
    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut links = Vec::new();
        for page in 0..PAGES {
            let mut to = Vec::new();
            for _ in 0..random.below(8) {
                // Early pages are linked most, neighbours often.
                let near = random.below(3) == 0;
                let early = random.below(PAGES).min(random.below(PAGES));
                let link = if near {
                    (page + random.below(9)) % PAGES
                } else {
                    early
                };
                to.push(PageId(link as u32));
            }
            to.sort_unstable();
            to.dedup();
            links.push(to);
        }
        let seen = links
            .iter()
            .map(|all: &Vec<PageId>| match random.below(30) {
                0 => all[..all.len() / 2].to_vec(),
                _ => all.clone(),
            });
        let seen: Vec<Vec<PageId>> = seen.collect();
        let first = |page: u64| page > 2;
        let dead = (0..PAGES).map(|page| first(page) && random.below(10) == 0);
        let dead: Vec<bool> = dead.collect();
        // To an earlier page, so that there are no circles.
        let moved = (0..PAGES).map(|page| {
            let moves = first(page) && !dead[page as usize] && random.below(12) == 0;
            moves.then(|| PageId(random.below(page) as u32))
        });
        Self {
            moved: moved.collect(),
            dead,
            links,
            seen,
        }
    }

    fn end(&self, page: PageId) -> Option<PageId> {
        let mut end = page;
        while let Some(next) = self.moved[end.index()] {
            end = next;
        }
        (!self.dead[end.index()]).then_some(end)
    }

    /// The personalised PageRank of the web without what cannot be had, page 0 trusted.
    pub(crate) fn ranks(&self) -> Vec<f64> {
        let ends = self.links.iter().map(|links| {
            let ends = links.iter().filter_map(|link| self.end(*link));
            ends.collect::<Vec<PageId>>()
        });
        let ends: Vec<Vec<PageId>> = ends.collect();
        let mut ranks = vec![0.0; PAGES as usize];
        ranks[0] = 1.0;
        for _ in 0..120 {
            let mut next = vec![0.0; PAGES as usize];
            next[0] = 1.0 - DAMPING;
            for (page, ends) in ends.iter().enumerate() {
                if ends.is_empty() {
                    next[0] += DAMPING * ranks[page];
                }
                for end in ends {
                    next[end.index()] += DAMPING * ranks[page] / ends.len() as f64;
                }
            }
            ranks = next;
        }
        ranks
    }
}

/// A web where everything leads back to the trusted page: what a broken certificate might believe.
struct Flattery;

impl Links for Flattery {
    fn links_of<'a>(&'a self, _: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &[PageId(0)]
    }
}

pub(crate) fn goal() -> Goal {
    Goal {
        epsilon: Fraction::new(0.1).unwrap(),
        ..Goal::default()
    }
}

pub(crate) fn confidence(seed: u64) -> Confidence {
    Confidence {
        level: Fraction::new(0.95).unwrap(),
        seed,
    }
}

fn share(certificate: &Certificate) -> f64 {
    as_fraction(certificate.certified())
}

/// One crawl with its test.
struct Run {
    truth: Truth,
    ranks: Vec<f64>,
    scheduler: Scheduler<RankMass>,
    certificate: Certificate,
    stored: f64,
    events: u64,
    is_wrong: bool,
    /// Surfers are told of another web.
    is_flattered: bool,
}

impl Run {
    fn start(number: u64) -> Self {
        let mut random = Random::new(number);
        let truth = Truth::draw(&mut random);
        let goal = goal();
        let first = Push::FetchedFirst { share: Push::SHARE };
        let trust = Trust::alike([PageId(0)]).unwrap();
        let policy = RankMass::new(trust, goal, first, Dangling::Jump);
        let mut scheduler = Scheduler::new(policy, Politeness::OFF);
        for page in (0..PAGES as u32).map(PageId) {
            let (host, seed) = (HostId(0), page.0 == 0);
            scheduler.observe(&Event::Discovered { page, host, seed }, Tick(0), &truth);
        }
        Self {
            ranks: truth.ranks(),
            truth,
            scheduler,
            certificate: Certificate::new(goal, confidence(number)),
            stored: 0.0,
            events: PAGES,
            is_wrong: false,
            is_flattered: false,
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.scheduler.observe(event, Tick(0), &self.truth);
    }

    /// A page is asked for and answered.
    fn answer(&mut self, page: PageId) {
        if self.truth.dead[page.index()] {
            let fault = Fault::Gone;
            self.tell(&Event::Failed { page, fault });
        } else if let Some(to) = self.truth.moved[page.index()] {
            self.tell(&Event::Moved { page, to });
        } else {
            let links = self.truth.seen[page.index()].clone();
            let unseen = (self.truth.links[page.index()].len() - links.len()) as u64;
            if unseen > 0 {
                let links = unseen;
                self.tell(&Event::Unseen { page, links });
            }
            let change = Change::New;
            self.stored += self.ranks[page.index()];
            self.tell(&Event::Fetched {
                page,
                change,
                links: &links,
            });
        }
        let proof = self.scheduler.policy();
        let links: &dyn Links = if self.is_flattered {
            &Flattery
        } else {
            &self.truth
        };
        self.certificate.settled(page, proof, links);
        self.look();
    }

    fn look(&mut self) {
        self.is_wrong |= share(&self.certificate) > self.stored + 1e-9;
        let proven = self.scheduler.coverage().unwrap();
        assert!(proven.guaranteed_fraction() <= self.stored + 1e-9);
    }

    /// Fetches by rank.
    fn fetch(&mut self, pages: u64) {
        for _ in 0..pages {
            if let Next::Fetch(page) = self.scheduler.next(Tick(0)) {
                self.answer(page);
            }
        }
    }

    /// Draws surfers and answers for them until none waits.
    fn test(&mut self, surfers: u64) {
        for _ in 0..surfers {
            self.events += 1;
            let proof = self.scheduler.policy();
            self.certificate
                .draw(SUPPOSED, proof, &self.truth, self.events);
        }
        loop {
            // The last first: answers come in any order.
            let Some(page) = self.certificate.wanted().last() else {
                return;
            };
            self.answer(page);
        }
    }

    fn run(&mut self, number: u64) {
        self.fetch(10 + number % 30);
        for _ in 0..20 {
            self.test(1 + number % 3);
            self.fetch(number % 2);
        }
    }
}

#[test]
fn it_is_above_the_truth_no_more_often_than_it_says() {
    let (mut wrong, mut useful) = (0, 0);
    let runs = 200;
    for number in 0..runs {
        let mut run = Run::start(number);
        run.run(number);
        wrong += u64::from(run.is_wrong);
        let proven = run.scheduler.coverage().unwrap().guaranteed_fraction();
        useful += u64::from(share(&run.certificate) > proven);
    }
    assert!(wrong * 20 <= runs, "{wrong} of {runs} are above the truth");
    assert!(
        useful * 5 > runs,
        "{useful} of {runs} say more than the proof"
    );
}

/// All surfers are drawn of one store: what they certify is of that store, though it has grown since.
fn is_wrong_of_one_store(number: u64, is_flattered: bool) -> bool {
    let mut run = Run::start(number);
    run.is_flattered = is_flattered;
    run.fetch(15 + number % 20);
    let stored = run.stored;
    let eager = Supposed {
        mean: 0.9,
        variance: 0.05,
    };
    for _ in 0..100 {
        run.events += 1;
        let proof = run.scheduler.policy();
        run.certificate.draw(eager, proof, &run.truth, run.events);
    }
    run.test(0);
    share(&run.certificate) > stored + 1e-9
}

#[test]
fn of_one_store_it_is_above_the_truth_no_more_often_than_it_says() {
    let runs = 40;
    let wrong = (0..runs).filter(|number| is_wrong_of_one_store(*number, false));
    let wrong = wrong.count() as u64;
    assert!(wrong * 20 <= runs, "{wrong} of {runs} are above the truth");
}

#[test]
fn a_certificate_that_believes_too_much_is_caught() {
    let runs = 20;
    let wrong = (0..runs).filter(|number| is_wrong_of_one_store(*number, true));
    let wrong = wrong.count() as u64;
    assert!(wrong * 20 > runs, "only {wrong} of {runs} are caught");
}

#[test]
fn it_goes_on_alike_after_it_was_saved() {
    for number in 0..40 {
        let (mut run, mut other) = (Run::start(number), Run::start(number));
        for run in [&mut run, &mut other] {
            run.fetch(12);
            run.events += 3;
            for _ in 0..3 {
                run.events += 1;
                let proof = run.scheduler.policy();
                run.certificate
                    .draw(SUPPOSED, proof, &run.truth, run.events);
            }
        }
        let mut saved = Vec::new();
        other.certificate.save(&mut saved).unwrap();
        other.certificate = Certificate::new(goal(), confidence(number));
        let restored = other.certificate.restore(&mut saved.as_slice());
        restored.unwrap();
        for run in [&mut run, &mut other] {
            run.run(number);
        }
        let bytes = |run: &Run| {
            let mut bytes = Vec::new();
            run.certificate.save(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(bytes(&run), bytes(&other));
    }
}

#[test]
fn a_test_that_starts_over_claims_nothing_and_asks_for_more() {
    let mut run = Run::start(4);
    run.run(4);
    assert!(run.certificate.certified() > 0);
    run.certificate.start_over();
    assert_eq!(run.certificate.certified(), 0);
    assert_eq!(
        (run.certificate.drawn(), run.certificate.wanted().count()),
        (0, 0)
    );
}
