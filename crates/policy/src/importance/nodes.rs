//! What holds cash: every page, or every host.
//!
//! With hosts as nodes a link counts between hosts, and a host's cash is handed on when any of its
//! pages is read. Its pages take turns: one of them, the *holder*, stands for the host in the
//! ranking; when it was read, the next of its host becomes the holder.
//!
//! Cost: nothing for pages; for hosts 5 bytes per page and 12 per host, O(1) amortised.

use std::io;

use turnstone_frontier::{HostId, PageId, Restore, Save, corrupt};

use super::bank::Node;

/// What holds cash.
#[derive(Debug)]
pub(crate) enum Nodes {
    /// Each page, being its own holder.
    Pages {
        /// How many there are.
        count: usize,
    },
    /// Each host.
    Hosts(Rings),
}

impl Nodes {
    /// How many nodes are known, in the game or not.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Pages { count } => *count,
            Self::Hosts(rings) => rings.turn.len(),
        }
    }

    /// The node of a page that was just discovered, or that is there again.
    pub(crate) fn keep(&mut self, page: PageId, host: HostId) -> Node {
        match self {
            Self::Pages { count } => {
                *count = (*count).max(page.index() + 1);
                page_node(page)
            }
            Self::Hosts(rings) => {
                rings.keep(page, host);
                rings.node(host).expect("a host with a page has a holder")
            }
        }
    }

    /// The node a page belongs to. None for a host of which no page is left.
    #[inline]
    pub(crate) fn of(&self, page: PageId, host: HostId) -> Option<Node> {
        match self {
            Self::Pages { .. } => Some(page_node(page)),
            Self::Hosts(rings) => rings.node(host),
        }
    }

    /// The node with this number, if it has a page.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> Option<Node> {
        match self {
            Self::Pages { .. } => Some(page_node(PageId::from_index(index))),
            Self::Hosts(rings) => rings.node(HostId::from_index(index)),
        }
    }

    /// Every node that has a page.
    pub(crate) fn all(&self) -> impl Iterator<Item = Node> + '_ {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// The holder was read: the next page of the node becomes its holder.
    #[inline]
    pub(crate) fn pass_turn(&mut self, node: Node) -> Node {
        match self {
            Self::Pages { .. } => node,
            Self::Hosts(rings) => rings.pass_turn(HostId::from_index(node.index)),
        }
    }

    /// The page is there no more. Returns its node, if another page stands for it.
    pub(crate) fn drop_page(&mut self, page: PageId, host: HostId) -> Option<Node> {
        match self {
            Self::Pages { .. } => None,
            Self::Hosts(rings) => {
                rings.drop_page(page, host);
                rings.node(host)
            }
        }
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        match self {
            Self::Pages { .. } => 0,
            Self::Hosts(rings) => {
                rings.next.capacity() * size_of::<PageId>()
                    + rings.state.capacity()
                    + rings.turn.capacity() * 3 * size_of::<u32>()
            }
        }
    }

    /// Becomes what was saved; pages or hosts is settled at construction.
    pub(crate) fn restore_into(&mut self, from: &mut dyn io::Read) -> io::Result<()> {
        let count = u64::restore(from)?;
        let count = usize::try_from(count).map_err(|_| corrupt("more nodes than fit"))?;
        match self {
            Self::Pages { count: known } => *known = count,
            Self::Hosts(rings) => *rings = Rings::restore(from)?,
        }
        if self.len() != count {
            return Err(corrupt("nodes that were counted wrongly"));
        }
        Ok(())
    }
}

impl Save for Nodes {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.len() as u64).save(out)?;
        match self {
            Self::Pages { .. } => Ok(()),
            Self::Hosts(rings) => rings.save(out),
        }
    }
}

#[inline]
fn page_node(page: PageId) -> Node {
    Node {
        index: page.index(),
        holder: page,
    }
}

