//! A web that moves, kept by `turnstone keep`: what changes is fetched again, what is new is found,
//! what is gone is asked for again, and what a sitemap says is believed as far as it was true.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use turnstone_frontier::{Fault, PageId};
use turnstone_lab::generate::history::{HistoryPlan, write_folder};
use turnstone_lab::history::{self, Date, History};
use turnstone_lab::serve::{At, Handle, Options, Politeness, RobotsCheck, Web, start};
use turnstone_lab::web::open_histories;
use turnstone_pagestore::{Entry, Position, Settled, Store};

use super::audit;
use super::crawler::Crawler;
use super::dice::Dice;
use super::keep::slices;
use crate::run::done;

/// A day of the crawl's clock passes in a tenth of a second.
const SCALE: u32 = 864_000;

/// Sites on loopback, and a crawl of them as they were first.
struct Stage {
    server: Handle,
    crawler: Crawler,
}

impl Stage {
    fn set(histories: Vec<Arc<History>>, sitemaps: bool, keep: &str) -> Self {
        let options = Options {
            at: At::First,
            sitemaps,
            politeness: Politeness {
                open: Some(1),
                robots: RobotsCheck::Rules,
                ..Politeness::default()
            },
            ..Options::default()
        };
        let server = start(Web::histories(histories), options).unwrap();
        let crawler = Crawler::new(&format!(
            "{} --allow-private --delay 1ms --policy breadth-first --clock-scale {SCALE} \
             --pattern-trust 0 --no-sitemaps",
            server.seeds().join(" ")
        ));
        crawler.finish();
        let crawler = Crawler::keep(crawler, &format!("--clock-scale {SCALE} --slice 1d {keep}"));
        Self { server, crawler }
    }

    fn store(&self) -> Store {
        Store::look(&self.crawler.directory()).unwrap()
    }

    /// The page of a path on the first site, as the crawl numbers it.
    fn page(&self, path: &str) -> PageId {
        let store = self.store();
        let url = format!("{}{path}", self.server.origin(0));
        let pages = (0..store.index().page_count()).map(PageId::from_index);
        let mut pages = pages.filter(|page| store.url(*page).unwrap() == url);
        pages.next().unwrap_or_else(|| panic!("{url} is not known"))
    }
}

