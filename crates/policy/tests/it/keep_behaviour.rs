//! What `keep` does where one can say beforehand what is right.

use turnstone_frontier::{
    Arm, Change, Event, Fault, HostId, Next, PageId, Policy, Politeness, Reason, Scheduler, Tick,
};
use turnstone_policy::keep;

use crate::keep_web::Lent;

const DAY: u64 = 86_400_000;

/// A store that is told what happens, day by day.
struct Told {
    scheduler: Scheduler<Box<dyn Policy>>,
    lent: Lent,
    pages: u32,
    rounds: u32,
    day: u64,
}

impl Told {
    fn new(spec: &str) -> Self {
        let policy = keep::build(&spec.parse().unwrap(), 1).unwrap();
        Self {
            scheduler: Scheduler::new(policy, Politeness::OFF),
            lent: Lent::default(),
            pages: 0,
            rounds: 0,
            day: 0,
        }
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.scheduler
            .observe(event, Tick(self.day * DAY), &self.lent);
    }

    /// So many more pages of a site, by their numbers.
    fn discover(&mut self, site: u32, count: u32) -> std::ops::Range<u32> {
        let first = self.pages;
        for page in first..first + count {
            let (page, host) = (PageId(page), HostId(site));
            self.lent.know(None);
            self.tell(&Event::Discovered {
                page,
                host,
                seed: false,
            });
        }
        self.pages += count;
        first..self.pages
    }

    fn fetched(&mut self, page: u32, changed: bool, links: &[PageId]) {
        let change = if changed {
            Change::Changed
        } else {
            Change::Unchanged
        };
        let page = PageId(page);
        self.lent.fetched(page, links);
        self.tell(&Event::Fetched {
            page,
            change,
            links,
        });
    }

    fn gone(&mut self, page: u32) {
        let fault = Fault::Gone;
        let page = PageId(page);
        self.tell(&Event::Failed { page, fault });
    }

    fn hint(&mut self, page: u32) {
        let page = PageId(page);
        self.tell(&Event::Hinted { page, by: None });
    }

    fn round(&mut self, budget: u64) {
        let round = self.rounds;
        self.rounds += 1;
        self.tell(&Event::Round { round, budget });
    }

    fn next(&mut self) -> Option<u32> {
        match self.scheduler.next(Tick(self.day * DAY)) {
            Next::Fetch(page) => Some(page.0),
            _ => None,
        }
    }

    fn rank(&self, page: u32) -> u64 {
        self.scheduler.ranking().rank(PageId(page))
    }

    fn planned(&self, arm: Arm) -> (u64, Reason) {
        let share = self.scheduler.split().unwrap().arms[arm.index()];
        (share.planned, share.reason)
    }
}

/// Twenty stored pages that never change, and two hundred that were never fetched.
fn much_to_cover(spec: &str) -> Told {
    let mut told = Told::new(spec);
    for page in told.discover(0, 20) {
        told.fetched(page, false, &[]);
    }
    told.discover(0, 200);
    told
}

#[test]
fn a_floor_is_given_even_where_other_requests_are_worth_more() {
    let without = "keep:refresh=0,discovery=0,retest=0,found=0";
    for (spec, each_round, reason) in [
        (without, 0, Reason::Outbid),
        (
            "keep:refresh=0.25,discovery=0,retest=0,found=0",
            2,
            Reason::Floor,
        ),
    ] {
        let mut told = much_to_cover(spec);
        for _ in 0..10 {
            told.day += 1;
            told.round(8);
            assert_eq!(told.planned(Arm::Refresh), (each_round, reason), "{spec}");
            for _ in 0..8 {
                let page = told.next().unwrap();
                told.fetched(page, false, &[]);
            }
            assert_eq!(told.next(), None, "the budget is spent");
        }
        let split = told.scheduler.split().unwrap();
        assert_eq!(split.arms[Arm::Refresh.index()].spent, 10 * each_round);
    }
}

