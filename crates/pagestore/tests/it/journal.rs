//! Torn ends, flipped bits, full disks, power cuts: nothing wrong is ever read.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use turnstone_frontier::{Change, Links as _, PageId, Tick};
use turnstone_pagestore::{PageState, Settled, Store, StoreError, journal::Journal};

use crate::crawls::{Deed, deeds, perform, told};
use crate::faulty::FaultyDisk;

fn run(store: &mut Store, deeds: &[Deed]) {
    for (tick, deed) in deeds.iter().enumerate() {
        perform(store, deed, Tick(tick as u64)).unwrap();
    }
    store.write().unwrap();
}

/// The journal file of a small crawl, and what the store told after each write.
fn small_crawl(folder: &Path) -> Vec<(u64, String)> {
    let mut store = Store::create(folder, "a test").unwrap();
    let mut states = vec![(store.end().0, told(&store))];
    for number in 0..12u32 {
        let deed = match number % 4 {
            0 | 1 => Deed::Find(number as u16 + 1),
            2 => Deed::HandOut(number),
            _ => Deed::Fetch(number, vec![0, 1], u64::from(number)),
        };
        perform(&mut store, &deed, Tick(u64::from(number))).unwrap();
        store.write().unwrap();
        states.push((store.end().0, told(&store)));
    }
    states
}

#[test]
fn a_torn_end_is_cut_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let states = small_crawl(folder.path());
    let journal = folder.path().join("store/journal");
    let whole = std::fs::read(&journal).unwrap();
    for length in (32..=whole.len()).step_by(5) {
        for noise in [&b""[..], b"\0\0\0\0\0\0\0\0\0\0", b"\x05\0\0\0noise"] {
            let mut bytes = whole[..length].to_vec();
            bytes.extend_from_slice(noise);
            std::fs::write(&journal, &bytes).unwrap();
            let looked = Store::look(folder.path()).unwrap();
            let store = Store::open(folder.path(), "a test").unwrap();
            // Entries are written one or two at a time, so the cut is at or behind a known state.
            let known = states.iter().rev().find(|(end, _)| *end <= length as u64);
            let (end, state) = known.unwrap();
            assert!(store.end().0 >= *end);
            if store.end().0 == *end {
                assert_eq!(&told(&store), state, "cut at {length}");
                assert_eq!(&told(&looked), state);
            }
            assert_eq!(store.torn_bytes(), bytes.len() as u64 - store.end().0);
            drop(store);
            let again = Store::open(folder.path(), "a test").unwrap();
            assert_eq!(again.torn_bytes(), 0, "once cut, it is whole");
        }
    }
}

#[test]
fn damage_before_the_end_is_refused_and_nothing_changed() {
    let folder = tempfile::tempdir().unwrap();
    small_crawl(folder.path());
    let journal = folder.path().join("store/journal");
    let whole = std::fs::read(&journal).unwrap();
    for at in (32..whole.len() - 200).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&journal, &bytes).unwrap();
        match Store::open(folder.path(), "a test") {
            Err(StoreError::Damaged { .. }) => {}
            other => panic!("flipped at {at}: {other:?}"),
        }
        assert_eq!(std::fs::read(&journal).unwrap(), bytes);
    }
}

#[test]
fn other_files_and_newer_formats_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::create(folder.path(), "a test").unwrap());
    let journal = folder.path().join("store/journal");
    let whole = std::fs::read(&journal).unwrap();
    let mut newer = whole.clone();
    newer[8] = 7;
    std::fs::write(&journal, &newer).unwrap();
    let error = Store::open(folder.path(), "a test").unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 7, .. }),
        "{error}"
    );
    for bytes in [&whole[..20], b"a text that somebody left here, long enough"] {
        std::fs::write(&journal, bytes).unwrap();
        let error = Store::open(folder.path(), "a test").unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    }
}

