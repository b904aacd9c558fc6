//! What arrived in a round: which old pages lead to which new pages (the paper's H_t).
//!
//! An old page leads to a new one if it links to it, or links to a new page that leads there: a
//! crawler fetches what it finds. So N(x) is the closure of x's links among the new pages
//! (Dasgupta, Ghosh, Kumar, Olston, Pandey, Tomkins 2007, section 2). New pages that no old page
//! leads to are orphans: counted, then left out of everything.
//!
//! Many old pages share their new links (a menu), and many new pages are found together (they
//! link to each other), so N is kept once for each distinct set, as a set of components. A page
//! that is not to be counted (hosts are looked for, and this is none) has weight 0.
//!
//! Cost: O(links + distinct sets of direct links × links between components). Invariant: sets are
//! distinct and not empty; a source has exactly one; the order of the input does not matter.

use std::collections::BTreeMap;

use turnstone_frontier::PageId;

use super::components::{Components, Lists, components};

/// Links to new pages, as they are seen.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    /// The first new page: ids from here on are new.
    first_new: u32,
    /// By new page: what it counts.
    weights: Vec<u32>,
    /// (old page, new page counted from `first_new`).
    from_old: Vec<(PageId, u32)>,
    /// Both counted from `first_new`.
    from_new: Vec<(u32, u32)>,
}

impl Sightings {
    /// No links yet, and no new page: the next id would be `first_new`.
    pub fn new(first_new: PageId) -> Self {
        Self {
            first_new: first_new.0,
            ..Self::default()
        }
    }

    /// The next id is a new page that counts so much.
    pub fn expect(&mut self, weight: u32) {
        self.weights.push(weight);
    }

    /// Whether a page is one of the new ones.
    pub(crate) fn is_new(&self, page: PageId) -> bool {
        page.0 >= self.first_new
    }

    /// A page, old or new, has these links; those to old pages are passed over. Returns whether
    /// there is one to a new page.
    pub fn see(&mut self, page: PageId, links: &[PageId]) -> bool {
        let before = self.from_old.len() + self.from_new.len();
        let new = self.first_new..self.first_new + self.weights.len() as u32;
        let targets = links.iter().filter(|link| new.contains(&link.0));
        let targets = targets.map(|link| link.0 - self.first_new);
        match page.0.checked_sub(self.first_new) {
            None => self.from_old.extend(targets.map(|target| (page, target))),
            Some(source) => {
                let others = targets.filter(|target| *target != source);
                self.from_new.extend(others.map(|target| (source, target)));
            }
        }
        self.from_old.len() + self.from_new.len() > before
    }

    /// Keeps the new pages and forgets who links to them.
    pub(crate) fn forget_links(&mut self) {
        self.from_old.clear();
        self.from_new.clear();
    }

    /// Follows the links through the new pages.
    pub fn close(&self) -> Arrivals {
        Closing::new(self).run()
    }

    pub(crate) fn parts(&self) -> SavedSightings {
        let both = |(page, target): &(PageId, u32)| (page.0, *target);
        SavedSightings {
            first_new: self.first_new,
            weights: self.weights.clone(),
            from_old: self.from_old.iter().map(both).collect(),
            from_new: self.from_new.clone(),
        }
    }

    /// None if some link leads out of what is known.
    pub(crate) fn from_parts(parts: SavedSightings) -> Option<Self> {
        let new = parts.weights.len() as u32;
        parts.first_new.checked_add(new)?;
        let old_fit = |(page, target): &(u32, u32)| *page < parts.first_new && *target < new;
        let new_fit = |(source, target): &(u32, u32)| *source < new && *target < new;
        if !parts.from_old.iter().all(old_fit) || !parts.from_new.iter().all(new_fit) {
            return None;
        }
        let old = parts.from_old.iter();
        Some(Self {
            first_new: parts.first_new,
            weights: parts.weights,
            from_old: old.map(|(page, target)| (PageId(*page), *target)).collect(),
            from_new: parts.from_new,
        })
    }
}

/// The same as plain numbers, to be written and read.
pub(crate) struct SavedSightings {
    pub(crate) first_new: u32,
    pub(crate) weights: Vec<u32>,
    pub(crate) from_old: Vec<(u32, u32)>,
    pub(crate) from_new: Vec<(u32, u32)>,
}

/// Which old pages lead to which new pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// By component: how many new pages it holds, as they count.
    pub(crate) weights: Vec<u32>,
    /// By set: its components, ascending.
    pub(crate) sets: Lists,
    /// By set: how many new pages it holds.
    sizes: Vec<u32>,
    /// Old pages that lead somewhere, ascending, and their sets.
    sources: Vec<(PageId, u32)>,
    found: u32,
    orphans: u32,
}

impl Arrivals {
    /// New pages that some old page leads to: |Y_t|.
    pub fn found(&self) -> u32 {
        self.found
    }

    /// New pages that no old page leads to.
    pub fn orphans(&self) -> u32 {
        self.orphans
    }

    /// Old pages that lead to a new page, ascending, each with the number of its set.
    pub fn sources(&self) -> &[(PageId, u32)] {
        &self.sources
    }

    /// How many distinct sets of new pages there are.
    pub fn set_count(&self) -> usize {
        self.sizes.len()
    }

    /// How many new pages a set holds.
    pub fn size(&self, set: u32) -> u32 {
        self.sizes[set as usize]
    }

