//! Through the names of a folder's sister, one after the other.
//!
//! Once a new folder is there, or one begins to follow its sister, the sister's names are likely there too,
//! folder by folder: what is missing is often a whole branch, or the names that came to it in one round. So the chance of a name is that of its folder, which
//! leans on that of the folder above: (hits + 2 · chance above) / (tries + 2). After a miss the other branches come
//! first.
//!
//! Cost: O(pages of the sister · log nodes) to begin, O(folders of the sister) for each name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::tree::{NodeId, Tree};

/// How much a folder leans on the one above it.
const LEAN: f64 = 2.0;
/// How many names are gone through at most.
const NAMES_MAX: usize = 20_000;

/// A folder of the sister, or the names in it that came in one round.
#[derive(Clone, Debug)]
struct Branch {
    /// The branch above it.
    above: usize,
    hits: u32,
    tries: u32,
    /// Pages of it to try, the next last.
    left: Vec<NodeId>,
}

impl Branch {
    fn new(above: usize) -> Self {
        Self {
            above,
            hits: 0,
            tries: 0,
            left: Vec::new(),
        }
    }
}

/// Names to try.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    /// The sister.
    pub(crate) from: NodeId,
    /// The address of the folder that is filled.
    pub(crate) to: String,
    /// Before anything was tried.
    start: f64,
    branches: Vec<Branch>,
    left: usize,
}

/// A name to try next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Name {
    /// Where its page lies in the sister.
    pub(crate) page: NodeId,
    /// That it is there.
    pub(crate) chance: f64,
    branch: usize,
}

impl Fill {
    /// The names that `from` has and the folder `to` lacks, which each have the chance `start`. The page `hit` of
    /// the sister was found there already.
    pub(crate) fn new(
        tree: &Tree,
        (from, hit): (NodeId, Option<NodeId>),
        to: (String, Option<NodeId>),
        start: f64,
    ) -> Self {
        let mut fill = Self {
            from,
            to: to.0,
            start,
            branches: Vec::new(),
            left: 0,
        };
        let mut open = vec![(from, to.1, 0)];
        while let Some((folder, twin, above)) = open.pop() {
            let branch = fill.branches.len();
            fill.branches.push(Branch::new(above));
            // By the round in which the names came, the latest first.
            let mut cohorts: BTreeMap<Reverse<u32>, Vec<NodeId>> = BTreeMap::new();
            for kid in &tree.node(folder).kids {
                let twin = twin.and_then(|twin| tree.counterpart(*kid, twin));
                let is_there = twin.is_some_and(|twin| tree.node(twin).page().is_some());
                if let Some(round) = tree.node(*kid).page()
                    && (!is_there || hit == Some(*kid))
                    && fill.left < NAMES_MAX
                {
                    cohorts.entry(Reverse(round)).or_default().push(*kid);
                    fill.left += 1;
                }
                // What the folder that is filled holds is no name of its sister.
                if tree.is_folder(*kid) && to.1 != Some(*kid) {
                    open.push((*kid, twin, branch));
                }
            }
            for (_, mut names) in cohorts {
                names.reverse();
                let mut cohort = Branch::new(branch);
                let found = names.iter().position(|name| Some(*name) == hit);
                cohort.left = names;
                fill.branches.push(cohort);
                if let Some(at) = found {
                    let branch = fill.branches.len() - 1;
                    fill.branches[branch].left.remove(at);
                    fill.left -= 1;
                    fill.count(branch, true);
                }
            }
        }
        fill
    }

    /// The sister's pages that are left to try.
    pub(crate) fn pages(&self) -> impl Iterator<Item = NodeId> + '_ {
        let branches = self.branches.iter();
        branches.flat_map(|branch| branch.left.iter().copied())
    }

    /// The likeliest name, the first of equals.
    pub(crate) fn best(&self) -> Option<Name> {
        let mut chances = Vec::with_capacity(self.branches.len());
        let mut best: Option<Name> = None;
        for (at, branch) in self.branches.iter().enumerate() {
            let above = if at == 0 {
                self.start
            } else {
                chances[branch.above]
            };
            let chance = (f64::from(branch.hits) + LEAN * above) / (f64::from(branch.tries) + LEAN);
            chances.push(chance);
            if let Some(page) = branch.left.last()
                && best.is_none_or(|best| chance > best.chance)
            {
                best = Some(Name {
                    page: *page,
                    chance,
                    branch: at,
                });
            }
        }
        best
    }

    /// A name was found or not.
    pub(crate) fn told(&mut self, name: Name, is_there: bool) {
        let branch = &mut self.branches[name.branch];
        if branch.left.last() == Some(&name.page) {
            branch.left.pop();
            self.left -= 1;
        }
        self.count(name.branch, is_there);
    }

    /// A name counts for its branch and all above it.
    fn count(&mut self, mut at: usize, is_there: bool) {
        loop {
            let branch = &mut self.branches[at];
            branch.tries += 1;
            branch.hits += u32::from(is_there);
            if at == 0 {
                break;
            }
            at = branch.above;
        }
    }
}
