//! The seam the whole house turns on: events go in, ranks come out, the scheduler permits.
//!
//! A [`Policy`] is a pure state machine: it folds [`Event`]s and writes ranks into a [`Ranking`].
//! The [`Scheduler`] hands out the best-ranked page among the hosts that may be contacted now; it
//! alone knows politeness, so no policy can be impolite. Drivers (the lab, the live crawl, the
//! server) call the same two methods, [`Scheduler::next`] and [`Scheduler::observe`].
//!
//! Nothing here asks the time, opens a file, starts a thread or reads a URL: `now` is an argument,
//! pages and hosts are dense numbers. Invariants: the same events give the same decisions; a saved
//! state goes on as if nothing had happened; every structure is a `Vec` indexed by id.

mod aside;
mod calendar;
mod chance;
mod event;
mod heap;
mod id;
mod lender;
mod policy;
mod random;
mod ranking;
mod saved;
mod scheduler;
mod split;

pub use calendar::{Politeness, Tick, Visit};
pub use chance::Chance;
pub use event::{Arrival, Arrived, Change, Crossing, Event, Fault};
pub use id::{HostId, PageId};
pub use lender::{Lender, Queue, Wish};
pub use policy::{
    Coverage, Ends, Links, Masses, NoLinks, Policy, Proof, Report, Shard, WholeGraphRank,
};
pub use random::Random;
pub use ranking::{Place, Rank, Ranking};
pub use saved::{Restore, Save, corrupt};
pub use scheduler::{Next, Scheduler};
pub use split::{Arm, ArmShare, Reason, Split};
