//! Servers that say 200 to anything, end to end: pages are crawled, some vanish, `revive` tells
//! which, in three goes: cut short, gone on with, and all over again.
//!
//! Sites are written as in the public set: `pages` by path, a `default` for every other path
//! (`{path}`, `{rand}` and `{long}` are filled in), `dead_paths` with what each is: `hard404`,
//! `soft404`, `real-generated`, or `unknown` behind a login. A dead path is a page of its own while
//! the site is crawled. Every other path that the site links to is what its dead paths are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use serde_json::Value;
use turnstone_fetch::Url;
use turnstone_fetch::soft404::directory_of;
use turnstone_frontier::PageId;
use turnstone_lab::serve::{Answer, Options, Web, start};
use turnstone_pagestore::Store;

use super::live::Live;
use super::{Command, What};

/// Requests of the survey that is cut short.
const CUT_SHORT: u64 = 40;
/// A page without a verdict is asked again after a minute.
const CLOCK_SCALE: u32 = 100;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unmasked {
    /// Pages that vanished, and those of them that were called gone.
    pub(crate) gone: [u64; 2],
    /// Pages that are there, and those of them that were called gone: there must be none.
    pub(crate) real: [u64; 2],
    /// Pages that cannot be told, and those of them that were called gone.
    pub(crate) unknown: [u64; 2],
    /// Directories that were probed, and the most probes of one.
    pub(crate) probed: [u64; 2],
    /// Wrong verdicts in words.
    pub(crate) words: Vec<String>,
}

impl Unmasked {
    /// The share of vanished pages that were called gone.
    pub(crate) fn recall(&self) -> f64 {
        self.gone[1] as f64 / self.gone[0].max(1) as f64
    }
}

/// Serves the sites, crawls them, lets pages vanish, and asks.
pub(crate) fn unmask(sites: &Value, live: Live<'_>) -> anyhow::Result<Unmasked> {
    let live = Live {
        clock_scale: CLOCK_SCALE,
        ..live
    };
    let sites: Vec<Value> = sites.as_array().context("not a list of sites")?.clone();
    let moved = Arc::new(AtomicBool::new(false));
    let asked: Arc<Mutex<BTreeSet<(usize, String)>>> = Arc::default();
    let web = {
        let (sites, moved, asked) = (sites.clone(), moved.clone(), asked.clone());
        let fresh = AtomicU64::new(1);
        Web::custom(u32::try_from(sites.len())?, move |request| {
            let random = fresh.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            let place = (request.host, request.path.to_owned());
            asked
                .lock()
                .expect("nobody panics holding it")
                .insert(place);
            let vanished = moved.load(Ordering::Relaxed);
            answer(&sites[request.host], request.path, random, vanished)
        })
    };
    let handle = start(web, Options::default())?;
    let mut seeds = Vec::new();
    for (host, site) in sites.iter().enumerate() {
        let paths = ["pages", "dead_paths"].map(|key| site[key].as_object());
        let paths = paths.into_iter().flatten().flat_map(|paths| paths.keys());
        seeds.extend(paths.map(|path| format!("{}{path}", handle.origin(host))));
    }
    let folder = tempfile::tempdir()?;
    let directory = folder.path();
    let config = format!("seeds = {}\n", serde_json::to_string(&seeds)?);
    fs::write(directory.join("turnstone.toml"), config)?;
    live.crawl(directory)?;
    moved.store(true, Ordering::Relaxed);
    let mut unmasked = Unmasked::default();
    let mut verdicts: BTreeMap<PageId, What> = BTreeMap::new();
    for command in [Some(CUT_SHORT), None, None].map(Command::Revive) {
        verdicts.extend(live.ask(directory, command)?.1.pages);
    }
    let store = Store::look(directory)?;
    let mut known = BTreeSet::new();
    for page in (0..store.index().page_count()).map(PageId::from_index) {
        let url = Url::parse(&store.url(page)?)?;
        let host = (0..sites.len()).find(|host| url.as_str().starts_with(handle.origin(*host)));
        let host = host.context("a page of no site")?;
        known.insert((host, url.path().to_owned()));
        if let Some(what) = verdicts.get(&page) {
            unmasked.count(label(&sites[host], url.path()), *what, &url);
        }
    }
    let asked = asked.lock().expect("nobody panics holding it").clone();
    let mut probes: BTreeMap<(usize, String), u64> = BTreeMap::new();
    for (host, path) in asked
        .difference(&known)
        .filter(|(_, path)| path != "/robots.txt")
    {
        let url = Url::parse(&format!("{}{path}", handle.origin(*host)))?;
        let known_so = known.contains(&(*host, url.path().to_owned()));
        if !known_so {
            *probes.entry((*host, directory_of(&url))).or_default() += 1;
        }
    }
    unmasked.probed = [
        probes.len() as u64,
        probes.values().copied().max().unwrap_or(0),
    ];
    Ok(unmasked)
}

impl Unmasked {
    fn count(&mut self, label: &str, what: What, url: &Url) {
        let (counts, expected) = match label {
            "hard404" | "soft404" => (&mut self.gone, Some(What::Gone)),
            "real" | "real-generated" => (&mut self.real, Some(What::Unchanged)),
            _ => (&mut self.unknown, None),
        };
        counts[0] += 1;
        counts[1] += u64::from(what == What::Gone);
        if expected.is_some_and(|expected| what != expected) {
            self.words
                .push(format!("{url}: {what:?}, but it is {label}"));
        }
    }
}

/// What a path is once pages have vanished.
fn label<'a>(site: &'a Value, path: &str) -> &'a str {
    let page = site["pages"][path]["label"].as_str();
    let dead = || site["dead_paths"].as_object()?.values().next()?.as_str();
    page.or_else(dead).unwrap_or("unknown")
}

fn answer(site: &Value, path: &str, random: u64, vanished: bool) -> Answer {
    if path == "/robots.txt" {
        return Answer::not_found();
    }
    if !vanished && site["dead_paths"][path].is_string() {
        let words = path.replace(['/', '-', '.'], " ");
        return Answer::html(format!(
            "<!doctype html><title>Once{words}</title><p>Long ago {words} was told here at length, \
             with all that belonged to {words} and nothing else besides."
        ));
    }
    let page = match &site["pages"][path] {
        Value::Null => &site["default"],
        page => page,
    };
    let long: Vec<String> = (0..200u64)
        .map(|at| {
            let seed = path.bytes().fold(at, |seed, byte| {
                (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            format!("w{:x}", seed >> 48)
        })
        .collect();
    let fill = |text: &str| {
        text.replace("{path}", path)
            .replace("{rand}", &format!("{random:016x}"))
            .replace("{long}", &long.join(" "))
    };
    let status = page["status"].as_u64().unwrap_or(200) as u16;
    match page["location"].as_str() {
        Some(location) => Answer::redirect(status, &fill(location)),
        None => Answer {
            status,
            ..Answer::html(fill(page["body"].as_str().unwrap_or_default()))
        },
    }
}
