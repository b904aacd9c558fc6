//! Made-up webs, so that every question can be tried without data.

pub mod history;
