//! `<meta http-equiv=refresh>`: the standard's grammar for "go there after so many seconds".
//!
//! The header line `Refresh` says the same by the same grammar, and browsers follow it.

use http::HeaderMap;
use http::header::REFRESH;
use url::Url;

use super::link::Refresh;
use crate::urls::{UrlLimits, resolve};

/// Where the `Refresh` header of a response leads, if anywhere: a link of the page at `url`. Only
/// the first line that leads somewhere counts.
pub fn refresh_of(headers: &HeaderMap, url: &Url, limits: &UrlLimits) -> Option<Refresh> {
    let lines = headers.get_all(REFRESH).iter();
    let mut lines = lines.filter_map(|line| std::str::from_utf8(line.as_bytes()).ok());
    lines.find_map(|line| {
        let (seconds, target) = parse_refresh(line)?;
        let mut url = resolve(url, target?, limits).ok()?;
        url.set_fragment(None);
        Some(Refresh { seconds, url })
    })
}

/// Reads the content of a refresh: seconds, and the target if one is named. `None` when it is no
/// refresh at all. An empty target means the page itself.
pub fn parse_refresh(content: &str) -> Option<(u64, Option<&str>)> {
    let rest = content.trim_start_matches(is_space);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = rest.split_at(digits);
    if number.is_empty() && !rest.starts_with('.') {
        return None;
    }
    let seconds = if number.is_empty() {
        0
    } else {
        number.parse().unwrap_or(u64::MAX)
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if rest.is_empty() {
        return Some((seconds, None));
    }
    if !rest.starts_with(|c| is_space(c) || c == ';' || c == ',') {
        return None;
    }
    let rest = rest.trim_start_matches(is_space);
    let rest = rest
        .strip_prefix([';', ','])
        .unwrap_or(rest)
        .trim_start_matches(is_space);
    if rest.is_empty() {
        return Some((seconds, None));
    }
    Some((seconds, Some(target(rest))))
}

/// The target: an optional `url=`, then a quoted or bare address.
fn target(text: &str) -> &str {
    let after_name = text
        .get(..3)
        .filter(|s| s.eq_ignore_ascii_case("url"))
        .and_then(|_| {
            let rest = text[3..].trim_start_matches(is_space);
            Some(rest.strip_prefix('=')?.trim_start_matches(is_space))
        });
    let text = after_name.unwrap_or(text);
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split(quote).next().unwrap_or(""),
        _ => text.trim_end_matches(is_space),
    }
}

fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0C' | '\r' | ' ')
}
