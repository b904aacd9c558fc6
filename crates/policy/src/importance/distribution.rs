//! To whom the cash of a page goes when it is read.
//!
//! In the plain case every link gets the same, straight from the page: no allocation, nothing
//! looked up but the rank that is raised. With weights, a bonus, hosts as nodes or links that count
//! both ways, the targets are gathered first. What is not given to a link is the virtual page's.

use turnstone_frontier::{Links, PageId, Ranking};

use super::bank::Node;
use super::nodes::Nodes;
use super::opic::Opic;
use super::shares::Weight;

impl Opic {
    /// Hands on the cash of a page that was read.
    #[inline]
    pub(super) fn distribute(
        &mut self,
        page: PageId,
        cash: u64,
        found: &[PageId],
        links: &dyn Links,
        ranking: &mut Ranking,
    ) {
        let is_plain = matches!(self.nodes, Nodes::Pages { .. })
            && self.shares.internal == Weight::ONE
            && self.backlinks.is_none()
            && self.bonus.is_empty();
        if is_plain {
            self.divide_alike(cash, found, ranking);
        } else {
            self.gather(page, found, links, ranking);
            self.divide_by_weight(cash, ranking);
        }
    }

    /// Every link gets the same.
    #[inline]
    fn divide_alike(&mut self, cash: u64, links: &[PageId], ranking: &mut Ranking) {
        let part = self.shares.divide(cash, links.len(), 0).external;
        self.bank.give_each(links, part, ranking);
        self.bank.give_virtual(cash - part * links.len() as u64);
    }

    /// Collects the nodes a page links to, each once, and whether they are on its own host.
    fn gather(&mut self, page: PageId, found: &[PageId], links: &dyn Links, ranking: &Ranking) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.extend_from_slice(found);
        if let Some(backlinks) = &mut self.backlinks {
            backlinks.record(page, found);
            backlinks.collect(page, links, &mut buffer);
        }
        self.targets.clear();
        for &link in &buffer {
            let host = ranking.host(link);
            let is_internal = host == ranking.host(page);
            // A host none of whose pages is left takes nothing: its part is the virtual page's.
            let gone = Node {
                index: host.index(),
                holder: link,
            };
            let target = self.nodes.of(link, host).unwrap_or(gone);
            self.targets.push((target, is_internal));
        }
        if matches!(self.nodes, Nodes::Hosts(_)) {
            self.targets
                .sort_unstable_by_key(|(target, _)| target.index);
            self.targets.dedup_by_key(|(target, _)| target.index);
        }
        self.buffer = buffer;
    }

    /// Links get what their weight is worth, and the bonus on top.
    fn divide_by_weight(&mut self, cash: u64, ranking: &mut Ranking) {
        let internal = self.targets.iter().filter(|(_, own)| *own).count();
        let external = self.targets.len() - internal;
        let parts = self.shares.divide(cash, external, internal);
        let given = parts.external * external as u64 + parts.internal * internal as u64;
        self.bank.give_virtual(cash - given);
        for &(target, is_internal) in &self.targets {
            let part = if is_internal {
                parts.internal
            } else {
                parts.external
            };
            let bonus = self.bonus.on_top(PageId::from_index(target.index), part);
            let bonus = self.bank.take_virtual(bonus);
            self.bank.give(target, part + bonus, ranking);
        }
    }
}
