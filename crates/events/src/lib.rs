//! What happened to the pages of a crawl: one stream of events out of its journal.
//!
//! The journal says what came of every request. People want less and more: less, because a page that
//! is as it was is no news; more, because an event should say what found the page, since when it is
//! known and why it was asked for. [`Chronicle`] turns entries into events; [`Stream`] reads them from a
//! crawl directory, also while another process writes it.
//!
//! A crate of its own, not a part of `ledger`: a ledger is what decides, and must be the same live and
//! replayed; nothing here is decided, and nothing here may ever change a crawl. Who shows events (the
//! command line, a server, whoever delivers them) uses this crate, so that all tell the same.
//!
//! | module | what it knows |
//! |---|---|
//! | `chronicle` | which outcomes are events, and of which kind |
//! | `stream` | the journal as it grows |
//! | `filter` | which events are wanted |
//! | `diff` | what differs between two texts, for people |
//! | `forecast` | what watching will cost and bring, by the past |
//! | `form` | an event as JSON, as a line, as an Atom feed |
//!
//! Not here: policies, HTTP, the clock, the terminal.

mod chronicle;
mod diff;
mod filter;
mod forecast;
mod form;
mod stream;

pub use chronicle::{Chronicle, Kind, Noted, PAGE_BYTES};
pub use diff::{DiffLine, Piece, Side, diff, diff_json, diff_rows, diff_text};
pub use filter::{Filter, Since};
pub use forecast::{ChangeHistory, Forecast};
pub use form::{atom, json, markup, plain};
pub use stream::{SiteEvent, Stream, Why};
