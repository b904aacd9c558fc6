//! The row of numbers that stands for a page.
//!
//! Counts are taken as logarithms, and every column is brought to mean 0 and deviation 1, so that
//! none decides alone. A column that is the same for all pages (one top-level domain, say) then
//! says nothing. Each text and address column is the rank, by distance of centroids, of the page's
//! own cluster seen from one of the ten largest: 0 the same, 1 the nearest, and so on.

use turnstone_frontier::PageId;
use turnstone_linkgraph::LinkGraph;

use super::bisect::{Divided, Points, bisect};
use super::look::{Look, Words};
use super::tf_idf::TfIdf;

/// Into how many clusters texts and addresses are divided; the paper does not say.
const TEXT_CLUSTERS: usize = 50;
/// How many of these, the largest, become columns.
const COLUMNS: usize = 10;
/// At most so many top-level domains have a column of their own.
const TOP_LEVELS_MAX: usize = 16;

/// Pages as rows of numbers.
#[derive(Clone, Debug)]
pub struct Features {
    columns: usize,
    /// Row by row.
    numbers: Vec<f32>,
}

/// Pages in clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    /// By page: its cluster.
    pub of_page: Vec<u32>,
    /// By cluster: the others, nearest first.
    pub nearest: Vec<Vec<u32>>,
}

impl Features {
    /// The features of pages that look so; their links are in the graph.
    pub fn of(looks: &[Look], words: &Words, graph: &LinkGraph) -> Self {
        let indegree = graph.indegree();
        let page = PageId::from_index;
        let log = |count: f64| count.ln_1p();
        let mut columns: Vec<Vec<f64>> = vec![
            looks
                .iter()
                .map(|look| log(f64::from(look.words)))
                .collect(),
            looks
                .iter()
                .map(|look| log(f64::from(look.images)))
                .collect(),
            looks
                .iter()
                .map(|look| log(f64::from(look.bytes)))
                .collect(),
            looks
                .iter()
                .map(|look| log(f64::from(look.address.depth)))
                .collect(),
            (0..looks.len())
                .map(|index| log(f64::from(indegree[index])))
                .collect(),
            (0..looks.len())
                .map(|index| log(f64::from(graph.outdegree(page(index)))))
                .collect(),
        ];
        columns.extend(top_level_columns(looks));
        let texts = looks.iter().map(|look| look.terms.as_slice());
        columns.extend(rank_columns(&TfIdf::of(texts, words.count())));
        let addresses = looks.iter().map(|look| look.address.tokens.as_slice());
        columns.extend(rank_columns(&TfIdf::of(addresses, words.count())));
        columns.iter_mut().for_each(|column| standardise(column));
        let row = |index: usize| columns.iter().map(move |column| column[index] as f32);
        Self {
            columns: columns.len(),
            numbers: (0..looks.len()).flat_map(row).collect(),
        }
    }

    /// The pages in at most so many clusters.
    pub fn clusters(&self, count: usize) -> Clusters {
        let divided = bisect(self, count);
        Clusters {
            nearest: divided.nearest(),
            of_page: divided.of,
        }
    }

    fn row(&self, point: usize) -> &[f32] {
        &self.numbers[point * self.columns..(point + 1) * self.columns]
    }
}

/// One column for each top-level domain, when there are several.
fn top_level_columns(looks: &[Look]) -> Vec<Vec<f64>> {
    let mut counts: std::collections::BTreeMap<u32, usize> = std::collections::BTreeMap::new();
    for look in looks {
        *counts.entry(look.address.top_level).or_default() += 1;
    }
    let mut names: Vec<(usize, u32)> = counts.into_iter().map(|(name, n)| (n, name)).collect();
    names.sort_by(|a, b| b.cmp(a));
    names.truncate(TOP_LEVELS_MAX);
    if names.len() < 2 {
        return Vec::new();
    }
    let column = |(_, name): (usize, u32)| {
        let is = looks
            .iter()
            .map(|look| f64::from(look.address.top_level == name));
        is.collect()
    };
    names.into_iter().map(column).collect()
}

/// Divides the rows, and sees every page's cluster from each of the largest.
fn rank_columns(rows: &dyn Points) -> Vec<Vec<f64>> {
    let divided = bisect(rows, TEXT_CLUSTERS);
    let sizes = divided.sizes();
    let mut largest: Vec<usize> = (0..sizes.len()).collect();
    largest.sort_by_key(|cluster| (std::cmp::Reverse(sizes[*cluster]), *cluster));
    largest.truncate(COLUMNS);
    let nearest = divided.nearest();
    let Divided { of, .. } = &divided;
    let column = |label: usize| {
        let mut rank = vec![0.0; sizes.len()];
        for (place, cluster) in nearest[label].iter().enumerate() {
            rank[*cluster as usize] = place as f64 + 1.0;
        }
        of.iter().map(|cluster| rank[*cluster as usize]).collect()
    };
    largest.into_iter().map(column).collect()
}

/// Brings a column to mean 0 and deviation 1; one without deviation to 0.
fn standardise(column: &mut [f64]) {
    let count = column.len().max(1) as f64;
    let mean = column.iter().sum::<f64>() / count;
    let variance = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    let scale = if variance > 1e-12 {
        1.0 / variance.sqrt()
    } else {
        0.0
    };
    column.iter_mut().for_each(|x| *x = (*x - mean) * scale);
}

impl Points for Features {
    fn len(&self) -> usize {
        self.numbers.len() / self.columns.max(1)
    }

    fn dimensions(&self) -> usize {
        self.columns
    }

    fn square(&self, point: usize) -> f64 {
        let row = self.row(point).iter();
        row.map(|number| f64::from(*number) * f64::from(*number))
            .sum()
    }

    fn dot(&self, point: usize, vector: &[f32]) -> f64 {
        let pairs = self.row(point).iter().zip(vector);
        f64::from(pairs.map(|(a, b)| a * b).sum::<f32>())
    }

    fn add_to(&self, point: usize, vector: &mut [f32]) {
        for (sum, number) in vector.iter_mut().zip(self.row(point)) {
            *sum += number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Address;

    /// Two kinds of pages: long ones under /docs/ and short ones under /news/.
    fn looks(words: &mut Words) -> Vec<Look> {
        let mut look = |index: u32| {
            let kind = ["docs", "news"][index as usize % 2];
            let url = format!("/{kind}/{index}.html");
            let terms = ["guide", "press"][index as usize % 2];
            let address: Address = words.address("https://example.org/", &url);
            Look {
                words: if index.is_multiple_of(2) {
                    5000 + index
                } else {
                    100 + index
                },
                images: index % 2,
                bytes: if index.is_multiple_of(2) {
                    90_000
                } else {
                    4000
                },
                terms: vec![(words.number(terms), 5), (words.number("the"), 9)],
                address,
            }
        };
        (0..40).map(&mut look).collect()
    }

    #[test]
    fn pages_that_look_alike_are_together_and_it_is_always_the_same() {
        let mut words = Words::default();
        let looks = looks(&mut words);
        let graph = LinkGraph::from_links(40, &[]);
        let divide = || Features::of(&looks, &words, &graph).clusters(2);
        let clusters = divide();
        assert_eq!(clusters, divide());
        assert_eq!(clusters.nearest, [vec![1], vec![0]]);
        for (page, cluster) in clusters.of_page.iter().enumerate() {
            assert_eq!(*cluster, clusters.of_page[page % 2], "page {page}");
        }
    }
}
