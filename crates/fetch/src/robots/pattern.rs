//! One path pattern of a robots.txt rule, and how it matches.
//!
//! Both sides are brought to one percent form first (RFC 9309 s2.2.2): octets outside the
//! unreserved and reserved sets are encoded, encoded unreserved ones decoded, encoded reserved
//! ones left alone with upper-case hex. Inside a path `*` and `$` are characters, so they are
//! encoded there, and a pattern that writes `%2A` or `%24` means exactly those.
//!
//! The pattern is cut at its stars into literal pieces. The first must begin the path; each
//! further one is looked for from where the last ended, leftmost first, which is always right for
//! a star. Cost: O(path + pattern) for any number of stars, by a linear substring search.

use crate::urls::percent::{hex_pair, is_unreserved, push_percent};

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Percent-normalised text, stars included, end mark excluded.
    text: Box<str>,
    /// The pattern ended in `$`.
    anchored: bool,
}

impl Pattern {
    /// Reads the value of an `Allow` or `Disallow` line. An empty value matches nothing: `None`.
    pub(super) fn new(value: &str) -> Option<Pattern> {
        if value.is_empty() {
            return None;
        }
        let (body, anchored) = match value.strip_suffix('$') {
            Some(body) => (body, true),
            None => (value, false),
        };
        let mut text = String::with_capacity(body.len());
        for (i, piece) in body.split('*').enumerate() {
            if i > 0 {
                text.push('*');
            }
            normalise_into(piece, &mut text);
        }
        Some(Pattern {
            text: text.into(),
            anchored,
        })
    }

    /// How specific the pattern is: its octets.
    pub(super) fn octets(&self) -> usize {
        self.text.len() + usize::from(self.anchored)
    }

    /// The text, if the pattern is a plain prefix.
    pub(super) fn as_prefix(&self) -> Option<&str> {
        (!self.anchored && !self.text.contains('*')).then_some(&*self.text)
    }

    /// Whether a path brought to percent form by [`normalise`] matches.
    pub(super) fn matches(&self, path: &str) -> bool {
        let path = path.as_bytes();
        let Some(star) = memchr::memchr(b'*', self.text.as_bytes()) else {
            let text = self.text.as_bytes();
            return path.starts_with(text) && (!self.anchored || path.len() == text.len());
        };
        let (first, rest) = self.text.as_bytes().split_at(star);
        let Some(mut left) = path.strip_prefix(first) else {
            return false;
        };
        let mut pieces = rest[1..].split(|b| *b == b'*').peekable();
        while let Some(piece) = pieces.next() {
            if self.anchored && pieces.peek().is_none() {
                return left.ends_with(piece);
            }
            match memchr::memmem::find(left, piece) {
                Some(at) => left = &left[at + piece.len()..],
                None => return false,
            }
        }
        true
    }
}

/// A path with its query, in the percent form that [`Pattern::matches`] expects.
pub(super) fn normalise(path_and_query: &str) -> String {
    let mut out = String::with_capacity(path_and_query.len() + 8);
    normalise_into(path_and_query, &mut out);
    out
}

fn normalise_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let byte = bytes[i];
        if byte == b'%'
            && let Some(value) = hex_pair(&bytes[i + 1..])
        {
            if is_unreserved(value) {
                out.push(char::from(value));
            } else {
                push_percent(out, value);
            }
            i += 3;
            continue;
        }
        if byte == b'%' || is_unreserved(byte) || is_plain_reserved(byte) {
            out.push(char::from(byte));
        } else {
            push_percent(out, byte);
        }
        i += 1;
    }
}

/// RFC 3986 reserved characters but for `*` and `$`, which patterns give a meaning.
fn is_plain_reserved(byte: u8) -> bool {
    matches!(
        byte,
        b':' | b'/'
            | b'?'
            | b'#'
            | b'['
            | b']'
            | b'@'
            | b'!'
            | b'&'
            | b'\''
            | b'('
            | b')'
            | b'+'
            | b','
            | b';'
            | b'='
    )
}
