//! Made-up histories: readable, the same for the same plan, and with the traits they promise.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use turnstone_lab::generate::history::{GenerateError, HistoryPlan, write_folder, write_site};
use turnstone_lab::history::{self, History};

fn plan() -> HistoryPlan {
    HistoryPlan {
        pages: 300,
        snapshots: 40,
        redesigns: 0.02,
        ..HistoryPlan::default()
    }
}

fn made(folder: &Path, seed: u64) -> History {
    let file = folder.join(format!("{seed}.jsonl.zst"));
    write_site(&file, "made.example", HistoryPlan { seed, ..plan() }).unwrap();
    history::read_with_terms(&file).unwrap()
}

#[test]
fn every_event_is_as_the_format_says() {
    let folder = TempDir::new().unwrap();
    let (mut born, mut changed, mut gone, mut returned) = (0, 0, 0, 0);
    for seed in 0..8 {
        let history = made(folder.path(), seed);
        let mut walk = history.walk();
        let mut versions_seen = 0;
        for snapshot in &history.snapshots {
            for &(page, version) in &snapshot.set {
                assert_ne!(
                    walk.version(page),
                    Some(version),
                    "a set never repeats the present version"
                );
                versions_seen = versions_seen.max(version.index() + 1);
            }
            for &page in &snapshot.gone {
                assert!(walk.version(page).is_some(), "only present pages go");
            }
            let step = walk.step().unwrap();
            if step.snapshot > 0 {
                born += step.new.len();
                changed += step.changed.len();
                gone += step.gone.len();
                returned += step.returned.len();
            }
            for (page, before) in &step.changed {
                let now = walk.version(*page).unwrap();
                let raw = |version: history::VersionId| history.versions[version.index()].raw;
                assert_ne!(raw(*before), raw(now), "a change is seen in the bytes");
            }
        }
        assert_eq!(
            versions_seen,
            history.versions.len(),
            "every version is used"
        );
        assert!(
            (0..history.page_count())
                .all(|page| walk.was_seen(turnstone_frontier::PageId(page as u32)))
        );
    }
    assert!(
        born > 200 && changed > 2000 && gone > 200 && returned > 0,
        "{born} {changed} {gone} {returned}"
    );
}

#[test]
fn the_same_plan_gives_the_same_bytes_and_another_seed_another_site() {
    let folder = TempDir::new().unwrap();
    let bytes = |name: &str, seed: u64| {
        let to = folder.path().join(name);
        let files = write_folder(&to, 3, HistoryPlan { seed, ..plan() }).unwrap();
        files
            .iter()
            .map(|file| fs::read(file).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes("a", 1), bytes("b", 1));
    assert_ne!(bytes("c", 1), bytes("d", 2));
    let again = write_folder(&folder.path().join("a"), 3, plan());
    assert!(matches!(again, Err(GenerateError::NotEmpty { .. })));
}

#[test]
fn new_pages_are_linked_from_pages_that_were_there() {
    let folder = TempDir::new().unwrap();
    let (mut linked, mut all) = (0, 0);
    for seed in 0..8 {
        let history = made(folder.path(), seed);
        let mut walk = history.walk();
        walk.step();
        while let Some(step) = walk.step() {
            let hubs: Vec<_> = step
                .changed
                .iter()
                .map(|(page, _)| walk.links(*page))
                .collect();
            all += step.new.len();
            linked += step
                .new
                .iter()
                .filter(|page| hubs.iter().any(|links| links.contains(page)))
                .count();
        }
    }
    // The rest come in bursts too long for a hub, or below another new page.
    assert!(
        linked * 2 > all,
        "{linked} of {all} new pages linked from a known one"
    );
}

/// The chance that a page is gone at the end, and the same if another page of its directory is.
#[test]
fn death_runs_in_directories() {
    let folder = TempDir::new().unwrap();
    let (mut gone, mut pages, mut both, mut pairs_with_gone) = (0, 0, 0, 0);
    for seed in 0..30 {
        let history = made(folder.path(), seed);
        let last = history.at(history.snapshots.len() - 1);
        let first: Vec<_> = history.at(0).present().map(|(page, _)| page).collect();
        let directory = |page: &turnstone_frontier::PageId| {
            let url = &history.pages[page.index()].url;
            url[..=url.rfind('/').unwrap()].to_owned()
        };
        let is_gone = |page: &turnstone_frontier::PageId| last.version(*page).is_none();
        pages += first.len();
        gone += first.iter().filter(|page| is_gone(page)).count();
        for pair in first
            .windows(2)
            .filter(|pair| directory(&pair[0]) == directory(&pair[1]))
        {
            pairs_with_gone += usize::from(is_gone(&pair[0]));
            both += usize::from(is_gone(&pair[0]) && is_gone(&pair[1]));
        }
    }
    let (alone, together) = (
        gone as f64 / pages as f64,
        both as f64 / pairs_with_gone as f64,
    );
    assert!(
        (0.05..0.6).contains(&alone),
        "{alone} of all pages are gone"
    );
    assert!(
        together > alone + 0.2,
        "{alone} alone, {together} beside a gone page"
    );
}
