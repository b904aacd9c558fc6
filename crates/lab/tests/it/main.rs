//! The lab's own measures against slow, obvious ones, and made-up webs read back.
#![allow(clippy::unwrap_used)]

mod generated_histories;
mod liveness_costs;
mod old_webs;
