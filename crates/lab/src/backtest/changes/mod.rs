//! Changes on recorded sites: of what a policy fetches again, how much has changed, and how fresh
//! does it keep the store?
//!
//! All sites form one store, fetched whole at the start. Each cycle the policy may fetch so many
//! pages; the rest keep their copies. See [`SiteStore`] for what is recorded, [`run`] for the
//! replay and [`Bound`] for what nobody can beat.

mod bound;
mod paths;
mod replay;
mod sites;

pub use bound::Bound;
pub use replay::{Cycle, Since, run};
pub use sites::{Calendar, Compare, Content, SiteStore};
