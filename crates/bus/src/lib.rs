//! The bus of a cluster on NATS JetStream.
//!
//! Carries out what `turnstone-cluster` asks for: logs, keys that are swapped by revision, and
//! blobs. Every request runs in a task of its own and is answered once, with a doubt after 5 s; so
//! handing a request over never waits, and the protocol's machines stay free of async.
//!
//! NATS is a replicator here, not an authority: whatever it acknowledges and then loses is found by
//! the machines above. What this crate promises is smaller: a refusal is a refusal, everything that
//! is not certain is a doubt, and nothing travels in the clear beyond this machine.
//!
//! Not here: what the messages mean.

mod connect;
mod direct;
mod error;
mod names;
mod nats;
mod place;

pub use connect::{Credentials, Options, Tls};
pub use error::ConnectError;
pub use nats::NatsBus;
pub use place::Founding;
