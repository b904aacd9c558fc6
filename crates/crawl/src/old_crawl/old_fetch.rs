//! One fetch of an old crawl: what a source tells and the store takes in.
//!
//! Every kind of source is turned into these. Who sorts them by time may write them to disk, one JSON object a
//! line; that form is read by the same release only.

use serde::{Deserialize, Serialize};
use turnstone_pagestore::{Archived, Facts};

/// One fetch of an old crawl.
#[derive(Debug, Serialize, Deserialize)]
pub struct OldFetch {
    /// When, in milliseconds of 1970.
    pub at: u64,
    /// The page asked for.
    pub url: String,
    /// What came.
    pub came: Came,
    /// What is known of it.
    #[serde(with = "FactsLine")]
    pub facts: Facts,
    /// The pages it links to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
}

/// What came of an old fetch.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Came {
    /// The page, and its content is known.
    Page,
    /// The page, as some list says; nothing is known of its content.
    Listed,
    /// Word that the copy before is still current.
    NotModified,
    /// The body of an earlier capture, of this URL or another.
    SameBody(Option<String>),
    /// A redirect.
    Moved(String),
    /// Word that there is no such page.
    Gone,
    /// A refusal.
    Refused,
    /// Nothing that decides.
    Unknown,
    /// No fetch: from here on, this snapshot of a history saw the whole site of the URL. Its pages
    /// that no fetch of this date tells of are as they were.
    WholeSite {
        /// The number of the snapshot.
        snapshot: u64,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The facts an old fetch can have, as a line holds them.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Facts")]
struct FactsLine {
    class: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    detail: String,
    status: u16,
    #[serde(skip)]
    requests: u32,
    body_bytes: u64,
    #[serde(skip)]
    milliseconds: u32,
    wall_ms: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    mime: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<[u8; 20]>,
    text_hash: u64,
    simhash: u64,
    words: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    etag: Vec<u8>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    last_modified: Vec<u8>,
    #[serde(skip)]
    capture: Option<Archived>,
    #[serde(skip)]
    novel: bool,
    #[serde(skip)]
    duplicate_of: Option<turnstone_frontier::PageId>,
    #[serde(skip)]
    redirects: u32,
    #[serde(skip)]
    attempts: u32,
    #[serde(skip)]
    chance: u32,
    #[serde(skip)]
    arm: Option<turnstone_frontier::Arm>,
    #[serde(skip)]
    mood: Option<turnstone_pagestore::Mood>,
    #[serde(default, skip_serializing_if = "is_zero")]
    unseen_links: u64,
    #[serde(skip)]
    again: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    hearsay: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    preferences: String,
    #[serde(skip)]
    due_s: Option<u64>,
    #[serde(skip)]
    metadata: Vec<u8>,
}
