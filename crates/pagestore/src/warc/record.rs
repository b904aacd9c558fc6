//! The head of a record as it was read: version, named fields, and where it is.

use super::date::parse_warc_date;
use super::digest::Digest;

/// The fields of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// The version after `WARC/`.
    pub version: String,
    /// Names and values in order, as they are written; folded lines are joined.
    pub fields: Vec<(String, String)>,
    /// The length of the block.
    pub block_len: u64,
    /// The first byte of the record, or of the gzip member it is in.
    pub offset: u64,
    /// Where in the unpacked member it begins; 0 where each record has its own.
    pub inside: u64,
}

/// The types of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// About the file.
    Warcinfo,
    /// An answer, with its protocol's head.
    Response,
    /// What was asked.
    Request,
    /// An answer whose payload is kept elsewhere.
    Revisit,
    /// A thing without a protocol's head.
    Resource,
    /// About another record.
    Metadata,
    /// Another form of another record.
    Conversion,
    /// The next piece of another record.
    Continuation,
    /// None that the standard names.
    Other,
}

impl RecordHead {
    /// The first value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The type of the record.
    pub fn kind(&self) -> RecordKind {
        match self.get("WARC-Type") {
            Some("warcinfo") => RecordKind::Warcinfo,
            Some("response") => RecordKind::Response,
            Some("request") => RecordKind::Request,
            Some("revisit") => RecordKind::Revisit,
            Some("resource") => RecordKind::Resource,
            Some("metadata") => RecordKind::Metadata,
            Some("conversion") => RecordKind::Conversion,
            Some("continuation") => RecordKind::Continuation,
            _ => RecordKind::Other,
        }
    }

    /// The target, also where it stands in angle brackets, as some tools write it.
    pub fn target_uri(&self) -> Option<&str> {
        let uri = self.get("WARC-Target-URI")?;
        let bare = uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>'));
        Some(bare.unwrap_or(uri))
    }

    /// The date, in milliseconds since 1970.
    pub fn date_ms(&self) -> Option<u64> {
        self.get("WARC-Date").and_then(parse_warc_date)
    }

    /// The payload's digest, if it is a SHA-1.
    pub fn payload_digest(&self) -> Option<Digest> {
        self.get("WARC-Payload-Digest").and_then(Digest::parse)
    }

    /// Whether the block is an HTTP message.
    pub fn is_http(&self) -> bool {
        self.get("Content-Type").is_some_and(|value| {
            value
                .get(..16)
                .is_some_and(|start| start.eq_ignore_ascii_case("application/http"))
        })
    }

    /// Reads the lines of a head, empty line included. The error says what is wrong.
    pub(super) fn parse(lines: &[u8], offset: u64, inside: u64) -> Result<Self, &'static str> {
        let text = String::from_utf8_lossy(lines);
        let mut lines = text.lines();
        let version = lines
            .next()
            .and_then(|line| line.trim_end().strip_prefix("WARC/"))
            .ok_or("no WARC/ line")?;
        let known = version.starts_with("1.") || version.starts_with("0.1");
        if !known || version.len() > 8 {
            return Err("of an unknown version of WARC");
        }
        let mut head = Self {
            version: version.to_owned(),
            fields: Vec::new(),
            block_len: 0,
            offset,
            inside,
        };
        for line in lines.filter(|line| !line.is_empty()) {
            if let Some(more) = line.strip_prefix([' ', '\t']) {
                let (_, value) = head.fields.last_mut().ok_or("a field without a name")?;
                value.push(' ');
                value.push_str(more.trim());
            } else {
                let (name, value) = line.split_once(':').ok_or("a field without a colon")?;
                head.fields
                    .push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        head.block_len = head.only("Content-Length")?;
        if head.get("WARC-Type").is_none() {
            return Err("no WARC-Type");
        }
        Ok(head)
    }

    /// The one Content-Length: two that differ would let two readers see two records.
    fn only(&self, name: &str) -> Result<u64, &'static str> {
        let mut lengths = self
            .fields
            .iter()
            .filter(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value);
        let length = lengths.next().ok_or("no Content-Length")?;
        if lengths.any(|other| other != length) {
            return Err("two lengths");
        }
        if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
            return Err("a Content-Length that is no number");
        }
        length
            .parse()
            .map_err(|_| "a Content-Length beyond all files")
    }
}
