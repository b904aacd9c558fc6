//! Sowing: the pages a crawl starts from.

use turnstone_fetch::Url;
use turnstone_fetch::urls::{KeyOptions, canonical_key, host_of};
use turnstone_frontier::Tick;
use turnstone_pagestore::{NewPage, Store};

/// Adds the seeds that a store does not know yet. Returns how many were new.
pub fn sow(store: &mut Store, seeds: &[Url], keys: &KeyOptions, tick: Tick) -> usize {
    let keyer = store.keyer();
    let mut sown = 0;
    for url in seeds {
        let key = keyer.key(&canonical_key(url, keys));
        if store.index().find(key).is_some() {
            continue;
        }
        let host = store.host(tick, host_of(url));
        store.add(
            tick,
            NewPage {
                key,
                url: url.as_str(),
                host,
                seed: true,
                depth: 0,
                refused: ("", ""),
            },
        );
        sown += 1;
    }
    sown
}
