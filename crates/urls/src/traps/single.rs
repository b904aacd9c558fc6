//! What one URL gives away by itself.
//!
//! Four classes. A *trap* leads nowhere and is refused. A *session* or *tracking* URL is another
//! spelling of a page: the canonical key folds it. A *facet* is another view of a page: it may be
//! fetched, within the facet budget. Thresholds follow Heritrix where it has one.
//!
//! Cost: linear in the URL, times the escape layers of its query (eight at most are undone).

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::tz::Offset;
use url::Url;

use crate::percent::hex_pair;
use crate::{is_session_param, is_tracking_param, without_path_session};

/// Thresholds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapOptions {
    /// A run of path segments may follow itself up to this often (Heritrix: 2).
    pub repeats_max: usize,
    /// The same for runs of numbers alone, which dates repeat.
    pub number_repeats_max: usize,
    /// Most path segments (Heritrix: 20).
    pub path_segments_max: usize,
    /// The same query parameter with the same value may occur up to this often.
    pub same_param_max: usize,
    /// Layers of percent-encoding in a query.
    pub escape_layers_max: usize,
    /// The same in a path: a file may be called `%25ce`, and links escape its name once more.
    pub path_escape_layers_max: usize,
    /// Most path segments that are empty.
    pub empty_segments_max: usize,
    /// How many years ahead a calendar may go.
    pub years_ahead_max: i64,
    /// The first year a calendar may show.
    pub year_min: i64,
    /// The highest page number of a listing.
    pub page_max: u64,
    /// This many filter parameters make a facet.
    pub facet_params_min: usize,
}

impl Default for TrapOptions {
    fn default() -> Self {
        TrapOptions {
            repeats_max: 2,
            number_repeats_max: 3,
            path_segments_max: 20,
            same_param_max: 2,
            escape_layers_max: 2,
            path_escape_layers_max: 4,
            empty_segments_max: 3,
            years_ahead_max: 2,
            year_min: 1970,
            page_max: 5000,
            facet_params_min: 3,
        }
    }
}

/// What kind of oddity a URL is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrapClass {
    /// Leads nowhere: do not fetch.
    Trap,
    /// Carries a session id: same page under another key.
    Session,
    /// Carries tracking marks: same page under another key.
    Tracking,
    /// Another view of a page: fetch within a small budget.
    Facet,
}

impl TrapClass {
    /// The word for people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            TrapClass::Trap => "trap",
            TrapClass::Session => "session",
            TrapClass::Tracking => "tracking",
            TrapClass::Facet => "facet",
        }
    }
}

/// What was found, and by which rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The class.
    pub class: TrapClass,
    /// The rule that found it.
    pub rule: &'static str,
}

/// Looks at one URL. `None` means nothing odd. The worst finding wins: trap, session, facet,
/// tracking.
pub fn judge(url: &Url, now_s: u64, options: &TrapOptions) -> Option<Finding> {
    let segments: Vec<&str> = segments_of(url.path()).filter(|s| !s.is_empty()).collect();
    let params: Vec<(&str, &str)> = match url.query() {
        Some(query) => query
            .split('&')
            .map(|p| p.split_once('=').unwrap_or((p, "")))
            .collect(),
        None => Vec::new(),
    };
    let found = |class, rule| Some(Finding { class, rule });
    if let Some(rule) = trap_rule(url, &segments, &params, now_s, options) {
        return found(TrapClass::Trap, rule);
    }
    if matches!(without_path_session(url.path()), Cow::Owned(_)) {
        return found(TrapClass::Session, "session id in the path");
    }
    if params
        .iter()
        .any(|(name, value)| is_session_param(name, value))
    {
        return found(TrapClass::Session, "session id in the query");
    }
    if let Some(rule) = facet_rule(&segments, &params, options) {
        return found(TrapClass::Facet, rule);
    }
    if params.iter().any(|(name, _)| is_tracking_param(name)) {
        return found(TrapClass::Tracking, "tracking parameter");
    }
    None
}

