//! The addresses of a site as a tree of path segments, each page with the round it was first seen in.
//!
//! Guesses compare folders: which names does one have that its sister lacks? In a tree that is a walk down
//! two branches, and a sister is another child of the same parent. Segments are kept once. A page is
//! a node too: `/a/` is the segments `a` and the empty one, so that a folder and its index page are two nodes.
//! A query belongs to the last segment.
//!
//! Cost: O(segments · log nodes) an address; about 100 bytes a page and the text of its distinct segments.
//! Limits: [`PAGES_MAX`] pages, [`SEGMENTS_MAX`] segments, [`URL_BYTES_MAX`] bytes; what is beyond is not taken in.

use std::collections::BTreeMap;

/// How many pages of a site are taken in.
pub(crate) const PAGES_MAX: u32 = 500_000;
/// How deep an address may be.
const SEGMENTS_MAX: usize = 24;
/// How long an address may be.
const URL_BYTES_MAX: usize = 1_000;

/// How many of its largest folders a folder remembers.
pub(crate) const LARGE: usize = 3;

/// A node of the tree.
pub(crate) type NodeId = u32;

/// The root, above all addresses.
pub(crate) const ROOT: NodeId = 0;

/// Not a page.
const NO_PAGE: u32 = u32::MAX;

/// A segment at its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) parent: NodeId,
    segment: u32,
    /// The round in which the first address went through here.
    pub(crate) since: u32,
    /// The round in which the page that ends here was first seen.
    page: u32,
    /// Pages here and below.
    pub(crate) below: u32,
    /// Of these, those that came in a later round than the first of them.
    pub(crate) came: u32,
    /// In the order in which they came.
    pub(crate) kids: Vec<NodeId>,
    /// The kids with most pages, in no order.
    large: [NodeId; LARGE],
}

impl Node {
    /// The round in which the page that ends here was first seen.
    pub(crate) fn page(&self) -> Option<u32> {
        (self.page != NO_PAGE).then_some(self.page)
    }
}

/// All addresses of a site.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    children: BTreeMap<(NodeId, u32), NodeId>,
    segments: Vec<Box<str>>,
    numbers: BTreeMap<Box<str>, u32>,
}

/// What a new address added.
pub(crate) struct Added {
    /// The nodes from below the root to the page.
    pub(crate) path: Vec<NodeId>,
    /// How many of them, from the end, are new.
    pub(crate) fresh: usize,
}

/// The segments of an address, the query with the last.
pub(crate) fn segments(url: &str) -> impl Iterator<Item = &str> {
    let path = url.strip_prefix('/').unwrap_or(url);
    let query = path.find('?').unwrap_or(path.len());
    let slashes = path[..query].matches('/').count();
    path.splitn(slashes + 1, '/')
}

