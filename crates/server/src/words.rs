//! Strangers' text and our numbers, as a page shows them.
//!
//! URLs and titles are strangers' text. Markup in them is escaped by the templates; what would hide or turn the
//! direction of writing is shown as an escape, and what is too long is cut in the middle, so that a name of
//! 10 kB is a line like any other.

use maud::{Markup, html};
use turnstone_events::plain;
use turnstone_pagestore::warc::warc_date;

/// The most characters of a stranger's text that a page shows.
const SHOWN_MAX: usize = 160;

/// A moment to the second.
pub(crate) fn utc(ms: u64) -> String {
    let text = warc_date(ms);
    format!("{}Z", &text[..19])
}

/// A stranger's text, fit to be shown: nothing hidden in it, and not too long.
pub(crate) fn shown(text: &str) -> String {
    // Cut first: an escape is longer than what it stands for.
    let count = text.chars().take(SHOWN_MAX * 64).count();
    if count <= SHOWN_MAX {
        return plain(text);
    }
    let head: String = text.chars().take(SHOWN_MAX * 3 / 4).collect();
    let tail: Vec<char> = text.chars().rev().take(SHOWN_MAX / 4).collect();
    let tail: String = tail.into_iter().rev().collect();
    format!("{} … {}", plain(&head), plain(&tail))
}

/// The same as an element of its own, whose direction touches nothing around it.
pub(crate) fn stranger(text: &str) -> Markup {
    html! { bdi.u { (shown(text)) } }
}

/// Bytes as people read them.
pub(crate) fn bytes(bytes: u64) -> String {
    let (mut size, mut unit) = (bytes as f64, "B");
    for next in ["kB", "MB", "GB", "TB"] {
        if size < 1000.0 {
            break;
        }
        (size, unit) = (size / 1000.0, next);
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ => format!("{size:.1} {unit}"),
    }
}

/// Text as part of a query: what is not a letter, a digit or one of `-._~` is a percent sign and two digits.
pub(crate) fn query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_text_is_short_and_hides_nothing() {
        assert_eq!(shown("http://a.example/ä"), "http://a.example/ä");
        assert_eq!(shown("a\u{202e}b"), "a\\u{202e}b");
        let long = shown(&format!("begin{}end", "x".repeat(10_000)));
        assert!(
            long.starts_with("beginx") && long.ends_with("xend"),
            "{long}"
        );
        assert!(long.chars().count() < 200);
        let html = stranger("<script>alert(1)</script>").into_string();
        assert_eq!(
            html,
            "<bdi class=\"u\">&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"
        );
        assert_eq!(query("a b/ü&="), "a%20b%2F%C3%BC%26%3D");
        assert_eq!(
            [999, 1500, 2_000_000].map(bytes),
            ["999 B", "1.5 kB", "2.0 MB"]
        );
    }
}
