//! The named fields at the head of a record, written so that no value can forge another.
//!
//! A value comes from outside more often than not: a URL, a user's contact address. Whatever
//! would end its line is turned into a space, in a URL into its percent escape. A name that is
//! not a plain token, or that we write ourselves, is refused.

use std::fmt::{Display, Write as _};

/// The longest target URI that is recorded: what a crawler sends is a fraction of it, and readers
/// must be able to hold a record's fields in memory.
pub const TARGET_URI_BYTES_MAX: usize = 32 * 1024;

/// The head of one record, growing.
pub(super) struct Fields(String);

impl Fields {
    pub(super) fn new(kind: &str) -> Self {
        let mut fields = Self(String::with_capacity(512));
        fields.0.push_str("WARC/1.1\r\n");
        fields.push("WARC-Type", kind);
        fields
    }

    pub(super) fn push(&mut self, name: &str, value: impl Display) {
        push_line(&mut self.0, name, &value.to_string());
    }

    /// The head with its empty line, for a block of this many bytes.
    pub(super) fn end(mut self, block_len: usize) -> String {
        let _ = write!(self.0, "Content-Length: {block_len}\r\n\r\n");
        self.0
    }
}

/// Lines of `application/warc-fields`, the block of a `warcinfo` record.
pub(super) fn warc_fields(pairs: &[(String, String)]) -> String {
    let mut block = String::new();
    for (name, value) in pairs {
        push_line(&mut block, name, value);
    }
    block
}

fn push_line(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    out.push_str(": ");
    out.extend(
        value
            .trim()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c }),
    );
    out.push_str("\r\n");
}

/// Whether a name may stand before a colon.
pub(super) fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Whether a field of this name is written by us and may not come twice.
pub(super) fn is_ours(name: &str) -> bool {
    [
        "WARC-Type",
        "WARC-Record-ID",
        "WARC-Date",
        "WARC-Target-URI",
        "WARC-IP-Address",
        "WARC-Concurrent-To",
        "WARC-Block-Digest",
        "WARC-Payload-Digest",
        "WARC-Truncated",
        "WARC-Profile",
        "WARC-Refers-To",
        "WARC-Refers-To-Target-URI",
        "WARC-Refers-To-Date",
        "WARC-Filename",
        "WARC-Warcinfo-ID",
        "Content-Type",
        "Content-Length",
    ]
    .iter()
    .any(|ours| ours.eq_ignore_ascii_case(name))
}

/// A URI in visible ASCII: what is not, by its percent escape. A URI as sent comes out as it is.
pub(super) fn visible_uri(uri: &str) -> String {
    let mut out = String::with_capacity(uri.len());
    for byte in uri.bytes() {
        if byte.is_ascii_graphic() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_begin_a_new_line() {
        let mut fields = Fields::new("response");
        fields.push("X-Note", "a\r\nWARC-Type: warcinfo\u{85}\0b");
        assert_eq!(
            fields.end(3),
            "WARC/1.1\r\nWARC-Type: response\r\nX-Note: a  WARC-Type: warcinfo  b\r\n\
             Content-Length: 3\r\n\r\n"
        );
    }

    #[test]
    fn a_uri_is_visible_ascii() {
        assert_eq!(
            visible_uri("http://a/é b\r\nX: y%20\u{7f}"),
            "http://a/%C3%A9%20b%0D%0AX:%20y%20%7F"
        );
    }

    #[test]
    fn names_are_tokens() {
        assert!(is_token("WARC-Protocol"));
        for bad in ["", "a b", "a:b", "a\r\n", "é"] {
            assert!(!is_token(bad), "{bad}");
        }
        assert!(is_ours("content-LENGTH"));
        assert!(!is_ours("WARC-Protocol"));
    }
}