impl Tree {
    pub(crate) fn new() -> Self {
        let root = Node {
            parent: ROOT,
            segment: 0,
            since: 0,
            page: NO_PAGE,
            below: 0,
            came: 0,
            kids: Vec::new(),
            large: [ROOT; LARGE],
        };
        Self {
            nodes: vec![root],
            children: BTreeMap::new(),
            segments: vec!["".into()],
            numbers: BTreeMap::from([("".into(), 0)]),
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The segment that a node stands for.
    pub(crate) fn segment(&self, id: NodeId) -> &str {
        &self.segments[self.node(id).segment as usize]
    }

    /// Whether a node has nodes below it.
    pub(crate) fn is_folder(&self, id: NodeId) -> bool {
        !self.node(id).kids.is_empty()
    }

    /// The address that ends at a node, without a slash after it.
    pub(crate) fn url(&self, id: NodeId) -> String {
        let mut segments = Vec::new();
        let mut at = id;
        while at != ROOT {
            segments.push(self.segment(at));
            at = self.node(at).parent;
        }
        let mut url = String::new();
        for segment in segments.iter().rev() {
            url.push('/');
            url.push_str(segment);
        }
        url
    }

    /// The address of `leaf`, which lies below `from`, moved below the address `to`.
    pub(crate) fn moved(&self, leaf: NodeId, from: NodeId, to: &str) -> String {
        let mut segments = Vec::new();
        let mut at = leaf;
        while at != from {
            segments.push(self.segment(at));
            at = self.node(at).parent;
        }
        let mut url = to.to_owned();
        for segment in segments.iter().rev() {
            url.push('/');
            url.push_str(segment);
        }
        url
    }

    /// Whether an address is known.
    pub(crate) fn has(&self, url: &str) -> bool {
        let mut at = ROOT;
        for segment in segments(url) {
            let Some(number) = self.numbers.get(segment) else {
                return false;
            };
            match self.children.get(&(at, *number)) {
                Some(next) => at = *next,
                None => return false,
            }
        }
        self.node(at).page().is_some()
    }

    /// The child of `into` that has the same segment as `like`.
    pub(crate) fn counterpart(&self, like: NodeId, into: NodeId) -> Option<NodeId> {
        let segment = self.node(like).segment;
        self.children.get(&(into, segment)).copied()
    }

    /// What lies below `into` as `path` says, each node by its segment.
    pub(crate) fn follow(&self, path: &[NodeId], into: NodeId) -> Option<NodeId> {
        let mut at = into;
        for node in path {
            at = self.counterpart(*node, at)?;
        }
        Some(at)
    }

    /// Takes in an address. None if it is known or beyond a limit.
    pub(crate) fn add(&mut self, url: &str, round: u32) -> Option<Added> {
        let full = self.node(ROOT).below >= PAGES_MAX;
        let depth = segments(url).count();
        if full || depth > SEGMENTS_MAX || url.len() > URL_BYTES_MAX || self.has(url) {
            return None;
        }
        let mut path = Vec::with_capacity(depth);
        let (mut at, mut fresh) = (ROOT, 0);
        for segment in segments(url) {
            let number = self.number(segment);
            at = match self.children.get(&(at, number)) {
                Some(next) => *next,
                None => {
                    fresh += 1;
                    self.grow(at, number, round)
                }
            };
            path.push(at);
        }
        self.nodes[at as usize].page = round;
        for node in path.iter().chain([&ROOT]) {
            let node = &mut self.nodes[*node as usize];
            node.below += 1;
            node.came += u32::from(round > node.since);
        }
        let parents = std::iter::once(&ROOT).chain(&path);
        for (parent, kid) in parents.zip(&path) {
            self.enlarge(*parent, *kid);
        }
        Some(Added { path, fresh })
    }

    /// A folder grew: it may be one of its parent's largest now.
    fn enlarge(&mut self, parent: NodeId, kid: NodeId) {
        let below = |node: NodeId| {
            if node == ROOT {
                0
            } else {
                self.node(node).below
            }
        };
        let large = self.node(parent).large;
        if large.contains(&kid) || !self.is_folder(kid) {
            return;
        }
        let smallest = (0..LARGE).min_by_key(|at| below(large[*at]));
        if let Some(at) = smallest.filter(|at| below(large[*at]) < below(kid)) {
            self.nodes[parent as usize].large[at] = kid;
        }
    }

    /// The largest folders of a folder, at most [`LARGE`].
    pub(crate) fn large(&self, of: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let large = self.node(of).large;
        large.into_iter().filter(|kid| *kid != ROOT)
    }

    fn number(&mut self, segment: &str) -> u32 {
        if let Some(number) = self.numbers.get(segment) {
            return *number;
        }
        let number = self.segments.len() as u32;
        self.segments.push(segment.into());
        self.numbers.insert(segment.into(), number);
        number
    }

    fn grow(&mut self, parent: NodeId, segment: u32, round: u32) -> NodeId {
        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node {
            parent,
            segment,
            since: round,
            page: NO_PAGE,
            below: 0,
            came: 0,
            kids: Vec::new(),
            large: [ROOT; LARGE],
        });
        self.nodes[parent as usize].kids.push(id);
        self.children.insert((parent, segment), id);
        id
    }

    /// Every page below `of`, folders in order, with the folder it lies in; stops when told to.
    pub(crate) fn each_page(&self, of: NodeId, mut each: impl FnMut(NodeId, NodeId) -> bool) {
        let mut open = vec![of];
        while let Some(folder) = open.pop() {
            for kid in &self.node(folder).kids {
                if self.node(*kid).page().is_some() && !each(*kid, folder) {
                    return;
                }
            }
            let kids = self.node(folder).kids.iter().rev();
            open.extend(kids.filter(|kid| self.is_folder(**kid)));
        }
    }

    /// How many of the pages below `one` are below `other` too, of the first `most` looked at.
    pub(crate) fn shared(&self, one: NodeId, other: NodeId, most: u32) -> (u32, u32) {
        let (mut both, mut seen) = (0, 0);
        let mut open = vec![(one, Some(other))];
        while let Some((folder, twin)) = open.pop() {
            for kid in &self.node(folder).kids {
                let twin = twin.and_then(|twin| self.counterpart(*kid, twin));
                if self.node(*kid).page().is_some() {
                    seen += 1;
                    both += u32::from(twin.is_some_and(|twin| self.node(twin).page().is_some()));
                    if seen >= most {
                        return (both, seen);
                    }
                }
                if self.is_folder(*kid) {
                    open.push((*kid, twin));
                }
            }
        }
        (both, seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_its_segments() {
        let check = |url: &str, expected: &[&str]| {
            assert_eq!(segments(url).collect::<Vec<_>>(), expected, "{url}");
        };
        check("/", &[""]);
        check("/a/b.html", &["a", "b.html"]);
        check("/a/", &["a", ""]);
        check("/a/?next=/b/c", &["a", "?next=/b/c"]);
    }

    #[test]
    fn pages_are_known_and_moved() {
        let mut tree = Tree::new();
        for url in ["/a/x/1.html", "/a/", "/b/x/1.html", "/a"] {
            assert!(tree.add(url, 1).is_some(), "{url}");
            assert!(tree.has(url), "{url}");
            assert!(tree.add(url, 2).is_none(), "{url} is known");
        }
        assert!(!tree.has("/a/x") && !tree.has("/a/x/") && !tree.has("/c"));
        let added = tree.add("/a/x/2.html", 2).unwrap();
        let (a, page) = (added.path[0], added.path[2]);
        assert_eq!(tree.moved(page, a, "/b"), "/b/x/2.html");
        assert_eq!(tree.url(page), "/a/x/2.html");
        let b = tree.node(ROOT).kids[1];
        assert_eq!(tree.shared(a, b, 100), (1, 3));
        assert_eq!(tree.node(ROOT).below, 5);
    }
}
