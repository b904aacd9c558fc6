//! The paper's definitions written down plainly, with linear searches. The policies must test the
//! same pages in the same order.

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use turnstone_frontier::{PageId, Random, WholeGraphRank as _};
use turnstone_policy::liveness::SampleBy;

use crate::old_web::{OldWeb, Toy, old_web};

/// The old crawl as the paper sees it.
struct Paper<'a> {
    old: &'a OldWeb,
    toy: Toy,
    pages: Vec<usize>,
    pagerank: Vec<f64>,
}

impl<'a> Paper<'a> {
    fn new(old: &'a OldWeb) -> Self {
        let toy = Toy(old.web.clone());
        let count = old.web.page_count();
        let pagerank = toy.rank(&vec![1.0 / count as f64; count]);
        let pages = (0..count).collect();
        Self {
            old,
            toy,
            pages,
            pagerank,
        }
    }

    fn links(&self, page: usize) -> Vec<usize> {
        let links = &self.old.web.0[page];
        links.iter().map(|link| link.index()).collect()
    }

    /// R: a uniform random permutation.
    fn random(&self) -> Vec<usize> {
        let mut pages = self.pages.clone();
        Random::new(self.old.seed).shuffle(&mut pages);
        pages
    }

    /// Pages by a score, best first; ties by PageRank, then id.
    fn by(&self, pages: &[usize], scores: &[f64]) -> Vec<usize> {
        let mut left = pages.to_vec();
        let mut order = Vec::new();
        while !left.is_empty() {
            let better = |a: usize, b: usize| {
                (scores[a], self.pagerank[a], std::cmp::Reverse(a))
                    > (scores[b], self.pagerank[b], std::cmp::Reverse(b))
            };
            let best = left
                .iter()
                .copied()
                .reduce(|a, b| if better(b, a) { b } else { a });
            let best = best.unwrap();
            left.retain(|page| *page != best);
            order.push(best);
        }
        order
    }

    /// I: by in-degree; ties by id alone.
    fn indegree(&self) -> Vec<usize> {
        let mut pages = self.pages.clone();
        let degree = |page: usize| {
            (0..pages.len())
                .filter(|from| self.links(*from).contains(&page))
                .count()
        };
        let degrees: Vec<usize> = self.pages.iter().map(|page| degree(*page)).collect();
        pages.sort_by_key(|page| (usize::MAX - degrees[*page], *page));
        pages
    }

    /// P: by PageRank.
    fn pagerank(&self) -> Vec<usize> {
        self.by(&self.pages, &self.pagerank)
    }

