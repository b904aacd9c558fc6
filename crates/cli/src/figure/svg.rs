//! Drawing a figure: plot area, ticks, series, and names at the ends of the lines.

use std::fmt::Write as _;

use super::axis::Layout;
use super::{Figure, Mark, Palette, Series};

/// Sizes in SVG units.
pub(super) const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 220.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;
/// The least distance between two names.
const NAME_HEIGHT: f64 = 16.0;

pub(super) const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#222}.t{font-size:15px;font-weight:600}\
.g{stroke:#ddd;stroke-width:1}.a{stroke:#555;stroke-width:1}.m{fill:#777}\
@media(max-width:560px){text{font-size:18px}.t{font-size:21px}.k{font-size:14px}}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#3a3a3a}.a{stroke:#999}.m{fill:#999}}";

pub(super) fn draw(figure: &Figure, palette: &Palette) -> String {
    let every = || figure.series.iter().flat_map(|series| &series.points);
    let x = Layout::new(&figure.x, every().map(|point| point.0));
    let y = Layout::new(&figure.y, every().map(|point| point.1));
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{title}\"><style>{STYLE}</style>\
         <text class=\"t\" x=\"{LEFT}\" y=\"24\">{title}</text>",
        title = escape(&figure.title)
    );
    axes(&mut out, figure, &x, &y);
    let mut names = Vec::new();
    let bar_width = bar_width(figure, &x);
    for (index, series) in figure.series.iter().enumerate().rev() {
        let points: Vec<(f64, f64)> = series
            .points
            .iter()
            .filter_map(|&(px, py)| Some((across(x.position(px)?), down(y.position(py)?))))
            .collect();
        let hue = palette.hue(series);
        let dash = palette.dash(series);
        series_marks(&mut out, series, &points, (hue, dash, bar_width));
        if let Some(&(_, end)) = points.last() {
            // Bars side by side are named in their order, not by their heights.
            let end = if figure.x.counts { TOP } else { end };
            names.push((end, index, (hue, dash), series.name.as_str()));
        }
    }
    place_names(&mut out, names);
    out.push_str("</svg>\n");
    out
}

fn across(position: f64) -> f64 {
    LEFT + position * (WIDTH - LEFT - RIGHT)
}

fn down(position: f64) -> f64 {
    HEIGHT - BOTTOM - position * (HEIGHT - TOP - BOTTOM)
}

fn axes(out: &mut String, figure: &Figure, x: &Layout<'_>, y: &Layout<'_>) {
    let (right, bottom) = (across(1.0), down(0.0));
    for (number, label) in x.ticks() {
        let Some(at) = x.position(number).map(across) else {
            continue;
        };
        let _ = write!(
            out,
            "<line class=\"g\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            escape(&label)
        );
    }
    for (number, label) in y.ticks() {
        let Some(at) = y.position(number).map(down) else {
            continue;
        };
        let _ = write!(
            out,
            "<line class=\"g\" x1=\"{LEFT}\" x2=\"{right:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            at + 4.5,
            escape(&label)
        );
    }
    let (middle_x, middle_y) = (across(0.5), down(0.5));
    let _ = write!(
        out,
        "<line class=\"a\" x1=\"{LEFT}\" x2=\"{right:.1}\" y1=\"{bottom:.1}\" y2=\"{bottom:.1}\"/>\
         <line class=\"a\" x1=\"{LEFT}\" x2=\"{LEFT}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>\
         <text class=\"m\" x=\"{middle_x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text class=\"m\" x=\"16\" y=\"{middle_y:.1}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 16 {middle_y:.1})\">{}</text>",
        HEIGHT - 14.0,
        escape(&figure.x.label),
        escape(&figure.y.label)
    );
}

/// How wide bars are, so that none covers another.
fn bar_width(figure: &Figure, x: &Layout<'_>) -> f64 {
    let bars = figure.series.iter().filter(|s| s.mark == Mark::Bars);
    let mut middles: Vec<f64> = bars
        .flat_map(|series| &series.points)
        .filter_map(|point| x.position(point.0).map(across))
        .collect();
    middles.sort_by(f64::total_cmp);
    let gaps = middles.windows(2).map(|pair| pair[1] - pair[0]);
    let least = gaps.filter(|gap| *gap > 0.0).fold(40.0, f64::min);
    (least * 0.8).max(1.0)
}

fn series_marks(
    out: &mut String,
    series: &Series,
    points: &[(f64, f64)],
    (hue, dash, bar_width): (&str, &str, f64),
) {
    let _ = write!(out, "<g><title>{}</title>", escape(&series.name));
    match series.mark {
        Mark::Line | Mark::Steps => {
            let (dash, width) = match series.muted {
                true => ("4 4", 1.5),
                false => (dash, 2.2),
            };
            let _ = write!(
                out,
                "<polyline fill=\"none\" stroke=\"{hue}\" stroke-width=\"{width}\" \
                 stroke-dasharray=\"{dash}\" stroke-linejoin=\"round\" points=\""
            );
            let mut before: Option<f64> = None;
            for &(px, py) in points {
                if let Some(height) = before.filter(|_| series.mark == Mark::Steps) {
                    let _ = write!(out, "{px:.1},{height:.1} ");
                }
                let _ = write!(out, "{px:.1},{py:.1} ");
                before = Some(py);
            }
            out.push_str("\"/>");
        }
        Mark::Points => {
            for &(px, py) in points {
                let _ = write!(
                    out,
                    "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"2.6\" fill=\"{hue}\"/>"
                );
            }
        }
        Mark::Bars => {
            let (width, bottom) = (bar_width, down(0.0));
            for &(px, py) in points {
                let _ = write!(
                    out,
                    "<rect x=\"{:.1}\" y=\"{py:.1}\" width=\"{width:.1}\" height=\"{:.1}\" \
                     fill=\"{hue}\" fill-opacity=\"0.7\"/>",
                    px - width / 2.0,
                    (bottom - py).max(0.0)
                );
            }
        }
    }
    out.push_str("</g>");
}

/// Writes each name at the height where its line ends, moved apart where they would overlap.
fn place_names(out: &mut String, mut names: Vec<(f64, usize, (&str, &str), &str)>) {
    names.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let room = (down(0.0) - TOP) / names.len().max(1) as f64;
    let apart = NAME_HEIGHT.min(room);
    let mut lowest = TOP;
    let count = names.len();
    for (place, (end, _, (hue, dash), name)) in names.into_iter().enumerate() {
        // Leave room below for those still to come.
        let ceiling = down(0.0) - (count - place - 1) as f64 * apart;
        let at = end.max(lowest).min(ceiling);
        lowest = at + apart;
        let left = across(1.0) + 8.0;
        let _ = write!(
            out,
            "<line x1=\"{left:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"{hue}\" \
             stroke-dasharray=\"{dash}\" stroke-width=\"3\"/><text class=\"k\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left + 16.0,
            left + 21.0,
            at + 4.5,
            escape(&shortened(name))
        );
    }
}

/// A name that fits beside the plot.
pub(super) fn shortened(name: &str) -> String {
    const LONGEST: usize = 32;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
