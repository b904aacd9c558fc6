//! A change of plan is an entry: what follows from it follows from the journal alone.

use turnstone_frontier::{Change, Next, PageId, Tick};
use turnstone_ledger::{Ledger, adopt, sow};
use turnstone_pagestore::{Entry, Facts, Links, Outcome, PageState, Position, Settled, Store};
use turnstone_urls::{KeyOptions, Url};

use super::teller::{InOrder, fetch, open, scope, session, terms};

const FIRST: [&str; 4] = [
    "http://a.example/1",
    "http://a.example/x/2",
    "http://b.example/3",
    "http://b.example/4",
];

fn state(ledger: &Ledger<InOrder>, url: &str) -> PageState {
    let page = ledger.index().find(ledger.store().keyer().key(url));
    ledger.index().state(page.unwrap())
}

#[test]
fn the_same_plan_is_no_change_and_a_checkpoint_serves() {
    let folder = tempfile::tempdir().unwrap();
    let all = scope(&[], &[]);
    let (mut ledger, opened) = open(folder.path(), terms("crawl", &all), &all, false);
    assert!(opened.replanned);
    session(&mut ledger, Tick(0));
    fetch(&mut ledger, &all, Tick(1), &FIRST);
    ledger.checkpoint().unwrap();
    fetch(&mut ledger, &all, Tick(2), &[]);
    ledger.store_mut().write().unwrap();
    let print = ledger.fingerprint(Tick(9));
    drop(ledger);
    let (mut ledger, opened) = open(folder.path(), terms("crawl", &all), &all, false);
    assert!(!opened.replanned && opened.exact);
    assert_eq!(opened.entries, 2, "a hand-out and its outcome");
    assert!(ledger.fingerprint(Tick(9)) == print);
}

/// A round in between makes two changes of plan; after the second, checkpoints serve again.
#[test]
fn checkpoints_serve_again_after_a_round() {
    let folder = tempfile::tempdir().unwrap();
    let all = scope(&[], &[]);
    for question in ["crawl", "refresh", "crawl"] {
        let (mut ledger, opened) = open(folder.path(), terms(question, &all), &all, false);
        assert!(opened.replanned, "{question}");
        let now = ledger.index().latest();
        session(&mut ledger, now);
        ledger.checkpoint().unwrap();
    }
    let (_, opened) = open(folder.path(), terms("crawl", &all), &all, false);
    assert_eq!((opened.replanned, opened.entries), (false, 0));
}

#[test]
fn a_narrower_scope_lets_go_of_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let all = scope(&[], &[]);
    let (mut ledger, _) = open(folder.path(), terms("crawl", &all), &all, false);
    session(&mut ledger, Tick(0));
    fetch(&mut ledger, &all, Tick(1), &FIRST);
    assert_eq!(ledger.scheduler().policy().pages, 5);
    ledger.store_mut().write().unwrap();
    drop(ledger);

    let narrow = scope(&["/x/"], &["a.example"]);
    let (mut ledger, opened) = open(folder.path(), terms("crawl", &narrow), &narrow, false);
    assert_eq!(opened.flips.outside.len(), 3);
    assert_eq!(ledger.scheduler().policy().pages, 2);
    assert_eq!(
        ledger.scheduler().policy().links,
        1,
        "one link still counts"
    );
    assert_eq!(state(&ledger, FIRST[1]), PageState::Outside);
    session(&mut ledger, Tick(2));
    assert_eq!(fetch(&mut ledger, &narrow, Tick(3), &[]), FIRST[0]);
    assert_eq!(ledger.next(Tick(4)), Next::Empty);
}

