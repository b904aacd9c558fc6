//! The live crawl: one task owns the scheduler, many fetch.
//!
//! ```text
//!   Crawl (owner) ── job ──▶ task: fetch, decode, parse, pack ── report ──▶ Crawl
//!        │  hand-outs, events                                        
//!        ▼
//!      Store (journal) ── sync ──▶ keeper thread
//! ```
//!
//! The owner asks the scheduler what is next, writes the hand-out to the journal, and only then
//! lets a task send the request. What comes back is judged by pure functions, written to the
//! journal, and told to the scheduler: in this order, so that a crawl killed at any instant is
//! the fold of its journal. Nothing that waits for the network or the disk happens in the owner,
//! except appending.
//!
//! | module | what it decides |
//! |---|---|
//! | [`run`] | the owner's loop; `begin` comes before it, `hand_out` and `receive` are its two halves, `show` tells of it |
//! | [`fold`] | from a journal back to a scheduler |
//! | [`plan`] | what was asked: politeness, scope, budgets, goals |
//! | `pace`, `slices` | how fast a crawl that runs for ever may go, and its slices of time |
//! | `hints` | what sitemaps and feeds say of stored pages |
//! | `page` | what a task makes of an answer |
//! | [`stored`] | the same for answers that another crawler stored |
//! | [`old_crawl`] | what such a fetch means for its page |
//! | `verdict` | what an answer means for the page and its host |
//! | `shard`, `tether` | what a loop shares with those of other shards: of this process, of others |
//! | `robots` | whether a page may be asked for |
//! | [`limits`] | how much of a host, a site or a group of hosts |
//! | `doubt`, `probe` | whether a page that came is the page, or a soft 404 |
//! | `twins` | which parameters of addresses change nothing |
//! | `survey` | whether a page is still there |
//!
//! Not here: which policy runs, the terminal.

mod addresses;
mod archive;
pub mod asker;
mod begin;
mod clock;
mod doubt;
mod epoch;
mod errands;
mod hand_out;
mod hints;
mod keeper;
mod lent;
pub mod limits;
mod mood;
pub mod old_crawl;
mod orders;
mod pace;
pub mod page;
mod places;
pub mod plan;
mod probe;
mod progress;
mod receive;
mod robots;
mod robots_came;
pub mod run;
mod shard;
mod show;
mod silence;
mod slices;
pub mod stored;
mod sum;
mod survey;
mod tell;
mod tether;
mod ticks;
mod twins;
mod verdict;

pub use archive::Copy;
pub use asker::{AskError, Asker, AskerParts, Done, Moment, Session, Turned};
pub use clock::Clock;
pub use epoch::Epoch;
pub use hand_out::{Job, Slot};
pub use lent::Lent;
pub use orders::{GivenOrder, Make, Order};
pub use plan::{Lists, Plan, Round};
pub use progress::Progress;
pub use receive::Report;
pub use run::{Crawl, CrawlError, GivenNote, Parts, StopLevel, Summary};
pub use shard::join;
pub use silence::Waited;
pub use survey::ALIVE;
pub use tether::{Figures, Heard, Household, Mailbox, Said, Tie, Word};
pub use ticks::{Reading, Ticks};
pub use verdict::{change, still_current};