/// What a ring knows of a page.
const LINKED: u8 = 0;
/// Gone, and passed over when its turn comes.
const GONE: u8 = 1;
/// Not in any ring.
const OUT: u8 = 2;

/// The pages of each host in a ring, each pointing to the next.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    /// By page: the page after it.
    next: Vec<PageId>,
    /// By page: whether it is in the ring of its host.
    state: Vec<u8>,
    /// By host: whose turn it is, and who comes before that one.
    turn: Vec<PageId>,
    last: Vec<PageId>,
    /// By host: how many of its pages are there.
    alive: Vec<u32>,
}

impl Rings {
    fn node(&self, host: HostId) -> Option<Node> {
        let alive = self.alive.get(host.index()).is_some_and(|alive| *alive > 0);
        alive.then(|| Node {
            index: host.index(),
            holder: self.turn[host.index()],
        })
    }

    /// Puts a page at the end of its host's ring, unless it is there.
    fn keep(&mut self, page: PageId, host: HostId) {
        let (at, host) = (page.index(), host.index());
        if self.state.len() <= at {
            self.state.resize(at + 1, OUT);
            self.next.resize(at + 1, page);
        }
        if self.turn.len() <= host {
            self.turn.resize(host + 1, page);
            self.last.resize(host + 1, page);
            self.alive.resize(host + 1, 0);
        }
        match self.state[at] {
            LINKED => return,
            GONE if self.alive[host] > 0 => {}
            _ if self.alive[host] > 0 => {
                self.next[at] = self.turn[host];
                self.next[self.last[host].index()] = page;
                self.last[host] = page;
            }
            _ => {
                self.break_ring(host);
                self.next[at] = page;
                (self.turn[host], self.last[host]) = (page, page);
            }
        }
        self.state[at] = LINKED;
        self.alive[host] += 1;
    }

    fn pass_turn(&mut self, host: HostId) -> Node {
        let at = host.index();
        self.last[at] = self.turn[at];
        self.turn[at] = self.next[self.turn[at].index()];
        self.pass_over_gone(at);
        self.node(host).expect("the page that was read is there")
    }

    fn drop_page(&mut self, page: PageId, host: HostId) {
        if self.state[page.index()] == LINKED {
            self.state[page.index()] = GONE;
            self.alive[host.index()] -= 1;
            self.pass_over_gone(host.index());
        }
    }

    /// All pages of the host's ring are gone: none is in it any more, and a new one may begin.
    fn break_ring(&mut self, host: usize) {
        let mut at = self.turn[host].index();
        while self.state[at] == GONE {
            self.state[at] = OUT;
            at = self.next[at].index();
        }
    }

    /// Unlinks gone pages until the turn is at one that is there.
    fn pass_over_gone(&mut self, host: usize) {
        if self.alive[host] == 0 {
            return;
        }
        while self.state[self.turn[host].index()] == GONE {
            let gone = self.turn[host].index();
            self.state[gone] = OUT;
            self.turn[host] = self.next[gone];
            self.next[self.last[host].index()] = self.turn[host];
        }
    }
}

impl Save for Rings {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.next.save(out)?;
        self.state.save(out)?;
        self.turn.save(out)?;
        self.last.save(out)?;
        self.alive.save(out)
    }
}

impl Restore for Rings {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let rings = Self {
            next: Restore::restore(from)?,
            state: Restore::restore(from)?,
            turn: Restore::restore(from)?,
            last: Restore::restore(from)?,
            alive: Restore::restore(from)?,
        };
        let known = |page: &PageId| page.index() < rings.next.len();
        let pages = [&rings.next, &rings.turn, &rings.last];
        let hosts = rings.turn.len();
        if rings.state.len() != rings.next.len()
            || rings.last.len() != hosts
            || rings.alive.len() != hosts
            || !pages.into_iter().flatten().all(known)
        {
            return Err(corrupt("pages and hosts that do not agree"));
        }
        Ok(rings)
    }
}
