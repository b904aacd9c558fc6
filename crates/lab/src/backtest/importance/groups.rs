//! Which pages belong together, for policies that count hosts or sites instead of pages.
//!
//! Sites are registrable domains by the public suffix list. They are looked up once per host, when a
//! policy asks for them.

use std::collections::BTreeMap;

use turnstone_frontier::HostId;
use turnstone_policy::importance::{NodeKind, OpicOptions};
use turnstone_urls::{Url, site_of};

use crate::run::RunError;
use crate::web::GraphWeb;

/// By page: its host, and the number of its site. Empty where that is not known; then all pages are
/// on one.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    hosts: Vec<HostId>,
    sites: Vec<HostId>,
}

impl Groups {
    /// What these policies need to know of a web.
    pub fn new(web: &GraphWeb, wanted: &[OpicOptions]) -> Result<Self, RunError> {
        let Some(hosts) = web.hosts() else {
            if !counts_pages(wanted) {
                let why = "nodes=host and nodes=site need addresses; put them in a .urls file \
                           beside the web, line i for page i";
                return Err(RunError::wrong("web", why));
            }
            return Ok(Self::default());
        };
        let mut sites = Vec::new();
        if wanted.iter().any(|options| options.nodes == NodeKind::Site) {
            let names = (0..hosts.len()).map(|host| hosts.name(HostId::from_index(host)));
            let numbers = number(names.map(site));
            let of_pages = hosts.of_pages().iter();
            sites = of_pages.map(|host| numbers[host.index()]).collect();
        }
        Ok(Self {
            hosts: hosts.of_pages().to_vec(),
            sites,
        })
    }

    /// What the policy is told as the host of each page.
    pub(super) fn of(&self, nodes: NodeKind) -> &[HostId] {
        match nodes {
            NodeKind::Page | NodeKind::Host => &self.hosts,
            NodeKind::Site => &self.sites,
        }
    }
}

/// Whether pages are the nodes of all these policies.
pub(super) fn counts_pages(wanted: &[OpicOptions]) -> bool {
    wanted.iter().all(|options| options.nodes == NodeKind::Page)
}

/// The site of a host; a host whose name is none stands for itself.
fn site(host: &str) -> String {
    let url = Url::parse(&format!("http://{host}/"));
    url.map_or_else(|_| host.to_owned(), |url| site_of(&url).to_owned())
}

/// Numbers names in the order in which they first come.
fn number(names: impl Iterator<Item = String>) -> Vec<HostId> {
    let mut known = BTreeMap::new();
    let number = |name| {
        let next = HostId::from_index(known.len());
        *known.entry(name).or_insert(next)
    };
    names.map(number).collect()
}
