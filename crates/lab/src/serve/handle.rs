//! The handle of a running server: what is where, moving it in time, what was asked of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch as signal;
use turnstone_frontier::PageId;

use super::addresses::{address, count_for};
use super::shared::Shared;
use super::timeline::At;
use super::violation::{Requested, Summary, Violation};
use super::web::Site;

/// A site of a running server, for people and scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteInfo {
    /// Its name.
    pub name: String,
    /// Where a crawl of it begins.
    pub url: String,
    /// How many pages it ever had.
    pub pages: u32,
    /// The snapshot it shows, and its date; none before the first, or for a graph.
    pub snapshot: Option<(usize, String)>,
}

/// A running server. It stops when this is dropped.
pub struct Handle {
    pub(super) shared: Arc<Shared>,
    pub(super) port: u16,
    pub(super) control: Option<u16>,
    pub(super) stop: signal::Sender<bool>,
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// The port all hosts have.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port on 127.0.0.1 that takes orders, if there is one.
    pub fn control_port(&self) -> Option<u16> {
        self.control
    }

    /// Where the URLs of a host begin, without a trailing slash.
    pub fn origin(&self, host: usize) -> &str {
        &self.shared.origins[host]
    }

    /// Every host with the address where it is served: what a crawler needs instead of DNS.
    pub fn hosts(&self) -> Vec<(String, SocketAddr)> {
        let names = &self.shared.responder.web.hosts;
        let addresses = count_for(names.len(), self.shared.naming);
        let place = |(host, name): (usize, &String)| {
            (
                name.clone(),
                SocketAddr::from((address(host % addresses), self.port)),
            )
        };
        names.iter().enumerate().map(place).collect()
    }

    /// The URL of a page, as links to it have it.
    pub fn url_of(&self, page: PageId) -> String {
        self.shared.url_of(page)
    }

    /// The page a URL leads to, whether or not it is there now.
    pub fn page_at(&self, url: &str) -> Option<PageId> {
        let origins = self.shared.origins.iter();
        let matching = origins.enumerate().filter_map(|(host, origin)| {
            let path = url.strip_prefix(origin.as_str())?;
            path.starts_with('/').then_some((host, path))
        });
        matching
            .filter_map(|(host, path)| self.shared.responder.web.places.find(host as u32, path))
            .next()
    }

    /// The number in the whole web of a page of a site.
    pub fn page(&self, site: usize, page: PageId) -> PageId {
        self.shared.responder.web.page(site, page)
    }

    /// One URL a site to begin with; sites that have no page now have none.
    pub fn seeds(&self) -> Vec<String> {
        let sites = 0..self.shared.responder.web.sites.len();
        sites.filter_map(|site| self.seed(site)).collect()
    }

    fn seed(&self, site: usize) -> Option<String> {
        let web = &self.shared.responder.web;
        if web.is_custom() {
            return Some(format!("{}/", self.shared.origins[site]));
        }
        web.seed(site, self.shared.moment())
            .map(|page| self.url_of(page))
    }

    /// What is served, site by site; at most `max`.
    pub fn sites(&self, max: usize) -> Vec<SiteInfo> {
        let web = &self.shared.responder.web;
        let site = |(number, site): (usize, &Site)| SiteInfo {
            name: site.name.clone(),
            url: self
                .seed(number)
                .unwrap_or_else(|| format!("{}/", self.shared.origins[site.host as usize])),
            pages: site.pages,
            snapshot: web
                .snapshot(number, self.shared.moment())
                .and_then(|snapshot| Some((snapshot, web.date(number, snapshot)?))),
        };
        web.sites.iter().take(max).enumerate().map(site).collect()
    }

    /// How many sites there are.
    pub fn site_count(&self) -> usize {
        self.shared.responder.web.sites.len()
    }

    /// Shows a site as it was at a moment.
    pub fn set_snapshot(&self, site: usize, at: At) {
        self.shared.go(Some(site), at);
    }

    /// Shows all sites as they were at a moment.
    pub fn set_snapshots(&self, at: At) {
        self.shared.go(None, at);
    }

    /// The last requests, as many as are kept, in the order they were answered.
    pub fn requests(&self) -> Vec<Requested> {
        self.shared.watch().requests()
    }

    /// The impolite requests, the first thousand.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.watch().violations()
    }

    /// Why requests are missing from the log, if they are.
    pub fn log_fault(&self) -> Option<String> {
        self.shared.watch().log_fault()
    }

    /// How many requests were answered.
    pub fn request_count(&self) -> u64 {
        self.shared.watch().request_count()
    }

    /// What all requests came to.
    pub fn summary(&self) -> Summary {
        self.shared.watch().summary()
    }

    /// Whether an impolite request has ended it all.
    pub fn is_halted(&self) -> bool {
        self.shared.is_halted()
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "serving on port {}", self.port)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // It asks nothing of the thread that waits here, so this ends, within the grace.
            let _ = thread.join();
        }
    }
}
