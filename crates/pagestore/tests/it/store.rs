//! What is read back is what was put in, over restarts; one process at a time.

use proptest::prelude::*;
use turnstone_frontier::{Change, PageId, Tick};
use turnstone_pagestore::{
    Entry, Facts, Fold, Links, Lock, NewPage, Onward, Outcome, Position, Settled, Store,
    StoreError, Written,
};

use crate::crawls::{Deed, deeds, perform, told};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn reopened_at_any_time_it_tells_the_same(deeds in deeds(), reopen_at in 0usize..60) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), "a test").unwrap();
        for (tick, deed) in deeds.iter().enumerate() {
            if tick == reopen_at {
                store.write().unwrap();
                let before = told(&store);
                drop(store);
                store = Store::open(folder.path(), "a test").unwrap();
                prop_assert_eq!(told(&store), before);
            }
            perform(&mut store, deed, Tick(tick as u64)).unwrap();
        }
        store.write().unwrap();
        prop_assert_eq!(told(&Store::look(folder.path()).unwrap()), told(&store));
    }

    #[test]
    fn who_follows_knows_what_who_opens_knows(deeds in deeds(), look_at in 0usize..60) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), "a test").unwrap();
        let mut follower = Store::look(folder.path()).unwrap();
        let mut seen = 0;
        for (tick, deed) in deeds.iter().enumerate() {
            if tick % (look_at + 1) == look_at {
                store.write().unwrap();
                let entries = follower.follow(|_, _, _, _| seen += 1).unwrap();
                prop_assert!(entries <= seen);
                prop_assert_eq!(told(&follower), told(&store));
            }
            perform(&mut store, deed, Tick(tick as u64)).unwrap();
        }
        store.write().unwrap();
        follower.follow(|_, _, _, _| seen += 1).unwrap();
        prop_assert_eq!(told(&follower), told(&store));
        let mut scan = store.scan(Position::FIRST);
        let mut all = 0;
        while scan.next().unwrap().is_some() {
            all += 1;
        }
        prop_assert_eq!(seen, all);
    }

    #[test]
    fn a_scan_gives_the_entries_from_any_position(deeds in deeds()) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), "a test").unwrap();
        for (tick, deed) in deeds.iter().enumerate() {
            perform(&mut store, deed, Tick(tick as u64)).unwrap();
        }
        store.write().unwrap();
        let mut all = Vec::new();
        let mut scan = store.scan(Position::FIRST);
        while let Some((at, tick, entry)) = scan.next().unwrap() {
            all.push((at, format!("{tick:?} {entry:?}")));
        }
        for (number, (at, _)) in all.iter().enumerate() {
            let mut scan = store.scan(*at);
            let (found, tick, entry) = scan.next().unwrap().unwrap();
            prop_assert_eq!((found, format!("{tick:?} {entry:?}")), all[number].clone());
        }
    }
}

#[test]
fn one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), "process 7, crawling").unwrap();
    let error = Store::open(folder.path(), "another").unwrap_err();
    assert!(
        error.to_string().contains("in use by process 7, crawling"),
        "{error}"
    );
    assert_eq!(
        Lock::holder(folder.path()).as_deref(),
        Some("process 7, crawling")
    );
    drop(store);
    assert_eq!(Lock::holder(folder.path()), None);
    drop(Store::open(folder.path(), "another").unwrap());
    let error = Store::create(folder.path(), "a third").unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
}

#[test]
fn no_crawl_is_no_crawl() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open(folder.path(), "a test").unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing was made"
    );
}

#[test]
fn a_checkpoint_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), "a test").unwrap();
    assert_eq!(store.last_checkpoint(), None);
    perform(&mut store, &Deed::Find(1), Tick(1)).unwrap();
    store.checkpoint(|out| out.write_all(b"the state")).unwrap();
    let saved = (store.end(), b"the state".to_vec());
    assert_eq!(store.last_checkpoint(), Some(saved.clone()));
    perform(&mut store, &Deed::Find(2), Tick(2)).unwrap();
    let failed = store.checkpoint(|_| Err(std::io::ErrorKind::StorageFull.into()));
    assert!(failed.unwrap_err().is_full());
    assert_eq!(
        store.last_checkpoint(),
        Some(saved),
        "the old one is still there"
    );
    let path = folder.path().join("store/checkpoint");
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert_eq!(store.last_checkpoint(), None, "flipped at {at}");
        std::fs::write(&path, &whole[..at]).unwrap();
        assert_eq!(store.last_checkpoint(), None, "cut at {at}");
    }
}

#[test]
fn a_body_is_seen_once_it_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), "a test").unwrap();
    perform(&mut store, &Deed::Find(1), Tick(1)).unwrap();
    perform(&mut store, &Deed::Fetch(0, vec![], 9), Tick(2)).unwrap();
    let seen = store.seen();
    assert_eq!(
        seen.find(&[9; 20]),
        None,
        "a crash could still take it away"
    );
    store.write().unwrap();
    store.syncer().sync().unwrap();
    store.durable(store.end());
    let first = seen.find(&[9; 20]).unwrap();
    let url = store.url(first.page).unwrap();
    assert_eq!(store.reader().url(first.page_at).unwrap(), url);
}

