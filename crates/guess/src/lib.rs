//! Addresses that a site may have, guessed from those it has.
//!
//! Two new pages in five are linked from no page that was known before, so no policy that follows links finds
//! them. But sites repeat themselves: releases count up, a folder gets the names of its sister, months begin. A
//! [`Guesser`] is told the addresses of one site as they become known, round by round, and names addresses
//! that may be there now, each with its chance and with what it would bring. It learns from every page that becomes
//! known, guessed or not, and within a round from each answer.
//!
//! Why a crate of its own: `policy` and `frontier` must not know address strings, `fetch` knows nothing of what
//! a crawl has seen, and both the lab and the live crawl must run the same code. What this crate must not know:
//! page ids, policies, links, the network, the clock. Whether an address may be asked for at all (robots.txt, traps,
//! scope) is the driver's duty, and so is the budget: a wrong guess costs a request.
//!
//! The same calls in the same order give the same guesses: there is no hash order, no clock and no random number, and
//! only the four operations on floating-point numbers. So the state needs no format: it is a fold of the
//! calls, and a driver that starts again makes them again from its journal.

mod calendar;
mod fill;
mod guesser;
mod numbers;
mod sequences;
mod sisters;
mod tree;

pub use guesser::{Guess, Guesser, Kind};
