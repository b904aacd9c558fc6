//! The web of the demo: a few thousand pages on some tens of hosts, where some things go wrong.

use std::collections::BTreeMap;
use std::path::Path;

use turnstone_frontier::PageId;
use turnstone_lab::serve::{
    self, Faults, GraphPages, Handle, Naming, Options, Politeness, RobotsCheck, Web,
};
use turnstone_lab::web::GraphWeb;
use turnstone_linkgraph::bv;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters};

/// About as many pages a host, so that there are some tens of hosts.
const HOST_PAGES_MIN: usize = 40;
/// About how large a page is.
const PAGE_BYTES: u32 = 8000;
/// How slow the slow host is.
const SLOW_MS: u32 = 150;
/// The seed of all random draws.
const SEED: u64 = 1;
/// Front pages the crawl starts from.
const SEEDS: usize = 3;
/// The largest part of the web that robots.txt may forbid: the goal must stay within reach.
const FORBIDDEN_MAX: f64 = 0.03;

/// The web, made up.
pub(super) struct DemoWeb {
    web: GraphWeb,
    hosts: usize,
}

impl DemoWeb {
    pub(super) fn make(pages: u32) -> anyhow::Result<Self> {
        let made = GeneratedWeb::new(&WebParameters {
            pages: pages as usize,
            host_pages_min: HOST_PAGES_MIN.min(pages as usize / 10),
            seed: SEED,
            ..WebParameters::default()
        })?;
        let web = GraphWeb {
            graph: made.graph(),
            urls: Some(made.urls()),
        };
        let hosts = made.host_count();
        Ok(Self { web, hosts })
    }

    pub(super) fn pages(&self) -> u64 {
        self.web.graph.page_count() as u64
    }

    pub(super) fn links(&self) -> u64 {
        self.web.graph.link_count()
    }

    /// Leaves the web beside the crawl, for `backtest`, `info` and `serve-web`.
    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let name = directory.join(super::folder::WEB);
        Ok(bv::write(&name, &self.web.graph, self.web.urls.as_ref())?)
    }

    /// Serves it by name, each host at an address of its own, with a judge.
    pub(super) fn serve(&self, delay_ms: u64) -> anyhow::Result<Handle> {
        let slow = self.hosts - 1;
        let forbidden = self.forbidden();
        let faults = format!(
            "gone:rate=0.02;redirect:rate=0.03;slow:host={slow},ms={SLOW_MS},recover=0;\
             robots=disallow:/{}/",
            forbidden.unwrap_or("private"),
        );
        let pages = GraphPages {
            page_bytes: PAGE_BYTES,
            seed: SEED,
            ..GraphPages::default()
        };
        let options = Options {
            naming: Naming::ByName,
            faults: Faults::parse(&faults, SEED)?,
            politeness: Politeness {
                delay_ms: Some(delay_ms),
                delay_per_address_ms: None,
                open: Some(1),
                robots: RobotsCheck::First,
            },
            requests_kept: 0,
            ..Options::default()
        };
        Ok(serve::start(Web::graph(self.web.clone(), pages), options)?)
    }

    /// A directory that links lead to and robots.txt forbids: the rarest, so that a newcomer sees
    /// refused pages. None where that would be much of a small web.
    fn forbidden(&self) -> Option<&str> {
        let urls = self.web.urls.as_ref()?;
        let mut pages: BTreeMap<&str, usize> = BTreeMap::new();
        for page in (0..urls.len()).map(PageId::from_index) {
            // https://HOST/DIRECTORY/PAGE
            let mut parts = urls.url(page).split('/').skip(3);
            if let (Some(directory), Some(_)) = (parts.next(), parts.next()) {
                *pages.entry(directory).or_default() += 1;
            }
        }
        let (directory, count) = pages.into_iter().min_by_key(|(_, count)| *count)?;
        (count as f64 <= urls.len() as f64 * FORBIDDEN_MAX).then_some(directory)
    }

    /// Where the crawl starts: the front pages of the first hosts.
    pub(super) fn seeds(&self, handle: &Handle) -> Vec<String> {
        let mut seeds = vec![handle.url_of(PageId(0))];
        seeds.extend(handle.seeds());
        seeds.dedup();
        seeds.truncate(SEEDS);
        seeds
    }
}