    /// The set of an old page, if it leads anywhere.
    pub fn set_of(&self, page: PageId) -> Option<u32> {
        let found = self.sources.binary_search_by_key(&page, |source| source.0);
        found.ok().map(|at| self.sources[at].1)
    }

    /// How many new pages this old page leads to: |N(x)|.
    pub fn led_to(&self, page: PageId) -> u32 {
        self.set_of(page).map_or(0, |set| self.size(set))
    }

    /// Nothing is covered yet.
    pub fn cover(&self) -> Cover<'_> {
        Cover {
            arrivals: self,
            covered: vec![false; self.weights.len()],
            count: 0,
        }
    }
}

/// What some old pages have led to together.
#[derive(Clone, Debug)]
pub struct Cover<'a> {
    arrivals: &'a Arrivals,
    /// By component.
    covered: Vec<bool>,
    count: u32,
}

impl Cover<'_> {
    /// How many new pages are covered.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many new pages a set would add.
    pub fn gain(&self, set: u32) -> u32 {
        let components = self.arrivals.sets.row(set as usize).iter();
        let open = components.filter(|component| !self.covered[**component as usize]);
        open.map(|component| self.arrivals.weights[*component as usize])
            .sum()
    }

    /// Adds a set. Returns how many new pages it added.
    pub fn add(&mut self, set: u32) -> u32 {
        let mut gain = 0;
        for &component in self.arrivals.sets.row(set as usize) {
            if !std::mem::replace(&mut self.covered[component as usize], true) {
                gain += self.arrivals.weights[component as usize];
            }
        }
        self.count += gain;
        gain
    }

    /// Adds what a page leads to. Returns how many new pages that added.
    pub fn fetch(&mut self, page: PageId) -> u32 {
        self.arrivals.set_of(page).map_or(0, |set| self.add(set))
    }
}

/// The work of [`Sightings::close`].
struct Closing<'a> {
    sightings: &'a Sightings,
    components: Components,
    /// By component: the components it links to.
    links: Lists,
    /// By component.
    weights: Vec<u32>,
    /// By component: the last search that reached it.
    reached: Vec<u32>,
    search: u32,
}

impl<'a> Closing<'a> {
    fn new(sightings: &'a Sightings) -> Self {
        let nodes = sightings.weights.len();
        let components = components(&Lists::from_pairs(nodes, &sightings.from_new));
        let mut weights = vec![0; components.count];
        for (node, weight) in sightings.weights.iter().enumerate() {
            weights[components.of[node] as usize] += weight;
        }
        let of = |node: u32| components.of[node as usize];
        let mut between: Vec<(u32, u32)> = sightings
            .from_new
            .iter()
            .map(|&(source, target)| (of(source), of(target)))
            .filter(|(source, target)| source != target)
            .collect();
        between.sort_unstable();
        between.dedup();
        Self {
            sightings,
            links: Lists::from_pairs(components.count, &between),
            reached: vec![0; components.count],
            weights,
            components,
            search: 0,
        }
    }

    fn run(mut self) -> Arrivals {
        let mut arrivals = Arrivals::default();
        let mut by_direct: BTreeMap<Vec<u32>, Option<u32>> = BTreeMap::new();
        let mut by_reach: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut direct_links = self.sightings.from_old.clone();
        direct_links.sort_unstable();
        for links in direct_links.chunk_by(|a, b| a.0 == b.0) {
            let components = &self.components.of;
            let mut direct: Vec<u32> = links.iter().map(|l| components[l.1 as usize]).collect();
            direct.sort_unstable();
            direct.dedup();
            let set = match by_direct.get(&direct) {
                Some(set) => *set,
                None => {
                    let reach = self.reach(&direct);
                    let set = (!reach.is_empty()).then(|| {
                        let next = by_reach.len() as u32;
                        *by_reach.entry(reach).or_insert(next)
                    });
                    by_direct.insert(direct, set);
                    set
                }
            };
            if let Some(set) = set {
                arrivals.sources.push((links[0].0, set));
            }
        }
        let mut sets: Vec<(u32, Vec<u32>)> =
            by_reach.into_iter().map(|(row, set)| (set, row)).collect();
        sets.sort_unstable();
        for (_, row) in &sets {
            let size = row.iter().map(|c| self.weights[*c as usize]).sum();
            arrivals.sets.push(row);
            arrivals.sizes.push(size);
        }
        // A search that found a component left its number there: 0 means never found.
        let counted = self.weights.iter().zip(&self.reached);
        let found = counted.filter(|(_, reached)| **reached > 0);
        arrivals.found = found.map(|(weight, _)| weight).sum();
        arrivals.orphans = self.weights.iter().sum::<u32>() - arrivals.found;
        arrivals.weights = self.weights;
        arrivals
    }

    /// The components that can be reached from some, ascending; those of weight 0 left out.
    fn reach(&mut self, direct: &[u32]) -> Vec<u32> {
        self.search += 1;
        let mut reach: Vec<u32> = Vec::new();
        for &component in direct {
            if std::mem::replace(&mut self.reached[component as usize], self.search) != self.search
            {
                reach.push(component);
            }
        }
        let mut next = 0;
        while next < reach.len() {
            for &target in self.links.row(reach[next] as usize) {
                let seen = std::mem::replace(&mut self.reached[target as usize], self.search);
                if seen != self.search {
                    reach.push(target);
                }
            }
            next += 1;
        }
        reach.retain(|component| self.weights[*component as usize] > 0);
        reach.sort_unstable();
        reach
    }
}
