//! The judge: every request is written down, and an impolite one is accused with its evidence.
//!
//! Politeness is a property of arrivals at a host: they are at least a delay apart (one per cent is forgiven),
//! at most so many are open at once, none is forbidden by robots.txt. A request is open from its
//! arrival until the last byte of its answer is handed to the kernel, so a client that waits for the end
//! of one answer before it asks again can never be accused; one that gave up and hung up is forgiven
//! too, as soon as we hear of it.
//!
//! Cost: one lock and a few writes a request; memory is bounded by how many requests are kept.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use super::answer::{Answer, Delivery};
use super::robots::{HOPS, Robots};
use super::violation::{Politeness, Requested, RobotsCheck, Rule, Summary, Violation};

/// Of the delay, how much must have passed: clocks and networks are not exact.
const DELAY_SHARE: f64 = 0.99;
/// How many accusations are kept; all are counted.
const VIOLATIONS_KEPT_MAX: usize = 1000;
/// How many paths have their attempts counted; further ones always count as the first.
const PATHS_COUNTED_MAX: usize = 20_000_000;

/// A request as it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    pub(super) arrived_us: u64,
    pub(super) host: u32,
    pub(super) address: u32,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) agent: &'a str,
    /// What the attempts of this path are counted under; none where they are not.
    pub(super) counted: Option<u64>,
}

/// A request that was let in.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) requested: Requested,
    pub(super) violations: Vec<Violation>,
    /// Set when too many seem to be open.
    pub(super) suspicion: Option<Suspicion>,
}

/// Too many requests seem to be open, unless a client hung up and word of it is on the way.
#[derive(Debug)]
pub(super) struct Suspicion {
    /// How many clients had hung up on the host so far.
    hung_up: u64,
    /// The request before.
    before: Option<Requested>,
}

#[derive(Debug)]
struct HostState {
    name: Arc<str>,
    last: Option<Requested>,
    open: u32,
    /// Requests whose client went away before the end of the answer.
    hung_up: u64,
    robots_answered: bool,
    robots: Robots,
}

/// Everything that is known of requests.
#[derive(Debug)]
pub(super) struct Watch {
    politeness: Politeness,
    hosts: Vec<HostState>,
    addresses: Vec<Option<Requested>>,
    attempts: HashMap<u64, u32>,
    begun: u64,
    kept: VecDeque<Requested>,
    kept_max: usize,
    violations: Vec<Violation>,
    summary: Summary,
    log: Option<File>,
    /// Why the log ended early.
    log_fault: Option<String>,
}

impl Watch {
    pub(super) fn new(
        names: &[String],
        addresses: usize,
        politeness: Politeness,
        robots: &Robots,
    ) -> Self {
        let host = |name: &String| HostState {
            name: Arc::from(name.as_str()),
            last: None,
            open: 0,
            hung_up: 0,
            robots_answered: false,
            robots: robots.clone(),
        };
        Self {
            politeness,
            hosts: names.iter().map(host).collect(),
            addresses: vec![None; addresses],
            attempts: HashMap::new(),
            begun: 0,
            kept: VecDeque::new(),
            kept_max: 0,
            violations: Vec::new(),
            summary: Summary::default(),
            log: None,
            log_fault: None,
        }
    }

    /// Keeps so many of the last requests.
    pub(super) fn keep(&mut self, kept_max: usize) {
        self.kept_max = kept_max;
    }

    /// Writes every request to a file as it is answered.
    pub(super) fn log_to(&mut self, mut file: File) -> io::Result<()> {
        file.write_all(Requested::LOG_HEAD.as_bytes())?;
        self.log = Some(file);
        Ok(())
    }

    /// A request arrived.
    pub(super) fn begin(&mut self, arrival: Arrival<'_>) -> Begun {
        let attempt = self.attempt(arrival.counted);
        let host = &mut self.hosts[arrival.host as usize];
        host.open += 1;
        let requested = Requested {
            number: self.begun,
            arrived_us: arrival.arrived_us,
            host: arrival.host,
            name: host.name.clone(),
            address: arrival.address,
            method: arrival.method.into(),
            path: arrival.path.into(),
            status: 0,
            open: host.open,
            attempt,
        };
        self.begun += 1;
        let allowed = self.politeness.open.unwrap_or(u32::MAX);
        let suspicion = (host.open > allowed).then(|| Suspicion {
            hung_up: host.hung_up,
            before: host.last.clone(),
        });
        let mut violations = Vec::new();
        self.judge_robots(arrival, &requested, &mut violations);
        self.judge_delay(arrival, &requested, &mut violations);
        Begun {
            requested,
            violations,
            suspicion,
        }
    }

    fn attempt(&mut self, counted: Option<u64>) -> u32 {
        let Some(key) = counted else { return 0 };
        if self.attempts.len() >= PATHS_COUNTED_MAX && !self.attempts.contains_key(&key) {
            return 0;
        }
        let count = self.attempts.entry(key).or_insert(0);
        *count += 1;
        *count - 1
    }

