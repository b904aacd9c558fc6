//! Bars that compare things by name: one row each, the name before it and the number behind it.
//!
//! Names stand where the eye looks for them, however long they are, and the order of the rows is that of the table
//! beside the figure. The drawing is as high as it has rows.

use std::fmt::Write as _;

use super::axis::Layout;
use super::svg::{STYLE, WIDTH, escape, shortened};
use super::{Figure, Mark, Palette};

const NAMES: f64 = 262.0;
const NUMBERS: f64 = 86.0;
const TOP: f64 = 40.0;
const ROW: f64 = 26.0;
const BAR: f64 = 17.0;
const BOTTOM: f64 = 30.0;

/// Whether a figure compares things: several series of one bar each.
pub(super) fn compares(figure: &Figure) -> bool {
    let is_one = |points: &[(f64, f64)]| points.len() == 1;
    let mut series = figure.series.iter();
    figure.x.counts
        && figure.series.len() > 1
        && series.all(|series| series.mark == Mark::Bars && is_one(&series.points))
}

/// A number behind its bar, as exact as the eye needs it.
fn number_of(figure: &Figure, number: f64) -> String {
    match figure.y.percent {
        true => format!("{:.1} %", number * 100.0),
        false => turnstone_lab::number::short(number),
    }
}

pub(super) fn draw(figure: &Figure, palette: &Palette) -> String {
    let lengths = figure.series.iter().map(|series| series.points[0].1);
    let along = Layout::new(&figure.y, lengths.chain([0.0]));
    let height = TOP + figure.series.len() as f64 * ROW + BOTTOM;
    let across = |position: f64| NAMES + position * (WIDTH - NAMES - NUMBERS);
    let start = along.position(0.0).map_or(NAMES, across);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}\"><style>{STYLE}</style><text class=\"t\" x=\"8\" y=\"24\">{title}</text>\
         <line class=\"a\" x1=\"{start:.1}\" x2=\"{start:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>",
        height - BOTTOM,
        title = escape(&figure.title)
    );
    for (row, series) in figure.series.iter().enumerate() {
        let (top, number) = (TOP + row as f64 * ROW, series.points[0].1);
        let end = along.position(number).map_or(start, across);
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{}\"><title>{}</title></rect>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            NAMES - 8.0,
            top + 17.0,
            escape(&shortened(&series.name)),
            start.min(end),
            top + 4.0,
            (end - start).abs().max(1.0),
            palette.hue(series),
            escape(&series.name),
            start.max(end) + 6.0,
            top + 17.0,
            escape(&number_of(figure, number)),
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"m\" x=\"{start:.1}\" y=\"{:.1}\">{}</text></svg>",
        height - 10.0,
        escape(&figure.y.label)
    );
    out
}
