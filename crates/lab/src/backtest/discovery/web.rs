//! A recorded site made ready for discovery: pages numbered in the order they appeared.
//!
//! On the seam a page's id is issued when it is discovered, so pages that appear later have larger
//! ids, and "new in this snapshot" is a range of ids. Histories are numbered that way already;
//! one that is not is renumbered here. Ties between pages then go to the older one.
//!
//! To look for hosts instead of pages, every off-site host becomes a page without links that
//! appears in the first snapshot in which some page of the site links to it. Everything else
//! stays as it is: finding new hosts is finding those pages (the paper's section 4.4).
//!
//! Cost: O(links), and a copy of the links if anything has to be renumbered.

use std::collections::BTreeSet;

use turnstone_frontier::{HostId, PageId};
use turnstone_policy::discovery::Target;

use crate::history::{History, Known, Page, Rows, Version, VersionId};

/// The host of every page of the site itself.
pub const OWN_HOST: HostId = HostId(0);

/// A site to discover in.
#[derive(Clone, Debug)]
pub struct DiscoveryWeb {
    /// Its history; page ids follow first appearance.
    history: History,
    target: Target,
    /// By page: its host.
    hosts: Vec<HostId>,
    /// By version: the largest page it links to, to tell at once whether all are known.
    last_link: Vec<PageId>,
}

impl DiscoveryWeb {
    /// Makes a history ready.
    pub fn new(mut history: History, target: Target) -> Self {
        drop_what_goes_as_it_comes(&mut history);
        let own_pages = history.page_count();
        let history = match target {
            Target::Pages => history,
            Target::Hosts => with_hosts_as_pages(history),
        };
        let order = order_of_appearance(&history);
        let mut hosts = vec![OWN_HOST; history.page_count()];
        let mut next_host = OWN_HOST.0;
        for (new, old) in order.iter().enumerate() {
            if old.index() >= own_pages {
                next_host += 1;
                hosts[new] = HostId(next_host);
            }
        }
        let in_order = order
            .iter()
            .enumerate()
            .all(|(new, old)| new == old.index());
        let history = if in_order {
            history
        } else {
            renumber(history, &order)
        };
        let last = |version| history.links.row(version).iter().max().copied();
        let last_link = (0..history.links.len())
            .map(|version| last(version).unwrap_or_default())
            .collect();
        Self {
            history,
            target,
            hosts,
            last_link,
        }
    }

    /// The history, numbered in order of appearance.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What is looked for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// How well it is known what a page linked to at a snapshot, having had a content by then.
    pub fn known(&self, page: PageId, snapshot: usize, last: Option<VersionId>) -> Known {
        self.history.known(page, snapshot, last, &|a, b| a == b)
    }

    /// Whether a snapshot looked at every page known before it: a recrawl.
    pub fn is_full(&self, snapshot: usize) -> bool {
        let looks = self.history.looks.as_ref();
        looks.is_none_or(|looks| looks.is_full(snapshot))
    }

    /// The host of a page.
    pub fn host(&self, page: PageId) -> HostId {
        self.hosts[page.index()]
    }

    /// What a page counts when it is found.
    pub fn weight(&self, page: PageId) -> u32 {
        match self.target {
            Target::Pages => 1,
            Target::Hosts => u32::from(self.host(page) != OWN_HOST),
        }
    }

    /// The largest page a version links to.
    pub(super) fn last_link(&self, version: VersionId) -> PageId {
        self.last_link[version.index()]
    }
}

/// A page that is set and gone in one snapshot was not there in it.
fn drop_what_goes_as_it_comes(history: &mut History) {
    for snapshot in &mut history.snapshots {
        if !snapshot.gone.is_empty() {
            let gone: BTreeSet<PageId> = snapshot.gone.iter().copied().collect();
            snapshot.set.retain(|(page, _)| !gone.contains(page));
        }
    }
}

/// Adds a page for each off-site host.
fn with_hosts_as_pages(mut history: History) -> History {
    let own_pages = history.page_count();
    let host_page = |host: u32| PageId::from_index(own_pages + host as usize);
    let mut links = Rows::default();
    for version in 0..history.links.len() {
        let own = history.links.row(version).iter().copied();
        let hosts = history.offsite_hosts.row(version).iter();
        links.push(own.chain(hosts.map(|host| host_page(*host))));
    }
    let nothing = VersionId(history.versions.len() as u32);
    history.versions.push(Version::default());
    links.push([]);
    history.links = links;
    let mut seen = vec![false; history.hosts.len()];
    for snapshot in &mut history.snapshots {
        let mut appeared: Vec<u32> = Vec::new();
        for (_, version) in &snapshot.set {
            for &host in history.offsite_hosts.row(version.index()) {
                if !std::mem::replace(&mut seen[host as usize], true) {
                    appeared.push(host);
                }
            }
        }
        let pages = appeared.into_iter().map(|host| (host_page(host), nothing));
        snapshot.set.extend(pages);
    }
    history.offsite_hosts.push([]);
    let names = history.hosts.iter();
    history.pages.extend(names.map(|name| Page {
        url: format!("//{name}/"),
        is_xml: false,
    }));
    history
}

/// Pages by the snapshot they first appear in, then by id; those that never appear come last.
fn order_of_appearance(history: &History) -> Vec<PageId> {
    let mut seen = vec![false; history.page_count()];
    let mut order = Vec::with_capacity(history.page_count());
    for snapshot in &history.snapshots {
        let start = order.len();
        for &(page, _) in &snapshot.set {
            if !std::mem::replace(&mut seen[page.index()], true) {
                order.push(page);
            }
        }
        order[start..].sort_unstable();
    }
    let never = (0..seen.len()).filter(|page| !seen[*page]);
    order.extend(never.map(PageId::from_index));
    order
}

/// The history with pages in this order.
fn renumber(mut history: History, order: &[PageId]) -> History {
    let mut new_id = vec![PageId(0); order.len()];
    for (new, old) in order.iter().enumerate() {
        new_id[old.index()] = PageId::from_index(new);
    }
    let mut links = Rows::default();
    for version in 0..history.links.len() {
        let row = history.links.row(version).iter();
        links.push(row.map(|link| new_id[link.index()]));
    }
    history.links = links;
    let pages = order.iter().map(|old| history.pages[old.index()].clone());
    history.pages = pages.collect();
    history.looks = history.looks.map(|looks| looks.renumbered(order));
    for snapshot in &mut history.snapshots {
        for (page, _) in &mut snapshot.set {
            *page = new_id[page.index()];
        }
        for page in &mut snapshot.gone {
            *page = new_id[page.index()];
        }
    }
    history
}
