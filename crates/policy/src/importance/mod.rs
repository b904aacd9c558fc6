//! Importance: know how important each page is, while crawling (Abiteboul, Preda, Cobena 2003).
//!
//! One policy, [`Opic`], with many settings ([`OpicOptions`]). Its cash is kept in the [`bank`],
//! divided by [`shares`], earned by [`nodes`] (pages or hosts), remembered in a [`history`].

mod backlinks;
mod bank;
mod discovery;
mod distribution;
mod history;
mod interpolation;
mod measures;
mod nodes;
mod opic;
mod options;
mod shares;
mod standing;
mod turns;

pub use history::Window;
pub use opic::Opic;
pub use options::{NodeKind, OpicOptions, POLICIES, Pay, Select, WhichLinks};
pub use shares::{Bonus, VirtualEdge, Weight};
pub use standing::{ENDOWED, Standing};

use crate::spec::{Spec, SpecError};

/// Makes the policy that a spec names.
pub fn build(spec: &Spec, bonus: &Bonus, seed: u64) -> Result<Opic, SpecError> {
    Ok(Opic::new(OpicOptions::read(spec)?, bonus.clone(), seed))
}
