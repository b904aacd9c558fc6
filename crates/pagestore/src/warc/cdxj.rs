//! One line of a CDXJ index: SURT, 14-digit time, JSON with the capture's facts and place.
//!
//! Written as pywb writes it: all values are strings, the digest is bare BASE32. Unlike pywb's,
//! the line of a revisit has its status too.
//!
//! Invariant: one line is one line, whatever the URL; its key has exactly two spaces after it.

use std::fmt::Write as _;

use super::capture::IndexFacts;
use super::date::index_time;
use super::fields::visible_uri;

/// Where a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the WARC file, without folders.
    pub filename: String,
    /// The first byte of its member.
    pub offset: u64,
    /// The length of its member.
    pub length: u64,
}

/// The index line of a capture, with its line end.
pub fn line(surt: &str, facts: &IndexFacts, place: &Place) -> String {
    let mut line = String::with_capacity(surt.len() + facts.url.len() + 256);
    line.push_str(&visible_uri(surt));
    let _ = write!(line, " {} {{\"url\": ", index_time(facts.date_ms));
    push_json(&mut line, &facts.url);
    line.push_str(", \"mime\": ");
    push_json(&mut line, &facts.mime);
    let _ = write!(
        line,
        ", \"status\": \"{}\", \"digest\": \"{}\", \"length\": \"{}\", \"offset\": \"{}\", \"filename\": ",
        facts.status, facts.digest, place.length, place.offset
    );
    push_json(&mut line, &place.filename);
    line.push_str("}\n");
    line
}

fn push_json(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::Digest;
    use expect_test::expect;

    #[test]
    fn a_line_is_as_pywb_writes_it() {
        let facts = IndexFacts {
            url: "http://www.example.org/a?\"b\"".to_owned(),
            date_ms: 1_714_566_600_123,
            mime: "text/html".to_owned(),
            status: 200,
            digest: Digest::of(&[]),
        };
        let place = Place {
            filename: "x-00001.warc.gz".to_owned(),
            offset: 1234,
            length: 567,
        };
        expect![[r#"
            org,example)/a%20?"b" 20240501123000 {"url": "http://www.example.org/a?\"b\"", "mime": "text/html", "status": "200", "digest": "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "567", "offset": "1234", "filename": "x-00001.warc.gz"}
        "#]]
        .assert_eq(&line("org,example)/a ?\"b\"", &facts, &place));
    }
}
