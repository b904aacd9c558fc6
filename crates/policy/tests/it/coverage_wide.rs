//! A page with very many links, which every page that it lists leads back to: the work for each fetch is
//! bounded, and so is what is claimed.

use std::cell::Cell;

use turnstone_frontier::{Links, PageId};
use turnstone_policy::coverage::{Dangling, Goal, Push, RankMass, Trust};
use turnstone_policy::mass::Fraction;

use crate::web::{Answer, Crawl, Web};

/// How many files the index lists.
const FILES: usize = 6_000;

/// So many links of fetched pages may be followed again for each fetch.
const AGAIN: usize = 4_096;

/// A web that counts the links that are read again.
struct Counted {
    web: Web,
    read: Cell<usize>,
}

impl Links for Counted {
    fn links_of<'a>(&'a self, page: PageId, buffer: &'a mut Vec<PageId>) -> &'a [PageId] {
        let links = self.web.links_of(page, buffer);
        self.read.set(self.read.get() + links.len());
        links
    }
}

/// An index, and files without links: whoever reads one starts at the index again.
fn index() -> Web {
    let files = (1..=FILES).map(PageId::from_index).collect();
    let mut links = vec![files];
    links.resize(FILES + 1, Vec::new());
    Web(links)
}

#[test]
fn an_index_is_not_pushed_for_every_file() {
    let web = index();
    let goal = Goal {
        epsilon: Fraction::new(1e-6).unwrap(),
        ..Goal::default()
    };
    for push in [Push::Exact, Push::FetchedFirst { share: Push::SHARE }] {
        let trust = Trust::alike([PageId(0)]).unwrap();
        let policy = RankMass::new(trust, goal, push, Dangling::Jump);
        let mut crawl = Crawl::start(policy, &web);
        let counted = Counted {
            web: web.clone(),
            read: Cell::new(0),
        };
        // Of those who start at the index and jump back to it, d in 1 + d are at a file.
        let at_files = 0.85 / 1.85;
        while crawl.step_reading(&web, &counted, |_, _| Answer::Page) {
            let stored = crawl.order.len() - 1;
            let truth = 1.0 - at_files * (1.0 - stored as f64 / FILES as f64);
            let coverage = crawl.scheduler.coverage().unwrap();
            let (low, high) = (coverage.guaranteed_fraction(), coverage.possible_fraction());
            assert!(low <= truth + 1e-9 && truth <= high + 1e-9, "{coverage:?}");
        }
        assert_eq!(crawl.order.len(), FILES + 1);
        let coverage = crawl.scheduler.coverage().unwrap();
        assert!(coverage.guaranteed_fraction() > 1.0 - 3e-6, "{coverage:?}");
        crawl.scheduler.policy().audit(crawl.scheduler.ranking());
        let at_the_end = (1 << 20) + 64 * FILES + 200 * FILES;
        let read = counted.read.get();
        assert!(
            read < FILES * AGAIN + at_the_end,
            "{push:?}: {read} links read again"
        );
    }
}
