//! Real crawls by the real binary, against webs served on loopback.
//!
//! | module | what is tried |
//! |---|---|
//! | `kills` | kill -9 at any moment, again and again: nothing lost, nobody asked early |
//! | `same_as_lab` | a live crawl decides as the lab does, and its journal again alike; signals |
//! | `plans` | a plan may change between two runs, and what is said stays true |
//! | `refusals` | what cannot be crawled is said in one line |
//! | `limits` | budgets bind exactly; a full disk is waited for |
//! | `lists` | seeds and rules out of files and standard input |
//! | `check` | links told apart: broken, blocked, moved; again and without asking |
//! | `scope` | what belongs to a crawl changes between two runs |
//! | `sitemaps` | pages that only sitemaps and feeds name come last, and prove nothing |
//! | `soft404` | pages that are not there although the server says so
//! | `forget` | pages that a crawl must forget are gone from every byte of it
//! | `preferences` | what publishers say of uses is kept, and minded where asked
//! | `traps` | generators with fresh text are left, odd names are fetched |
//! | `walls` | what stands before a page is not the page; bodies that are not what they say |
//! | `scarce` | little memory, one CPU |
//! | `shards` | a crawl cut into shards in one process, killed again and again |
//! | `cluster` | a crawl that several processes share over NATS: killed, paused, joined and left |
//! | `keep`, `moving` | one slice after another: budgets, kills; a web that moves, hints |
//! | `telling` | events, copies and diffs of a site that changes and is hostile to its reader |
//! | `ignoring` | clocks and counters that do not count as changes |
//! | `delivering` | events reach those who want them, over kills and dead receivers |
//! | `oddities` | redirects, traps, spellings, copies: one web full of them |
//!
//! `town` is the web, `crawler` starts and kills the binary, `audit` looks at what it left behind,
//! `by_links` is a crawl in the lab that is told what a live one is.
//! Which row of the fault matrix is tried where stands in `docs/faults.md`.

#[path = "../../../../pagestore/tests/support/archive_tools.rs"]
pub(crate) mod archive_tools;
mod audit;
mod by_links;
mod check;
mod cluster;
mod crawler;
mod delivering;
mod dice;
mod forget;
mod ignoring;
mod indexes;
mod keep;
mod kills;
mod limits;
mod lists;
mod moving;
#[path = "../../../../bus/tests/support/nats_server.rs"]
mod nats_server;
mod oddities;
mod plans;
mod preferences;
mod refusals;
mod reuse;
mod same_as_lab;
mod scarce;
mod scope;
mod shards;
mod sitemaps;
mod soft404;
mod survey;
mod telling;
mod town;
mod traps;
mod walls;
mod who_asks;
