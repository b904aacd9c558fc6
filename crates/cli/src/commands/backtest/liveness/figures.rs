//! The paper's figures: cost curves (2 to 6), and how alive pages differ from gone ones (1).

use turnstone_frontier::PageId;
use turnstone_lab::backtest::liveness::{Outcome, Question};
use turnstone_lab::figure::{Axis, Figure, Series};
use turnstone_linkgraph::rank::{InLinks, PageRank, Teleport};
use turnstone_policy::liveness::{Sample, SampleBy};
use turnstone_policy::{Spec, SpecError};

/// How many points a distribution is drawn with.
const POINTS: usize = 200;

/// The policies asked for, and those of the paper's figures, each once.
pub(super) fn with_paper(asked: &[Spec], question: &Question<'_>) -> Result<Vec<Spec>, SpecError> {
    let mut texts: Vec<String> = asked.iter().map(Spec::to_string).collect();
    for (_, _, specs) in paper(question) {
        texts.extend(specs);
    }
    let mut seen = std::collections::BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts.iter().map(|text| text.parse()).collect()
}

/// The paper's figures: title, what to read from it, and the policies in it.
fn paper(question: &Question<'_>) -> Vec<(&'static str, &'static str, Vec<String>)> {
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
    let Sample { size, .. } = question.sample;
    let pages = question.web.graph().page_count();
    let mut sizes = vec![size / 5, size, size * 2, size * 5];
    sizes.retain(|size| (1..=pages).contains(size));
    sizes.dedup();
    let sizes = sizes.iter().map(|size| format!("pa-ratio:size={size}"));
    vec![
        (
            "Static and sample-based orders (figures 2 and 5)",
            "Requests for each alive page, against the share of the alive pages that is wanted.",
            named(&["random", "indegree", "pagerank", "pa", "pa-ratio"]),
        ),
        (
            "Impact of the sample's size (figure 3a)",
            "A larger sample costs more at first and less later.",
            sizes.collect(),
        ),
        (
            "Impact of the choice of the sample (figure 3b)",
            "The same size, chosen in five ways; apart means that no two pages of it are linked.",
            samples("pa-ratio", 5),
        ),
        (
            "Dynamic orders (figure 4a)",
            "Orders that learn from every answer, beside the best that learns once.",
            named(&["pa-ratio", "alive-bfs", "alive-indegree"]),
        ),
        (
            "Impact of the sample on dynamic orders (figure 4b)",
            "Each dynamic order with three samples.",
            [samples("alive-bfs", 3), samples("alive-indegree", 3)].concat(),
        ),
        (
            "Comparison with a site-based order (figure 6)",
            "Sites by the alive share of their sample, beside ranks along links.",
            named(&["pa-ratio", "active-site-first", "random"]),
        ),
        (
            "Recursive diffusion (described in section 2.5, and dropped)",
            "PageRank started again and again from its own best pages.",
            named(&["pa", "pa-ratio", "pa-recursive"]),
        ),
    ]
}

/// Every figure of the report, the main one first: of `outcomes` the first `asked` were asked for,
/// and the others are for the paper's figures.
pub(super) fn all(question: &Question<'_>, outcomes: &[Outcome], asked: usize) -> Vec<Figure> {
    let main = outcomes.iter().take(asked);
    let mut figures = vec![costs(
        "What finding alive pages costs",
        "Requests for each alive page, against the share of the alive pages that is wanted. The \
         dashed line is the ideal order, which asks for alive pages only.",
        main,
    )];
    if outcomes.len() > asked {
        for (title, caption, specs) in paper(question) {
            let named = |policy: &str| outcomes.iter().find(|outcome| outcome.policy == policy);
            let shown = specs
                .iter()
                .filter_map(|spec| named(spec))
                .chain(outcomes.first());
            figures.push(costs(title, caption, shown));
        }
    }
    figures.extend(distributions(question));
    figures
}

/// Cost curves of some policies.
fn costs<'a>(title: &str, caption: &str, outcomes: impl Iterator<Item = &'a Outcome>) -> Figure {
    let series = outcomes.map(|outcome| {
        let points = outcome.curve.iter().map(|point| (point.alpha, point.cost));
        let series = Series::line(outcome.policy.clone(), points.collect());
        if outcome.policy == "ideal" {
            series.muted()
        } else {
            series
        }
    });
    Figure {
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::share("share of the alive pages found"),
        y: Axis::linear("requests for each alive page"),
        series: series.collect(),
    }
}

/// Figure 1: in-degree and PageRank of alive, gone and all pages, cumulated.
fn distributions(question: &Question<'_>) -> Vec<Figure> {
    let graph = question.web.graph();
    let indegree: Vec<f64> = graph.indegree().into_iter().map(f64::from).collect();
    let ranked = PageRank::default().rank(&InLinks::of(graph), Teleport::Uniform, &mut |_| {});
    let figure = |title: &str, label: &str, values: &[f64]| {
        let of = |wanted: Option<bool>| {
            let pages = graph.pages().filter(|page| {
                wanted.is_none_or(|alive| question.web.alive[page.index()] == alive)
            });
            cumulated(pages.map(|page: PageId| values[page.index()]).collect())
        };
        Figure {
            title: title.to_owned(),
            caption:
                "The share of pages with at most so much. A curve further to the right has more."
                    .to_owned(),
            x: Axis::log(label),
            y: Axis::share("share of pages"),
            series: vec![
                Series::line("alive", of(Some(true))),
                Series::line("gone", of(Some(false))),
                Series::line("all", of(None)).muted(),
            ],
        }
    };
    vec![
        figure(
            "In-degree of alive and gone pages (figure 1a)",
            "in-degree",
            &indegree,
        ),
        figure(
            "PageRank of alive and gone pages (figure 1b)",
            "PageRank",
            &ranked.scores,
        ),
    ]
}

/// Some points of a cumulative distribution, equally far apart by share.
fn cumulated(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let last_of = |place: usize| values.partition_point(|value| *value <= values[place]);
    let places = (0..=POINTS).map(|point| point * count.saturating_sub(1) / POINTS);
    let mut points: Vec<(f64, f64)> = if count == 0 {
        Vec::new()
    } else {
        places
            .map(|place| (values[place], last_of(place) as f64 / count as f64))
            .collect()
    };
    points.dedup();
    points
}
