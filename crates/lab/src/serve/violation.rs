//! What is asked of a client, what is written down of its requests, and how an impolite one is told.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a client must keep to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Politeness {
    /// The least time between two requests to one host; a Crawl-delay can make it longer.
    pub delay_ms: Option<u64>,
    /// The least time between two requests to one address.
    pub delay_per_address_ms: Option<u64>,
    /// The most open requests to one host.
    pub open: Option<u32>,
    /// What robots.txt means.
    pub robots: RobotsCheck,
}

/// What of robots.txt is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RobotsCheck {
    /// Nothing.
    Off,
    /// No page that it disallows is asked for.
    #[default]
    Rules,
    /// Nor any page before it was answered.
    First,
}

/// A request, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// Counted from 0.
    pub number: u64,
    /// When it arrived, in microseconds since the server started.
    pub arrived_us: u64,
    /// The host, by number.
    pub host: u32,
    /// The host, by name.
    pub name: Arc<str>,
    /// The address, by number.
    pub address: u32,
    /// The method.
    pub method: Box<str>,
    /// Path and query.
    pub path: Box<str>,
    /// The status it was given; 0 before it was given one, or when the connection was reset.
    pub status: u16,
    /// How many requests to the host were open, with this one.
    pub open: u32,
    /// How often the path was asked for before, where that is counted.
    pub attempt: u32,
}

impl Requested {
    /// The first line of a log.
    pub(super) const LOG_HEAD: &'static str =
        "ms\thost\taddress\tmethod\tpath\tstatus\topen\tattempt\n";

    /// Its line in a log.
    pub(super) fn log_line(&self) -> String {
        format!(
            "{:.3}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            self.arrived_us as f64 / 1e3,
            self.name,
            self.address,
            self.method,
            self.path,
            self.status,
            self.open,
            self.attempt
        )
    }
}

impl fmt::Display for Requested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.arrived_us as f64 / 1e6;
        let (method, name, path) = (&self.method, &self.name, &self.path);
        write!(
            f,
            "request {} at {seconds:.3} s: {method} {name} {path}",
            self.number
        )
    }
}

/// What was impolite.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Too soon after the one before, to the same host.
    TooSoon {
        /// What had passed.
        gap_us: u64,
        /// What should have.
        delay_ms: u64,
    },
    /// Too soon after the one before, to the same address.
    TooSoonForAddress {
        /// What had passed.
        gap_us: u64,
        /// What should have.
        delay_ms: u64,
    },
    /// Too many at once.
    TooManyOpen {
        /// How many there were, with this one.
        open: u32,
        /// How many there may be.
        allowed: u32,
    },
    /// Forbidden by robots.txt.
    Disallowed {
        /// The line that decides.
        why: String,
    },
    /// Before robots.txt was answered.
    BeforeRobots,
}

/// An impolite request, with the one it collides with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was impolite.
    pub rule: Rule,
    /// The request.
    pub request: Requested,
    /// The one before, where it matters.
    pub before: Option<Requested>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "impolite {}: ", self.request)?;
        let ms = |us: &u64| *us as f64 / 1e3;
        match &self.rule {
            Rule::TooSoon { gap_us, delay_ms } => {
                write!(
                    f,
                    "{:.1} ms after the one before, {delay_ms} ms are due",
                    ms(gap_us)
                )?;
            }
            Rule::TooSoonForAddress { gap_us, delay_ms } => write!(
                f,
                "{:.1} ms after the one before to the same address, {delay_ms} ms are due",
                ms(gap_us)
            )?,
            Rule::TooManyOpen { open, allowed } => {
                write!(f, "{open} requests open at once, {allowed} may be")?;
            }
            Rule::Disallowed { why } => f.write_str(why)?,
            Rule::BeforeRobots => f.write_str("before robots.txt was answered")?,
        }
        match &self.before {
            Some(before) => write!(f, "; before it {before}"),
            None => Ok(()),
        }
    }
}

/// What all requests came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many requests were answered.
    pub requests: u64,
    /// How many by status; 0 are those whose connection was reset or that got raw bytes.
    pub by_status: BTreeMap<u16, u64>,
    /// How many were impolite.
    pub violations: u64,
}
