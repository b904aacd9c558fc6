//! Importance: know how important each page is, while crawling (Abiteboul, Preda, Cobena 2003).
//!
//! Two policies. [`Opic`] keeps no links and has many settings ([`OpicOptions`]): its cash is kept in the
//! [`bank`], divided by [`shares`], earned by [`nodes`] (pages or hosts), remembered in a [`history`].
//! [`LocalPush`] moves importance along the links that are stored ([`standing`]).

mod backlinks;
mod bank;
mod debts;
mod discovery;
mod distribution;
mod estimator;
mod history;
mod interpolation;
mod local_push;
mod measures;
mod nodes;
mod opic;
mod options;
mod shares;
mod standing;
mod turns;

pub use estimator::{Estimator, Gauges};
pub use history::Window;
pub use local_push::LocalPush;
pub use opic::Opic;
pub use options::{NodeKind, OpicOptions, Pay, Select, WhichLinks};
pub use shares::{Bonus, VirtualEdge, Weight};
pub use standing::{ENDOWED, Standing};

use crate::catalog::PolicyInfo;
use crate::spec::{Spec, SpecError};

/// Makes the policy that a spec names.
pub fn build(spec: &Spec, bonus: &Bonus, seed: u64) -> Result<Box<dyn Estimator>, SpecError> {
    Ok(match spec.name() {
        "local-push" => Box::new(LocalPush::of(spec, seed)?),
        _ => Box::new(opic(spec, bonus, seed)?),
    })
}

/// Makes OPIC as a spec says.
pub fn opic(spec: &Spec, bonus: &Bonus, seed: u64) -> Result<Opic, SpecError> {
    Ok(Opic::new(OpicOptions::read(spec)?, bonus.clone(), seed))
}

/// The chain whose fixpoint the policy of a spec estimates, and what holds importance there.
pub fn chain(spec: &Spec) -> Result<OpicOptions, SpecError> {
    match spec.name() {
        "local-push" => local_push::as_options(spec),
        _ => OpicOptions::read(spec),
    }
}

/// The catalogue entries.
pub const POLICIES: &[PolicyInfo] = &[options::INFO, local_push::INFO];
