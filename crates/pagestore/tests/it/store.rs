//! What is read back is what was put in, over restarts; one process at a time.

use proptest::prelude::*;
use turnstone_frontier::Tick;
use turnstone_pagestore::{Lock, Position, Store, StoreError};

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
