//! Crawler traps: URLs that a site makes without end.
//!
//! [`judge`] looks at one URL alone: repeated segments, far calendars, session ids, facets and the
//! like. [`PatternBudget`] looks at the history of a host: how many URLs of one pattern (digits and
//! hex folded) were let through, and whether they brought anything new. Both name the rule.
//!
//! Pure functions of URL and history; the time is an argument.

mod budget;
mod single;

pub use budget::{BudgetOptions, OverBudget, PatternBudget, pattern_of};
pub use single::{Finding, TrapClass, TrapOptions, judge};
