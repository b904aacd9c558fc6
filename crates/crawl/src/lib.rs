//! The live crawl: one task owns the scheduler, many fetch.
//!
//! Not here: which policy runs, the terminal.
