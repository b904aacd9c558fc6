//! Near by directory: the seed's directory, those above, beside or below it.
//!
//! The distance of two pages is the number of steps between their directories in the tree of the
//! host: positive when the page is no deeper than the seed (0 the same directory, 1 the parent, 2
//! also sister directories), negative when it is deeper, infinite on another host.
//! `reach` ≥ 0 takes distances 0..=reach, `reach` < 0 takes reach..=0. The paper's printed sign is
//! turned round: its text and figure have upper directories positive.
//!
//! Cost: O(directories and pages within reach) a seed; 8 bytes a page, 16 a directory.

use std::sync::Arc;

use turnstone_frontier::PageId;

use super::groups::{Groups, Marks};
use super::neighbourhood::{IsFree, Neighbourhood};

/// The directories of all hosts as trees, and the pages in each.
#[derive(Clone, Debug, Default)]
pub struct DirectoryTree {
    /// By page.
    of_page: Vec<u32>,
    /// By directory: the one above; itself for the top of a host.
    parent: Vec<u32>,
    /// By directory: steps below the top.
    depth: Vec<u32>,
    children: Groups,
    pages: Groups,
}

impl DirectoryTree {
    /// The tree of some directories. A directory is named after the one above it; the top of a
    /// host is its own parent.
    pub fn new(of_page: Vec<u32>, parent: Vec<u32>) -> Self {
        let mut depth = Vec::with_capacity(parent.len());
        for (directory, &above) in parent.iter().enumerate() {
            assert!(
                above as usize <= directory,
                "directory {directory} comes before its parent"
            );
            depth.push(match above as usize == directory {
                true => 0,
                false => depth[above as usize] + 1,
            });
        }
        let count = parent.len();
        assert!(
            of_page
                .iter()
                .all(|directory| (*directory as usize) < count)
        );
        let above = parent.iter().enumerate().map(|(directory, &above)| {
            // The top is nobody's child.
            if above as usize == directory {
                u32::MAX
            } else {
                above
            }
        });
        let children = Groups::of(above.collect::<Vec<_>>().into_iter(), count);
        let pages = Groups::of(of_page.iter().copied(), count);
        Self {
            of_page,
            parent,
            depth,
            children,
            pages,
        }
    }

    /// How many directories there are.
    pub fn directory_count(&self) -> usize {
        self.parent.len()
    }

    /// The directory of a page.
    pub fn directory(&self, page: PageId) -> u32 {
        self.of_page[page.index()]
    }

    /// The directory above; none for the top of a host.
    pub fn above(&self, directory: u32) -> Option<u32> {
        let above = self.parent[directory as usize];
        (above != directory).then_some(above)
    }

    /// The pages of a directory, ascending.
    pub fn pages(&self, directory: u32) -> impl Iterator<Item = PageId> + '_ {
        self.pages
            .row(directory as usize)
            .iter()
            .map(|page| PageId(*page))
    }

    /// The distance from a seed to a page; none on another host.
    pub fn distance(&self, seed: PageId, page: PageId) -> Option<i32> {
        let (from, to) = (self.directory(seed), self.directory(page));
        let (mut a, mut b, mut steps) = (from as usize, to as usize, 0);
        while a != b {
            let climber = if self.depth[a] >= self.depth[b] {
                &mut a
            } else {
                &mut b
            };
            let above = self.parent[*climber] as usize;
            if above == *climber {
                return None;
            }
            *climber = above;
            steps += 1;
        }
        let deeper = self.depth[to as usize] > self.depth[from as usize];
        Some(if deeper { -steps } else { steps })
    }

    /// The directories one step away.
    fn beside(&self, directory: usize) -> impl Iterator<Item = usize> + '_ {
        let above = self.parent[directory] as usize;
        let above = (above != directory).then_some(above);
        let below = self
            .children
            .row(directory)
            .iter()
            .map(|child| *child as usize);
        above.into_iter().chain(below)
    }
}

