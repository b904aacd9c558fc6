//! Folders that are alike: a name that one has, the other may get.
//!
//! `/dev/reference` and `/reference`, `/de` and `/en`, `/1.8` and `/1.9` hold the same names. Two children
//! of one folder are sisters, and so are a child and the folder itself (`/dev` and `/`). For each pair
//! it is counted how many names they share, and how those came to the second: in the round in which the
//! first got them (translations), or later, many at once (a release).
//!
//! A folder is compared with its last [`NEAR`] sisters only, so a folder of thousands costs what a small one does.
//!
//! Cost: O(segments² · near · log nodes) a new page; 40 bytes a pair, at most `near + 1` pairs a folder.

use std::collections::BTreeMap;

use crate::tree::{NodeId, Tree};

/// How many of the sisters that came last a folder is compared with.
const NEAR: usize = 5;

/// What is known of names that go from one folder to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pair {
    /// Names that both have.
    pub(crate) shared: u32,
    /// Names that came to the second in a later round than to the first.
    pub(crate) followed: u32,
    /// Rounds in which some did.
    pub(crate) bursts: u32,
    burst_at: u32,
    /// Names that came to both in one round, after the first round.
    pub(crate) together: u32,
}

/// All pairs, by the first and the second folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sisters {
    pairs: BTreeMap<(NodeId, NodeId), Pair>,
}

/// The sisters of `of` that it is compared with: its parent, the largest, and those that came last.
pub(crate) fn near(tree: &Tree, of: NodeId) -> Vec<NodeId> {
    let parent = tree.node(of).parent;
    let mut found = vec![parent];
    found.extend(folders(tree, parent).into_iter().filter(|kid| *kid != of));
    found
}

/// The largest folders of a folder, and those that came last.
fn folders(tree: &Tree, parent: NodeId) -> Vec<NodeId> {
    let mut found: Vec<NodeId> = tree.large(parent).collect();
    let kids = tree.node(parent).kids.iter().rev().take(8 * NEAR).copied();
    for kid in kids.filter(|kid| tree.is_folder(*kid)).take(NEAR) {
        if !found.contains(&kid) {
            found.push(kid);
        }
    }
    found
}

impl Sisters {
    /// What is known of two folders.
    pub(crate) fn pair(&self, from: NodeId, to: NodeId) -> Pair {
        self.pairs.get(&(from, to)).copied().unwrap_or_default()
    }

    /// Every pair.
    pub(crate) fn each(&self) -> impl Iterator<Item = (NodeId, NodeId, &Pair)> {
        self.pairs
            .iter()
            .map(|((from, to), pair)| (*from, *to, pair))
    }

    /// A page came: `path` leads from below the root to it.
    pub(crate) fn add(&mut self, tree: &Tree, path: &[NodeId], round: u32) {
        for at in 0..path.len() {
            let (folder, parent) = (path[at], tree.node(path[at]).parent);
            for sister in folders(tree, parent) {
                if sister == folder {
                    continue;
                }
                // The same name in the sister, and the page's whole name below the parent in it.
                if at + 1 < path.len() {
                    self.look(tree, (folder, sister), &path[at + 1..], round);
                }
                self.look(tree, (parent, sister), &path[at..], round);
            }
            if at + 1 < path.len() {
                self.look(tree, (folder, parent), &path[at + 1..], round);
            }
        }
    }

    /// A name came to the first folder; does the second have it?
    fn look(&mut self, tree: &Tree, (here, there): (NodeId, NodeId), name: &[NodeId], round: u32) {
        let twin = tree.follow(name, there);
        if let Some(seen) = twin.and_then(|twin| tree.node(twin).page()) {
            let follows = tree.node(here).since < round;
            self.note((there, here), (seen, round), follows);
            self.note((here, there), (round, seen), false);
        }
    }

    /// A name that the first folder has since `had` is there in the second since `got`. A folder that begins
    /// with its sister's names does not follow her yet.
    fn note(&mut self, key: (NodeId, NodeId), (had, got): (u32, u32), follows: bool) {
        let pair = self.pairs.entry(key).or_default();
        pair.shared += 1;
        if follows && got > had {
            pair.followed += 1;
            pair.bursts += u32::from(pair.burst_at != got);
            pair.burst_at = got;
        }
        pair.together += u32::from(got == had && got > 0);
    }
}
