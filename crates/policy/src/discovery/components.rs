//! Strongly connected components of the links among new pages.
//!
//! Whoever finds one page of a component finds them all, so a component counts as one thing of a
//! certain weight: a release folder of 8,000 pages that share a menu shrinks to a handful.
//!
//! Tarjan's algorithm without recursion, because a chain of new pages may be as long as a site.
//! Components are numbered sinks first: a link between components leads to a smaller number.
//!
//! Cost: O(pages + links).

use std::io;

use turnstone_frontier::{Restore, Save, corrupt};

/// Rows of different lengths, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            starts: vec![0],
            items: Vec::new(),
        }
    }
}

impl Lists {
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub(crate) fn row(&self, index: usize) -> &[u32] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    pub(crate) fn push(&mut self, row: &[u32]) {
        self.items.extend_from_slice(row);
        let end = u32::try_from(self.items.len()).expect("fewer than 2^32 links in a round");
        self.starts.push(end);
    }

    /// The rows that pairs (row, item) make, each in the order of the pairs.
    pub(crate) fn from_pairs(rows: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0u32; rows + 1];
        for &(row, _) in pairs {
            starts[row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut free = starts.clone();
        let mut items = vec![0; pairs.len()];
        for &(row, item) in pairs {
            items[free[row as usize] as usize] = item;
            free[row as usize] += 1;
        }
        Self { starts, items }
    }
}

impl Lists {
    /// Whether every item is below a number.
    pub(crate) fn all_below(&self, bound: usize) -> bool {
        self.items.iter().all(|item| (*item as usize) < bound)
    }
}

impl Save for Lists {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.starts.save(out)?;
        self.items.save(out)
    }
}

impl Restore for Lists {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let starts: Vec<u32> = Restore::restore(from)?;
        let items: Vec<u32> = Restore::restore(from)?;
        let ends = starts.last().map(|end| *end as usize);
        if !starts.is_sorted() || starts.first() != Some(&0) || ends != Some(items.len()) {
            return Err(corrupt("rows that do not fit their items"));
        }
        Ok(Self { starts, items })
    }
}

/// The component of each node, and how many there are.
pub(crate) struct Components {
    pub(crate) of: Vec<u32>,
    pub(crate) count: usize,
}

/// A node that no component has taken yet.
const OPEN: u32 = u32::MAX;

/// Finds the components of a graph given by the targets of each node.
pub(crate) fn components(links: &Lists) -> Components {
    let nodes = links.len();
    let mut of = vec![OPEN; nodes];
    // The order of first visit, from 1; 0 is unvisited. `low` is the earliest visit reachable.
    let mut visit = vec![0u32; nodes];
    let mut low = vec![0u32; nodes];
    let mut stack: Vec<u32> = Vec::new();
    let mut path: Vec<(u32, u32)> = Vec::new();
    let (mut visits, mut count) = (0u32, 0u32);
    for root in 0..nodes as u32 {
        if visit[root as usize] != 0 {
            continue;
        }
        path.push((root, 0));
        while let Some(&(node, next)) = path.last() {
            let at = node as usize;
            if next == 0 {
                visits += 1;
                (visit[at], low[at]) = (visits, visits);
                stack.push(node);
            }
            if let Some(&target) = links.row(at).get(next as usize) {
                path.last_mut().expect("the path has this node").1 += 1;
                match visit[target as usize] {
                    0 => path.push((target, 0)),
                    seen if of[target as usize] == OPEN => low[at] = low[at].min(seen),
                    _ => {}
                }
                continue;
            }
            if low[at] == visit[at] {
                loop {
                    let member = stack.pop().expect("the node itself is on the stack");
                    of[member as usize] = count;
                    if member == node {
                        break;
                    }
                }
                count += 1;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent as usize] = low[parent as usize].min(low[at]);
            }
        }
    }
    Components {
        of,
        count: count as usize,
    }
}
