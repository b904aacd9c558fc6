//! What a slice had spent when its process was killed, as the next one reads it from the journal.

use turnstone_pagestore::{Facts, Links, NewPage, Outcome};

use super::*;

const HOUR_MS: u64 = 3_600_000;
const BUDGET: u64 = 3;

/// What stands in the journal. Even pages are of host 0, odd ones of host 1.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Session,
    Round,
    HandOut(u32),
    /// A page came, having cost so many requests.
    Came(u32, u32),
    Visit(u32, Visit),
    /// The robots.txt of a host came, having cost so many requests.
    Robots(u32, u32),
}

fn write(store: &mut Store, tick: Tick, deed: Deed) {
    let authority = |host| format!("http://host{host}.example");
    match deed {
        Deed::Session => {
            let entry = Entry::Session {
                wall_ms: 0,
                boot: "",
                boot_ms: 0,
                delay_ms: 0,
                open_max: 1,
                policy: "keep",
            };
            store.append(tick, &entry);
        }
        Deed::Round => {
            let entry = Entry::Round {
                question: "keep",
                round: store.index().rounds("keep"),
                budget: BUDGET,
            };
            store.append(tick, &entry);
        }
        Deed::HandOut(page) => {
            let page = PageId(page);
            store.append(tick, &Entry::HandOut { page });
        }
        Deed::Came(page, requests) => store.settle(
            tick,
            Outcome {
                page: PageId(page),
                settled: Settled::Fetched(Change::New),
                links: Links::Ids(&[]),
                before: Position(0),
                facts: Facts {
                    requests,
                    ..Facts::default()
                },
            },
        ),
        Deed::Visit(host, visit) => {
            let host = HostId(host);
            store.append(tick, &Entry::Visit { host, visit });
        }
        Deed::Robots(host, requests) => {
            let entry = Entry::Robots {
                authority: &authority(host),
                record: &[],
                requests,
                body_bytes: 0,
            };
            store.append(tick, &entry);
        }
    }
}

fn resumed(deeds: &[(u64, Deed)], now: Tick, per_second: Option<f64>) -> Slices {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), "a test").unwrap();
    for number in 0..4 {
        let name = format!("host{}.example", number % 2);
        let url = format!("http://{name}/{number}");
        let page = NewPage {
            key: store.keyer().key(&url),
            url: &url,
            host: store.host(Tick(0), &name),
            seed: true,
            depth: 0,
            refused: ("", ""),
        };
        store.add(Tick(0), page);
    }
    for (tick, deed) in deeds {
        write(&mut store, Tick(*tick), *deed);
    }
    store.write().unwrap();
    let pace = Pace {
        slice_ms: HOUR_MS,
        per_second,
        per_day: None,
        host_per_day: Some(100),
        rounds: None,
    };
    let round = Round {
        question: "keep".to_owned(),
        budget: BUDGET,
    };
    Slices::resume(&store, (pace, &round), now).unwrap()
}

/// What the slice has spent, and each host today.
fn check(deeds: &[Deed], expected: (u64, [u64; 2])) {
    let deeds: Vec<(u64, Deed)> = deeds.iter().map(|deed| (5, *deed)).collect();
    let slices = resumed(&deeds, Tick(10), None);
    let spent = [0, 1].map(|host| slices.hosts.get(&HostId(host)).map_or(0, |day| day.spent));
    assert_eq!((slices.now.requests, spent), expected, "{deeds:?}");
    assert!(slices.running);
    assert_eq!(slices.counts, expected.0 < BUDGET, "{deeds:?}");
}

#[test]
fn what_never_came_back_may_have_been_sent() {
    use Deed::{Came, HandOut, Robots, Round, Session, Visit as At};
    use Visit::{Closed, Opened, Spared};
    check(&[Round, HandOut(0), Came(0, 1)], (1, [1, 0]));
    check(&[Round, HandOut(1), Came(1, 2)], (2, [0, 2]));
    check(&[Round, HandOut(0)], (1, [1, 0]));
    check(&[Round, HandOut(0), Session], (1, [1, 0]));
    let again = [Round, HandOut(0), Session, HandOut(0), Came(0, 1)];
    check(&again, (2, [2, 0]));
    // Nothing was sent for it.
    check(&[Round, HandOut(0), At(0, Spared)], (0, [0, 0]));
    check(&[Round, HandOut(1), HandOut(0), At(0, Spared)], (1, [0, 1]));
    // Requests for no page.
    check(&[Round, Robots(1, 2)], (2, [0, 2]));
    check(&[Round, At(1, Opened)], (1, [0, 1]));
    check(&[Round, At(1, Opened), Session], (1, [0, 1]));
    // One that was asked for elsewhere counts where it was asked for.
    let elsewhere = [Round, At(1, Opened), At(1, Closed), Robots(0, 1)];
    check(&elsewhere, (1, [0, 1]));
    // A slice begins anew, a host's day does not; and all of a budget may be spent.
    check(&[Round, Came(0, 2), Round, Came(1, 1)], (1, [2, 1]));
    check(&[Round, Came(0, 2), Came(1, 1)], (3, [2, 1]));
}

#[test]
fn what_is_over_is_over() {
    let deeds = [(5, Deed::Round), (6, Deed::Came(0, 1))];
    let tomorrow = resumed(&deeds, Tick(DAY_MS), None);
    assert!(!tomorrow.running && tomorrow.hosts.is_empty());
    let end = 5 + HOUR_MS;
    assert!(resumed(&deeds, Tick(end - 1), None).running);
    assert!(!resumed(&deeds, Tick(end), None).running);
    assert!(!resumed(&[], Tick(10), None).running);
    // The last request may have been sent just now.
    let soon = resumed(&deeds, Tick(1000), Some(4.0));
    assert_eq!(soon.allows(Tick(1000)), Allowance::WaitUntil(Tick(1250)));
}