fn trap_rule(
    url: &Url,
    segments: &[&str],
    params: &[(&str, &str)],
    now_s: u64,
    options: &TrapOptions,
) -> Option<&'static str> {
    if segments.len() > options.path_segments_max {
        return Some("too many path segments");
    }
    // The first is before the path, the last behind it.
    let empty = segments_of(url.path()).filter(|s| s.is_empty()).count();
    if empty > options.empty_segments_max + 2 {
        return Some("empty path segments again and again");
    }
    if has_repeated_run(segments, options) {
        return Some("path segments repeat in a row");
    }
    if params
        .iter()
        .any(|p| params.iter().filter(|q| *q == p).count() > options.same_param_max)
    {
        return Some("the same parameter again and again");
    }
    if escape_layers(url.path()) > options.path_escape_layers_max
        || escape_layers(url.query().unwrap_or_default()) > options.escape_layers_max
    {
        return Some("escaped again and again");
    }
    if holds_itself(url) {
        return Some("holds its own address again and again");
    }
    if params.iter().any(|(name, value)| {
        is_page_number(name) && value.parse().is_ok_and(|n: u64| n > options.page_max)
    }) {
        return Some("page number too high");
    }
    let year_max = year_of(now_s) + options.years_ahead_max;
    if calendar_years(segments, params).any(|year| !(options.year_min..=year_max).contains(&year)) {
        return Some("calendar too far from today");
    }
    None
}

/// The segments of a path, those between escaped slashes too: to some servers they are the same.
fn segments_of(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        let bytes = text.as_bytes();
        let is_slash = |at: usize| {
            bytes[at] == b'/'
                || bytes[at] == b'%'
                    && bytes[at + 1..]
                        .get(..2)
                        .is_some_and(|it| it.eq_ignore_ascii_case(b"2f"))
        };
        match (0..bytes.len()).find(|at| is_slash(*at)) {
            None => rest.take(),
            Some(at) => {
                let width = if bytes[at] == b'/' { 1 } else { 3 };
                rest = Some(&text[at + width..]);
                Some(&text[..at])
            }
        }
    })
}

/// Whether a run of segments follows itself too often: `/a/b/a/b/a/b`.
fn has_repeated_run(segments: &[&str], options: &TrapOptions) -> bool {
    for length in 1..=segments.len() / 2 {
        let mut same = 0;
        for i in length..segments.len() {
            same = if segments[i] == segments[i - length] {
                same + 1
            } else {
                0
            };
            let run = &segments[i + 1 - length..=i];
            let numbers = run.iter().all(|s| s.bytes().all(|b| b.is_ascii_digit()));
            let limit = if numbers {
                options.number_repeats_max
            } else {
                options.repeats_max
            };
            if same >= length * limit {
                return true;
            }
        }
    }
    false
}

/// How many times a text was percent-encoded: `%25` hides a layer.
fn escape_layers(text: &str) -> usize {
    let mut longest = 0;
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == b'%' && hex_pair(&bytes[i + 1..]).is_some() {
            let mut layers = 1;
            i += 1;
            while bytes[i..].starts_with(b"25") && hex_pair(&bytes[i + 2..]).is_some() {
                layers += 1;
                i += 2;
            }
            longest = longest.max(layers);
        } else {
            i += 1;
        }
    }
    longest
}

/// Whether the query, unescaped, holds the URL's own path twice or more.
fn holds_itself(url: &Url) -> bool {
    const LAYERS_MAX: usize = 8;
    let Some(query) = url.query().filter(|_| url.path().len() > 1) else {
        return false;
    };
    let mut text = query.as_bytes().to_vec();
    for _ in 0..LAYERS_MAX {
        let before = text.len();
        text = unescape_once(&text);
        if text.len() == before {
            break;
        }
    }
    memchr::memmem::find_iter(&text, url.path().as_bytes()).count() >= 2
}

fn unescape_once(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        match hex_pair(&bytes[i + 1..]) {
            Some(value) if bytes[i] == b'%' => {
                out.push(value);
                i += 3;
            }
            _ => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    out
}

fn is_page_number(name: &str) -> bool {
    ["page", "pg", "paged", "pagenum", "page_no", "pageno"]
        .iter()
        .any(|n| name.eq_ignore_ascii_case(n))
}

/// Years that calendars in the URL speak of.
fn calendar_years<'a>(
    segments: &'a [&str],
    params: &'a [(&str, &str)],
) -> impl Iterator<Item = i64> + 'a {
    const PARAMS: [&str; 10] = [
        "month",
        "date",
        "day",
        "year",
        "week",
        "cal",
        "calendar",
        "mini",
        "start_date",
        "yr",
    ];
    const FOLDERS: [&str; 6] = [
        "calendar",
        "cal",
        "events",
        "kalender",
        "agenda",
        "calendrier",
    ];
    let in_query = params
        .iter()
        .filter(|(name, _)| PARAMS.iter().any(|p| name.eq_ignore_ascii_case(p)))
        .filter_map(|(_, value)| leading_year(value));
    let in_path = segments
        .windows(2)
        .filter(|pair| FOLDERS.iter().any(|f| pair[0].eq_ignore_ascii_case(f)))
        .filter_map(|pair| leading_year(pair[1]));
    in_query.chain(in_path)
}

