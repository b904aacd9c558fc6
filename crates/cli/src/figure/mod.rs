//! Figures: curves, points and bars over one pair of axes, drawn as SVG.
//!
//! A figure is data first: series of points with names, two axes with words on them. It draws
//! itself as one self-contained SVG that reads in print, on a dark screen and without colour
//! (every series has its own dash as well as its own hue). Drawn here rather than by a charting
//! crate because log axes, labels at the line's end and a dark mode were more code around one than
//! inside these three files.
//!
//! Cost: O(points). Not here: what is worth drawing; each question knows that.

mod axis;
mod bars;
mod palette;
mod svg;

pub(crate) use axis::Axis;
pub(crate) use palette::Palette;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A line through the points.
    Line,
    /// A line that keeps its height until the next point.
    Steps,
    /// Dots.
    Points,
    /// Bars from the bottom; x is the middle of a bar.
    Bars,
}

/// One named set of points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// What it is called beside the line.
    pub(crate) name: String,
    /// The points, by ascending x for lines. Points that are not numbers are left out.
    pub(crate) points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub(crate) mark: Mark,
    /// Drawn in grey and thin: a bound or a baseline.
    pub(crate) muted: bool,
}

impl Series {
    /// A line through some points.
    pub(crate) fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            mark: Mark::Line,
            muted: false,
        }
    }

    /// The same points, drawn otherwise.
    #[must_use]
    pub(crate) fn drawn_as(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    /// The same, as a bound or baseline.
    #[must_use]
    pub(crate) fn muted(mut self) -> Self {
        self.muted = true;
        self
    }
}

/// A picture with a title, two axes and some series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// What it shows, in a few words.
    pub(crate) title: String,
    /// What to read from it, in a sentence.
    pub(crate) caption: String,
    /// Left to right.
    pub(crate) x: Axis,
    /// Bottom to top.
    pub(crate) y: Axis,
    /// What is drawn, first on top.
    pub(crate) series: Vec<Series>,
}

impl Figure {
    /// The figure as one SVG document.
    pub(crate) fn svg(&self) -> String {
        self.svg_in(&Palette::of([self]))
    }

    /// The same, in the colours of a page.
    pub(crate) fn svg_in(&self, palette: &Palette) -> String {
        if bars::compares(self) {
            bars::draw(self, palette)
        } else {
            svg::draw(self, palette)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(series: Vec<Series>) -> Figure {
        Figure {
            title: "a < b & c".to_owned(),
            caption: String::new(),
            x: Axis::log("downloads"),
            y: Axis::linear("share"),
            series,
        }
    }

    #[test]
    fn names_are_escaped_and_every_series_is_there() {
        let svg = figure(vec![
            Series::line("<script>", vec![(1.0, 0.1), (1000.0, 0.9)]),
            Series::line("dots", vec![(5.0, 0.5)]).drawn_as(Mark::Points),
            Series::line("bars", vec![(5.0, 0.5)])
                .drawn_as(Mark::Bars)
                .muted(),
        ])
        .svg();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("&lt;script&gt;"));
        assert!(!svg.contains("<script>"));
        assert!(svg.contains("<polyline") && svg.contains("<circle") && svg.contains("<rect"));
    }

    #[test]
    fn bars_stay_inside_and_are_named_in_their_order() {
        let heights = [0.2, 0.9, 0.5];
        let bars = heights.iter().enumerate().map(|(at, height)| {
            Series::line(format!("n{at}"), vec![(at as f64 + 1.0, *height)]).drawn_as(Mark::Bars)
        });
        let svg = Figure {
            x: Axis::side_by_side("policy", heights.len()),
            ..figure(bars.collect())
        }
        .svg();
        let names: Vec<usize> = ["n0", "n1", "n2"]
            .map(|name| svg.rfind(&format!(">{name}<")).unwrap())
            .to_vec();
        assert!(names.is_sorted(), "{svg}");
        let numbers = |name: &str| -> Vec<f64> {
            let parts = svg.split("<rect ").skip(1);
            let values = parts.map(|part| part.split(&format!("{name}=\"")).nth(1).unwrap());
            values
                .map(|text| text.split('"').next().unwrap().parse().unwrap())
                .collect()
        };
        for (left, width) in numbers("x").into_iter().zip(numbers("width")) {
            assert!(left >= 262.0 && left + width <= 820.0 - 86.0, "{svg}");
        }
        assert!(numbers("y").is_sorted(), "row by row: {svg}");
        for number in ["0.2", "0.9", "0.5"] {
            assert!(svg.contains(&format!(">{number}</text>")), "{svg}");
        }
    }

    #[test]
    fn nothing_to_draw_is_still_a_picture() {
        for points in [
            vec![],
            vec![(f64::NAN, 1.0)],
            vec![(0.0, 1.0)],
            vec![(2.0, 2.0)],
        ] {
            let svg = figure(vec![Series::line("a", points)]).svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
