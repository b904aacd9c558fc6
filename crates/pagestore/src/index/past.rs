//! What the index remembers of processes and plans: the last words of each, for whoever goes on.

use turnstone_frontier::Tick;

use crate::journal::Position;

/// What the last process said of itself when it took the crawl over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The tick at which it began.
    pub tick: Tick,
    /// The wall clock then, in milliseconds of 1970.
    pub wall_ms: u64,
    /// Which start of the machine it was.
    pub boot: String,
    /// Milliseconds since that start.
    pub boot_ms: u64,
    /// The policy, as a spec.
    pub policy: String,
}

/// A plan as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanAt {
    /// Where it stands.
    pub at: Position,
    /// When it was made.
    pub tick: Tick,
    /// Which question is asked.
    pub question: String,
    /// The policy with everything its decisions depend on.
    pub policy: String,
    /// How many seeds there were.
    pub seeds: u32,
    /// The rest, in the driver's words.
    pub text: String,
}