/// A journal of an older version is read as it is, and becomes one of this when it is taken over. The
/// fixtures were written by the code of their version.
#[test]
fn older_versions_open() {
    for (version, hint, pages_changed) in [
        (1, None, 0),
        (2, Some(1_700_000_100), 0),
        (3, Some(1_700_000_100), 1),
        (4, Some(1_700_000_100), 1),
        // The journal of version 4, as version 5 leaves it when it takes it over.
        (5, Some(1_700_000_100), 1),
    ] {
        // Version 4 has a plan, which keeps one page out, and one more that was found out of scope.
        let planned = version >= 4;
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("store/journal");
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/fixtures/v{version}/journal"));
        std::fs::create_dir(folder.path().join("store")).unwrap();
        std::fs::copy(fixture, &journal).unwrap();
        let bytes = std::fs::read(&journal).unwrap();
        assert_eq!(bytes[8], version);
        let looked = Store::look(folder.path()).unwrap();
        let index = looked.index();
        assert_eq!(
            (index.page_count(), index.stored_count()),
            (4 + usize::from(planned), 2),
            "v{version}"
        );
        let known = if planned { 3 } else { 4 };
        assert_eq!(index.known_count(), known, "nothing else is out of scope");
        assert_eq!(index.state(PageId(2)), PageState::Gone);
        assert_eq!(index.seeds(), [PageId(0)]);
        assert_eq!(index.hint(PageId(1)), hint, "v{version}");
        assert_eq!(index.plan().is_some(), planned, "v{version}");
        assert_eq!(index.shard(), None, "nothing was cut then");
        let last = looked.outcome(PageId(1)).unwrap().unwrap();
        let changed = last.settled == Settled::Fetched(Change::Changed);
        assert_eq!(u64::from(changed), pages_changed, "v{version}");
        assert_eq!(last.facts.arm.is_some(), changed);
        let mut links = Vec::new();
        assert_eq!(
            looked.links_of(PageId(0), &mut links),
            [1, 2, 3].map(PageId)
        );
        assert_eq!(std::fs::read(&journal).unwrap(), bytes, "only looked at");
        let state = told(&looked);
        let mut store = Store::open(folder.path(), "a test").unwrap();
        assert_eq!(told(&store), state);
        perform(&mut store, &Deed::Hint(0, 1, 77), Tick(9999)).unwrap();
        store.write().unwrap();
        let state = told(&store);
        drop(store);
        assert_eq!(std::fs::read(&journal).unwrap()[8], 6);
        assert_eq!(told(&Store::open(folder.path(), "a test").unwrap()), state);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_full_disk_loses_nothing(deeds in deeds(), fail_after in 0u32..20) {
        let disk = Arc::new(FaultyDisk::default());
        let path = Path::new("journal");
        let journal = Journal::begin(disk.clone(), path, [7; 16]).unwrap();
        let mut store = Store::on(Path::new("."), journal).unwrap();
        disk.fail_after(fail_after);
        for (tick, deed) in deeds.iter().enumerate() {
            if let Err(error) = perform(&mut store, deed, Tick(tick as u64)) {
                prop_assert!(error.is_full());
            }
        }
        disk.heal();
        store.write().unwrap();
        let again = Store::on(Path::new("."), Journal::on(disk, path).unwrap()).unwrap();
        prop_assert_eq!(told(&again), told(&store));
        prop_assert_eq!(again.torn_bytes(), 0);
    }

    #[test]
    fn a_power_cut_loses_nothing_that_was_synced(
        deeds in deeds(), more in deeds(), survives: prop::sample::Index,
    ) {
        let disk = Arc::new(FaultyDisk::default());
        let path = Path::new("journal");
        let journal = Journal::begin(disk.clone(), path, [7; 16]).unwrap();
        let mut store = Store::on(Path::new("."), journal).unwrap();
        run(&mut store, &deeds);
        store.syncer().sync().unwrap();
        let (synced, end) = (told(&store), store.end());
        run(&mut store, &more);
        disk.power_cut(survives.index(store.end().0 as usize + 1));
        let again = Store::on(Path::new("."), Journal::on(disk, path).unwrap()).unwrap();
        prop_assert!(again.end() >= end || again.end().0 + again.torn_bytes() >= end.0);
        if again.end() == end {
            prop_assert_eq!(told(&again), synced);
        }
    }
}