#[test]
fn a_floor_below_one_request_a_round_is_given_over_time() {
    let mut told = much_to_cover("keep:refresh=0.05,discovery=0,retest=0,found=0");
    let mut given = 0;
    for _ in 0..20 {
        told.day += 1;
        told.round(4);
        given += told.planned(Arm::Refresh).0;
        while let Some(page) = told.next() {
            told.fetched(page, false, &[]);
        }
    }
    assert_eq!(given, 4, "a twentieth of eighty requests");
}

#[test]
fn a_round_ranks_the_best_of_all_pages() {
    let tell = |budget: u64| {
        let mut told = Told::new("keep:refresh=0,discovery=0,retest=0");
        for page in told.discover(0, 400) {
            told.day = u64::from(page * 37 % 100);
            told.fetched(page, false, &[]);
        }
        told.day = 120;
        told.round(budget);
        (0..400).map(|page| told.rank(page)).collect::<Vec<u64>>()
    };
    let all = tell(1000);
    assert!(all.iter().all(|rank| *rank > 0));
    let ranked: Vec<(usize, u64)> = tell(8)
        .into_iter()
        .enumerate()
        .filter(|r| r.1 > 0)
        .collect();
    // Eight, a quarter of eight more, and sixteen.
    assert_eq!(ranked.len(), 26);
    let worst = ranked.iter().map(|(_, rank)| *rank).min().unwrap();
    for (page, rank) in all.iter().enumerate() {
        match ranked.iter().find(|(other, _)| *other == page) {
            Some((_, as_ranked)) => assert_eq!(as_ranked, rank),
            None => assert!(*rank <= worst, "page {page} was worth more"),
        }
    }
}

#[test]
fn a_change_seen_makes_other_old_copies_of_the_site_worth_more() {
    let mut told = Told::new("keep:refresh=0,discovery=0,retest=0,found=0");
    let (restless, calm) = (told.discover(0, 30), told.discover(1, 30));
    for page in restless.clone().chain(calm.clone()) {
        told.fetched(page, false, &[]);
    }
    told.day = 28;
    for at in 0..10 {
        told.fetched(restless.start + at, true, &[]);
        told.fetched(calm.start + at, false, &[]);
    }
    told.round(1000);
    let [restless, calm] = [restless.start + 20, calm.start + 20].map(|page| told.rank(page));
    assert!(restless > 2 * calm, "{restless} {calm}");
}

#[test]
fn hints_count_as_much_as_their_site_proved_them() {
    let mut told = Told::new("keep:refresh=0,discovery=0,retest=0,found=0");
    // On site 0 hints come with every change and never without; on site 1 for no reason.
    let sites = [told.discover(0, 40), told.discover(1, 40)];
    for page in 0..80 {
        told.fetched(page, false, &[]);
    }
    told.round(0);
    for week in 1..=10 {
        told.day = 7 * week;
        for at in 0..30 {
            let changes = (u64::from(at) + week).is_multiple_of(5);
            let lies = (u64::from(at) + 2 * week).is_multiple_of(5);
            if changes {
                told.hint(sites[0].start + at);
            }
            if lies {
                told.hint(sites[1].start + at);
            }
            for site in &sites {
                told.fetched(site.start + at, changes, &[]);
            }
        }
    }
    for site in &sites {
        told.hint(site.start + 30);
    }
    told.day += 7;
    told.round(1000);
    let [hinted_true, silent_true] = [30, 31].map(|at| told.rank(sites[0].start + at));
    let [hinted_lies, silent_lies] = [30, 31].map(|at| told.rank(sites[1].start + at));
    assert!(hinted_true > hinted_lies, "{hinted_true} {hinted_lies}");
    assert!(
        silent_true < silent_lies,
        "no hint says little where few come: {silent_true} {silent_lies}"
    );
    let (truth, lies) = (
        hinted_true as f64 / silent_true as f64,
        hinted_lies as f64 / silent_lies as f64,
    );
    assert!(truth > 2.0 * lies, "{truth} {lies}");
}

