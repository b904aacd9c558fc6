//! How far estimates are from the truth: the paper's mean relative error, in per cent.

/// Errors over all nodes, and over the tenth that matters most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Errors {
    pub(super) all: f64,
    pub(super) top10: f64,
}

/// The truth at one moment, ready to be compared with.
#[derive(Debug)]
pub(super) struct Truth {
    /// Importance by node; 0 for nodes that take no part.
    pub(super) importance: Vec<f64>,
    /// Nodes that take part, the most important first, ties by number.
    order: Vec<u32>,
}

impl Truth {
    pub(super) fn new(importance: Vec<f64>, present: &[bool]) -> Self {
        let nodes = present.iter().zip(0u32..);
        let mut order: Vec<u32> = nodes
            .filter_map(|(here, node)| here.then_some(node))
            .collect();
        order.sort_by(|a, b| {
            let (a_is, b_is) = (importance[*a as usize], importance[*b as usize]);
            b_is.total_cmp(&a_is).then(a.cmp(b))
        });
        Self { importance, order }
    }

    /// The mean of |estimate − truth| / truth, over all and over the ceil(n/10) most important.
    pub(super) fn errors(&self, estimate: impl Fn(u32) -> f64) -> Errors {
        let top = self.order.len().div_ceil(10);
        let (mut all, mut top10) = (0.0, 0.0);
        for (place, &node) in self.order.iter().enumerate() {
            let truth = self.importance[node as usize];
            all += (estimate(node) - truth).abs() / truth;
            if place + 1 == top {
                top10 = all;
            }
        }
        Errors {
            all: 100.0 * all / self.order.len().max(1) as f64,
            top10: 100.0 * top10 / top.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_and_the_top_tenth_is_rounded_up() {
        let importance: Vec<f64> = (1..=11).map(f64::from).collect();
        let present = [true; 11];
        let truth = Truth::new(importance, &present);
        // The two most important are off by 10 %, the others by 50 %.
        let errors = truth.errors(|node| {
            let factor = if node >= 9 { 1.1 } else { 0.5 };
            f64::from(node + 1) * factor
        });
        assert!((errors.top10 - 10.0).abs() < 1e-9, "{errors:?}");
        assert!((errors.all - (2.0 * 10.0 + 9.0 * 50.0) / 11.0).abs() < 1e-9);
    }

    #[test]
    fn nodes_that_take_no_part_do_not_count() {
        let truth = Truth::new(vec![0.5, 0.0, 0.5], &[true, false, true]);
        let errors = truth.errors(|node| if node == 1 { 9.0 } else { 0.5 });
        assert_eq!(
            errors,
            Errors {
                all: 0.0,
                top10: 0.0
            }
        );
    }
}