    /// The first pages of an order that neither link to nor are linked from an earlier one; then
    /// the others.
    fn apart(&self, order: &[usize]) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        for &page in order {
            let near = |other: &usize| {
                self.links(*other).contains(&page) || self.links(page).contains(other)
            };
            if !chosen.iter().any(near) {
                chosen.push(page);
            }
        }
        let others: Vec<usize> = order
            .iter()
            .copied()
            .filter(|page| !chosen.contains(page))
            .collect();
        [chosen, others].concat()
    }

    /// The same number of random pages from every site with as many pages.
    fn per_site(&self) -> Vec<usize> {
        let site = |page: usize| self.old.sites[page].index();
        let size_of = |wanted: usize| {
            self.pages
                .iter()
                .filter(|page| site(**page) == wanted)
                .count()
        };
        let mut sites: Vec<usize> = (0..5).filter(|site| size_of(*site) > 0).collect();
        let quota = (self.old.sample_size / sites.len()).max(1);
        sites.sort_by_key(|site| (usize::MAX - size_of(*site), *site));
        sites.truncate(self.old.sample_size);
        let mut sample: Vec<usize> = Vec::new();
        for page in self.random() {
            let taken = sample
                .iter()
                .filter(|other| site(**other) == site(page))
                .count();
            if sites.contains(&site(page)) && size_of(site(page)) >= quota && taken < quota {
                sample.push(page);
            }
        }
        sample
    }

    fn sample(&self, by: SampleBy) -> Vec<usize> {
        let mut order = match by {
            SampleBy::Random => self.random(),
            SampleBy::Indegree => self.indegree(),
            SampleBy::PageRank => self.pagerank(),
            SampleBy::IndegreeApart => self.apart(&self.indegree()),
            SampleBy::PageRankApart => self.apart(&self.pagerank()),
            SampleBy::PerSite => return self.per_site(),
        };
        order.truncate(self.old.sample_size);
        order
    }

    fn split(&self, sample: &[usize]) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
        let (alive, gone) = sample.iter().partition(|page| self.old.alive[**page]);
        let rest = self
            .pages
            .iter()
            .copied()
            .filter(|page| !sample.contains(page));
        (alive, gone, rest.collect())
    }

    /// PageRank with a uniform teleport vector on some pages; 0 if there are none.
    fn from(&self, pages: &[usize]) -> Vec<f64> {
        let mut teleport = vec![0.0; self.pages.len()];
        for page in pages {
            teleport[*page] = 1.0 / pages.len() as f64;
        }
        self.toy.rank(&teleport)
    }

    fn pa(&self, by: SampleBy) -> Vec<usize> {
        let sample = self.sample(by);
        let (alive, _, rest) = self.split(&sample);
        [sample, self.by(&rest, &self.from(&alive))].concat()
    }

    fn pa_ratio(&self, by: SampleBy) -> Vec<usize> {
        let sample = self.sample(by);
        let (alive, gone, rest) = self.split(&sample);
        if gone.is_empty() {
            return self.pa(by);
        }
        let (plus, mut minus) = (self.from(&alive), self.from(&gone));
        let smallest = minus
            .iter()
            .copied()
            .filter(|rank| *rank != 0.0)
            .fold(f64::MAX, f64::min);
        for rank in &mut minus {
            if *rank == 0.0 {
                *rank = smallest;
            }
        }
        let ratio: Vec<f64> = plus
            .iter()
            .zip(&minus)
            .map(|(plus, minus)| plus / minus)
            .collect();
        [sample, self.by(&rest, &ratio)].concat()
    }

    fn pa_site(&self, by: SampleBy) -> Vec<usize> {
        let sample = self.sample(by);
        let (alive, gone, rest) = self.split(&sample);
        let positive = |ranks: Vec<f64>| -> Vec<f64> {
            let least = ranks
                .iter()
                .copied()
                .filter(|rank| *rank != 0.0)
                .fold(f64::MAX, f64::min);
            let least = if least == f64::MAX { 1.0 } else { least };
            let raised = ranks
                .iter()
                .map(|rank| if *rank == 0.0 { least } else { *rank });
            raised.collect()
        };
        let (plus, minus) = (positive(self.from(&alive)), positive(self.from(&gone)));
        let on_site = |pages: &[usize], page: usize| {
            let same = |other: &&usize| self.old.sites[**other] == self.old.sites[page];
            pages.iter().filter(same).count() as f64
        };
        let odds = |page: usize| (on_site(&alive, page) + 1.0) / (on_site(&gone, page) + 1.0);
        let score = |page: &usize| plus[*page] / minus[*page] * odds(*page);
        let scores: Vec<f64> = self.pages.iter().map(score).collect();
        [sample, self.by(&rest, &scores)].concat()
    }

    fn pa_recursive(&self, by: SampleBy, rounds: usize) -> Vec<usize> {
        let sample = self.sample(by);
        let (alive, gone, rest) = self.split(&sample);
        let mut scores = self.from(&alive);
        for _ in 0..rounds {
            let hopeful: Vec<usize> = (0..self.pages.len())
                .filter(|page| !gone.contains(page) && scores[*page] > 0.0)
                .collect();
            let mut best = self.by(&hopeful, &scores);
            best.truncate(alive.len());
            scores = self.from(&best);
        }
        [sample, self.by(&rest, &scores)].concat()
    }

    fn active_site_first(&self, by: SampleBy) -> Vec<usize> {
        let sample = self.sample(by);
        let site = |page: usize| self.old.sites[page].index();
        let activity = |wanted: usize| {
            let tested: Vec<usize> = sample
                .iter()
                .copied()
                .filter(|page| site(*page) == wanted)
                .collect();
            let alive = tested.iter().filter(|page| self.old.alive[**page]).count();
            (!tested.is_empty()).then(|| alive as f64 / tested.len() as f64)
        };
        let mut sites: Vec<usize> = (0..5).filter(|site| activity(*site).is_some()).collect();
        sites.sort_by(|a, b| {
            activity(*b)
                .partial_cmp(&activity(*a))
                .unwrap()
                .then(a.cmp(b))
        });
        let random: Vec<usize> = self
            .random()
            .into_iter()
            .filter(|page| !sample.contains(page))
            .collect();
        let mut order = sample.clone();
        for wanted in &sites {
            order.extend(random.iter().filter(|page| site(**page) == *wanted));
        }
        order.extend(random.iter().filter(|page| !sites.contains(&site(**page))));
        order
    }

    fn bfs(&self, by: SampleBy) -> Vec<usize> {
        let mut queue: VecDeque<usize> = self.sample(by).into();
        let mut queued: BTreeSet<usize> = queue.iter().copied().collect();
        let mut order = Vec::new();
        let by_pagerank = self.pagerank();
        loop {
            let fallback = || {
                by_pagerank
                    .iter()
                    .copied()
                    .find(|page| !queued.contains(page))
            };
            let Some(page) = queue.pop_front().or_else(fallback) else {
                return order;
            };
            queued.insert(page);
            order.push(page);
            if self.old.alive[page] {
                for link in self.links(page) {
                    if queued.insert(link) {
                        queue.push_back(link);
                    }
                }
            }
        }
    }

    fn alive_indegree(&self, by: SampleBy) -> Vec<usize> {
        let mut order = self.sample(by);
        while order.len() < self.pages.len() {
            let live = |page: usize| {
                let alive = order.iter().filter(|from| self.old.alive[**from]);
                alive
                    .filter(|from| self.links(**from).contains(&page))
                    .count() as f64
            };
            let scores: Vec<f64> = self.pages.iter().map(|page| live(*page)).collect();
            let left: Vec<usize> = self
                .pages
                .iter()
                .copied()
                .filter(|page| !order.contains(page))
                .collect();
            order.push(self.by(&left, &scores)[0]);
        }
        order
    }
}