#[test]
fn pages_that_stay_away_are_tested_at_growing_intervals() {
    let mut told = Told::new("keep:refresh=0,discovery=0,retest=0");
    told.discover(0, 1);
    told.gone(0);
    // Worth of a test on the same day after each miss.
    let mut worth = Vec::new();
    for miss in 1..6 {
        told.day = 30 * miss;
        told.round(1);
        worth.push(told.rank(0));
        assert_eq!(told.next(), Some(0));
        told.gone(0);
    }
    assert!(worth.is_sorted_by(|a, b| a > b), "{worth:?}");
}

#[test]
fn a_source_of_new_pages_is_asked_sooner_than_its_like() {
    let mut told = Told::new("keep:refresh=0,discovery=0,retest=0");
    told.discover(0, 2);
    for page in 0..2 {
        told.fetched(page, false, &[]);
    }
    told.day = 7;
    told.round(1000);
    let new = told.discover(0, 3);
    let links: Vec<PageId> = new.clone().map(PageId).collect();
    told.fetched(0, true, &links);
    told.fetched(1, true, &[]);
    // New pages are ranked at once.
    assert!(new.clone().all(|page| told.rank(page) > 0));
    for page in new {
        told.fetched(page, true, &[]);
    }
    told.day = 14;
    told.round(1000);
    assert!(
        told.rank(0) > 2 * told.rank(1),
        "{} {}",
        told.rank(0),
        told.rank(1)
    );
    let arm = |page| told.scheduler.arm(PageId(page));
    assert_eq!((arm(0), arm(1)), (Some(Arm::Discovery), Some(Arm::Refresh)));
}

#[test]
fn a_folder_that_came_back_is_asked_for_at_once() {
    // A folder of a hundred pages, and as many others that change every day.
    let mut told = Told::new("keep");
    let front = told.discover(0, 1).start;
    let folder: Vec<PageId> = told.discover(0, 100).map(PageId).collect();
    let others = told.discover(0, 100);
    told.fetched(front, false, &folder);
    for page in &folder {
        told.fetched(page.0, false, &[]);
    }
    for page in others.clone() {
        told.fetched(page, false, &[]);
    }
    // It vanishes, and is tested in vain for weeks.
    for _ in 0..6 {
        told.day += 10;
        told.round(1_000);
        for page in &folder {
            told.gone(page.0);
        }
        for page in others.clone() {
            told.fetched(page, true, &[]);
        }
    }
    told.day += 3;
    told.round(150);
    let lost = folder[7].0;
    told.fetched(lost, true, &[]);
    let mut asked = Vec::new();
    while let Some(page) = told.next() {
        asked.push(page);
        if folder.contains(&PageId(page)) {
            told.fetched(page, true, &[]);
        } else {
            told.fetched(page, false, &[]);
        }
        if asked.len() == 120 {
            break;
        }
    }
    let back = asked.iter().filter(|page| folder.contains(&PageId(**page)));
    assert_eq!(back.count(), 99, "{asked:?}");
}

#[test]
fn a_page_that_came_back_alone_calls_few_others() {
    let mut told = Told::new("keep:retest=0");
    let front = told.discover(0, 1).start;
    let folder: Vec<PageId> = told.discover(0, 100).map(PageId).collect();
    told.fetched(front, false, &folder);
    for page in &folder {
        told.fetched(page.0, false, &[]);
    }
    told.day += 1;
    told.round(1_000);
    for page in &folder {
        told.gone(page.0);
    }
    told.day += 1;
    told.round(1_000);
    let ranks: Vec<u64> = folder.iter().map(|page| told.rank(page.0)).collect();
    told.fetched(folder[0].0, true, &[]);
    let raised = folder
        .iter()
        .zip(&ranks)
        .filter(|(page, rank)| told.rank(page.0) > **rank);
    assert_eq!(raised.count(), 8);
}
