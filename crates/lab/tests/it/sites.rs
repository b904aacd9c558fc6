//! Random small sites, and what is new in them worked out the slow way.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use turnstone_frontier::PageId;
use turnstone_lab::history::{Date, History, Page, Snapshot, Version, VersionId};

/// A history of up to 12 pages and 7 snapshots: pages vanish and come back, snapshots are empty,
/// pages link to themselves, to absent pages and to pages still to come, ids follow no order.
pub(crate) fn site() -> impl Strategy<Value = History> {
    (2u32..12, 1u32..10).prop_flat_map(|(pages, versions)| {
        let links = prop::collection::btree_set(0..pages, 0..5);
        let hosts = prop::collection::btree_set(0u32..6, 0..3);
        let version = (links, hosts);
        let set = prop::collection::btree_map(0..pages, 0..versions, 0..6);
        let gone = prop::collection::btree_set(0..pages, 0..3);
        (
            Just(pages),
            prop::collection::vec(version, versions as usize),
            prop::collection::vec((set, gone), 1..8),
        )
            .prop_map(|(pages, versions, snapshots)| build(pages, &versions, snapshots))
    })
}

type Links = (BTreeSet<u32>, BTreeSet<u32>);
type Changes = (BTreeMap<u32, u32>, BTreeSet<u32>);

fn build(pages: u32, versions: &[Links], snapshots: Vec<Changes>) -> History {
    let page = |id: u32| Page {
        url: format!("/{id}"),
        is_xml: false,
    };
    let links = |(links, _): &Links| links.iter().copied().map(PageId).collect::<Vec<_>>();
    let snapshot = |(set, gone): Changes| Snapshot {
        set: set
            .into_iter()
            .map(|(p, v)| (PageId(p), VersionId(v)))
            .collect(),
        gone: gone.into_iter().map(PageId).collect(),
    };
    History {
        site: "random".to_owned(),
        origin: "https://example.org/".to_owned(),
        dates: (0..snapshots.len()).map(|day| Date(day as i32)).collect(),
        pages: (0..pages).map(page).collect(),
        hosts: (0..6).map(|host| format!("host{host}.example")).collect(),
        versions: vec![Version::default(); versions.len()],
        links: versions.iter().map(links).collect(),
        offsite_hosts: versions.iter().map(|(_, hosts)| hosts.clone()).collect(),
        snapshots: snapshots.into_iter().map(snapshot).collect(),
        ..History::default()
    }
}

/// What a snapshot brought, by definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlowStep {
    /// By old page that is there: the new pages it leads to. Empty sets left out.
    pub(crate) leads: BTreeMap<u32, BTreeSet<u32>>,
    /// New pages that some old page leads to.
    pub(crate) found: BTreeSet<u32>,
    pub(crate) orphans: usize,
    /// By old page that links to a new one: how many links to known pages it has.
    pub(crate) told: BTreeMap<u32, usize>,
    /// Old pages that are not there.
    pub(crate) gone: BTreeSet<u32>,
}

/// Every step of a history. Pages are numbered by first appearance, then id.
pub(crate) fn slow_steps(history: &History) -> Vec<SlowStep> {
    let mut number: BTreeMap<PageId, u32> = BTreeMap::new();
    let mut present: BTreeMap<u32, VersionId> = BTreeMap::new();
    let mut steps = Vec::new();
    for snapshot in &history.snapshots {
        let before: BTreeSet<u32> = number.values().copied().collect();
        let there = |page: &PageId| !snapshot.gone.contains(page);
        let mut set: Vec<(PageId, VersionId)> = snapshot.set.clone();
        set.retain(|(page, _)| there(page));
        set.sort();
        for (page, version) in set {
            let next = number.len() as u32;
            present.insert(*number.entry(page).or_insert(next), version);
        }
        for page in &snapshot.gone {
            if let Some(id) = number.get(page) {
                present.remove(id);
            }
        }
        let links = |page: u32| -> BTreeSet<u32> {
            let links = history.links_of(present[&page]).iter();
            let known = links.filter_map(|link| number.get(link).copied());
            known.filter(|link| present.contains_key(link)).collect()
        };
        let mut step = SlowStep::default();
        for &page in before.iter().filter(|page| present.contains_key(page)) {
            let (mut reached, mut open) = (BTreeSet::new(), vec![page]);
            while let Some(next) = open.pop() {
                for link in links(next) {
                    if !before.contains(&link) && reached.insert(link) {
                        open.push(link);
                    }
                }
            }
            step.found.extend(&reached);
            let all = history.links_of(present[&page]).iter();
            let known = all.filter(|link| number.contains_key(link)).count();
            if !reached.is_empty() {
                step.leads.insert(page, reached);
                step.told.insert(page, known);
            }
        }
        let absent = number.values().filter(|page| !present.contains_key(page));
        step.gone = absent.copied().collect();
        let new = present.keys().filter(|page| !before.contains(page)).count();
        step.orphans = new - step.found.len();
        steps.push(step);
    }
    steps
}

impl SlowStep {
    /// How many new pages some old pages lead to together.
    pub(crate) fn covered(&self, pages: &[u32]) -> usize {
        let sets = pages.iter().filter_map(|page| self.leads.get(page));
        sets.flatten().collect::<BTreeSet<_>>().len()
    }

    /// The plain greedy loop: the page that adds most, ties to the lowest id.
    pub(crate) fn greedy(&self) -> Vec<(u32, usize)> {
        let mut covered: BTreeSet<u32> = BTreeSet::new();
        let mut picks = Vec::new();
        loop {
            let mut best = (0, 0);
            for (page, leads) in &self.leads {
                let gain = leads.difference(&covered).count();
                if gain > best.1 {
                    best = (*page, gain);
                }
            }
            if best.1 == 0 {
                return picks;
            }
            covered.extend(&self.leads[&best.0]);
            picks.push(best);
        }
    }
}
