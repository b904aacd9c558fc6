//! WARC files and their index: what other tools read of a crawl, and what we read of theirs.
//!
//! An exchange becomes a [`Capture`] in the fetch's own task ([`capture()`]): packed records, made
//! without clock or chance. The [`Writer`] appends captures to files of bounded size and a line
//! for each to the index; after any end [`Writer::open`] cuts both to what a journal acknowledges.
//! [`Reader`] reads WARC files of any tool around their damages, [`read_at`] one record by its
//! place, [`HttpBlock`] the HTTP message in it, [`CdxReader`] an index.
//!
//! The form is WARC 1.1 (ISO 28500:2017) with one gzip member for each record, and CDXJ as pywb
//! writes it. Not known here: HTTP beyond its lines, URLs beyond their text. What is promised
//! stands in `docs/formats.md`.

mod capture;
mod cdx_line;
mod cdxj;
mod date;
mod digest;
mod erase;
mod fields;
mod folder;
mod follow;
mod head;
mod http_block;
mod member;
mod read_at;
mod reader;
mod record;
mod record_id;
mod recovery;
mod salvage;
mod sort;
mod tail;
mod unpacked;
mod uploaded;
mod writer;

pub use capture::{
    Capture, CaptureError, Exchange, IndexFacts, Keep, Original, Truncated, capture,
};
pub use cdx_line::{CDX_LINE_BYTES_MAX, CdxError, CdxLine, CdxReader};
pub use cdxj::{Place, line as cdxj_line};
pub use date::{MOMENT_MS_MAX, index_time, parse_index_time, parse_warc_date, warc_date};
pub use digest::{Digest, Payload};
pub use erase::{Erased, erase, erase_lines};
pub use fields::TARGET_URI_BYTES_MAX;
pub use folder::{Folder, RealFolder};
pub use head::RENAMED_PREFIX;
pub use http_block::{HTTP_HEAD_BYTES_MAX, HttpBlock, HttpBody, HttpHead};
pub use member::{LEVEL, Packer};
pub use read_at::{ReadAtError, Span, read_at};
pub use reader::{Block, DAMAGES_LISTED_MAX, Damage, RECORD_HEAD_BYTES_MAX, ReadError, Reader};
pub use record::{RecordHead, RecordKind};
pub use recovery::{Cut, OpenError};
pub use salvage::recover_without_journal;
pub use sort::{SortError, sort_index};
pub use tail::WriteError;
pub use uploaded::{UPLOADED_ENDING, Uploaded};
pub use writer::{Ends, FinishError, INDEX_NAME, Location, Settings, Syncer, Writer};
