//! Sites are served as they were at a date and crawled; then the date moves, and each command runs
//! on a copy of the crawl directory, and is predicted.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnstone_crawl::Plan;
use turnstone_frontier::PageId;
use turnstone_lab::history::History;
use turnstone_lab::serve::{Handle, Options, Web, start};
use turnstone_pagestore::{Key, Store};

use super::live::Live;
use super::predict::{self, Draw, Oracle, SEED, places, predict};
use super::record::{Record, When};
use super::{Command, Round, What};

/// Wrong verdicts named of one round at most.
const NAMED_MAX: usize = 3;
/// Recorded sites are no traps: however many pages of one pattern have no text, all are asked for.
const PATTERN_TRUST: u32 = 0;

/// Served sites and their crawl.
pub(crate) struct Stage {
    handle: Handle,
    record: Record,
    plan: Plan,
    folder: tempfile::TempDir,
    /// How often a copy was made.
    copies: u32,
    /// Every round is predicted with so many further seeds.
    pub(crate) seeds: u64,
    /// Pages that the record says were to be stored, and pages that were.
    pub(crate) stored: [u64; 2],
    /// The first few that were not, and why.
    pub(crate) missed: Vec<String>,
}

/// A round predicted and live.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The question.
    pub(crate) command: Command,
    /// Stored pages asked, predicted and live.
    pub(crate) asked: [u64; 2],
    /// Pages found, predicted and live.
    pub(crate) found: [u64; 2],
    /// The live round.
    pub(crate) live: Round,
    /// Whether pages were asked in the predicted order.
    pub(crate) same_order: bool,
    /// Verdicts that are not what the record says, and figures printed that are not those of the
    /// journal; the first few in words.
    pub(crate) wrong: u64,
    /// Those.
    pub(crate) wrong_words: Vec<String>,
    /// Pages linked from those asked that are there now and were known to be missing when they
    /// were crawled: no round of discovery asks for them again.
    pub(crate) returned: u64,
    /// Pages found as predicted with other seeds, from the fewest to the most.
    pub(crate) by_seed: Vec<u64>,
}

impl Row {
    /// By which share live is off what was predicted, at worst: pages asked, pages found, and
    /// requests for pages by page found.
    pub(crate) fn off(&self) -> f64 {
        let off = |[predicted, live]: [f64; 2]| {
            let most = predicted.max(live);
            if most > 0.0 {
                (predicted - live).abs() / predicted.max(1.0)
            } else {
                0.0
            }
        };
        let numbers = |pair: [u64; 2]| pair.map(|number| number as f64);
        let mut worst = off(numbers(self.asked)).max(off(numbers(self.found)));
        if let Command::Revive(_) = self.command {
            let [asked, _] = self.asked;
            let costs = [
                asked as f64 / self.found[0].max(1) as f64,
                self.live.requests as f64 / self.found[1].max(1) as f64,
            ];
            worst = worst.max(off(costs));
        }
        worst
    }
}

impl Stage {
    /// Serves histories at the first of two dates and crawls them.
    pub(crate) fn set(
        histories: &[Arc<History>],
        shares: [f64; 2],
        live: Live<'_>,
    ) -> anyhow::Result<Self> {
        let web = Web::histories(histories.iter().cloned());
        let handle = start(web, Options::default())?;
        let record = Record::new(histories, shares, &handle);
        record.show(When::Then, &handle);
        let folder = tempfile::tempdir()?;
        let directory = folder.path().join("crawl");
        fs::create_dir(&directory)?;
        let (seeds, expected) = record.seeds();
        let seeds: Vec<String> = seeds.iter().map(|page| handle.url_of(*page)).collect();
        let config = format!(
            "seeds = {}\n[limits]\npattern-trust = {PATTERN_TRUST}\n",
            serde_json::to_string(&seeds)?
        );
        fs::write(directory.join("turnstone.toml"), config)?;
        live.crawl(&directory)?;
        record.show(When::Now, &handle);
        let store = Store::look(&directory)?;
        let plan = predict::plan()?;
        let oracle = Oracle {
            store: &store,
            record: &record,
            handle: &handle,
            plan: &plan,
        };
        Ok(Self {
            stored: [expected.len() as u64, store.index().stored_count()],
            missed: missed(&oracle, &expected)?,
            handle,
            record,
            plan,
            folder,
            copies: 0,
            seeds: 0,
        })
    }

    /// The directory of the crawl.
    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().join("crawl")
    }

    /// Runs a round on a copy of the crawl directory, predicts it, and compares.
    pub(crate) fn ask(&mut self, command: Command, live: Live<'_>) -> anyhow::Result<Row> {
        let before = Store::look(&self.directory())?;
        let oracle = Oracle {
            store: &before,
            record: &self.record,
            handle: &self.handle,
            plan: &self.plan,
        };
        self.copies += 1;
        let copy = self.folder.path().join(format!("copy-{}", self.copies));
        copy_folder(&self.directory(), &copy)?;
        let (printed, round) = live.ask(&copy, command)?;
        let draw = |seed| Draw {
            discover_policy: live.discover_policy,
            seed,
        };
        let predicted = predict(&oracle, command, &round, draw(SEED))?;
        let mut by_seed = Vec::new();
        for seed in (SEED + 1..).take(self.seeds as usize) {
            by_seed.push(predict(&oracle, command, &round, draw(seed))?.found(command));
        }
        by_seed.sort_unstable();
        let after = Store::look(&copy)?;
        let is_stored = |page: PageId| {
            page.index() < before.index().page_count() && before.index().is_stored(page)
        };
        let mut judge = Judge::new(&oracle, &after)?;
        judge.verdicts(&round, command)?;
        if let Command::Discover(_) = command {
            judge.reachable(&round, is_stored)?;
        }
        let [asked, found] = [
            [&predicted, &round].map(|round| round.asked(is_stored)),
            [&predicted, &round].map(|round| round.found(command)),
        ];
        let keys = match command {
            Command::Revive(_) => [("alive", found[1])].to_vec(),
            Command::Discover(_) => [("new", found[1]), ("asked", asked[1])].to_vec(),
            Command::Refresh(_) => [("changed", found[1]), ("fetched", asked[1])].to_vec(),
        };
        for (key, counted) in keys {
            if printed[key].as_u64() != Some(counted) {
                judge.wrong(format!("prints {key} {}, not {counted}", printed[key]));
            }
        }
        let (wrong, wrong_words, returned) = (judge.wrong, judge.words, judge.returned);
        drop(after);
        fs::remove_dir_all(&copy)?;
        Ok(Row {
            command,
            asked,
            found,
            same_order: predicted
                .pages
                .iter()
                .zip(&round.pages)
                .all(|(a, b)| a == b),
            live: round,
            wrong,
            wrong_words,
            returned,
            by_seed,
        })
    }
}