#[test]
fn one_who_looks_sees_the_moment_he_came() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), "a crawl").unwrap();
    store.host(Tick(1), "a.example");
    store.write().unwrap();
    let looked = Store::look(folder.path()).unwrap();
    store.host(Tick(2), "b.example");
    store.write().unwrap();
    let mut scan = looked.scan(Position::FIRST);
    assert!(scan.next().unwrap().is_some());
    assert!(
        scan.next().unwrap().is_none(),
        "the index does not know what came later"
    );
    assert_eq!(looked.index().host_count(), 1);
    assert_eq!(Store::look(folder.path()).unwrap().index().host_count(), 2);
}

/// Releases before journal version 4 marked no hearsay. The entries are as they wrote them: all but the mark.
#[test]
fn old_imports_are_stored_only_where_a_body_was_read() {
    let digest = [7; 20];
    let of_digest = u64::from_le_bytes([7; 8]);
    let facts = |class: &str, status| Facts {
        class: class.into(),
        status,
        wall_ms: 1_500_000_000_000,
        detail: "old.warc.gz at byte 77".into(),
        ..Facts::default()
    };
    let index = Facts {
        digest: Some(digest),
        text_hash: of_digest,
        ..facts("ok", 200)
    };
    let read = Facts {
        text_hash: 99,
        simhash: 5,
        words: 40,
        body_bytes: 900,
        ..index.clone()
    };
    let image = Facts {
        body_bytes: 900,
        ..index.clone()
    };
    let asked = Facts {
        requests: 1,
        ..index.clone()
    };
    let snapshot = Facts {
        detail: "a.jsonl.zst, snapshot 3".into(),
        text_hash: 99,
        words: 40,
        body_bytes: 900,
        ..facts("ok", 200)
    };
    let same_as_another = Facts {
        duplicate_of: Some(PageId(0)),
        ..index.clone()
    };
    let same_as_before = Facts {
        duplicate_of: Some(PageId(3)),
        ..index.clone()
    };
    let cases = [
        ("a WARC record", read, true),
        ("a list of URLs, or a graph", facts("imported", 0), false),
        ("a line of an index", index, false),
        ("a revisit in an index", same_as_before, false),
        (
            "a revisit of another page that was read",
            same_as_another,
            true,
        ),
        ("a WARC record without text", image, true),
        ("a snapshot of a history", snapshot, false),
        ("a request of ours", asked, true),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(folder.path(), "a test").unwrap();
    for (number, (_, facts, _)) in cases.iter().enumerate() {
        let url = format!("http://a.example/{number}");
        let (key, host) = (store.keyer().key(&url), store.host(Tick(0), "a.example"));
        let new = NewPage {
            key,
            url: &url,
            host,
            seed: false,
            outside: false,
            listed: false,
            depth: 0,
            refused: ("", ""),
            metadata: &[],
        };
        let page = store.add(Tick(0), new);
        let outcome = Outcome {
            page,
            settled: Settled::Fetched(Change::New),
            links: Links::Ids(&[]),
            before: Position::default(),
            facts: facts.clone(),
        };
        store.append(Tick(0), &Entry::Outcome(outcome));
    }
    store.write().unwrap();
    drop(store);
    let store = Store::open(folder.path(), "a test").unwrap();
    for (number, (what, _, stored)) in cases.iter().enumerate() {
        let page = PageId::from_index(number);
        assert_eq!(store.index().is_stored(page), *stored, "{what}");
        assert!(store.index().is_copied(page), "{what}: somebody had it");
    }
}

/// A fold that notes where everything it sees stands.
#[derive(Default)]
struct Notes(Vec<Position>);

impl<E> Fold<E> for Notes {
    fn see(&mut self, written: Written, _: &Entry<'_>) -> Result<(), E> {
        assert!(written.next > written.at);
        self.0.push(written.at);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn one_read_shows_every_fold_what_a_scan_of_its_own_would(
        deeds in deeds(), from in 0usize..60, other in 0usize..60,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), "a test").unwrap();
        for (tick, deed) in deeds.iter().enumerate() {
            perform(&mut store, deed, Tick(tick as u64)).unwrap();
        }
        store.write().unwrap();
        let mut all = Vec::new();
        let mut scan = store.scan(Position::FIRST);
        while let Some((at, _, _)) = scan.next().unwrap() {
            all.push(at);
        }
        let place = |number: usize| all.get(number).copied().unwrap_or(Position::NEVER);
        let (mut early, mut late, mut never) = (Notes::default(), Notes::default(), Some(Notes::default()));
        let mut nobody: Option<Notes> = None;
        store.fold(&mut (
            Onward(place(from), &mut early),
            (Onward(place(other), &mut late), &mut nobody),
            Onward(Position::NEVER, &mut never),
        )).unwrap();
        let since = |number: usize| all.iter().copied().skip(number).collect::<Vec<_>>();
        prop_assert_eq!(early.0, since(from));
        prop_assert_eq!(late.0, since(other));
        prop_assert_eq!(never.unwrap().0, Vec::new());
    }
}
