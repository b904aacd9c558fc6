//! Random crawls, as lists of things that happen.

use proptest::prelude::*;
use turnstone_frontier::{Change, Fault, HostId, PageId, Tick, Visit};
use turnstone_pagestore::{
    Archived, Entry, Facts, Hint, Links, NewPage, Outcome, PageState, Position, Settled, Store,
    StoreError,
};

/// Something that happens to a crawl, with ids taken modulo what is known.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Find(u16),
    HandOut(u32),
    Fetch(u32, Vec<u32>, u64),
    Fail(u32, u8),
    Move(u32, u32),
    Hold(u32, u64),
    Robots(u8, Vec<u8>),
    Hint(u32, u32, u64),
    Round(u64),
    Write,
}

pub(crate) fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => any::<u16>().prop_map(Deed::Find),
        3 => any::<u32>().prop_map(Deed::HandOut),
        3 => (any::<u32>(), prop::collection::vec(any::<u32>(), 0..6), any::<u64>())
            .prop_map(|(page, links, text)| Deed::Fetch(page, links, text)),
        1 => (any::<u32>(), 0..4u8).prop_map(|(page, fault)| Deed::Fail(page, fault)),
        1 => (any::<u32>(), any::<u32>()).prop_map(|(page, to)| Deed::Move(page, to)),
        1 => (any::<u32>(), any::<u64>()).prop_map(|(host, until)| Deed::Hold(host, until)),
        1 => (any::<u8>(), any::<Vec<u8>>()).prop_map(|(of, record)| Deed::Robots(of, record)),
        1 => (any::<u32>(), any::<u32>(), any::<u64>())
            .prop_map(|(page, by, changed_s)| Deed::Hint(page, by, changed_s)),
        1 => any::<u64>().prop_map(Deed::Round),
        2 => Just(Deed::Write),
    ];
    prop::collection::vec(deed, 1..60)
}

/// Does one thing at a tick.
pub(crate) fn perform(store: &mut Store, deed: &Deed, tick: Tick) -> Result<(), StoreError> {
    let pages = store.index().page_count() as u32;
    let page = |number: u32| PageId(number % pages);
    match deed {
        Deed::Find(number) => {
            let url = format!("http://host{}.example/{number}", number % 3);
            let key = store.keyer().key(&url);
            if store.index().find(key).is_none() {
                let host = store.host(tick, &format!("host{}.example", number % 3));
                let refused = if number % 7 == 0 {
                    ("scope", "elsewhere")
                } else {
                    ("", "")
                };
                let seed = pages == 0;
                store.add(
                    tick,
                    NewPage {
                        key,
                        url: &url,
                        host,
                        seed,
                        outside: false,
                        listed: false,
                        depth: 3,
                        refused,
                        metadata: &[],
                    },
                );
            }
        }
        Deed::Write => return store.write(),
        Deed::Robots(of, record) => {
            let authority = format!("http://host{of}.example");
            let (requests, body_bytes) = (1, record.len() as u64);
            let entry = Entry::Robots {
                authority: &authority,
                record,
                requests,
                body_bytes,
            };
            store.append(tick, &entry);
        }
        Deed::Round(budget) => {
            let entry = Entry::Round {
                question: "keep",
                round: store.index().rounds("keep"),
                budget: *budget,
            };
            store.append(tick, &entry);
        }
        _ if pages == 0 => {}
        Deed::Hint(number, by, changed_s) => {
            let hint = Hint {
                page: page(*number),
                by: page(*by),
                changed_s: *changed_s,
            };
            store.append(tick, &Entry::Hint(hint));
        }
        Deed::HandOut(number) => {
            store.append(
                tick,
                &Entry::HandOut {
                    page: page(*number),
                },
            );
        }
        Deed::Fetch(number, links, text) => {
            let mut links: Vec<PageId> = links.iter().map(|link| page(*link)).collect();
            links.dedup();
            let facts = Facts {
                class: "ok".into(),
                status: 200,
                requests: 1,
                text_hash: *text,
                digest: Some([*text as u8; 20]),
                capture: Some(Archived {
                    file: 1,
                    offset: *text,
                    length: 3,
                    file_end: 4,
                    index_end: 5,
                }),
                title: format!("title {text}"),
                ..Facts::default()
            };
            let settled = Settled::Fetched(Change::New);
            settle(store, tick, page(*number), settled, &links, facts);
        }
        Deed::Fail(number, fault) => {
            let fault =
                [Fault::Gone, Fault::Unknown, Fault::Refused, Fault::Lost][usize::from(*fault)];
            let facts = Facts::refused("timeout", "no answer within 10 s");
            settle(
                store,
                tick,
                page(*number),
                Settled::Failed(fault),
                &[],
                facts,
            );
        }
        Deed::Move(number, to) => {
            let settled = Settled::Moved(page(*to));
            settle(store, tick, page(*number), settled, &[], Facts::default());
        }
        Deed::Hold(host, until) => {
            let host = HostId(host % store.index().host_count() as u32);
            store.append(
                tick,
                &Entry::Held {
                    host,
                    until: Tick(*until),
                },
            );
            store.append(
                tick,
                &Entry::Visit {
                    host,
                    visit: Visit::Spared,
                },
            );
        }
    }
    Ok(())
}

fn settle(
    store: &mut Store,
    tick: Tick,
    page: PageId,
    settled: Settled,
    links: &[PageId],
    facts: Facts,
) {
    let (links, before) = (Links::Ids(links), Position(0));
    store.settle(
        tick,
        Outcome {
            page,
            settled,
            links,
            before,
            facts,
        },
    );
}

/// Everything that can be asked of a store, as text.
pub(crate) fn told(store: &Store) -> String {
    use std::fmt::Write as _;
    use turnstone_frontier::Links as _;
    let index = store.index();
    let mut out = String::new();
    for page in (0..index.page_count()).map(PageId::from_index) {
        let url = store.url(page).unwrap();
        assert_eq!(index.find(store.keyer().key(&url)), Some(page));
        let mut links = Vec::new();
        let links = store.links_of(page, &mut links).to_vec();
        let (outcome, copy) = (store.outcome(page).unwrap(), store.copy(page).unwrap());
        let refusal = store.refusal(page).unwrap();
        let state = index.state(page);
        writeln!(
            out,
            "{page} {url} {state:?} {links:?} {outcome:?} {copy:?} {refusal:?} {:?}",
            index.hint(page)
        )
        .unwrap();
    }
    for state in PageState::ALL {
        let count = store.pages_in(state).count() as u64;
        assert_eq!(index.count(state), count);
    }
    for (authority, _) in index.robots() {
        writeln!(out, "{authority} {:?}", store.robots(authority).unwrap()).unwrap();
    }
    writeln!(out, "{:?} {:?}", index.tally(), index.latest()).unwrap();
    let (rounds, last) = (index.rounds("keep"), index.round_at("keep"));
    writeln!(out, "{rounds} rounds, the last at {last:?}").unwrap();
    out
}
