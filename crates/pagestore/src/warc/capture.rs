//! One exchange as WARC records, packed and ready to be appended.
//!
//! An exchange becomes a `response` and the `request` that caused it; or, when the payload is
//! already in the archive, a `revisit` that refers to it and the `request`. Everything costly
//! (digests, compression) happens here, in the fetch's own task: the writer only appends bytes.
//!
//! Cost: two SHA-1 passes and one deflate pass over the body.
//! Invariant: no clock, nothing by chance: the same exchange gives the same bytes. Nothing from
//! the exchange can end a line of the records' own fields.
//! Not here: HTTP. The head is split into lines, no more; what is a duplicate, the caller knows.

use std::net::IpAddr;

use super::date::warc_date;
use super::digest::{Digest, Payload};
use super::fields::{Fields, TARGET_URI_BYTES_MAX, is_ours, is_token, visible_uri};
use super::head::{Body, stored_head};
use super::member::Packer;
use super::record_id::RecordId;

const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// A request and its answer, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The URI asked for, as sent; what is not visible ASCII is escaped.
    pub target_uri: &'a str,
    /// When the request was sent, in milliseconds since 1970.
    pub date_ms: u64,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// The request as sent; without one (an empty slice) there is no `request` record.
    pub request: &'a [u8],
    /// The response head in the form of HTTP/1, status line to empty line.
    pub head: &'a [u8],
    /// The body with chunking removed and content codings untouched.
    pub payload: Payload<'a>,
    /// Why the body is not whole, if it is not.
    pub truncated: Option<Truncated>,
    /// More fields for the response, such as `WARC-Protocol`: names and values.
    pub fields: &'a [(&'a str, &'a str)],
    /// The crawl's own 16 bytes, from which record names are made.
    pub namespace: &'a [u8; 16],
    /// Tells exchanges with one target in one millisecond apart.
    pub number: u64,
}

/// How an exchange is to be kept.
#[derive(Clone, Copy, Debug)]
pub enum Keep<'a> {
    /// Whole.
    Response,
    /// Its payload is that of an earlier capture: only the head is kept.
    SamePayload(Original<'a>),
    /// The site said 304: the payload is that of an earlier capture.
    NotModified(Original<'a>, Digest),
}

/// The capture a revisit refers to. It must already be in the archive.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// Its target URI.
    pub target_uri: &'a str,
    /// Its date, in milliseconds since 1970.
    pub date_ms: u64,
}

/// Why a body is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// It was longer than we keep.
    Length,
    /// It took longer than we wait.
    Time,
    /// The peer or the network ended it.
    Disconnect,
    /// Something else.
    Unspecified,
}

impl Truncated {
    fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// What the writer appends, and what the index tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The members, one after the other: the response or revisit, then the request.
    pub(super) members: Vec<u8>,
    /// How much of it is the first member.
    pub(super) first_len: usize,
    /// The facts of its index line.
    pub(super) facts: IndexFacts,
}

/// What an index line tells of a capture, but for its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFacts {
    /// The target URI as recorded.
    pub url: String,
    /// When, in milliseconds since 1970.
    pub date_ms: u64,
    /// The media type, `unk` or `warc/revisit`.
    pub mime: String,
    /// The HTTP status.
    pub status: u16,
    /// The payload's digest; of a revisit, that of the original payload.
    pub digest: Digest,
}

impl Capture {
    /// The bytes to append.
    pub fn bytes(&self) -> &[u8] {
        &self.members
    }

    /// How many of them are the response or revisit.
    pub fn first_len(&self) -> usize {
        self.first_len
    }

    /// What its index line tells.
    pub fn facts(&self) -> &IndexFacts {
        &self.facts
    }
}

/// Why an exchange cannot be recorded.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// The target is no URI that a record can hold.
    #[error("a target URI of {bytes} bytes cannot be recorded (1 to {TARGET_URI_BYTES_MAX})")]
    TargetUri {
        /// Its length.
        bytes: usize,
    },
    /// The head cannot be told from the body.
    #[error("response head of {uri}: it {reason}")]
    Head {
        /// The target.
        uri: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An additional field has a name that cannot be written.
    #[error("field {name:?} cannot be added to a record: not a plain name, or one we write")]
    Field {
        /// The name.
        name: String,
    },
}

