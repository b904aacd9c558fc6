//! The crate through its public surface: loopback servers that misbehave, and input that does.
//!
//! Tests are named after the rows of the project's fault matrix (`t3_`, `r9_`, `u5_`, …). What cannot
//! be tested over loopback, or not in this crate (for R, U, H, M and Q see `loopback`):
//!
//! | row | why |
//! |---|---|
//! | T13, T14 | redirects are never followed here; the pure parts (`Redirect`, `RedirectChain`) are tested next to their code, the return of a 3xx as it came is tested here |
//! | T15, T16 | queues and delays belong to the crawl; `Retry-After` is tested next to its code |
//! | T19 revoked | revocation is not checked (see `src/tls.rs`); a revoked certificate is accepted while its chain and dates hold |
//! | S1 as link, robots, sitemap, API | every one of them comes down to `Client::fetch`, where the guard sits; the labelled addresses run in `examples/conformance_ssrf.rs` |
//! | D1 over ten minutes | the crawl's back-off; here: each look-up ends in its time with its class, and the next one asks again |
//! | D2 with 10 000 names | 200 names, for time; the bound does not depend on the number |

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod cuts;
mod decoding;
mod dns;
mod fuzz;
mod guarding;
mod html;
mod http1;
mod http2;
mod keep_alive;
mod lists;
mod loopback;
mod memory;
mod robots;
mod scope_and_traps;
mod server;
mod soft404;
mod tls;
mod turns;
mod urls;
mod verdicts;
mod walls;
mod who_asks;