/// `2026`, `2026-11`, `2026/11`, `202611` or `20261115`.
fn leading_year(text: &str) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let ends = text[digits..]
        .chars()
        .next()
        .is_none_or(|c| !c.is_alphanumeric());
    if matches!(digits, 4 | 6 | 8) && ends {
        text[..4].parse().ok()
    } else {
        None
    }
}

fn facet_rule(
    segments: &[&str],
    params: &[(&str, &str)],
    options: &TrapOptions,
) -> Option<&'static str> {
    const FILTERS: [&str; 28] = [
        "sort",
        "sortby",
        "sort_by",
        "order",
        "orderby",
        "order_by",
        "dir",
        "direction",
        "view",
        "display",
        "layout",
        "color",
        "colour",
        "size",
        "brand",
        "price",
        "price_min",
        "price_max",
        "min_price",
        "max_price",
        "filter",
        "instock",
        "in_stock",
        "material",
        "limit",
        "per_page",
        "perpage",
        "page",
    ];
    const VARIANTS: [&str; 7] = [
        "replytocom",
        "print",
        "printable",
        "share",
        "highlight",
        "output",
        "tmpl",
    ];
    const WIKI_VERSIONS: [&str; 5] = ["diff", "oldid", "rev", "rev2", "veaction"];
    const WIKI_ACTIONS: [&str; 8] = [
        "edit", "history", "info", "diff", "delete", "protect", "submit", "rollback",
    ];
    const VERSION_VIEWS: [&str; 8] = [
        "blame", "raw", "commit", "commits", "blob", "tree", "diff", "annotate",
    ];
    let is = |name: &str, list: &[&str]| list.iter().any(|n| name.eq_ignore_ascii_case(n));
    if params.iter().any(|(name, _)| is(name, &VARIANTS)) {
        return Some("another view of a page");
    }
    // Wikis: every version of every page, and what differs between any two.
    let views_old = |(name, value): &(&str, &str)| {
        is(name, &WIKI_VERSIONS) && !value.is_empty()
            || name.eq_ignore_ascii_case("action") && is(value, &WIKI_ACTIONS)
    };
    if params.iter().any(views_old) {
        return Some("a version, a difference or a form of a wiki");
    }
    // The folder listings of web servers: `?C=M;O=D`.
    if params.iter().any(|(name, value)| {
        *name == "C"
            && value
                .split([';', '&'])
                .next()
                .is_some_and(|v| matches!(v, "N" | "M" | "S" | "D"))
    }) {
        return Some("sort order of a folder listing");
    }
    if params
        .iter()
        .filter(|(name, _)| is(name, FILTERS.as_slice()))
        .count()
        >= options.facet_params_min
    {
        return Some("filter parameters");
    }
    let is_commit = |s: &str| s.len() == 40 && s.bytes().all(|b| b.is_ascii_hexdigit());
    if segments
        .windows(2)
        .any(|pair| is(pair[0], &VERSION_VIEWS) && is_commit(pair[1]))
    {
        return Some("one version in a repository browser");
    }
    None
}

/// The year of a time, as far as the calendar goes.
fn year_of(now_s: u64) -> i64 {
    let moment = i64::try_from(now_s).ok();
    let moment = moment.and_then(|second| Timestamp::from_second(second).ok());
    let moment = moment.unwrap_or(Timestamp::MAX);
    i64::from(Offset::UTC.to_datetime(moment).year())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_of_times() {
        for (seconds, year) in [
            (0, 1970),
            (951_782_399, 2000),
            (1_709_164_800, 2024),
            (1_735_689_599, 2024),
            (1_735_689_600, 2025),
        ] {
            assert_eq!(year_of(seconds), year);
        }
    }
}
