//! What a crawl directory remembers.
//!
//! The journal is the crawl: one file to which every event and every hand-out is appended, with
//! the URL of each page and the links of each fetched one inside. All state is its fold. What is
//! kept in memory is an index: for each page where its entries are, and for each URL which page it
//! is. A checkpoint is a shortcut past the fold; losing it loses nothing but time.
//!
//! | module | what it knows |
//! |---|---|
//! | [`Store`] | the crawl directory, by page, URL and host |
//! | [`Entry`] | what can stand in the journal |
//! | [`Journal`](journal) | appending, syncing, scanning, cutting a torn end |
//! | [`Lock`] | one process at a time |
//!
//! Invariant: what was acknowledged is on disk, and nothing that was half written is ever read.
//! Not here: policies, HTTP, what a URL means.

mod archive;
mod bytes;
mod checkpoint;
mod copies;
mod digests;
mod disk;
mod entry;
mod error;
mod facts;
mod fold;
mod follow;
mod forget;
mod frame;
mod index;
mod joined;
pub mod journal;
mod keys;
mod lent;
mod links;
mod lock;
mod mend;
mod outcome;
mod page_state;
mod raw;
mod reader;
mod store;
mod tally;
pub mod warc;

pub use archive::CopyError;
pub use digests::{Digests, FirstCapture};
pub use disk::{Disk, RealDisk};
pub use entry::{Entry, Hint};
pub use error::StoreError;
pub use facts::{Archived, Facts, Mood};
pub use fold::{Each, Fold, Onward, Written};
pub use forget::{Capture, FORGET_NOTE, Forgotten};
pub use index::{Index, PlanAt, Session};
pub use joined::{Joined, shard_folders};
pub use journal::{Position, Scan, Syncer};
pub use keys::{Key, Keyer};
pub use lent::{LinksBefore, folder_number};
pub use links::Links;
pub use lock::Lock;
pub use mend::{DURABLE, Mended};
pub use outcome::{Outcome, Settled};
pub use page_state::PageState;
pub use raw::{RawJournal, entries_in};
pub use reader::{Announced, Reader};
pub use store::{NewPage, Store};
pub use tally::{HostTally, PROBE_NOTE, Tally};
