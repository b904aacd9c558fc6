//! Lines over time as SVG that obeys the page: colours come from its style sheet, so they are right in the
//! dark too, and the numbers stand beside it as text, so they are readable on a phone.

use maud::{Markup, html};

use crate::words::utc;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 150.0;

/// A line.
pub(crate) struct Line {
    /// What it is called, and its colour in the style sheet: `a` or `b`.
    pub(crate) name: &'static str,
    pub(crate) class: &'static str,
    /// Moments in milliseconds, and numbers.
    pub(crate) points: Vec<(u64, f64)>,
}

/// A chart of lines between 0 and `top`; nothing where there is no line yet.
pub(crate) fn chart(
    title: &str,
    lines: &[Line],
    top: f64,
    number: impl Fn(f64) -> String,
) -> Markup {
    let every = || lines.iter().flat_map(|line| &line.points);
    let (Some(first), Some(last)) = (
        every().map(|point| point.0).min(),
        every().map(|point| point.0).max(),
    ) else {
        return html! {};
    };
    let span = last.saturating_sub(first).max(1) as f64;
    let top = if top > 0.0 { top } else { 1.0 };
    let place = |&(ms, value): &(u64, f64)| {
        let x = (ms - first) as f64 / span * WIDTH;
        let y = HEIGHT - (value / top).clamp(0.0, 1.0) * HEIGHT;
        format!("{x:.1},{y:.1}")
    };
    let path = |line: &Line| line.points.iter().map(place).collect::<Vec<_>>().join(" ");
    let ends = |line: &Line| {
        let last = line.points.last().map_or(0.0, |point| point.1);
        format!("{} {}", line.name, number(last))
    };
    let told: Vec<String> = lines.iter().map(ends).collect();
    html! {
        figure {
            figcaption { (title) }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                aria-label=(format!("{title}: {}", told.join(", "))) {
                @for quarter in 1..4 {
                    @let y = HEIGHT * f64::from(quarter) / 4.0;
                    line.grid x1="0" x2=(WIDTH) y1=(y) y2=(y) vector-effect="non-scaling-stroke" {}
                }
                @for line in lines {
                    polyline class=(line.class) points=(path(line)) fill="none"
                        vector-effect="non-scaling-stroke" {}
                }
            }
            p.ends { span { (utc(first)) } span { "0 to " (number(top)) } span { (utc(last)) } }
            p.legend {
                @for line in lines { span class=(line.class) { (ends(line)) } " " }
            }
        }
    }
}
