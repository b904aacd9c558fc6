//! The ranking and the scheduler against the slow truth, operation by operation.

use std::io;

use proptest::prelude::*;
use turnstone_frontier::{
    Change, Event, Fault, HostId, Links, Next, NoLinks, PageId, Place as Seen, Policy, Politeness,
    Rank, Ranking, Scheduler, Tick,
};

use crate::model::{Model, Page, Place};

/// One thing a policy may do to a page, or a driver to the scheduler.
#[derive(Clone, Copy, Debug)]
enum Step {
    Discover { host: u32 },
    Set { page: usize, rank: Rank },
    Raise { page: usize, by: Rank },
    Take { page: usize },
    Park { page: usize },
    Queue { page: usize },
    Shelve { page: usize },
    Defer { page: usize, by_ms: u64 },
    Next,
    Land { page: usize },
    Hold { host: u32, by_ms: u64 },
    Pass { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let page = 0usize..40;
    prop_oneof![
        3 => (0u32..5).prop_map(|host| Step::Discover { host }),
        4 => (page.clone(), 0u64..6).prop_map(|(page, rank)| Step::Set { page, rank }),
        6 => (page.clone(), 0u64..4).prop_map(|(page, by)| Step::Raise { page, by }),
        1 => page.clone().prop_map(|page| Step::Take { page }),
        1 => page.clone().prop_map(|page| Step::Park { page }),
        1 => page.clone().prop_map(|page| Step::Queue { page }),
        1 => page.clone().prop_map(|page| Step::Shelve { page }),
        1 => (page.clone(), 0u64..30).prop_map(|(page, by_ms)| Step::Defer { page, by_ms }),
        6 => Just(Step::Next),
        3 => page.prop_map(|page| Step::Land { page }),
        1 => (0u32..5, 0u64..40).prop_map(|(host, by_ms)| Step::Hold { host, by_ms }),
        3 => (0u64..15).prop_map(|ms| Step::Pass { ms }),
    ]
}

/// Does to the ranking what the test tells it to, at the next event.
#[derive(Default)]
struct Puppet {
    order: Option<Step>,
}

impl Policy for Puppet {
    fn observe(&mut self, _: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        let page = PageId::from_index;
        match self.order.take() {
            Some(Step::Set { page: p, rank }) => ranking.set(page(p), rank),
            Some(Step::Raise { page: p, by }) => ranking.raise(page(p), by),
            Some(Step::Take { page: p }) => {
                ranking.take(page(p));
            }
            Some(Step::Park { page: p }) => ranking.park(page(p)),
            Some(Step::Queue { page: p }) => ranking.queue(page(p)),
            Some(Step::Shelve { page: p }) => ranking.shelve(page(p)),
            Some(Step::Defer { page: p, by_ms }) => ranking.defer(page(p), now.plus(by_ms)),
            _ => {}
        }
    }

    fn save(&self, _: &mut dyn io::Write) -> io::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut dyn io::Read) -> io::Result<()> {
        Ok(())
    }
}

/// A scheduler that runs a policy step: the puppet acts when told that nothing happened.
fn pull(scheduler: &mut Scheduler<Puppet>, order: Step, now: Tick) {
    let mut saved = Vec::new();
    scheduler.save(&mut saved).unwrap();
    *scheduler = Scheduler::restore(Puppet { order: Some(order) }, &mut saved.as_slice()).unwrap();
    scheduler.observe(
        &Event::Round {
            round: 0,
            budget: 0,
        },
        now,
        &NoLinks,
    );
}

/// The same step on the model.
fn apply(model: &mut Model, step: Step, now: Tick) {
    let come_home = |page: &mut Page| {
        if let Place::Absent { home_parked } = page.place {
            page.place = if home_parked {
                Place::Parked
            } else {
                Place::Queued
            };
        }
    };
    match step {
        Step::Set { page, rank } => {
            model.pages[page].rank = rank;
            come_home(&mut model.pages[page]);
        }
        Step::Raise { page, by } => {
            model.pages[page].rank += by;
            come_home(&mut model.pages[page]);
        }
        Step::Take { page } => {
            let page = &mut model.pages[page];
            let home_parked = matches!(
                page.place,
                Place::Parked | Place::Absent { home_parked: true }
            );
            page.rank = 0;
            page.place = Place::Absent { home_parked };
        }
        Step::Park { page } => {
            let page = &mut model.pages[page];
            let kept = page.rank > 0;
            page.place = if kept {
                Place::Parked
            } else {
                Place::Absent { home_parked: true }
            };
        }
        Step::Queue { page } => model.pages[page].place = Place::Queued,
        Step::Shelve { page } => model.pages[page].place = Place::Shelved,
        Step::Defer { page, by_ms } => {
            model.pages[page].place = Place::Deferred(now.plus(by_ms));
        }
        _ => unreachable!("not a policy's step"),
    }
}

