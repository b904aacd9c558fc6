//! What was spent of each limit, and whether its hosts are done: for `status`.
//!
//! Cost: a look at each known page, and at each host for each limit.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnstone_crawl::limits::{Limit, Used};
use turnstone_frontier::{HostId, PageId};
use turnstone_lab::number::{plural, whole};
use turnstone_pagestore::{PageState, Store};

use super::summary::bytes;

/// A limit, and what was spent of it.
pub(crate) struct Spent {
    limit: Limit,
    used: Used,
    /// For how many it counts apart, and how many of those have used up some of it.
    cells: u64,
    used_up: u64,
    /// Pages of its hosts that are still to be asked for.
    waiting: u64,
}

impl Spent {
    /// Of each limit, over all shards of a crawl.
    pub(crate) fn of<'a>(
        limits: &[Limit],
        stores: impl Iterator<Item = &'a Store> + Clone,
    ) -> Vec<Self> {
        if limits.is_empty() {
            return Vec::new();
        }
        let mut hosts: Vec<(String, Used, u64)> = Vec::new();
        for store in stores {
            let index = store.index();
            let mut waiting = vec![0u64; index.host_count()];
            for page in (0..index.page_count()).map(PageId::from_index) {
                let state = index.state(page);
                let waits = matches!(
                    state,
                    PageState::Waiting | PageState::Unknown | PageState::InFlight
                );
                waiting[index.host(page).index()] += u64::from(waits);
            }
            for host in index.hosts_met() {
                let used = Used::of(&index.tally().hosts[host.index()]);
                hosts.push((name(store, host), used, waiting[host.index()]));
            }
        }
        limits
            .iter()
            .map(|limit| Self::one(limit, &hosts))
            .collect()
    }

    fn one(limit: &Limit, hosts: &[(String, Used, u64)]) -> Self {
        let mut cells: BTreeMap<String, Used> = BTreeMap::new();
        let (mut used, mut waiting) = (Used::default(), 0);
        for (name, of_host, waits) in hosts.iter().filter(|(name, ..)| limit.is_for(name)) {
            let cell = cells.entry(limit.cell_of(name)).or_default();
            *cell = cell.plus(*of_host);
            used = used.plus(*of_host);
            waiting += waits;
        }
        let up = |max: Option<u64>, used: u64| max.is_some_and(|max| used >= max);
        let is_up = |used: &&Used| {
            up(limit.pages, used.pages)
                || up(limit.requests, used.requests)
                || up(limit.bytes, used.bytes)
        };
        Self {
            used,
            waiting,
            used_up: cells.values().filter(is_up).count() as u64,
            cells: cells.len() as u64,
            limit: limit.clone(),
        }
    }

    /// Whether nothing of it is left to ask for, and no limit kept anything out.
    fn is_complete(&self) -> bool {
        self.waiting == 0 && self.used_up == 0
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        json!({
            "name": self.limit.name,
            "pages": self.used.pages,
            "requests": self.used.requests,
            "bytes": self.used.bytes,
            "counted_apart": self.cells,
            "used_up": self.used_up,
            "waiting": self.waiting,
            "complete": self.is_complete(),
        })
    }

    /// For people.
    pub(crate) fn line(&self) -> String {
        let up = match (self.cells, self.used_up) {
            (_, 0) => String::new(),
            (1, _) => "; used up".to_owned(),
            (all, up) => format!("; used up by {} of {}", whole(up), whole(all)),
        };
        let left = match self.waiting {
            0 => "nothing waits".to_owned(),
            waiting => format!("{} more wait", whole(waiting)),
        };
        format!(
            "{}: {} stored with {}, {}; {left}{up}",
            self.limit.name,
            plural(self.used.pages, "page"),
            plural(self.used.requests, "request"),
            bytes(self.used.bytes),
        )
    }
}

fn name(store: &Store, host: HostId) -> String {
    store.index().host_name(host).to_owned()
}
