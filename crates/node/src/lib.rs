//! One process of a cluster: the shards it has, each a journal, a loop and a seat, joined to a bus.
//!
//! ```text
//!   bus ◀── requests ── Node (crate cluster: seats, leases, lanes, budgets) ── Event ──▶ run
//!       ─── answers ──▶        │ lends                                              │ starts, ends
//!                              ▼                                                    ▼
//!                            Desk: journal as bytes ◀── Word ── Tether ── Crawl (crate crawl)
//! ```
//!
//! The protocol is a pure machine of crate `cluster`, the loop of a shard is that of any crawl. Here is what
//! lies between: a [`desk::FileDesk`] lends the journal's file to the seat while the loop appends to it, and
//! [`run::run`] turns what the machine asks and tells into requests of a bus and loops that start and end.
//! Both hold the file at once, so that neither owns the other: the loop appends, the seat reads; before the
//! loop begins and after it has ended it is the other way round.
//!
//! [`mirror`] reads the journals of all shards into a directory, for those who only look.
//!
//! Not here: NATS, the terminal, which policy runs.

pub mod clock;
pub mod desk;
pub mod mirror;
pub mod parts;
pub mod run;

pub use desk::FileDesk;
pub use mirror::{MirrorError, Mirrored};
pub use parts::{Line, NodeError, NodeParts, Opener, Outcome, Seen};
pub use run::{run, stop_of};
