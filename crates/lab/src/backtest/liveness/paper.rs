//! The figures of the paper: which policies each compares, and what to read from it.

use turnstone_policy::liveness::SampleBy;
use turnstone_policy::{Spec, SpecError};

/// A figure.
#[derive(Clone, Debug)]
pub struct PaperFigure {
    /// Its title.
    pub title: &'static str,
    /// What to read from it.
    pub caption: &'static str,
    /// The policies in it.
    pub policies: Vec<String>,
}

/// The policies of the figures that are not among those asked for, each once.
pub(super) fn others(asked: &[Spec], size: usize, pages: usize) -> Result<Vec<Spec>, SpecError> {
    let mut seen: Vec<String> = asked.iter().map(Spec::to_string).collect();
    let mut others = Vec::new();
    for policy in figures(size, pages)
        .into_iter()
        .flat_map(|figure| figure.policies)
    {
        if !seen.contains(&policy) {
            others.push(policy.parse()?);
            seen.push(policy);
        }
    }
    Ok(others)
}

/// The figures, for a sample of so many pages of a web of so many.
pub fn figures(size: usize, pages: usize) -> Vec<PaperFigure> {
    let named = |specs: &[&str]| {
        specs
            .iter()
            .map(|spec| (*spec).to_owned())
            .collect::<Vec<_>>()
    };
    let samples = |policy: &str, count: usize| {
        let ways = SampleBy::COMMON.iter().take(count);
        ways.map(|(way, _)| format!("{policy}:sample={way}"))
            .collect::<Vec<_>>()
    };
    let figure = |title, caption, policies| PaperFigure {
        title,
        caption,
        policies,
    };
    let mut sizes = vec![size / 5, size, size * 2, size * 5];
    sizes.retain(|size| (1..=pages).contains(size));
    sizes.dedup();
    let sizes = sizes.iter().map(|size| format!("pa-ratio:size={size}"));
    vec![
        figure(
            "Static and sample-based orders (figures 2 and 5)",
            "Requests for each alive page, against the share of the alive pages that is wanted.",
            named(&["random", "indegree", "pagerank", "pa", "pa-ratio"]),
        ),
        figure(
            "Impact of the sample's size (figure 3a)",
            "A larger sample costs more at first and less later.",
            sizes.collect(),
        ),
        figure(
            "Impact of the choice of the sample (figure 3b)",
            "The same size, chosen in five ways; apart means that no two pages of it are linked.",
            samples("pa-ratio", 5),
        ),
        figure(
            "Dynamic orders (figure 4a)",
            "Orders that learn from every answer, beside the best that learns once.",
            named(&["pa-ratio", "alive-bfs", "alive-indegree"]),
        ),
        figure(
            "Impact of the sample on dynamic orders (figure 4b)",
            "Each dynamic order with three samples.",
            [samples("alive-bfs", 3), samples("alive-indegree", 3)].concat(),
        ),
        figure(
            "Comparison with a site-based order (figure 6)",
            "Sites by the alive share of their sample, beside ranks along links.",
            named(&["pa-ratio", "active-site-first", "random"]),
        ),
        figure(
            "Recursive diffusion (described in section 2.5, and dropped)",
            "PageRank started again and again from its own best pages.",
            named(&["pa", "pa-ratio", "pa-recursive"]),
        ),
    ]
}
