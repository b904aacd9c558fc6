//! The tree of places written down plainly: after every verdict all places are counted and thought
//! of anew. The policy must test pages of the same leaf.

use std::cmp::Reverse;

use proptest::prelude::*;
use turnstone_frontier::PageId;

use crate::tree_web::{Folders, InFlight, folders};

const TEST: u64 = 1 << 16;
const SURE: u64 = 1 << 30;

/// A place: pages directly in it if it is a leaf, parts if it is not.
struct Place {
    parts: Vec<Place>,
    pages: Vec<usize>,
    /// What its parts were told last.
    told: u64,
}

impl Place {
    fn web(folders: &Folders) -> Self {
        let tops =
            (0..folders.above.len()).filter(|folder| folders.above[*folder] as usize == *folder);
        let parts = tops.map(|top| Self::folder(folders, top)).collect();
        let mut web = Self {
            parts,
            pages: Vec::new(),
            told: SURE / 2,
        };
        web.tidy();
        web
    }

    fn folder(folders: &Folders, folder: usize) -> Self {
        let inside = (0..folders.above.len())
            .filter(|other| *other != folder && folders.above[*other] as usize == folder);
        let mut parts: Vec<Self> = inside.map(|part| Self::folder(folders, part)).collect();
        parts.retain(|part| part.size() > 0);
        let pages = (0..folders.of_page.len())
            .filter(|page| folders.of_page[*page] as usize == folder)
            .collect();
        let leaf = Self {
            parts: Vec::new(),
            pages,
            told: SURE / 2,
        };
        if parts.is_empty() {
            return leaf;
        }
        if leaf.size() > 0 {
            parts.push(leaf);
        }
        Self {
            parts,
            pages: Vec::new(),
            told: SURE / 2,
        }
    }

    /// Largest parts first; parts without pages are no parts.
    fn tidy(&mut self) {
        self.parts.retain(|part| part.size() > 0);
        self.parts.iter_mut().for_each(Self::tidy);
        self.parts.sort_by_key(|part| Reverse(part.size()));
    }

    fn size(&self) -> usize {
        self.pages.len() + self.parts.iter().map(Self::size).sum::<usize>()
    }

    /// (tests, alive) that speak for it.
    fn counts(&self, verdicts: &[Option<bool>]) -> (u64, u64) {
        let mut sum = (0, 0);
        for alive in self.pages.iter().filter_map(|page| verdicts[*page]) {
            sum = (sum.0 + TEST, sum.1 + TEST * u64::from(alive));
        }
        for part in &self.parts {
            let (tests, alive) = part.counts(verdicts);
            // n/(1 + 0.1(n - 1)) = 10 n/(9 + n)
            sum.0 += 10 * tests * TEST / (9 * TEST + tests);
            sum.1 += 10 * alive * TEST / (9 * TEST + tests);
        }
        sum
    }

    fn think(&mut self, above: u64, verdicts: &[Option<bool>]) {
        let (tests, alive) = self.counts(verdicts);
        let now = (alive * SURE + TEST * above) / (tests + TEST);
        if self.parts.is_empty() || tests == 0 || now.abs_diff(self.told) > SURE / 256 {
            self.told = now;
        }
        let told = self.told;
        self.parts
            .iter_mut()
            .for_each(|part| part.think(told, verdicts));
    }

    /// The pages without a verdict in the leaf most likely alive, the first such leaf.
    fn best<'a>(&'a self, verdicts: &[Option<bool>], best: &mut Option<(u64, &'a [usize])>) {
        let open = self.pages.iter().any(|page| verdicts[*page].is_none());
        if open && best.is_none_or(|(told, _)| self.told / 2 > told / 2) {
            *best = Some((self.told, &self.pages));
        }
        self.parts.iter().for_each(|part| part.best(verdicts, best));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_page_most_likely_alive_comes_next(folders in folders()) {
        let mut web = Place::web(&folders);
        let mut verdicts = vec![None; folders.of_page.len()];
        let mut survey = InFlight::start(&folders, "tree:looks=0", 1, 1);
        for _ in 0..folders.of_page.len() {
            let page = survey.step().unwrap();
            let mut best = None;
            web.best(&verdicts, &mut best);
            let (_, leaf) = best.unwrap();
            prop_assert!(leaf.contains(&page.index()), "{page:?} is not in {leaf:?}");
            verdicts[page.index()] = Some(folders.alive[page.index()]);
            web.think(SURE / 2, &verdicts);
        }
        prop_assert_eq!(survey.step(), None);
    }

    #[test]
    fn every_page_is_asked_once_with_any_number_in_flight(
        folders in folders(), open in 1usize..30, looks in 0u32..30, seed in 0u64..100,
    ) {
        let spec = format!("tree:looks={looks}");
        let mut survey = InFlight::start(&folders, &spec, seed, open);
        while survey.step().is_some() {
            // At most four of a host wait or are in flight, but for those drawn.
            if looks == 0 {
                let ranking = survey.scheduler.ranking();
                let all = (0..folders.of_page.len()).map(PageId::from_index);
                let ranked: Vec<u32> = all
                    .filter(|page| ranking.rank(*page) > 0)
                    .map(|page| folders.top(folders.of_page[page.index()]))
                    .collect();
                for host in &ranked {
                    prop_assert!(ranked.iter().filter(|other| *other == host).count() <= 4);
                }
            }
        }
        let mut order = survey.order.clone();
        order.sort_unstable();
        let all: Vec<PageId> = (0..folders.of_page.len()).map(PageId::from_index).collect();
        prop_assert_eq!(order, all);
        let alive = folders.alive.iter().filter(|alive| **alive).count() as u64;
        prop_assert_eq!(survey.scheduler.policy().tally().alive, alive);
    }

    #[test]
    fn a_killed_survey_goes_on_as_if_nothing_had_happened(
        folders in folders(), open in 1usize..8, looks in 0u32..4, kills in prop::collection::vec(prop::bool::ANY, 40),
    ) {
        let spec = format!("tree:looks={looks}");
        let mut undisturbed = InFlight::start(&folders, &spec, 3, open);
        let mut killed = InFlight::start(&folders, &spec, 3, open);
        for kill in kills {
            if kill {
                killed.kill(&spec, 3);
            }
            prop_assert_eq!(killed.step(), undisturbed.step());
        }
        let (killed, undisturbed) = (killed.scheduler.policy(), undisturbed.scheduler.policy());
        prop_assert_eq!(killed.tally(), undisturbed.tally());
        prop_assert_eq!(killed.estimate(), undisturbed.estimate());
    }
}