/// The account and the frontier are those of a crawl that had the wider scope from the start.
#[test]
fn a_wider_scope_is_as_if_it_had_been_so_from_the_start() {
    let near = scope(&[], &["a.example"]);
    let all = scope(&[], &[]);
    let widened = tempfile::tempdir().unwrap();
    let (mut ledger, _) = open(widened.path(), terms("crawl", &near), &near, false);
    session(&mut ledger, Tick(0));
    fetch(&mut ledger, &near, Tick(1), &FIRST);
    assert_eq!(ledger.index().known_count(), 3);
    assert_eq!(ledger.scheduler().policy().links, 2);
    ledger.store_mut().write().unwrap();
    drop(ledger);
    let (ledger, opened) = open(widened.path(), terms("crawl", &all), &all, false);
    assert_eq!(opened.flips.inside.len(), 2);

    let fresh = tempfile::tempdir().unwrap();
    let (mut other, _) = open(fresh.path(), terms("crawl", &all), &all, false);
    session(&mut other, Tick(0));
    fetch(&mut other, &all, Tick(1), &FIRST);
    assert_eq!(ledger.scheduler().policy(), other.scheduler().policy());
    assert_eq!(ledger.index().known_count(), other.index().known_count());
    let queued = |ledger: &Ledger<InOrder>| ledger.scheduler().ranking().queued_count();
    assert_eq!(queued(&ledger), queued(&other));
}

/// A release that forgot links out of scope read these pages: when the scope is widened, nobody
/// knows how many links they have.
#[test]
fn what_an_older_release_forgot_is_not_taken_for_nothing() {
    for (within, unseen) in [(scope(&[], &["a.example"]), 0), (scope(&[], &[]), u64::MAX)] {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), "a test").unwrap();
        let seed = Url::parse("http://a.example/0").unwrap();
        sow(&mut store, &[seed], &KeyOptions::default(), Tick(0));
        let page = PageId(0);
        store.append(Tick(1), &Entry::HandOut { page });
        let outcome = Outcome {
            page,
            settled: Settled::Fetched(Change::New),
            links: Links::Ids(&[]),
            before: Position(0),
            facts: Facts::default(),
        };
        store.settle(Tick(2), outcome);
        let near = scope(&[], &["a.example"]);
        adopt(&mut store, &terms("crawl", &near), Tick(3));
        store.write().unwrap();
        drop(store);
        let (ledger, _) = open(folder.path(), terms("crawl", &within), &within, false);
        assert_eq!(ledger.scheduler().policy().unseen, unseen, "{within}");
    }
}

#[test]
fn a_seed_named_later_is_a_change_of_plan() {
    let folder = tempfile::tempdir().unwrap();
    let all = scope(&[], &[]);
    let (mut ledger, _) = open(folder.path(), terms("crawl", &all), &all, false);
    session(&mut ledger, Tick(0));
    fetch(&mut ledger, &all, Tick(1), &FIRST);
    ledger.store_mut().write().unwrap();
    drop(ledger);
    let mut store = Store::open(folder.path(), "a test").unwrap();
    let seeds = [Url::parse(FIRST[2]).unwrap(), Url::parse(FIRST[2]).unwrap()];
    assert_eq!(
        sow(&mut store, &seeds, &KeyOptions::default(), Tick(2)).len(),
        1
    );
    store.write().unwrap();
    drop(store);
    let (_, opened) = open(folder.path(), terms("crawl", &all), &all, false);
    assert!(opened.replanned);
    let (_, opened) = open(folder.path(), terms("crawl", &all), &all, false);
    assert!(!opened.replanned);
}

/// The scope of a crawl is by default the hosts of its seeds: 400 kB of text here, which a plan and a checkpoint must
/// hold.
#[test]
fn twelve_thousand_seeds_do_not_cost_the_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let hosts: Vec<String> = (0..12_000)
        .map(|host| format!("a-host-with-a-long-name-{host}.example"))
        .collect();
    let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let within = scope(&[], &names);
    let seeds: Vec<Url> = hosts
        .iter()
        .map(|host| Url::parse(&format!("http://{host}/")).unwrap())
        .collect();
    let mut store = Store::create(folder.path(), "a test").unwrap();
    sow(&mut store, &seeds, &KeyOptions::default(), Tick(0));
    store.write().unwrap();
    drop(store);
    let (mut ledger, opened) = open(folder.path(), terms("crawl", &within), &within, false);
    assert!(opened.replanned);
    session(&mut ledger, Tick(1));
    fetch(&mut ledger, &within, Tick(2), &[]);
    ledger.checkpoint().unwrap();
    let print = ledger.fingerprint(Tick(9));
    drop(ledger);
    let (mut ledger, opened) = open(folder.path(), terms("crawl", &within), &within, false);
    assert_eq!(
        (opened.replanned, opened.exact, opened.entries),
        (false, true, 0)
    );
    assert!(ledger.fingerprint(Tick(9)) == print);
}