/// Both orders, for comparison.
fn check(
    old: &OldWeb,
    spec: &str,
    by: SampleBy,
    expected: Vec<usize>,
) -> Result<(), TestCaseError> {
    let expected: Vec<PageId> = expected.into_iter().map(PageId::from_index).collect();
    prop_assert_eq!(old.order(spec, by), expected, "{} with sample {}", spec, by);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn static_orders_are_the_papers(old in old_web()) {
        let paper = Paper::new(&old);
        check(&old, "random", SampleBy::PageRank, paper.random())?;
        check(&old, "indegree", SampleBy::Random, paper.indegree())?;
        check(&old, "pagerank", SampleBy::Random, paper.pagerank())?;
    }

    #[test]
    fn orders_after_a_sample_are_the_papers(old in old_web()) {
        let paper = Paper::new(&old);
        for &(name, by) in SampleBy::COMMON {
            check(&old, "pa", by, paper.pa(by))?;
            check(&old, "pa-ratio", by, paper.pa_ratio(by))?;
            check(&old, "pa-site", by, paper.pa_site(by))?;
            check(&old, "pa-recursive:rounds=3", by, paper.pa_recursive(by, 3))?;
            let spec = format!("active-site-first:sample={name}");
            check(&old, &spec, SampleBy::Random, paper.active_site_first(by))?;
        }
        let expected = paper.active_site_first(SampleBy::PerSite);
        check(&old, "active-site-first", SampleBy::Random, expected)?;
    }

    #[test]
    fn dynamic_orders_are_the_papers(old in old_web()) {
        let paper = Paper::new(&old);
        for &(_, by) in SampleBy::COMMON {
            check(&old, "alive-bfs", by, paper.bfs(by))?;
            check(&old, "alive-indegree", by, paper.alive_indegree(by))?;
        }
    }
}
