//! What a recorded web holds: sizes, degrees, and how it changed over time.

use serde::Serialize;
use turnstone_frontier::PageId;

use crate::history::History;
use crate::web::GraphWeb;

/// The facts of a link graph.
#[derive(Clone, Debug, Serialize)]
pub struct GraphInfo {
    /// How many pages.
    pub pages: u64,
    /// How many distinct links.
    pub links: u64,
    /// How many hosts, where addresses are known.
    pub hosts: Option<u64>,
    /// Pages without links.
    pub dangling: u64,
    /// Pages that link to themselves.
    pub self_links: u64,
    /// Pages nobody else links to.
    pub unlinked: u64,
    /// How many pages link to a page.
    pub indegree: Degrees,
    /// How many pages a page links to.
    pub outdegree: Degrees,
}

/// How a degree is distributed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Degrees {
    /// The mean.
    pub mean: f64,
    /// Half of the pages have at most this.
    pub median: u32,
    /// Nine in ten have at most this.
    pub p90: u32,
    /// Ninety-nine in a hundred have at most this.
    pub p99: u32,
    /// The largest.
    pub max: u32,
    /// Pages with 0, with 1, with 2 to 3, 4 to 7, 8 to 15, …
    pub buckets: Vec<u64>,
}

impl Degrees {
    fn of(mut degrees: Vec<u32>) -> Self {
        degrees.sort_unstable();
        let count = degrees.len();
        if count == 0 {
            return Self::default();
        }
        let mut buckets = Vec::new();
        for &degree in &degrees {
            let bucket = (32 - degree.leading_zeros()) as usize;
            if buckets.len() <= bucket {
                buckets.resize(bucket + 1, 0);
            }
            buckets[bucket] += 1;
        }
        let at = |share: f64| degrees[((count as f64 * share).ceil() as usize).clamp(1, count) - 1];
        let sum: u64 = degrees.iter().copied().map(u64::from).sum();
        Self {
            mean: sum as f64 / count as f64,
            median: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: degrees[count - 1],
            buckets,
        }
    }

    /// The degrees of a bucket, as words.
    pub fn bucket_name(bucket: usize) -> String {
        match bucket {
            0 => "0".to_owned(),
            1 => "1".to_owned(),
            _ => format!("{}–{}", 1u64 << (bucket - 1), (1u64 << bucket) - 1),
        }
    }
}

impl GraphInfo {
    /// Looks at every link once.
    pub fn of(web: &GraphWeb) -> Self {
        let graph = &web.graph;
        let links_itself = |page: &PageId| graph.links(*page).binary_search(page).is_ok();
        let indegree = graph.indegree();
        let unlinked = |page: &PageId| indegree[page.index()] == u32::from(links_itself(page));
        Self {
            pages: graph.page_count() as u64,
            links: graph.link_count(),
            hosts: web.hosts().map(|hosts| hosts.len() as u64),
            dangling: graph
                .pages()
                .filter(|page| graph.outdegree(*page) == 0)
                .count() as u64,
            self_links: graph.pages().filter(links_itself).count() as u64,
            unlinked: graph.pages().filter(unlinked).count() as u64,
            outdegree: Degrees::of(graph.pages().map(|page| graph.outdegree(page)).collect()),
            indegree: Degrees::of(indegree),
        }
    }
}

/// The facts of one site's history.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryInfo {
    /// The site's name.
    pub site: String,
    /// Where its addresses begin.
    pub origin: String,
    /// Pages ever seen.
    pub pages: u64,
    /// Distinct contents.
    pub versions: u64,
    /// Links over all versions.
    pub links: u64,
    /// What each snapshot brought.
    pub snapshots: Vec<SnapshotInfo>,
}

/// What one snapshot brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotInfo {
    /// Its number.
    pub snapshot: usize,
    /// Its date.
    pub date: String,
    /// Pages present.
    pub pages: u64,
    /// Never seen before.
    pub new: u64,
    /// Present with other bytes than before.
    pub changed: u64,
    /// Present with another visible text than before.
    pub changed_text: u64,
    /// Absent before, present earlier, present again.
    pub returned: u64,
    /// No longer present.
    pub gone: u64,
}

impl HistoryInfo {
    /// Walks through all snapshots.
    pub fn of(history: &History) -> Self {
        let mut walk = history.walk();
        let mut snapshots = Vec::new();
        while let Some(step) = walk.step() {
            let version = |id: crate::history::VersionId| history.versions[id.index()];
            let differs = |by: fn(crate::history::Version) -> u64| {
                let changed = step.changed.iter().filter(|(page, before)| {
                    let now = walk.version(*page).expect("a changed page is present");
                    by(version(now)) != by(version(*before))
                });
                changed.count() as u64
            };
            snapshots.push(SnapshotInfo {
                snapshot: step.snapshot,
                date: history.dates[step.snapshot].to_string(),
                pages: walk.present_count() as u64,
                new: step.new.len() as u64,
                changed: differs(|version| version.raw),
                changed_text: differs(|version| version.text),
                returned: step.returned.len() as u64,
                gone: step.gone.len() as u64,
            });
        }
        Self {
            site: history.site.clone(),
            origin: history.origin.clone(),
            pages: history.page_count() as u64,
            versions: history.versions.len() as u64,
            links: history.links.item_count() as u64,
            snapshots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_linkgraph::LinkGraph;

    #[test]
    fn counts_what_is_there() {
        let graph = LinkGraph::from_links(4, &[(0, 0), (0, 1), (1, 2), (2, 1)]);
        let info = GraphInfo::of(&GraphWeb { graph, urls: None });
        assert_eq!((info.pages, info.links, info.hosts), (4, 4, None));
        assert_eq!((info.dangling, info.self_links, info.unlinked), (1, 1, 2));
        assert_eq!(info.indegree.buckets, [1, 2, 1]);
        assert_eq!((info.indegree.median, info.indegree.max), (1, 2));
    }

    #[test]
    fn buckets_are_named_by_what_they_hold() {
        assert_eq!(
            [0, 1, 2, 3].map(Degrees::bucket_name),
            ["0", "1", "2–3", "4–7"]
        );
    }
}
