//! The URL Standard (WHATWG), by the `url` crate, mended where the crate lags behind.
//!
//! Only what a crawler can meet is mended; file URLs and schemes that are never fetched are left
//! as the crate reads them. `examples/conformance` names every vector that still differs.
//!
//! Cost: linear in the text.

use std::borrow::Cow;

use url::{EncodingOverride, ParseError, Url};

/// Reads a URL, relative to `base` if there is one. No limit is ours: see [`parse`](super::parse).
pub fn read_standard(base: Option<&Url>, text: &str) -> Result<Url, ParseError> {
    read_encoded(base, text, None)
}

/// As [`read_standard`], with a query in an encoding of its own.
pub(super) fn read_encoded(
    base: Option<&Url>,
    text: &str,
    query: EncodingOverride<'_>,
) -> Result<Url, ParseError> {
    let of_web = |base: &Url| matches!(base.scheme(), "http" | "https");
    let text = match base {
        Some(base) if of_web(base) => fold_slashes(text),
        _ => Cow::Borrowed(text),
    };
    let options = Url::options().base_url(base).encoding_override(query);
    options.parse(&text).map(encode_carets)
}

/// Three slashes and more before a host count as two; the crate finds an empty host there.
fn fold_slashes(text: &str) -> Cow<'_, str> {
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let start = text.trim_start_matches(|c: char| c <= ' ');
    if !start.starts_with(is_slash) {
        return Cow::Borrowed(text);
    }
    let skipped = |c: char| is_slash(c) || matches!(c, '\t' | '\n' | '\r');
    let rest = start.trim_start_matches(skipped);
    let slashes = start[..start.len() - rest.len()]
        .chars()
        .filter(|c| is_slash(*c))
        .count();
    if slashes > 2 {
        Cow::Owned(format!("//{rest}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A caret in a path is encoded since 2024; the crate leaves it.
fn encode_carets(mut url: Url) -> Url {
    if url.path().contains('^') && !url.cannot_be_a_base() {
        let path = url.path().replace('^', "%5E");
        url.set_path(&path);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_crate_lags_behind_in() {
        let base = Url::parse("https://h.example/a/b").unwrap();
        let check = |text: &str, want: &str| {
            let got = read_standard(Some(&base), text).unwrap();
            assert_eq!(got.as_str(), want, "{text}");
        };
        check("///other.example/x", "https://other.example/x");
        check(" /\\\t//other.example/x", "https://other.example/x");
        check("//other.example/x", "https://other.example/x");
        check("/^x^?q^#f^", "https://h.example/%5Ex%5E?q^#f^");
        check("/%5e%2F^/../%2e/y", "https://h.example/y");
        let file = Url::parse("file:///dir/").unwrap();
        let read = |text| read_standard(Some(&file), text).unwrap().to_string();
        assert_eq!(read("///x"), "file:///x");
        let absolute = read_standard(None, "http://h.example/^").unwrap();
        assert_eq!(absolute.as_str(), "http://h.example/%5E");
    }
}
