//! Which pages are near a page: by links, by directories or by clusters.
//!
//! A policy sees no URL and no text, so what it needs of them is handed to it as small plain maps
//! ([`LinkMap`](super::LinkMap), [`DirectoryTree`](super::DirectoryTree),
//! [`ClusterMap`](super::ClusterMap)) that the driver draws once for a store and all policies
//! share. A [`Neighbourhood`] reads one map; the sampling policy knows only this trait, so the
//! three downloading policies of the paper are one policy with three neighbourhoods.
//!
//! Cost: a group of pages (a directory, a cluster, the links of a parent) that was offered whole
//! is skipped for the rest of the cycle, so a cycle costs O(pages + links) however many samples
//! have changed.

use std::sync::Arc;

use turnstone_frontier::PageId;

use super::{ClusterMap, DirectoryTree, LinkMap};

/// What a driver knows of the stored pages beside their events. Maps are drawn when first asked
/// for and shared by all policies of a run.
pub trait Store {
    /// By page: its site.
    fn sites(&self) -> Arc<[u32]>;
    /// The links between the pages.
    fn links(&self) -> Arc<LinkMap>;
    /// The directories the pages are in.
    fn directories(&self) -> Arc<DirectoryTree>;
    /// The pages in about so many clusters.
    fn clusters(&self, count: usize) -> Arc<ClusterMap>;
    /// By page: its importance (PageRank), all adding up to 1.
    fn importance(&self) -> Arc<[f64]>;
}

/// Finds the pages within a distance of a seed.
pub trait Neighbourhood: Send {
    /// A new cycle: nothing was offered yet.
    fn begin(&mut self);

    /// Appends the free pages within distance `reach` of the seed, nearest first, ties by id,
    /// until there are at least `enough`. The seed itself is not among them.
    ///
    /// The caller takes every page it is offered, or stops for this cycle: so what was offered
    /// need not be offered again.
    fn gather(&mut self, seed: PageId, enough: usize, is_free: &IsFree<'_>, out: &mut Vec<PageId>);
}

/// Whether a page may still be asked for in this cycle.
pub type IsFree<'a> = dyn Fn(PageId) -> bool + 'a;

/// For sampling alone: nothing is near anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Neighbourhood for Alone {
    fn begin(&mut self) {}

    fn gather(&mut self, _: PageId, _: usize, _: &IsFree<'_>, _: &mut Vec<PageId>) {}
}
