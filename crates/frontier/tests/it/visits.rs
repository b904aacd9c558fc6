//! Requests beside the hand-outs, and hosts joined by address: nobody is asked early.

use proptest::prelude::*;
use turnstone_frontier::{
    Event, Fault, HostId, Next, NoLinks, PageId, Politeness, Scheduler, Tick, Visit,
};

use crate::random_crawls::Whim;

const HOSTS: u32 = 5;

/// What a driver may do next, if it is allowed to.
#[derive(Clone, Copy, Debug)]
enum Act {
    HandOut,
    AskAgain(prop::sample::Index),
    Spare,
    Land(prop::sample::Index),
    Open(HostId),
    Close(prop::sample::Index),
    Join(HostId, HostId),
    Hold(HostId, u64),
    Wait(u64),
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    let host = || (0..HOSTS).prop_map(HostId);
    prop_oneof![
        4 => Just(Act::HandOut),
        2 => any::<prop::sample::Index>().prop_map(Act::AskAgain),
        1 => Just(Act::Spare),
        3 => any::<prop::sample::Index>().prop_map(Act::Land),
        1 => host().prop_map(Act::Open),
        1 => any::<prop::sample::Index>().prop_map(Act::Close),
        1 => (host(), host()).prop_map(|(a, b)| Act::Join(a, b)),
        1 => (host(), 0..40u64).prop_map(|(host, ms)| Act::Hold(host, ms)),
        4 => (0..12u64).prop_map(Act::Wait),
        1 => Just(Act::Restart),
    ]
}

/// Every request ever sent and every join, kept in lists.
#[derive(Default)]
struct Truth {
    sent: Vec<(Tick, HostId)>,
    joins: Vec<(HostId, HostId)>,
    held: Vec<(HostId, Tick)>,
    in_flight: Vec<(PageId, HostId)>,
    opened: Vec<HostId>,
}

impl Truth {
    /// The hosts asked as one with this one, by looking at all joins again and again.
    fn unit(&self, host: HostId) -> Vec<HostId> {
        let mut unit = vec![host];
        for _ in 0..HOSTS {
            for &(a, b) in &self.joins {
                for (here, there) in [(a, b), (b, a)] {
                    if unit.contains(&here) && !unit.contains(&there) {
                        unit.push(there);
                    }
                }
            }
        }
        unit
    }

    fn send(&mut self, host: HostId, now: Tick, politeness: Politeness) {
        let unit = self.unit(host);
        for &(sent, to) in &self.sent {
            let gap = now.0 - sent.0;
            assert!(
                !unit.contains(&to) || gap >= politeness.delay_ms,
                "host {host} asked {gap} ms after {to}"
            );
        }
        for &(of, until) in &self.held {
            assert!(!unit.contains(&of) || until <= now, "host {host} is held");
        }
        self.sent.push((now, host));
    }

    fn open(&self, host: HostId) -> usize {
        let unit = self.unit(host);
        let pages = self.in_flight.iter().map(|(_, host)| host);
        pages
            .chain(&self.opened)
            .filter(|host| unit.contains(host))
            .count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nobody_is_asked_early(
        acts in prop::collection::vec(act(), 1..120),
        seed: u64,
        open_max in 1u32..3,
    ) {
        let politeness = Politeness { delay_ms: 7, open_max };
        let mut scheduler = Scheduler::new(Whim::new(seed), politeness);
        for page in 0..60 {
            let event = Event::Discovered {
                page: PageId(page),
                host: HostId(page % HOSTS),
                seed: false,
            };
            scheduler.observe(&event, Tick(0), &NoLinks);
        }
        let (mut truth, mut now) = (Truth::default(), Tick(0));

        for act in acts {
            match act {
                Act::HandOut | Act::Spare => {
                    let Next::Fetch(page) = scheduler.next(now) else { continue };
                    let host = HostId(page.0 % HOSTS);
                    prop_assert!(truth.open(host) < open_max as usize);
                    if matches!(act, Act::HandOut) {
                        truth.send(host, now, politeness);
                        truth.in_flight.push((page, host));
                    } else {
                        let earliest = scheduler.earliest(host);
                        scheduler.visit(host, Visit::Spared, now);
                        prop_assert!(scheduler.earliest(host) <= earliest);
                        let fault = Fault::Gone;
                        scheduler.observe(&Event::Failed { page, fault }, now, &NoLinks);
                    }
                }
                Act::AskAgain(which) if !truth.in_flight.is_empty() => {
                    let host = which.get(&truth.in_flight).1;
                    if scheduler.earliest(host) <= now {
                        truth.send(host, now, politeness);
                        scheduler.visit(host, Visit::Asked, now);
                    }
                }
                Act::Land(which) if !truth.in_flight.is_empty() => {
                    let at = which.index(truth.in_flight.len());
                    let (page, _) = truth.in_flight.remove(at);
                    let fault = Fault::Unknown;
                    scheduler.observe(&Event::Failed { page, fault }, now, &NoLinks);
                }
                Act::Open(host) if scheduler.is_free(host, now) => {
                    prop_assert!(truth.open(host) < open_max as usize);
                    truth.send(host, now, politeness);
                    truth.opened.push(host);
                    scheduler.visit(host, Visit::Opened, now);
                }
                Act::Close(which) if !truth.opened.is_empty() => {
                    let at = which.index(truth.opened.len());
                    let host = truth.opened.remove(at);
                    scheduler.visit(host, Visit::Closed, now);
                }
                Act::Join(a, b) => {
                    scheduler.join(a, b, now);
                    truth.joins.push((a, b));
                }
                Act::Hold(host, ms) => {
                    let until = now.plus(ms);
                    scheduler.observe(&Event::Held { host, until }, now, &NoLinks);
                    truth.held.push((host, until));
                }
                Act::Wait(ms) => now = now.plus(ms),
                Act::Restart => {
                    let mut saved = Vec::new();
                    scheduler.save(&mut saved).unwrap();
                    scheduler = Scheduler::restore(Whim::new(0), &mut saved.as_slice()).unwrap();
                    let mut again = Vec::new();
                    scheduler.save(&mut again).unwrap();
                    prop_assert_eq!(saved, again);
                }
                Act::AskAgain(_) | Act::Land(_) | Act::Open(_) | Act::Close(_) => {}
            }
        }
    }
}

#[test]
fn a_host_spared_is_asked_at_once() {
    let mut scheduler = Scheduler::new(Whim::new(1), Politeness::default());
    for page in 0..2 {
        let (page, host) = (PageId(page), HostId(0));
        let event = Event::Discovered {
            page,
            host,
            seed: true,
        };
        scheduler.observe(&event, Tick(0), &NoLinks);
    }
    let Next::Fetch(page) = scheduler.next(Tick(5)) else {
        panic!("a page is there");
    };
    scheduler.visit(HostId(0), Visit::Spared, Tick(5));
    let fault = Fault::Gone;
    scheduler.observe(&Event::Failed { page, fault }, Tick(5), &NoLinks);
    assert!(matches!(scheduler.next(Tick(5)), Next::Fetch(other) if other != page));
}