/// Holds a live round against the record.
struct Judge<'a> {
    oracle: &'a Oracle<'a>,
    after: &'a Store,
    /// By page of the store after the round.
    places: Vec<Option<PageId>>,
    wrong: u64,
    words: Vec<String>,
    returned: u64,
}

impl<'a> Judge<'a> {
    fn new(oracle: &'a Oracle<'a>, after: &'a Store) -> anyhow::Result<Self> {
        let later = Oracle {
            store: after,
            ..*oracle
        };
        Ok(Self {
            oracle,
            after,
            places: places(&later)?,
            wrong: 0,
            words: Vec::new(),
            returned: 0,
        })
    }

    fn wrong(&mut self, words: String) {
        self.wrong += 1;
        if self.words.len() < NAMED_MAX {
            self.words.push(words);
        }
    }

    /// What came of every page asked is what the record says.
    fn verdicts(&mut self, round: &Round, command: Command) -> anyhow::Result<()> {
        let before = self.oracle.store.index();
        let record = self.oracle.record;
        for &(page, what) in &round.pages {
            let place = self.places[page.index()];
            let place = place.filter(|place| record.is_there(*place, When::Now));
            let stored = page.index() < before.page_count() && before.is_stored(page);
            let expected = match place {
                None => What::Gone,
                Some(_) if matches!(command, Command::Revive(_)) => What::Unchanged,
                Some(_) if !stored => What::New,
                Some(place) if record.changed(place) => What::Changed,
                Some(_) => What::Unchanged,
            };
            if what != expected {
                let url = self.after.url(page)?;
                self.wrong(format!("{url}: {what:?}, but the record says {expected:?}"));
            }
        }
        Ok(())
    }

    /// The new pages found are those that the record says can be reached from the pages asked, over
    /// pages that nobody knew.
    fn reachable(
        &mut self,
        round: &Round,
        is_stored: impl Fn(PageId) -> bool,
    ) -> anyhow::Result<()> {
        let record = self.oracle.record;
        let asked = round.pages.iter().filter(|(page, _)| is_stored(*page));
        let mut queue: Vec<PageId> = asked
            .filter_map(|(page, _)| self.places[page.index()])
            .collect();
        let mut seen: HashSet<PageId> = queue.iter().copied().collect();
        let mut expected: HashSet<PageId> = HashSet::new();
        while let Some(place) = queue.pop() {
            for link in record.links(place, When::Now) {
                if !seen.insert(link) {
                    continue;
                }
                let there = record.is_there(link, When::Now);
                match self.oracle.store.index().find(self.oracle.key(link)?) {
                    Some(known) => self.returned += u64::from(there && !is_stored(known)),
                    None if there => {
                        expected.insert(link);
                        queue.push(link);
                    }
                    None => {}
                }
            }
        }
        let mut found: HashMap<PageId, PageId> = HashMap::new();
        for (page, what) in &round.pages {
            if let (What::New, Some(place)) = (what, self.places[page.index()]) {
                found.insert(place, *page);
            }
        }
        let mut missed: Vec<PageId> = expected
            .iter()
            .copied()
            .filter(|place| !found.contains_key(place))
            .collect();
        missed.sort();
        for place in missed {
            let url = self.oracle.handle.url_of(place);
            let why = why_not(self.after, self.oracle.key(place)?)?;
            self.wrong(format!("{url} can be reached but {why}"));
        }
        Ok(())
    }
}

/// Pages that should have been stored and are not: the first few, and why.
fn missed(oracle: &Oracle<'_>, expected: &[PageId]) -> anyhow::Result<Vec<String>> {
    let mut words = Vec::new();
    for place in expected {
        let key = oracle.key(*place)?;
        let index = oracle.store.index();
        if index.find(key).is_some_and(|page| index.is_stored(page)) {
            continue;
        }
        let (url, why) = (oracle.handle.url_of(*place), why_not(oracle.store, key)?);
        words.push(format!("{url} {why}"));
        if words.len() == NAMED_MAX {
            break;
        }
    }
    Ok(words)
}

/// Why a page is not in a store.
fn why_not(store: &Store, key: Key) -> anyhow::Result<String> {
    let Some(page) = store.index().find(key) else {
        return Ok("was not found".into());
    };
    if let Some((class, detail)) = store.refusal(page)? {
        return Ok(format!("was refused ({class}: {detail})"));
    }
    Ok(match store.outcome(page)? {
        None => "was never asked for".into(),
        Some(outcome) => format!(
            "did not come ({} {})",
            outcome.facts.class, outcome.facts.detail
        ),
    })
}

fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
