//! Real crawls by the real binary, against webs served on loopback.
//!
//! | module | what is tried |
//! |---|---|
//! | `kills` | kill -9 at any moment, again and again: nothing lost, nobody asked early |
//!
//! `town` is the web, `crawler` starts and kills the binary, `audit` looks at what it left behind.

mod audit;
mod crawler;
mod kills;
mod town;