/// Pages within a directory distance.
#[derive(Debug)]
pub struct DirectoryNeighbours {
    tree: Arc<DirectoryTree>,
    reach: i32,
    /// Directories whose pages were all offered in this cycle.
    offered: Marks,
    visited: Marks,
}

impl DirectoryNeighbours {
    /// The neighbourhood of this reach.
    pub fn new(tree: Arc<DirectoryTree>, reach: i32) -> Self {
        let count = tree.directory_count();
        Self {
            tree,
            reach,
            offered: Marks::new(count),
            visited: Marks::new(count),
        }
    }
}

impl Neighbourhood for DirectoryNeighbours {
    fn begin(&mut self) {
        self.offered.wipe();
    }

    fn gather(&mut self, seed: PageId, enough: usize, is_free: &IsFree<'_>, out: &mut Vec<PageId>) {
        let home = self.tree.directory(seed) as usize;
        let level = self.tree.depth[home];
        self.visited.wipe();
        self.visited.mark(home);
        let mut ring = vec![home];
        for step in 0..=self.reach.unsigned_abs() {
            let from = out.len();
            for &directory in &ring {
                let is_home = directory == home;
                let deeper = self.tree.depth[directory] > level;
                if (is_home || deeper == (self.reach < 0)) && self.offered.mark(directory) {
                    let pages = self.tree.pages(directory as u32);
                    out.extend(pages.filter(|page| *page != seed && is_free(*page)));
                }
            }
            out[from..].sort_unstable();
            if out.len() >= enough || step == self.reach.unsigned_abs() {
                return;
            }
            let mut next = Vec::new();
            for &directory in &ring {
                for other in self.tree.beside(directory) {
                    // A page that is no deeper is reached without going deeper than the seed.
                    let useful = self.reach < 0 || self.tree.depth[other] <= level;
                    if useful && self.visited.mark(other) {
                        next.push(other);
                    }
                }
            }
            ring = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper's figure 2: the seed is /dir1/index1.htm of www.abc.com.
    /// Directories: 0 top of abc, 1 /dir1/, 2 /dir2/, 3 /dir1/dir11/, 4 /dir1/dir11/dir111/,
    /// 5 /dir2/dir21/, 6 top of another host.
    fn figure_2() -> Arc<DirectoryTree> {
        let parent = vec![0, 0, 0, 1, 3, 2, 6];
        let of_page = vec![1, 1, 0, 2, 3, 4, 5, 6];
        Arc::new(DirectoryTree::new(of_page, parent))
    }

    const SEED: PageId = PageId(0);

    fn within(reach: i32) -> Vec<u32> {
        let mut out = Vec::new();
        let mut near = DirectoryNeighbours::new(figure_2(), reach);
        near.gather(SEED, usize::MAX, &|_| true, &mut out);
        out.iter().map(|page| page.0).collect()
    }

    #[test]
    fn distances_are_those_of_figure_2() {
        let tree = figure_2();
        let distances: Vec<Option<i32>> = (0..8)
            .map(|page| tree.distance(SEED, PageId(page)))
            .collect();
        let same_directory = Some(0);
        let upper = Some(1);
        let sister = Some(2);
        assert_eq!(
            distances,
            [
                same_directory,
                same_directory,
                upper,
                sister,
                Some(-1),
                Some(-2),
                Some(-3),
                None
            ]
        );
    }

    #[test]
    fn reach_takes_the_same_and_upper_or_the_same_and_lower_directories() {
        assert_eq!(within(0), [1]);
        assert_eq!(within(1), [1, 2]);
        assert_eq!(within(2), [1, 2, 3]);
        assert_eq!(within(8), [1, 2, 3]);
        assert_eq!(within(-1), [1, 4]);
        assert_eq!(within(-2), [1, 4, 5]);
        assert_eq!(within(-3), [1, 4, 5, 6]);
    }
}
