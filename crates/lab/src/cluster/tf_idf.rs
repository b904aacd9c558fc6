//! Texts as points: a word counts as often as it stands there, less the more texts it is in.
//!
//! Rows are sparse and of length 1. Words in one text only say nothing about two and are left
//! out; the others are numbered by falling frequency, so that most of the work stays in cache.

use super::bisect::Points;

/// The tf·idf rows of some texts.
#[derive(Clone, Debug)]
pub(super) struct TfIdf {
    starts: Vec<u32>,
    numbers: Vec<(u32, f32)>,
    dimensions: usize,
}

impl TfIdf {
    /// The rows of texts given as (word, count).
    pub(super) fn of<'a>(
        texts: impl Iterator<Item = &'a [(u32, u32)]> + Clone,
        word_count: usize,
    ) -> Self {
        let mut in_texts = vec![0u32; word_count];
        let mut text_count = 0u32;
        for text in texts.clone() {
            text_count += 1;
            for (word, _) in text {
                in_texts[*word as usize] += 1;
            }
        }
        let mut kept: Vec<u32> = (0..word_count as u32)
            .filter(|word| in_texts[*word as usize] >= 2)
            .collect();
        kept.sort_by_key(|word| (std::cmp::Reverse(in_texts[*word as usize]), *word));
        let mut dimension_of = vec![u32::MAX; word_count];
        for (dimension, word) in kept.iter().enumerate() {
            dimension_of[*word as usize] = dimension as u32;
        }
        let mut rows = Self {
            starts: vec![0],
            numbers: Vec::new(),
            dimensions: kept.len(),
        };
        for text in texts {
            let from = rows.numbers.len();
            for (word, count) in text {
                let dimension = dimension_of[*word as usize];
                if dimension != u32::MAX {
                    let rarity = f64::from(text_count) / f64::from(in_texts[*word as usize]);
                    rows.numbers
                        .push((dimension, (f64::from(*count) * rarity.ln()) as f32));
                }
            }
            rows.end_row(from);
        }
        rows
    }

    fn end_row(&mut self, from: usize) {
        let row = &mut self.numbers[from..];
        let square: f32 = row.iter().map(|(_, number)| number * number).sum();
        if square > 0.0 {
            let length = square.sqrt();
            row.iter_mut().for_each(|(_, number)| *number /= length);
        }
        self.starts.push(self.numbers.len() as u32);
    }

    fn row(&self, point: usize) -> &[(u32, f32)] {
        &self.numbers[self.starts[point] as usize..self.starts[point + 1] as usize]
    }
}

impl Points for TfIdf {
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn square(&self, point: usize) -> f64 {
        let row = self.row(point).iter();
        row.map(|(_, number)| f64::from(*number) * f64::from(*number))
            .sum()
    }

    fn dot(&self, point: usize, vector: &[f32]) -> f64 {
        let row = self.row(point).iter();
        row.map(|(dimension, number)| f64::from(number * vector[*dimension as usize]))
            .sum()
    }

    fn add_to(&self, point: usize, vector: &mut [f32]) {
        for (dimension, number) in self.row(point) {
            vector[*dimension as usize] += number;
        }
    }
}
