//! Real crawls by the real binary, against webs served on loopback.
//!
//! | module | what is tried |
//! |---|---|
//! | `kills` | kill -9 at any moment, again and again: nothing lost, nobody asked early |
//! | `same_as_lab` | a live crawl decides as the lab does, and its journal again alike; signals |
//! | `plans` | a plan may change between two runs, and what is said stays true |
//! | `refusals` | what cannot be crawled is said in one line |
//! | `limits` | budgets bind exactly; a full disk is waited for |
//! | `scarce` | little memory, one CPU |
//! | `keep`, `moving` | one slice after another: budgets, kills; a web that moves, hints |
//! | `telling` | events, copies and diffs of a site that changes and is hostile to its reader |
//! | `oddities` | redirects, traps, spellings, copies: one web full of them |
//!
//! `town` is the web, `crawler` starts and kills the binary, `audit` looks at what it left behind.
//! Which row of the fault matrix is tried where stands in `docs/faults.md`.

#[path = "../../../../pagestore/tests/support/archive_tools.rs"]
mod archive_tools;
mod audit;
mod crawler;
mod dice;
mod keep;
mod kills;
mod limits;
mod moving;
mod oddities;
mod plans;
mod refusals;
mod reuse;
mod same_as_lab;
mod scarce;
mod survey;
mod telling;
mod town;
