//! Endless corners of a site, as crawlers meet them: each page leads to more that bring nothing.
//!
//! A trap hangs below `/~trap/KIND/` and is linked from the entry page of every site.

use super::answer::Answer;
use super::mix::{mix, mix_bytes};

/// Where all traps are.
pub(super) const TRAPS: &str = "/~trap/";
/// Values of each facet.
const FACETS: [(&str, [&str; 4]); 5] = [
    ("colour", ["red", "green", "blue", "black"]),
    ("size", ["s", "m", "l", "xl"]),
    ("order", ["name", "price", "date", "rank"]),
    ("page", ["1", "2", "3", "4"]),
    ("view", ["list", "grid", "table", "map"]),
];

/// A kind of trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trap {
    /// Months without end, each with its days.
    Calendar,
    /// One page under ever new session ids.
    Session,
    /// Filters in every combination and order.
    Facets,
    /// A relative link that makes the path longer with every step.
    Depth,
}

impl Trap {
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("calendar", Self::Calendar),
        ("session", Self::Session),
        ("facets", Self::Facets),
        ("depth", Self::Depth),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        (Self::ALL.iter()).find_map(|(known, trap)| (*known == name).then_some(*trap))
    }

    fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// Where it begins.
    pub(super) fn entry(self) -> String {
        let start = match self {
            Self::Calendar => "2026/11",
            Self::Session => "?sid=00000000deadbeef",
            Self::Facets => "",
            Self::Depth => "deeper/",
        };
        format!("{TRAPS}{}/{start}", self.name())
    }

    /// The page at a path below the traps; none if the path is no place of this trap.
    pub(super) fn answer(self, path: &str) -> Option<Answer> {
        let rest = path
            .strip_prefix(TRAPS)?
            .strip_prefix(self.name())?
            .strip_prefix('/')?;
        let links = match self {
            Self::Calendar => calendar(rest)?,
            Self::Session => session(rest),
            Self::Facets => facets(rest),
            Self::Depth => vec!["deeper/".to_owned(), "../deeper/other/".to_owned()],
        };
        let mut body = format!(
            "<!DOCTYPE html><title>{}</title><p>Nothing of use.</p>\n",
            self.name()
        );
        for link in links {
            body += &format!("<a href=\"{}\">more</a>\n", link.replace('&', "&amp;"));
        }
        Some(Answer::html(body))
    }
}

/// The months before and after, and the days of this one.
fn calendar(rest: &str) -> Option<Vec<String>> {
    let mut parts = rest.trim_end_matches('/').split('/');
    let year: i64 = parts
        .next()?
        .parse()
        .ok()
        .filter(|year| (0..=99_999).contains(year))?;
    let month: i64 = parts
        .next()?
        .parse()
        .ok()
        .filter(|month| (1..=12).contains(month))?;
    if let Some(day) = parts.next() {
        let _: u8 = day.parse().ok().filter(|day| (1..=28).contains(day))?;
        return Some(vec![format!("{TRAPS}calendar/{year}/{month:02}")]);
    }
    let step = |by: i64| {
        let months = year * 12 + month - 1 + by;
        format!(
            "{TRAPS}calendar/{}/{:02}",
            months.div_euclid(12),
            months.rem_euclid(12) + 1
        )
    };
    let days = (1..=28).map(|day| format!("{TRAPS}calendar/{year}/{month:02}/{day:02}"));
    Some([step(-1), step(1)].into_iter().chain(days).collect())
}

/// Ids that were never given out before.
fn session(rest: &str) -> Vec<String> {
    let id = mix_bytes(rest.bytes());
    let fresh = |number: u64| format!("{TRAPS}session/?sid={:016x}", mix(&[id, number]));
    (0..3).map(fresh).collect()
}

/// Every further value of every facet, added at the end.
fn facets(rest: &str) -> Vec<String> {
    let so_far = rest.trim_start_matches('?');
    let between = if so_far.is_empty() { "" } else { "&" };
    let unused = FACETS
        .iter()
        .filter(|(name, _)| !so_far.contains(&format!("{name}=")));
    unused
        .flat_map(|(name, values)| values.iter().map(move |value| (name, value)))
        .map(|(name, value)| format!("{TRAPS}facets/?{so_far}{between}{name}={value}"))
        .collect()
}
