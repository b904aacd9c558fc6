//! Sowing: the pages a crawl starts from.

use crate::exchange::host_of_name;
use turnstone_frontier::{PageId, Tick};
use turnstone_pagestore::{NewPage, Store};
use turnstone_urls::{KeyOptions, Url, canonical_key, host_of};

/// Makes seeds of all pages named. Returns those that had been found before and were none yet: what
/// came of them stays what it was.
pub fn sow(store: &mut Store, seeds: &[Url], keys: &KeyOptions, tick: Tick) -> Vec<PageId> {
    let keyer = store.keyer();
    let mut known = Vec::new();
    for url in seeds {
        let key = keyer.key(&canonical_key(url, keys));
        if let Some(page) = store.index().find(key) {
            if store.name_seed(tick, page) {
                known.push(page);
            }
            continue;
        }
        let host = host_of_name(store, tick, host_of(url));
        store.add(
            tick,
            NewPage {
                key,
                url: url.as_str(),
                host,
                seed: true,
                outside: false,
                listed: false,
                depth: 0,
                refused: ("", ""),
                metadata: &[],
            },
        );
    }
    known
}
