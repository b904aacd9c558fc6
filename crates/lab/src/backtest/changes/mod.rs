//! Changes on recorded sites: of what a policy fetches again, how much has changed, and how fresh
//! does it keep the store?
//!
//! All sites form one store, fetched whole at the start. Each cycle the policy may fetch so many
//! pages; the rest keep their copies. See [`SiteStore`] for what is recorded, [`try_policy`] for
//! the measures and [`bound`] for what nobody can beat.

mod bound;
mod gather;
mod outcome;
mod replay;
mod report;
mod sites;
#[cfg(test)]
mod testing;

pub use bound::bound;
pub use outcome::{Doubt, MeanCycle, Measures, Outcome, Question, try_policy};
pub use replay::{Cycle, Since, Unknown, run};
pub use report::{Budget, Options, Report, Tried};
pub use sites::{Calendar, Compare, Content, Pace, SiteStore};
