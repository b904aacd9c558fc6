//! What can be set about OPIC, and how a spec says it.

use super::history::Window;
use super::shares::{VirtualEdge, Weight};
use crate::catalog::{ParameterInfo, PolicyInfo, Question};
use crate::mass::Fraction;
use crate::spec::{Spec, SpecError};

/// Which page is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// Any, with equal probability.
    Random,
    /// Each in turn.
    Cycle,
    /// The one with the most cash.
    Greedy,
}

/// When the virtual page pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pay {
    /// When it would be chosen if it were a page.
    Ordinary,
    /// After every page.
    Eager,
}

/// What holds cash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Every page.
    Page,
    /// Every host, by links between hosts.
    Host,
    /// Every site (registrable domain). Policies know no names: the driver that runs such a policy
    /// tells it the site of a page as its host.
    Site,
}

/// Along which links cash flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichLinks {
    /// Those on the page.
    Out,
    /// Also from a page to those that link to it.
    Both,
}

/// All that can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpicOptions {
    /// Which page is read next.
    pub select: Select,
    /// How much of the past counts.
    pub window: Window,
    /// The small edge from every page to the virtual page.
    pub virtual_edge: VirtualEdge,
    /// When the virtual page pays.
    pub pay: Pay,
    /// The share of what the virtual page pays that goes to pages never read, 0 to 1.
    pub discover: Weight,
    /// The weight of a link within a host; others weigh 1.
    pub internal: Weight,
    /// Along which links cash flows.
    pub links: WhichLinks,
    /// What holds cash.
    pub nodes: NodeKind,
}

impl Default for OpicOptions {
    fn default() -> Self {
        Self {
            select: Select::Greedy,
            window: Window::None,
            virtual_edge: VirtualEdge::Link(Weight::ONE),
            pay: Pay::Ordinary,
            discover: Weight::ZERO,
            internal: Weight::ONE,
            links: WhichLinks::Out,
            nodes: NodeKind::Page,
        }
    }
}

impl OpicOptions {
    /// Reads a spec of the policy `opic`.
    pub fn read(spec: &Spec) -> Result<Self, SpecError> {
        spec.find(Question::Importance)?;
        let default = Self::default();
        let selects = [
            ("random", Select::Random),
            ("cycle", Select::Cycle),
            ("greedy", Select::Greedy),
        ];
        let pays = [("ordinary", Pay::Ordinary), ("eager", Pay::Eager)];
        let links = [("out", WhichLinks::Out), ("both", WhichLinks::Both)];
        let nodes = [
            ("page", NodeKind::Page),
            ("host", NodeKind::Host),
            ("site", NodeKind::Site),
        ];
        let nodes = spec.choice("nodes", default.nodes, &nodes)?;
        let internal = match nodes {
            NodeKind::Page => Weight::ONE,
            NodeKind::Host | NodeKind::Site => Weight::ZERO,
        };
        Ok(Self {
            select: spec.choice("select", default.select, &selects)?,
            window: read_window(spec)?,
            virtual_edge: read_virtual_edge(spec)?,
            pay: spec.choice("pay", default.pay, &pays)?,
            discover: weight(spec, "discover", default.discover, 1.0)?,
            internal: weight(spec, "internal", internal, 1.0)?,
            links: spec.choice("links", default.links, &links)?,
            nodes,
        })
    }
}

/// The most measures a variable or improved window may ask for.
const K_MAX: u32 = super::measures::MEASURES_MAX as u32;

fn read_window(spec: &Spec) -> Result<Window, SpecError> {
    let count = |parameter, default, least| {
        let wanted = format!("a whole number from {least} to {K_MAX}");
        spec.read(parameter, default, &wanted, |value| {
            value.parse().ok().filter(|k| (least..=K_MAX).contains(k))
        })
    };
    let span = spec.read("span", 4.0, "a number from 0.001 to 1000000", |value| {
        let span = value.parse().ok()?;
        (0.001..=1e6).contains(&span).then_some(span)
    })?;
    let (k, min) = (count("k", 8, 2)?, count("min", 3, 2)?);
    let windows = [
        ("none", Window::None),
        ("variable", Window::Variable { k }),
        ("fixed", Window::Fixed { span }),
        ("improved-fixed", Window::ImprovedFixed { span, min }),
        ("interpolation", Window::Interpolation { span }),
    ];
    spec.choice("window", Window::None, &windows)
}

pub(super) fn read_virtual_edge(spec: &Spec) -> Result<VirtualEdge, SpecError> {
    let is_fraction = spec.choice("virtual", false, &[("edge", false), ("fraction", true)])?;
    if is_fraction {
        let teleport = Fraction::new(0.15).expect("0.15 is between 0 and 1");
        return Ok(VirtualEdge::Fraction(spec.fraction("weight", teleport)?));
    }
    let link = weight(spec, "weight", Weight::ONE, Weight::MAX)?;
    Ok(VirtualEdge::Link(link))
}

pub(super) fn weight(
    spec: &Spec,
    name: &str,
    default: Weight,
    most: f64,
) -> Result<Weight, SpecError> {
    spec.read(
        name,
        default,
        &format!("a number from 0 to {most}"),
        |value| Weight::new(value.parse().ok().filter(|weight| *weight <= most)?),
    )
}

pub(super) const fn parameter(
    name: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> ParameterInfo {
    ParameterInfo {
        name,
        default,
        meaning,
    }
}

/// The catalogue entry.
pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "opic",
    questions: &[Question::Importance],
    summary: "reading a page hands its cash to its links; importance is the cash that passes",
    paper: "Abiteboul, Preda, Cobena, Adaptive On-Line Page Importance Computation, 2003",
    cost: "O(links log pages) per visit; 24 bytes per page with greedy and interpolation",
    parameters: &[
        parameter(
            "select",
            "greedy",
            "the next page: random, cycle (each in turn) or greedy (the richest)",
        ),
        parameter(
            "window",
            "none",
            "how much of the past counts: none (all), variable (the last k measures), fixed (a \
             span), improved-fixed (a span, at least min measures) or interpolation (one measure)",
        ),
        parameter("k", "8", "measures of window=variable"),
        parameter(
            "span",
            "4",
            "span of the other windows, in units of the clock G",
        ),
        parameter("min", "3", "least measures of window=improved-fixed"),
        parameter(
            "virtual",
            "edge",
            "what goes to the virtual page: edge (one more link) or fraction (of the cash)",
        ),
        parameter(
            "weight",
            "1 or 0.15",
            "weight of that link (1), or that fraction (0.15); more makes for more discovery",
        ),
        parameter(
            "pay",
            "ordinary",
            "the virtual page pays when it would be chosen (ordinary) or after every page (eager)",
        ),
        parameter(
            "discover",
            "0",
            "share of what the virtual page pays that goes to pages never read, 0 to 1",
        ),
        parameter(
            "internal",
            "1, or 0 with nodes=host or site",
            "weight of a link within a host (or site), 0 to 1; others weigh 1",
        ),
        parameter("links", "out", "cash flows along links: out, or both ways"),
        parameter(
            "nodes",
            "page",
            "what holds cash: page, host, or site (registrable domain)",
        ),
    ],
};
