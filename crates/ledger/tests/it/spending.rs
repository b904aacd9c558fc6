//! What a slice and each host have spent follows from the journal, kills included.

use turnstone_frontier::{HostId, Tick, Visit};
use turnstone_ledger::DAY_MS;
use turnstone_pagestore::Entry;

use super::teller::{fetch, open, scope, session, terms};

#[test]
fn requests_for_no_page_count_when_their_process_ends() {
    let folder = tempfile::tempdir().unwrap();
    let all = scope(&[], &[]);
    let (mut ledger, _) = open(folder.path(), terms("keep", &all), &all, false);
    session(&mut ledger, Tick(0));
    let round = Entry::Round {
        question: "keep",
        round: 0,
        budget: 9,
    };
    ledger.tell(Tick(1), &round);
    fetch(&mut ledger, &all, Tick(2), &["http://b.example/1"]);
    let (a, b) = (HostId(0), HostId(1));
    let visit = |host, visit| Entry::Visit { host, visit };
    let robots = Entry::Robots {
        authority: "http://a.example",
        record: &[],
        requests: 1,
        body_bytes: 0,
    };
    // One that was asked for elsewhere counts where it was asked for.
    ledger.tell(Tick(3), &visit(b, Visit::Opened));
    ledger.tell(Tick(3), &robots);
    ledger.tell(Tick(3), &visit(b, Visit::Closed));
    assert_eq!(ledger.spending().slice().requests, 2);
    assert_eq!(ledger.spending().of_host(b, Tick(4)), 1);
    // This one never came back: it may have been sent.
    ledger.tell(Tick(5), &visit(a, Visit::Opened));
    assert_eq!(ledger.spending().slice().requests, 2);
    session(&mut ledger, Tick(6));
    assert_eq!(ledger.spending().slice().requests, 3);
    assert_eq!(ledger.spending().of_host(a, Tick(6)), 2);
    assert_eq!(ledger.spending().of_host(a, Tick(DAY_MS)), 0, "another day");
    let tally = ledger.index().tally();
    assert_eq!(tally.requests, 3, "the whole crawl counts alike");
    // A slice begins anew, a host's day does not.
    ledger.tell(Tick(7), &round);
    assert_eq!(ledger.spending().slice().requests, 0);
    assert_eq!(ledger.spending().of_host(a, Tick(7)), 2);
    ledger.store_mut().write().unwrap();
    drop(ledger);
    let (again, opened) = open(folder.path(), terms("keep", &all), &all, false);
    assert!(!opened.replanned);
    assert_eq!(again.spending().of_host(a, Tick(7)), 2);
}
