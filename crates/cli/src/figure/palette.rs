//! Which colour a name has: the same in all figures of a page, whichever of them it is in.

use super::{Figure, Series};

/// Hues told apart by colour-blind readers too (Okabe and Ito), and dashes for print.
const HUES: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8a6d00", "#5b5b9d",
];
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];
/// Of bounds and baselines.
const GREY: &str = "#888";

/// The names of all figures of a page, in the order in which they first appear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette(Vec<String>);

impl Palette {
    /// That of some figures.
    pub(crate) fn of<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let series = figures.into_iter().flat_map(|figure| &figure.series);
        for series in series.filter(|series| !series.muted) {
            if !names.contains(&series.name) {
                names.push(series.name.clone());
            }
        }
        Self(names)
    }

    fn place(&self, series: &Series) -> usize {
        let mut names = self.0.iter();
        names.position(|name| *name == series.name).unwrap_or(0)
    }

    pub(super) fn hue(&self, series: &Series) -> &'static str {
        if series.muted {
            return GREY;
        }
        HUES[self.place(series) % HUES.len()]
    }

    pub(super) fn dash(&self, series: &Series) -> &'static str {
        DASHES[self.place(series) / HUES.len() % DASHES.len()]
    }
}
