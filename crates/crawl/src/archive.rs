//! Packing answers for the WARC files, in the tasks that fetched them.
//!
//! A body that is stored already becomes a revisit that refers to its first capture; so does a
//! 304. Only captures that are durable are referred to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use turnstone_fetch::{Protocol, Response, TruncationMark, Url};
use turnstone_pagestore::warc::{
    self, Capture, Exchange, Keep, Original, Packer, Payload, Truncated,
};
use turnstone_pagestore::{Facts, Reader, Seen};

/// Makes captures. Shared by all tasks.
pub(crate) struct Archivist {
    namespace: [u8; 16],
    seen: Arc<Seen>,
    reader: Reader,
    /// Tells captures of one URL in one millisecond apart.
    counter: AtomicU64,
}

thread_local! {
    /// Setting up a compressor costs more than compressing a small page.
    static PACKER: std::cell::RefCell<Packer> = std::cell::RefCell::new(Packer::default());
}

impl Archivist {
    pub(crate) fn new(namespace: [u8; 16], seen: Arc<Seen>, reader: Reader) -> Self {
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
        payload: Payload<'_>,
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
            truncated: response.truncation.map(|cut| match cut.mark {
                TruncationMark::Length => Truncated::Length,
                TruncationMark::Time => Truncated::Time,
                TruncationMark::Disconnect => Truncated::Disconnect,
            }),
            fields: &[("WARC-Protocol", protocol)],
            namespace: &self.namespace,
            number: self.counter.fetch_add(1, Ordering::Relaxed),
        };
        let first = self.first_capture(response, facts);
        let keep = match &first {
            Some((_, uri, date_ms)) => Keep::SamePayload(Original {
                target_uri: uri,
                date_ms: *date_ms,
            }),
            None => Keep::Response,
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
    fn first_capture(
        &self,
        response: &Response,
        facts: &Facts,
    ) -> Option<(turnstone_frontier::PageId, String, u64)> {
        if response.truncation.is_some() || response.body.is_empty() {
            return None;
        }
        let at = self.seen.find(&facts.digest?)?;
        // A copy that cannot be read again is no reason not to keep this one.
        let (page, first) = self.reader.facts(at).ok()?;
        let url = self.reader.url_of_capture(at).ok()?;
        Some((page, url, first.wall_ms))
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}
