//! The frontier for other crawlers: pages lent over the URLFrontier protocol, on the ledger.
//!
//! ```text
//!   client ──▶ service, streams ──▶ owner (one thread) ──▶ Loans: journal and lender, one for each crawl
//!                      ▲                   │ written, then synced
//!                      └────── answers ◀───┘
//! ```
//!
//! A crawl whose fetching is done by others is a crawl: it has a directory, a journal, a policy and politeness, and
//! every command that looks at crawls looks at it. What differs is that a hand-out is a *loan* that ends by itself.
//!
//! | module | what it knows |
//! |---|---|
//! | `wire` | the messages, generated from `proto/` |
//! | `server` | connections and their limits, who may ask |
//! | `service` | what each call means |
//! | `streams` | the calls in which URLs are put |
//! | `puts` | what an item says |
//! | `listing` | URLs read beside the owner |
//! | `owner` | the thread that owns all crawls, and when answers go |
//! | `crawls` | which crawls there are, and where |
//! | `names` | what crawls and queues are called |
//!
//! Limits: messages of 4 MiB, [`CONNECTIONS_MAX`] connections, [`LENT_MAX`] URLs a call, [`CRAWLS_MAX`] crawls;
//! URLs, metadata and links have theirs. Not here: policies, fetching, HTML, TLS, several nodes.

mod crawls;
mod listing;
mod names;
mod owner;
mod puts;
mod server;
mod service;
mod streams;

pub use crawls::{CRAWLS_MAX, CrawlsError, MakePolicy, Settings};
pub use names::{CRAWL_BYTES_MAX, DEFAULT, KEY_UNITS_MAX};
pub use puts::{LINKS_MAX, METADATA_BYTES_MAX, URL_BYTES_MAX};
pub use server::{CONNECTIONS_MAX, Frontier, MESSAGE_BYTES_MAX};
pub use service::{LENT_MAX, LOAN_S};

/// The messages and services of the protocol, and of its extension, as generated.
#[expect(missing_docs, reason = "the words are in the .proto files")]
#[allow(
    unreachable_pub,
    clippy::all,
    clippy::semicolon_if_nothing_returned,
    rustdoc::all
)]
pub mod wire {
    /// URLFrontier 2.6.
    pub mod urlfrontier {
        include!("../generated/urlfrontier.rs");
    }
    /// What URLFrontier has no words for.
    pub mod turnstone {
        include!("../generated/turnstone.rs");
    }
}