/// A site of so many pages and a front page that links to the first of them; one changes in every
/// further snapshot.
fn site(pages: u32, linked: u32, changes: &[u32]) -> Arc<History> {
    let first = Date(18_000);
    let dates: Vec<String> = (0..=changes.len() as i32)
        .map(|week| format!("\"{}\"", first.plus_days(7 * week)))
        .collect();
    let mut text = format!(
        "{{\"site\":\"one\",\"origin\":\"https://one.example/\",\"pages\":{},\"snapshots\":[{}]}}\n",
        pages + 1,
        dates.join(",")
    );
    text += "{\"page\":0,\"url\":\"/\"}\n";
    for page in 1..=pages {
        text += &format!("{{\"page\":{page},\"url\":\"/p/{page}.html\"}}\n");
    }
    let version = |number: u32, links: &str| {
        format!(
            "{{\"version\":{number},\"raw\":\"{:016x}\",\"text\":\"{:016x}\",\"bytes\":400,\
             \"words\":20,\"images\":0,\"offsite\":0,\"hosts\":[],\"links\":[{links}]}}\n",
            number + 1000,
            number + 5000
        )
    };
    let linked: Vec<String> = (1..=linked).map(|page| page.to_string()).collect();
    text += &version(0, &linked.join(","));
    let versions = pages + changes.len() as u32;
    text.extend((1..=versions).map(|number| version(number, "0")));
    let set: Vec<String> = (0..=pages).map(|page| format!("[{page},{page}]")).collect();
    text += &format!(
        "{{\"snapshot\":0,\"set\":[{}],\"gone\":[]}}\n",
        set.join(",")
    );
    for (number, page) in changes.iter().enumerate() {
        let version = pages as usize + 1 + number;
        text += &format!(
            "{{\"snapshot\":{},\"set\":[[{page},{version}]],\"gone\":[]}}\n",
            number + 1
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.jsonl.zst");
    fs::write(&path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    Arc::new(history::read(&path).unwrap())
}

/// What came of a site that changes a page a slice.
struct Followed {
    /// Over all slices: pages that had changed and were not fetched since, when the slice ended.
    stale: usize,
    hints: Vec<PageId>,
    printed: String,
}

fn follow(changes: &[u32], sitemaps: bool) -> Followed {
    // One of the requests goes to robots.txt, which is good for a day.
    let stage = Stage::set(
        vec![site(80, 80, changes)],
        sitemaps,
        "--budget 7/day --until rounds=1",
    );
    assert_eq!(stage.store().index().stored_count(), 81);
    let directory = stage.crawler.directory();
    let mut changed = BTreeSet::new();
    let mut stale = 0;
    for (number, page) in changes.iter().enumerate() {
        stage.server.set_snapshots(At::Number(number + 1));
        changed.insert(stage.page(&format!("/p/{page}.html")));
        stage.crawler.finish();
        let slices = slices(&directory);
        let asked = &slices.last().unwrap().asked;
        changed.retain(|page| !asked.contains(page));
        stale += changed.len();
    }
    audit::check(&directory);
    let hints = slices(&directory).into_iter().flat_map(|slice| slice.hints);
    let said = hints.collect();
    if sitemaps {
        let sitemap = stage.page("/sitemap.xml");
        assert!(stage.store().index().is_stored(sitemap), "it is a page");
    }
    Followed {
        stale,
        hints: said,
        printed: stage.crawler.printed(),
    }
}

/// A sitemap that says which pages changed leads to them long before their turn.
#[test]
fn what_a_sitemap_says_has_changed_is_fetched_first() {
    let mut dice = Dice(4);
    let changes: Vec<u32> = (0..30).map(|_| 1 + dice.below(80) as u32).collect();
    let [blind, told] = [false, true].map(|sitemaps| follow(&changes, sitemaps));
    assert_eq!(blind.hints, []);
    let (blind, stale, hints) = (blind.stale, told.stale, told.hints.len());
    println!("{blind} stale at the ends of slices, {stale} with {hints} hints");
    assert!(hints >= 15, "{hints} hints: {}", told.printed);
    assert!(
        stale * 3 < blind * 2,
        "{stale} of {blind}: {}",
        told.printed
    );
}

/// A page that nothing links to is found through the sitemap that robots.txt names, by a round of
/// discovery too, also where the crawl was told not to look there.
#[test]
fn a_round_of_discovery_reads_sitemaps() {
    let stage = Stage::set(vec![site(12, 10, &[])], true, "--until rounds=1");
    assert_eq!(stage.store().index().page_count(), 11);
    let folder = stage.crawler.directory();
    let parent = folder.parent().unwrap();
    let discover = format!("discover crawl --budget 1 --clock-scale {SCALE} --json");
    let found = done(parent, &discover).json();
    // The sitemap itself and the two pages that only it knows.
    assert_eq!(found["new"], 3, "{found}");
    assert_eq!(stage.store().index().stored_count(), 14);
}

/// Generated sites, a snapshot at a time: pages are renewed, found, and asked for after they had
/// gone.
#[test]
fn a_moving_web_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = HistoryPlan {
        pages: 60,
        snapshots: 12,
        births: 0.06,
        changes: 0.12,
        deaths: 0.05,
        redesigns: 0.0,
        seed: 3,
    };
    let sites = folder.path().join("sites");
    write_folder(&sites, 2, plan).unwrap();
    let histories: Vec<Arc<History>> = open_histories(&sites)
        .unwrap()
        .map(|history| Arc::new(history.unwrap()))
        .collect();
    let last: Vec<usize> = histories
        .iter()
        .map(|history| {
            let mut walk = history.walk();
            while walk.step().is_some() {}
            walk.present_count()
        })
        .collect();
    let stage = Stage::set(histories, false, "--budget 40/day --until rounds=2");
    let directory = stage.crawler.directory();
    for snapshot in 1..12 {
        stage.server.set_snapshots(At::Number(snapshot));
        stage.crawler.finish();
    }
    for slice in slices(&directory) {
        assert!(slice.requests <= slice.budget, "{slice:?}");
    }
    let sum =
        |count: fn(&super::keep::Told) -> u64| slices(&directory).iter().map(count).sum::<u64>();
    let (new, changed, gone) = (sum(|s| s.new), sum(|s| s.changed), sum(|s| s.gone));
    assert!(
        new > 20 && changed > 20 && gone > 5,
        "{new} {changed} {gone}"
    );
    // Pages that were not there were asked for again.
    let store = stage.store();
    let (mut missing, mut retested) = (BTreeSet::new(), 0);
    let mut scan = store.scan(Position::FIRST);
    while let Some((_, _, entry)) = scan.next().unwrap() {
        if let Entry::Outcome(outcome) = entry
            && outcome.facts.requests > 0
        {
            retested += u32::from(missing.contains(&outcome.page));
            if outcome.settled == Settled::Failed(Fault::Gone) {
                missing.insert(outcome.page);
            }
        }
    }
    assert!(retested > 0, "{} were gone", missing.len());
    let present: usize = last.iter().sum();
    let stored = store.index().count(turnstone_pagestore::PageState::Fetched);
    assert!(stored as usize * 10 > present * 8, "{stored} {present}");
    stage.check_status();
    audit::check(&directory);
}

impl Stage {
    /// What `status` says of the split, afterwards.
    fn check_status(&self) {
        let folder = self.crawler.directory();
        let parent = folder.parent().unwrap();
        let status = done(parent, "status crawl --json").json();
        let slice = &status["slice"];
        assert_eq!(slice["budget"], 40, "{status}");
        let arms = slice["split"].as_array().unwrap();
        let names: Vec<&str> = arms
            .iter()
            .map(|arm| arm["arm"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["coverage", "refresh", "discovery", "retest"]);
        let planned = |arm: &serde_json::Value| arm["planned"].as_u64().unwrap();
        assert!(arms.iter().map(planned).sum::<u64>() <= 40, "{slice}");
        let text = done(parent, "status crawl").out;
        assert!(text.contains("requests for"), "{text}");
        assert!(text.contains("of 40 requests (coverage "), "{text}");
    }
}
