//! A recorded or made-up web as real HTTP sites on loopback: the test bench for everything live.
//!
//! [`Web`] is what is served: a link graph, histories, or whatever a function answers. [`start`]
//! serves it on addresses 127.x.y.z, one a host, and gives a [`Handle`] that moves it in time and tells
//! what was asked. [`Faults`] go wrong on demand and repeatably; the judge ([`Politeness`]) writes every request
//! down and accuses impolite ones with their evidence.
//!
//! ```text
//!  connection ──▶ respond ──▶ robots · traps · faults ──▶ web ──▶ page
//!       └──────▶ watch (every request, every violation)
//! ```
//!
//! Not known here: the crawler. Nothing is shared with it but HTTP, so that neither can hide the
//! other's mistake.

mod addresses;
mod answer;
mod arrival;
mod connection;
mod control;
mod faults;
mod handle;
mod mix;
mod names;
mod options;
mod page;
mod places;
mod request;
mod respond;
mod robots;
mod server;
mod shared;
mod sitemap;
mod spec;
mod timeline;
mod traps;
mod violation;
mod watch;
mod web;
mod words;

pub use answer::{Answer, Delivery};
pub use faults::Faults;
pub use handle::{Handle, SiteInfo};
pub use options::{Naming, OnViolation, Options, ServeError};
pub use request::{HEAD_BYTES_MAX, Request};
pub use server::start;
pub use spec::SpecError;
pub use timeline::{At, NotAMoment};
pub use violation::{Politeness, Requested, RobotsCheck, Rule, Summary, Violation};
pub use web::{GraphPages, Web};
