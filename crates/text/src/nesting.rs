//! How deeply the elements of a page are nested, at most.
//!
//! A parser that keeps the stack of open elements looks through it for many tags, so a page of a megabyte that
//! opens and never closes costs it minutes. So such pages are found before they are parsed, by counting tags.
//!
//! The count is a bound from above where it matters: what the parser closes by itself (`<p>`, `<li>`, cells) and
//! what has no content (`<br>`, `<img>`) is not counted, comments and scripts are. Real pages stay below 300.
//!
//! Cost: one search for `<`.

/// Elements that are never open, or closed by the next of their kind.
const NOT_COUNTED: [&[u8]; 28] = [
    b"p",
    b"li",
    b"td",
    b"th",
    b"tr",
    b"dt",
    b"dd",
    b"option",
    b"optgroup",
    b"tbody",
    b"thead",
    b"tfoot",
    b"colgroup",
    b"rp",
    b"rt",
    b"area",
    b"base",
    b"br",
    b"col",
    b"embed",
    b"hr",
    b"img",
    b"input",
    b"link",
    b"meta",
    b"source",
    b"track",
    b"wbr",
];
/// The longest of those names.
const NAME_BYTES_MAX: usize = 10;

/// Whether elements of a page are nested more deeply than `depth_max`.
pub(crate) fn is_deeper(html: &str, depth_max: usize) -> bool {
    let bytes = html.as_bytes();
    let mut depth = 0_usize;
    for at in memchr::memchr_iter(b'<', bytes) {
        let rest = &bytes[at + 1..];
        let (closes, name) = match rest.first() {
            Some(b'/') => (true, &rest[1..]),
            _ => (false, rest),
        };
        if !name.first().is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let length = name
            .iter()
            .take(NAME_BYTES_MAX + 1)
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let name = &name[..length];
        if NOT_COUNTED.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            continue;
        }
        depth = if closes {
            depth.saturating_sub(1)
        } else {
            depth + 1
        };
        if depth > depth_max {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_deeper;

    #[test]
    fn only_what_stays_open_is_counted() {
        assert!(!is_deeper(&"<div><p>a<br><img></div>".repeat(100), 3));
        assert!(!is_deeper(&"<P>a".repeat(100), 3));
        assert!(is_deeper(&"<div>".repeat(4), 3));
        assert!(!is_deeper(&"<div>".repeat(3), 3));
        assert!(!is_deeper("1 < 2 <3 </ <!-- <", 0));
    }
}
