//! Conditional GET: what a response said about its version, and how it is said back.
//!
//! A validator is echoed byte for byte or not at all (RFC 9110, 13.1): one that is malformed or
//! overlong is dropped here, when it is read, so that nothing odd is ever stored or sent.

use http::header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Longest entity tag we keep; real ones are below 100 bytes.
const ETAG_BYTES_MAX: usize = 1024;

/// The validators of a stored response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
}

impl Validators {
    /// Reads the validators of a response; `None` if it has no usable one.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let etag = only(headers, &ETAG).map(HeaderValue::as_bytes);
        let last_modified = only(headers, &LAST_MODIFIED).map(HeaderValue::as_bytes);
        Self::from_stored(etag, last_modified)
    }

    /// Takes validators that were stored; unusable ones are dropped.
    pub fn from_stored(etag: Option<&[u8]>, last_modified: Option<&[u8]>) -> Option<Self> {
        let value = |bytes| HeaderValue::from_bytes(bytes).ok();
        let found = Self {
            etag: etag.filter(|etag| is_etag(etag)).and_then(value),
            last_modified: last_modified.filter(|date| is_date(date)).and_then(value),
        };
        (found != Self::default()).then_some(found)
    }

    /// The entity tag, as received.
    pub fn etag(&self) -> Option<&[u8]> {
        self.etag.as_ref().map(HeaderValue::as_bytes)
    }

    /// The date of the last change, as received.
    pub fn last_modified(&self) -> Option<&[u8]> {
        self.last_modified.as_ref().map(HeaderValue::as_bytes)
    }

    /// The header line that asks for changes only: the entity tag where there is one, for it is
    /// exact, else the date.
    pub(crate) fn condition(&self) -> Option<(HeaderName, &HeaderValue)> {
        let etag = self.etag.as_ref().map(|etag| (IF_NONE_MATCH, etag));
        etag.or_else(|| {
            self.last_modified
                .as_ref()
                .map(|date| (IF_MODIFIED_SINCE, date))
        })
    }
}

/// A header line that came exactly once; two versions of one page are none.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut lines = headers.get_all(name).iter();
    lines.next().filter(|_| lines.next().is_none())
}

/// `"…"` or `W/"…"` with no quote, space or control inside.
fn is_etag(bytes: &[u8]) -> bool {
    let quoted = bytes.strip_prefix(b"W/").unwrap_or(bytes);
    let inner = quoted
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let plain = |&byte: &u8| byte == 0x21 || (0x23..=0x7e).contains(&byte) || byte >= 0x80;
    bytes.len() <= ETAG_BYTES_MAX && inner.is_some_and(|inner| inner.iter().all(plain))
}

fn is_date(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok_and(|text| httpdate::parse_http_date(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn check(etag: &str, last_modified: &str, condition: Option<(&str, &str)>) {
        let mut headers = HeaderMap::new();
        for (name, value) in [(ETAG, etag), (LAST_MODIFIED, last_modified)] {
            if !value.is_empty() {
                headers.insert(name, value.parse().unwrap());
            }
        }
        let validators = Validators::of(&headers);
        let got = validators.as_ref().and_then(Validators::condition);
        let got = got
            .as_ref()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        assert_eq!(got, condition, "{etag:?} {last_modified:?}");
    }

    #[test]
    fn etag_goes_before_the_date_and_bad_ones_are_dropped() {
        check("\"a\"", DATE, Some(("if-none-match", "\"a\"")));
        check("W/\"a\"", "", Some(("if-none-match", "W/\"a\"")));
        check("\"\"", "", Some(("if-none-match", "\"\"")));
        check("", DATE, Some(("if-modified-since", DATE)));
        for bad in ["a", "\"a", "w/\"a\"", "\"a\"b\"", "\"a b\"", "\""] {
            check(bad, DATE, Some(("if-modified-since", DATE)));
            check(bad, "yesterday", None);
        }
        check(&format!("\"{}\"", "x".repeat(8192)), "", None);
        check("", "", None);
    }

    #[test]
    fn two_etags_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(ETAG, HeaderValue::from_static("\"a\""));
        headers.append(ETAG, HeaderValue::from_static("\"b\""));
        assert_eq!(Validators::of(&headers), None);
    }
}
