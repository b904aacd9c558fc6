//! How several machines share one crawl, as protocol only.
//!
//! A crawl in a cluster is cut into **shards**, each with a journal of its own. A **node** holds
//! the **lease** of a shard, publishes the shard's journal as a **chain** of chunks, and sends what
//! belongs to other shards through **lanes**. Everything goes over a [`Bus`]: logs that append only
//! at an expected end, small keys that are swapped only at an expected revision, and blobs.
//!
//! Every protocol here is a state machine that is fed answers and gives back requests: `want` says
//! what it needs done now, `answered` takes what came of it. No machine waits, sleeps or knows the
//! time: `now` is an argument, in milliseconds of the node's own clock. Async functions were
//! rejected: a simulation that repeats by seed and the real client must drive the very same code,
//! and with futures the order of wake-ups would be part of the protocol.
//!
//! A bus may delay, double and reorder requests, lose answers, and lose what it acknowledged. The
//! machines promise: one valid history per shard; a transfer is applied at most once; no request
//! after a lease's deadline; grants never pass a budget. `tests/it` tries that by seed.
//!
//! Not here: NATS (crate `bus`), files, HTTP, policies, and the ledger of a shard itself, which is
//! lent as a [`Tape`].

pub mod assignment;
pub mod audit;
pub mod batch;
pub mod budget;
pub mod bus;
pub mod chain;
pub mod channel;
pub mod desk;
pub mod digest;
pub mod faulty;
pub mod follow;
pub mod held;
pub mod lane;
pub mod lease;
pub mod level;
pub mod memory;
pub mod node;
pub mod orders;
pub mod register;
pub mod roster;
pub mod seat;
pub mod shard;
pub mod stage;
pub mod tape;
pub mod token;
pub mod wire;
pub mod writer;

pub use bus::{Answer, Bus, Key, Message, Request, Stream};
pub use desk::Desk;
pub use digest::Digest;
pub use held::Held;
pub use node::Node;
pub use seat::Seat;
pub use shard::{NodeId, Shard};
pub use stage::Stage;
pub use tape::Tape;

/// Milliseconds of a node's own clock, which runs on while the machine is suspended.
pub type Millis = u64;
