//! Packing answers for the WARC files, in the tasks that fetched them.
//!
//! A body that is stored already becomes a revisit that refers to its first capture; so does a
//! 304. Only captures that are durable are referred to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use turnstone_fetch::{Protocol, Response, TruncationMark, Url};
use turnstone_frontier::PageId;
use turnstone_pagestore::warc::{
    self, Capture, Digest, Exchange, Keep, Original, Packer, Payload, Truncated,
};
use turnstone_pagestore::{Digests, Facts, Reader};

/// What a 304 says is still current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The digest of its body.
    pub digest: [u8; 20],
    /// When it was fetched.
    pub wall_ms: u64,
}

/// Makes captures. Shared by all tasks.
pub(crate) struct Archivist {
    namespace: [u8; 16],
    seen: Arc<Digests>,
    reader: Reader,
    /// Tells captures of one URL in one millisecond apart.
    counter: AtomicU64,
}

thread_local! {
    /// Setting up a compressor costs more than compressing a small page.
    static PACKER: std::cell::RefCell<Packer> = std::cell::RefCell::new(Packer::default());
}

impl Archivist {
    pub(crate) fn new(namespace: [u8; 16], seen: Arc<Digests>, reader: Reader) -> Self {
        Self {
            namespace,
            seen,
            reader,
            counter: AtomicU64::new(0),
        }
    }

    /// The records of one answer; none if it cannot be recorded, which the facts then say.
    pub(crate) fn pack(
        &self,
        url: &Url,
        response: &Response,
        (payload, copy): (Payload<'_>, Option<Copy>),
        wall_ms: u64,
        facts: &mut Facts,
    ) -> Option<Capture> {
        let protocol = match response.protocol {
            Protocol::Http2 => "h2",
            Protocol::Http10 => "http/1.0",
            Protocol::Http11 => "http/1.1",
        };
        let exchange = Exchange {
            target_uri: without_fragment(url.as_str()),
            date_ms: wall_ms,
            address: Some(response.remote.ip()),
            request: &response.request_bytes,
            head: &response.head_bytes,
            payload,
            truncated: response
                .truncation
                .map(|cut| match cut.mark {
                    TruncationMark::Length => Truncated::Length,
                    TruncationMark::Time => Truncated::Time,
                    TruncationMark::Disconnect => Truncated::Disconnect,
                })
                // What came is whole on the wire and still not the whole body.
                .or_else(|| (facts.class == "ok-cut").then_some(Truncated::Unspecified)),
            fields: &[("WARC-Protocol", protocol)],
            namespace: &self.namespace,
            number: self.counter.fetch_add(1, Ordering::Relaxed),
        };
        let first = self.first_capture(response, facts);
        let keep = match (&first, copy) {
            (_, Some(copy)) if response.status == 304 => {
                let date_ms = copy.wall_ms;
                let target_uri = without_fragment(url.as_str());
                let original = Original {
                    target_uri,
                    date_ms,
                };
                Keep::NotModified(original, Digest(copy.digest))
            }
            (Some((_, uri, date_ms)), _) => Keep::SamePayload(Original {
                target_uri: without_fragment(uri),
                date_ms: *date_ms,
            }),
            (None, _) => Keep::Response,
        };
        let packed = PACKER.with_borrow_mut(|packer| warc::capture(&exchange, keep, packer));
        match packed {
            Ok(capture) => {
                facts.duplicate_of = first.map(|(page, ..)| page);
                Some(capture)
            }
            Err(error) => {
                facts.detail = format!("not archived: {error}");
                None
            }
        }
    }

    /// The first capture of the same body: its page, URL and date.
    fn first_capture(&self, response: &Response, facts: &Facts) -> Option<(PageId, String, u64)> {
        if response.truncation.is_some() || response.body.is_empty() {
            return None;
        }
        let first = self.seen.find(&facts.digest?)?;
        // A copy that cannot be read again is no reason not to keep this one.
        let url = self.reader.url(first.page_at).ok()?;
        Some((first.page, url, first.wall_ms))
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}