/// What a scheduler says once all waits in vain are over: it may name the time of a host that has
/// nothing to ask for.
fn after_vain_waits(scheduler: &Scheduler<Puppet>, first: Next, expected: Next) -> Next {
    let mut saved = Vec::new();
    scheduler.save(&mut saved).unwrap();
    let mut copy = Scheduler::restore(Puppet::default(), &mut saved.as_slice()).unwrap();
    let mut said = first;
    while let Next::WaitUntil(tick) = said
        && said != expected
    {
        match copy.next(tick) {
            Next::Fetch(_) => break,
            later => said = later,
        }
    }
    said
}

/// Runs the steps on both and compares after each.
fn check(steps: &[Step], politeness: Politeness) {
    let mut scheduler = Scheduler::new(Puppet::default(), politeness);
    let mut model = Model::default();
    let mut now = Tick(0);
    for &step in steps {
        match step {
            Step::Discover { host } => {
                model.wake(now);
                let page = PageId::from_index(model.pages.len());
                let host = HostId(host);
                scheduler.observe(
                    &Event::Discovered {
                        page,
                        host,
                        seed: false,
                    },
                    now,
                    &NoLinks,
                );
                let place = Place::Absent { home_parked: false };
                model.pages.push(Page {
                    host,
                    rank: 0,
                    place,
                });
            }
            Step::Next => {
                let expected = model.next(now, politeness);
                let got = scheduler.next(now);
                let got = after_vain_waits(&scheduler, got, expected);
                assert_eq!(got, expected, "at {now:?}");
            }
            Step::Land { page } if page < model.pages.len() => {
                model.wake(now);
                let id = PageId::from_index(page);
                let event = if page % 2 == 0 {
                    Event::Fetched {
                        page: id,
                        change: Change::New,
                        links: &[],
                    }
                } else {
                    Event::Failed {
                        page: id,
                        fault: Fault::Unknown,
                    }
                };
                scheduler.observe(&event, now, &NoLinks);
                model.pages[page].place = Place::Shelved;
            }
            Step::Hold { host, by_ms } => {
                model.wake(now);
                let (host, until) = (HostId(host), now.plus(by_ms));
                scheduler.observe(&Event::Held { host, until }, now, &NoLinks);
                let held = model.held.entry(host).or_default();
                *held = (*held).max(until);
            }
            Step::Pass { ms } => now = now.plus(ms),
            Step::Set { page, .. }
            | Step::Raise { page, .. }
            | Step::Take { page }
            | Step::Park { page }
            | Step::Queue { page }
            | Step::Shelve { page }
            | Step::Defer { page, .. }
                if page < model.pages.len() && model.pages[page].place != Place::InFlight =>
            {
                model.wake(now);
                pull(&mut scheduler, step, now);
                apply(&mut model, step, now);
            }
            _ => {}
        }
        let ranking = scheduler.ranking();
        assert_eq!(ranking.best_queued(), model.best(Place::Queued));
        assert_eq!(ranking.best_parked(), model.best(Place::Parked));
        for (index, page) in model.pages.iter().enumerate() {
            let id = PageId::from_index(index);
            let expected = match page.place {
                Place::Queued => Seen::Queued,
                Place::Parked => Seen::Parked,
                Place::InFlight => Seen::InFlight,
                Place::Shelved => Seen::Shelved,
                Place::Deferred(until) => Seen::Deferred(until),
                Place::Absent { .. } => Seen::Absent,
            };
            assert_eq!(ranking.place(id), expected, "page {id}");
            let better = model.pages.iter().enumerate().filter(|(other, it)| {
                it.place == Place::Queued
                    && (it.rank > page.rank || (it.rank == page.rank && *other < index))
            });
            assert_eq!(ranking.queued_before(id), better.count(), "page {id}");
        }
        for (index, page) in model.pages.iter().enumerate() {
            assert_eq!(
                ranking.rank(PageId::from_index(index)),
                page.rank,
                "page {index}"
            );
        }
        let open = model
            .pages
            .iter()
            .filter(|page| page.place == Place::InFlight)
            .count();
        assert_eq!(ranking.in_flight_count(), open);
        assert_eq!(scheduler.in_flight().count(), open);
    }
    assert_ne!(scheduler.next(now.plus(1 << 40)), Next::WaitUntil(Tick(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn agrees_with_the_slow_truth(
        steps in prop::collection::vec(step(), 1..150),
        delay_ms in 0u64..20,
        open_max in 1u32..4,
    ) {
        check(&steps, Politeness { delay_ms, open_max });
    }

    #[test]
    fn agrees_with_the_slow_truth_without_politeness(
        steps in prop::collection::vec(step(), 1..150),
    ) {
        check(&steps, Politeness::OFF);
    }
}
