//! The decision table, out of a journal on disk: hand-outs and answers in any order, and a process that died.
#![allow(clippy::unwrap_used)]

use turnstone_frontier::{Arm, Change, Fault, PageId, Tick};
use turnstone_pagestore::{Entry, Facts, Links, NewPage, Outcome, Position, Settled, Store};
use turnstone_tables::{Cell, Table};

const PAGES: u32 = 6;

fn session(store: &mut Store) {
    let session = Entry::Session {
        wall_ms: 1_000_000,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: 1,
        policy: "",
    };
    store.append(Tick(0), &session);
}

fn plan(store: &mut Store, question: &str, policy: &str) {
    let plan = Entry::Plan {
        question,
        policy,
        seeds: 1,
        text: "",
        inside: Links::Ids(&[]),
        outside: Links::Ids(&[]),
    };
    store.append(Tick(1), &plan);
}

fn hand_out(store: &mut Store, page: u32) {
    let page = PageId(page);
    store.append(Tick(2), &Entry::HandOut { page });
}

fn settle(store: &mut Store, page: u32, settled: Settled, facts: Facts) {
    let outcome = Outcome {
        page: PageId(page),
        settled,
        links: Links::Ids(&[]),
        before: Position(0),
        facts,
    };
    store.settle(Tick(3), outcome);
}

/// What each row says of some columns, a line each.
fn told(store: &mut Store, columns: &[&str]) -> Vec<String> {
    store.write().unwrap();
    let names = Table::Decisions.columns();
    let places: Vec<usize> = columns
        .iter()
        .map(|column| names.iter().position(|(name, _)| name == column).unwrap())
        .collect();
    let mut lines = Vec::new();
    let count = Table::Decisions.each(store.directory(), |cells| {
        let shown = places.iter().map(|place| match &cells[*place] {
            Cell::Nothing => "-".to_owned(),
            Cell::Text(text) => text.to_string(),
            Cell::Whole(number) => number.to_string(),
            Cell::Real(number) => number.to_string(),
            other => format!("{other:?}"),
        });
        lines.push(shown.collect::<Vec<_>>().join(" "));
        Ok(())
    });
    assert_eq!(count.unwrap(), lines.len() as u64);
    lines
}

#[test]
fn each_hand_out_is_a_row_with_what_came_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), "test").unwrap();
    let store = &mut store;
    session(store);
    plan(store, "crawl", "rankmass");
    for page in 0..PAGES {
        let url = format!("http://a.example/{page}");
        let host = store.host(Tick(1), "a.example");
        let new = NewPage {
            key: store.keyer().key(&url),
            url: &url,
            host,
            seed: page == 0,
            outside: false,
            listed: false,
            depth: 0,
            refused: ("", ""),
            metadata: &[],
        };
        store.add(Tick(1), new);
    }
    let came = Settled::Fetched(Change::New);
    // An answer without a hand-out, as an import has: no decision.
    settle(store, 5, came, Facts::default());
    // Two are open at once, and the later one is answered first.
    hand_out(store, 0);
    hand_out(store, 1);
    settle(store, 1, Settled::Failed(Fault::Gone), Facts::default());
    settle(store, 0, came, Facts::default());
    // One is open when the process dies, and is handed out again under another plan, in a round.
    hand_out(store, 2);
    session(store);
    plan(store, "keep", "keep");
    let round = Entry::Round {
        question: "keep",
        round: 7,
        budget: 10,
    };
    store.append(Tick(4), &round);
    hand_out(store, 2);
    let facts = Facts {
        arm: Some(Arm::Refresh),
        chance: 1 << 31,
        ..Facts::default()
    };
    settle(store, 2, Settled::Fetched(Change::Changed), facts);
    hand_out(store, 3);
    hand_out(store, 4);
    settle(store, 4, Settled::Moved(PageId(0)), Facts::default());
    let columns = [
        "number", "page", "question", "policy", "round", "arm", "chance", "outcome",
    ];
    assert_eq!(
        told(store, &columns),
        [
            "0 0 crawl rankmass - - 1 new",
            "1 1 crawl rankmass - - 1 gone",
            "2 2 crawl rankmass - - - lost",
            "3 2 keep keep 7 refresh 0.5 changed",
            "4 3 keep keep 7 - - open",
            "5 4 keep keep 7 - 1 moved",
        ]
    );
}
