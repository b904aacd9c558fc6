//! Which hosts let nobody in: how many answers in a row were walls that stand before the whole host.
//!
//! A challenge or a refusal by a firewall says little about one page: three in a row say that the host does not
//! want us just now. To go on asking would be impolite, would make it worse, and would spend the crawl
//! on pages of which nothing is learnt. A login or a bill stands before single pages: those do not count.
//! A fold of the journal, like [`crate::Troubles`]; how long such a host rests is for the driver to say.

use std::collections::BTreeMap;

use turnstone_frontier::HostId;

/// The classes of walls that stand before a host rather than a page.
const BEFORE_HOSTS: [&str; 2] = ["blocked-challenge", "blocked-denied"];
/// So many in a row, and the host does not let us in.
pub const WALLS_MIN: u32 = 3;

/// By host: walls in a row. Hosts without any are not kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Walls {
    hosts: BTreeMap<HostId, u32>,
}

impl Walls {
    /// Whether an answer of this class stands before the whole host.
    pub fn is_before_host(class: &str) -> bool {
        BEFORE_HOSTS.contains(&class)
    }

    /// How many in a row a host answered with.
    pub fn of(&self, host: HostId) -> u32 {
        self.hosts.get(&host).copied().unwrap_or(0)
    }

    /// An answer came; `class` is that of its page.
    pub(crate) fn told(&mut self, host: HostId, class: &str) {
        if Self::is_before_host(class) {
            let times = self.hosts.entry(host).or_default();
            *times = times.saturating_add(1);
        } else {
            self.hosts.remove(&host);
        }
    }
}

turnstone_frontier::saved!(Walls: hosts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_before_hosts_add_up_and_an_answer_of_any_other_kind_ends_them() {
        let (mut walls, host) = (Walls::default(), HostId(1));
        for (class, expected) in [
            ("blocked-challenge", 1),
            ("blocked-denied", 2),
            ("blocked-challenge", 3),
            ("blocked-unsure", 0),
            ("blocked-login", 0),
            ("blocked-denied", 1),
            ("http-404", 0),
        ] {
            walls.told(host, class);
            assert_eq!(walls.of(host), expected, "{class}");
        }
    }
}
