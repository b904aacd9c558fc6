//! Shows crawls to people and programs over HTTP, and takes their orders.
//!
//! ```text
//!   journal ──▶ watch (a fold that follows) ──▶ Picture ──▶ pages, JSON, metrics, live updates
//!                                            order ──▶ Control ──▶ the loop that owns the ledger
//! ```
//!
//! Looking is free for the crawl: a server reads the journal as any onlooker does, once and then what is new,
//! and all who look are shown the same [`Picture`]. Only orders reach a crawl, and only in the process that
//! runs it ([`Control`]).
//!
//! | module | what it knows |
//! |---|---|
//! | `gate` | who may ask |
//! | `listen` | connections and their limits |
//! | `house` | which path is answered by what |
//! | `watch`, `hosts`, `course` | a crawl directory, followed |
//! | `picture` | a crawl at one moment |
//! | `pages`, `chart`, `words` | HTML |
//! | `api`, `metrics`, `live` | JSON, OpenMetrics, server-sent events |
//! | `orders`, `answers` | what is asked of the process around it |
//!
//! Limits: [`CONNECTIONS_MAX`] connections, [`STREAMS_MAX`] of them live; a request has 64 kB of head and of
//! body, and thirty seconds. Not here: policies, fetching, the terminal, TLS.

mod answers;
mod api;
mod chart;
mod course;
mod gate;
mod hosts;
mod house;
mod listen;
mod live;
mod metrics;
mod orders;
mod pages;
mod picture;
pub mod slice;
mod watch;
mod words;

pub use answers::{Answers, Compared, Limits, Told};
pub use course::Point;
pub use gate::{Gate, GateError, TOKEN_BYTES_MIN};
pub use hosts::{Condition, HOST_BYTES, HostCounts, HostRow};
pub use house::{House, ServeError};
pub use listen::{CONNECTIONS_MAX, bind};
pub use live::STREAMS_MAX;
pub use orders::{
    Budgets, Control, Later, ORDER_NOTE, Order, Refused, SEEDS_MAX, ScopeTerms, Settings,
};
pub use picture::{Picture, State};
pub use watch::{STATUS_FILE, Watch, Watched};
