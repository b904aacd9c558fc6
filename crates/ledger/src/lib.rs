//! A crawl as a value: a journal, and the state that is its fold.
//!
//! ```text
//!   tell(entry) = append to the journal, then apply      next(tick) = hand out, then append
//!   open        = checkpoint, then scan, then apply      looking    = the same, without the lock
//! ```
//!
//! Whoever drives a crawl (the live loop, a simulation, a server) tells the [`Ledger`] what
//! happened and asks it what is next. The only function that changes the state is
//! [`State::apply`], and a restart runs it over the same entries: so a crawl that was killed at any
//! instant is the crawl that it was, bit for bit. The alternative, a live state beside a fold that
//! should agree with it, was tried: the two came apart wherever nobody looked.
//!
//! A change of plan is an entry too ([`Terms`]). What happened before it is told to the new policy
//! as news, in order; from there on every recorded hand-out must be decided again. So the state
//! after a change is a function of the journal alone, and cannot depend on which process made it.
//!
//! Not here: clocks (`tick` is an argument), threads, HTTP, the terminal, and which policy runs.

mod budgets;
mod crossings;
mod exchange;
mod joint;
mod ledger;
mod loans;
mod notes;
mod patterns;
mod replay;
mod scope;
mod seeds;
mod slice;
mod spending;
mod state;
pub mod telling;
mod terms;
mod troubles;
mod view;
mod walls;

pub use budgets::{Allowance, Budget, Spent, Stop, Until};
pub use crossings::Crossings;
pub use exchange::{CrossError, cut};
pub use joint::{Joint, Limits, Standing};
pub use ledger::{Folded, Ledger, LedgerError, Opened, adopt};
pub use loans::{Began, Came, LEND, Loans, Named, Said, TOLD, ToldOf, usual_host};
pub use notes::{CoverageNote, STOP_NOTE, SliceNote};
pub use replay::Replay;
pub use scope::{Flips, flips, rescope};
pub use seeds::sow;
pub use slice::{DAY_MS, Pace, Slice};
pub use spending::Spending;
pub use state::State;
pub use terms::{DISCOVER, IMPORT, Past, Terms};
pub use troubles::Troubles;
pub use view::View;
pub use walls::{WALLS_MIN, Walls};
