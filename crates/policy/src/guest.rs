//! Guests: policies that are not in the catalogue, because whoever runs a backtest brought them.
//!
//! A guest is a name and a maker. A [`Spec`](crate::Spec) may carry one, and so gets to wherever a policy
//! is made: the questions that can judge a policy by its ranks alone (coverage, discovery, changes, keep)
//! take it as it is. Importance asks what a policy estimates, and liveness counts what it found, so
//! these only take policies of the catalogue.

use std::fmt;
use std::sync::Arc;

use turnstone_frontier::Policy;

/// Makes a policy.
pub type Make = dyn Fn() -> Box<dyn Policy> + Send + Sync;

/// The maker of a policy that is not in the catalogue.
#[derive(Clone)]
pub(crate) struct Guest(pub(crate) Arc<Make>);

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guest")
    }
}

impl PartialEq for Guest {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Guest {}
