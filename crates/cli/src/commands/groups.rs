//! Which pages belong together, for policies that count hosts or sites instead of pages.
//!
//! The lab numbers hosts by name. Sites are registrable domains by the public suffix list, which
//! only `fetch` knows; they are looked up here once per host, when a policy asks for them.

use std::collections::BTreeMap;

use turnstone_fetch::Url;
use turnstone_fetch::urls::site_of;
use turnstone_frontier::HostId;
use turnstone_lab::backtest::importance::Groups;
use turnstone_lab::web::GraphWeb;
use turnstone_policy::importance::{NodeKind, OpicOptions};

use crate::exit::Usage;

/// By page: its host and its site. Empty where addresses, or sites, are not there to be had.
#[derive(Debug, Default)]
pub(crate) struct Belonging {
    hosts: Vec<HostId>,
    sites: Vec<HostId>,
}

impl Belonging {
    /// What these policies need to know of a web.
    pub(crate) fn of(web: &GraphWeb, wanted: &[OpicOptions]) -> Result<Self, Usage> {
        let Some(hosts) = web.hosts() else {
            if !counts_pages(wanted) {
                let why = "nodes=host and nodes=site need addresses; put them in a .urls file \
                           beside the web, line i for page i";
                return Err(Usage::of("WEB", why));
            }
            return Ok(Self::default());
        };
        let mut sites = Vec::new();
        if wanted.iter().any(|options| options.nodes == NodeKind::Site) {
            let names = (0..hosts.len()).map(|host| hosts.name(HostId::from_index(host)));
            let numbers = number(names.map(site));
            sites = hosts
                .of_pages()
                .iter()
                .map(|host| numbers[host.index()])
                .collect();
        }
        Ok(Self {
            hosts: hosts.of_pages().to_vec(),
            sites,
        })
    }

    pub(crate) fn groups(&self) -> Groups<'_> {
        Groups {
            hosts: &self.hosts,
            sites: &self.sites,
        }
    }
}

/// Whether pages are the nodes of all these policies.
pub(crate) fn counts_pages(wanted: &[OpicOptions]) -> bool {
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