/// Makes the records of one exchange.
pub fn capture(
    exchange: &Exchange<'_>,
    keep: Keep<'_>,
    packer: &mut Packer,
) -> Result<Capture, CaptureError> {
    let uri = checked_uri(exchange.target_uri)?;
    for (name, _) in exchange.fields {
        if !is_token(name) || is_ours(name) {
            return Err(CaptureError::Field {
                name: (*name).to_owned(),
            });
        }
    }
    let body = if exchange.request.starts_with(b"HEAD ") {
        Body::None
    } else {
        Body::Bytes(exchange.payload.bytes().len())
    };
    let head = stored_head(exchange.head, body).map_err(|reason| CaptureError::Head {
        uri: uri.clone(),
        reason,
    })?;
    let mut members = Vec::with_capacity(exchange.payload.bytes().len() / 2 + 2048);
    let (kind, payload): (_, &[u8]) = match keep {
        Keep::Response => ("response", exchange.payload.bytes()),
        Keep::SamePayload(_) | Keep::NotModified(..) => ("revisit", &[]),
    };
    let id = exchange.id(kind, &uri);
    let digest = match keep {
        Keep::NotModified(_, digest) => digest,
        Keep::Response | Keep::SamePayload(_) => exchange.payload.digest(),
    };
    let fields = exchange.common_fields(kind, &uri, id);
    let fields = response_fields(fields, exchange, keep, digest)?;
    pack(packer, fields, &[&head.bytes, payload], &mut members);
    let first_len = members.len();
    if !exchange.request.is_empty() {
        let mut fields = exchange.common_fields("request", &uri, exchange.id("request", &uri));
        fields.push("WARC-Concurrent-To", id);
        fields.push("Content-Type", "application/http; msgtype=request");
        pack(packer, fields, &[exchange.request], &mut members);
    }
    Ok(Capture {
        members,
        first_len,
        facts: IndexFacts {
            url: uri,
            date_ms: exchange.date_ms,
            mime: match keep {
                Keep::Response => head.mime,
                Keep::SamePayload(_) | Keep::NotModified(..) => "warc/revisit".to_owned(),
            },
            status: head.status,
            digest,
        },
    })
}

impl Exchange<'_> {
    fn id(&self, role: &str, uri: &str) -> RecordId {
        RecordId::new(self.namespace, role, self.date_ms, self.number, uri)
    }

    fn common_fields(&self, kind: &str, uri: &str, id: RecordId) -> Fields {
        let mut fields = Fields::new(kind);
        fields.push("WARC-Record-ID", id);
        fields.push("WARC-Date", warc_date(self.date_ms));
        fields.push("WARC-Target-URI", uri);
        if let Some(address) = self.address {
            fields.push("WARC-IP-Address", address);
        }
        fields
    }
}

/// The fields that only a response or revisit has.
fn response_fields(
    mut fields: Fields,
    exchange: &Exchange<'_>,
    keep: Keep<'_>,
    digest: Digest,
) -> Result<Fields, CaptureError> {
    for (name, value) in exchange.fields {
        fields.push(name, value);
    }
    fields.push("Content-Type", "application/http; msgtype=response");
    fields.push("WARC-Payload-Digest", format_args!("sha1:{digest}"));
    let refer = |fields: &mut Fields, profile: &str, original: Original<'_>| {
        fields.push("WARC-Profile", profile);
        let uri = checked_uri(original.target_uri)?;
        fields.push("WARC-Refers-To-Target-URI", uri);
        fields.push("WARC-Refers-To-Date", warc_date(original.date_ms));
        Ok(())
    };
    let truncated = match keep {
        Keep::Response => exchange.truncated,
        Keep::SamePayload(original) => {
            refer(&mut fields, SAME_PAYLOAD, original)?;
            // The standard asks for this where a payload is left out because it is known.
            Some(exchange.truncated.unwrap_or(Truncated::Length))
        }
        Keep::NotModified(original, _) => {
            refer(&mut fields, NOT_MODIFIED, original)?;
            exchange.truncated
        }
    };
    if let Some(truncated) = truncated {
        fields.push("WARC-Truncated", truncated.as_str());
    }
    Ok(fields)
}

/// Packs one record, with the digest of its block.
pub(super) fn pack(packer: &mut Packer, mut fields: Fields, block: &[&[u8]], out: &mut Vec<u8>) {
    let block_digest = Digest::of(block);
    fields.push("WARC-Block-Digest", format_args!("sha1:{block_digest}"));
    let head = fields.end(block.iter().map(|part| part.len()).sum());
    let mut parts = vec![head.as_bytes()];
    parts.extend_from_slice(block);
    parts.push(b"\r\n\r\n");
    packer.pack(&parts, out);
}

fn checked_uri(uri: &str) -> Result<String, CaptureError> {
    let visible = visible_uri(uri);
    if (1..=TARGET_URI_BYTES_MAX).contains(&visible.len()) {
        Ok(visible)
    } else {
        Err(CaptureError::TargetUri {
            bytes: visible.len(),
        })
    }
}
