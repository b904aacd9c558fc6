//! Real crawls by the real binary, against webs served on loopback.
//!
//! | module | what is tried |
//! |---|---|
//! | `kills` | kill -9 at any moment, again and again: nothing lost, nobody asked early |
//! | `same_as_lab` | a live crawl decides as the lab does, and its journal again alike; signals |
//! | `refusals` | what cannot be crawled is said in one line |
//!
//! `town` is the web, `crawler` starts and kills the binary, `audit` looks at what it left behind.

mod audit;
mod crawler;
mod dice;
mod kills;
mod refusals;
mod same_as_lab;
mod town;