    fn judge_robots(
        &self,
        arrival: Arrival<'_>,
        requested: &Requested,
        violations: &mut Vec<Violation>,
    ) {
        let about_robots = arrival.path == "/robots.txt" || arrival.path.starts_with(HOPS);
        if about_robots || self.politeness.robots == RobotsCheck::Off {
            return;
        }
        let host = &self.hosts[arrival.host as usize];
        let too_early = self.politeness.robots == RobotsCheck::First && !host.robots_answered;
        let rule = if too_early {
            Rule::BeforeRobots
        } else {
            match host.robots.forbids(arrival.agent, arrival.path) {
                None => return,
                Some(why) => Rule::Disallowed { why },
            }
        };
        violations.push(Violation {
            rule,
            request: requested.clone(),
            before: None,
        });
    }

    fn judge_delay(
        &mut self,
        arrival: Arrival<'_>,
        requested: &Requested,
        violations: &mut Vec<Violation>,
    ) {
        let mut judge =
            |delay_ms: Option<u64>, last: &mut Option<Requested>, rule: fn(u64, u64) -> Rule| {
                let before = last.replace(requested.clone());
                let (Some(delay_ms), Some(before)) = (delay_ms, before) else {
                    return;
                };
                let gap_us = arrival.arrived_us.abs_diff(before.arrived_us);
                if (gap_us as f64) < delay_ms as f64 * 1e3 * DELAY_SHARE {
                    violations.push(Violation {
                        rule: rule(gap_us, delay_ms),
                        request: requested.clone(),
                        before: Some(before),
                    });
                }
            };
        let Politeness {
            delay_ms,
            delay_per_address_ms,
            open,
            ..
        } = self.politeness;
        if delay_ms.is_some() || open.is_some() {
            let host = &mut self.hosts[arrival.host as usize];
            let longer = host
                .robots
                .delay_ms(arrival.agent)
                .filter(|_| host.robots_answered);
            let due = delay_ms.map(|delay| delay.max(longer.unwrap_or(0)));
            judge(due, &mut host.last, |gap_us, delay_ms| Rule::TooSoon {
                gap_us,
                delay_ms,
            });
        }
        if delay_per_address_ms.is_some() {
            let last = &mut self.addresses[arrival.address as usize];
            judge(delay_per_address_ms, last, |gap_us, delay_ms| {
                Rule::TooSoonForAddress { gap_us, delay_ms }
            });
        }
    }

    /// After word of clients that hung up had time to come: were too many open?
    pub(super) fn confirm(&self, requested: &Requested, suspicion: Suspicion) -> Option<Violation> {
        let host = &self.hosts[requested.host as usize];
        let allowed = self.politeness.open?;
        let forgiven = host.hung_up - suspicion.hung_up;
        let open = requested.open - (forgiven as u32).min(requested.open - 1);
        (open > allowed).then(|| Violation {
            rule: Rule::TooManyOpen { open, allowed },
            request: requested.clone(),
            before: suspicion.before,
        })
    }

    /// The answer to a request is known.
    pub(super) fn answered(&mut self, mut requested: Requested, answer: &Answer) {
        let Requested { host, path, .. } = &requested;
        let is_cut_off = matches!(answer.delivery, Delivery::Reset | Delivery::HalfHead { .. });
        if (&**path == "/robots.txt" || path.starts_with(HOPS)) && !is_cut_off {
            let host = &mut self.hosts[*host as usize];
            host.robots.answered(answer);
            host.robots_answered |= !(300..400).contains(&answer.status);
        }
        requested.status = match answer.delivery {
            Delivery::Reset | Delivery::Raw => 0,
            _ => answer.status,
        };
        if let Some(log) = &mut self.log
            && let Err(fault) = log.write_all(requested.log_line().as_bytes())
        {
            self.log_fault = Some(fault.to_string());
            self.log = None;
        }
        self.summary.requests += 1;
        *self.summary.by_status.entry(requested.status).or_insert(0) += 1;
        if self.kept_max > 0 {
            if self.kept.len() == self.kept_max {
                self.kept.pop_front();
            }
            self.kept.push_back(requested);
        }
    }

    /// A request is over: its answer is out, or its client went away.
    pub(super) fn end(&mut self, host: u32, hung_up: bool) {
        let host = &mut self.hosts[host as usize];
        host.open -= 1;
        host.hung_up += u64::from(hung_up);
    }

    /// Writes an accusation down.
    pub(super) fn accuse(&mut self, violation: Violation) {
        self.summary.violations += 1;
        if self.violations.len() < VIOLATIONS_KEPT_MAX {
            self.violations.push(violation);
        }
    }

    pub(super) fn log_fault(&self) -> Option<String> {
        self.log_fault.clone()
    }

    pub(super) fn request_count(&self) -> u64 {
        self.summary.requests
    }

    pub(super) fn summary(&self) -> Summary {
        self.summary.clone()
    }

    pub(super) fn violations(&self) -> Vec<Violation> {
        self.violations.clone()
    }

    pub(super) fn requests(&self) -> Vec<Requested> {
        self.kept.iter().cloned().collect()
    }
}
