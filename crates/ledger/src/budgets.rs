//! Budgets that bind exactly, whatever is under way.
//!
//! What is under way is counted as if it would spend the most it can: a page might be stored, a
//! body might be as long as allowed. So a limit is never passed, and it is reached, because the last
//! requests go one at a time, with bodies no longer than what is left. A fetch sends one request at
//! most: one that must be sent again is handed out again.

use std::time::Duration;

use turnstone_frontier::Tick;
use turnstone_pagestore::Tally;

/// Why a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The goal is proven.
    Coverage,
    /// Enough pages.
    Pages,
    /// Enough requests.
    Requests,
    /// Enough bytes.
    Bytes,
    /// Enough time.
    Time,
    /// Enough rounds.
    Rounds,
    /// Nothing is left to ask for.
    Exhausted,
    /// Whatever is left is at hosts that do not answer.
    Unreachable,
    /// Whatever is fetched, the goal cannot be proven any more.
    OutOfReach,
    /// Somebody said so.
    Told,
}

impl Stop {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Coverage,
        Self::Pages,
        Self::Requests,
        Self::Bytes,
        Self::Time,
        Self::Rounds,
        Self::Exhausted,
        Self::Unreachable,
        Self::OutOfReach,
        Self::Told,
    ];

    /// The one with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.name() == name)
    }

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Pages => "pages",
            Self::Requests => "requests",
            Self::Bytes => "bytes",
            Self::Time => "time",
            Self::Rounds => "rounds",
            Self::Exhausted => "exhausted",
            Self::Unreachable => "unreachable",
            Self::OutOfReach => "out-of-reach",
            Self::Told => "signal",
        }
    }
}

/// When to stop: whichever comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Until {
    /// When the policy's goal is proven.
    pub coverage: bool,
    /// When this many pages were stored, without those of an import.
    pub pages: Option<u64>,
    /// When this many requests were sent, robots.txt included.
    pub requests: Option<u64>,
    /// When this many bytes of bodies were received, without those of an import.
    pub bytes: Option<u64>,
    /// After this long in this process.
    pub time: Option<Duration>,
}

/// What has been spent and what may still be.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// When to stop.
    pub until: Until,
    /// The longest body.
    pub body_bytes_max: u64,
}

/// What a crawl has done, and what is under way. What was imported cost no request and does not
/// count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Pages stored.
    pub pages: u64,
    /// Requests sent.
    pub requests: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Pages handed out.
    pub pages_open: u64,
    /// Requests sent and not yet answered.
    pub requests_open: u64,
}

impl Spent {
    /// What a tally says was spent, beside what is under way.
    pub fn new(tally: &Tally, pages: u64, pages_open: u64, requests_open: u64) -> Self {
        Self {
            pages,
            requests: tally.requests,
            bytes: tally.body_bytes - tally.imported_bytes,
            pages_open,
            requests_open,
        }
    }
}

/// Whether one more request may be sent, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// It may, with a body of at most this many bytes.
    Send {
        /// The longest body.
        body_bytes_max: u64,
    },
    /// Not before something comes back.
    Wait,
    /// Not before a tick.
    WaitUntil(Tick),
    /// Never again.
    Spent(Stop),
}

impl Allowance {
    /// What both allow.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Send { body_bytes_max: a }, Self::Send { body_bytes_max: b }) => Self::Send {
                body_bytes_max: a.min(b),
            },
            (Self::Send { .. }, other) => other,
            (other, _) => other,
        }
    }
}

impl Budget {
    /// Whether one more page may be handed out.
    pub fn page(&self, spent: Spent) -> Allowance {
        if let Some(max) = self.until.pages {
            if spent.pages >= max {
                return Allowance::Spent(Stop::Pages);
            }
            if spent.pages + spent.pages_open >= max {
                return Allowance::Wait;
            }
        }
        self.request(spent)
    }

    /// Whether one more request may be sent.
    pub fn request(&self, spent: Spent) -> Allowance {
        if let Some(max) = self.until.requests {
            if spent.requests >= max {
                return Allowance::Spent(Stop::Requests);
            }
            if spent.requests + spent.requests_open >= max {
                return Allowance::Wait;
            }
        }
        let mut body_bytes_max = self.body_bytes_max;
        if let Some(max) = self.until.bytes {
            if spent.bytes >= max {
                return Allowance::Spent(Stop::Bytes);
            }
            let left = max - spent.bytes;
            let reserved = spent.requests_open * self.body_bytes_max;
            if reserved + self.body_bytes_max > left {
                if spent.requests_open > 0 {
                    return Allowance::Wait;
                }
                body_bytes_max = left;
            }
        }
        Allowance::Send { body_bytes_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(pages: u64, requests: u64, bytes: u64, open: u64) -> Spent {
        Spent {
            pages,
            requests,
            bytes,
            pages_open: open,
            requests_open: open,
        }
    }

    #[test]
    fn what_is_under_way_counts() {
        let budget = |until| Budget {
            until,
            body_bytes_max: 100,
        };
        let pages = budget(Until {
            pages: Some(3),
            ..Until::default()
        });
        let send = Allowance::Send {
            body_bytes_max: 100,
        };
        assert_eq!(pages.page(spent(1, 0, 0, 1)), send);
        assert_eq!(pages.page(spent(1, 0, 0, 2)), Allowance::Wait);
        assert_eq!(pages.page(spent(3, 0, 0, 0)), Allowance::Spent(Stop::Pages));
        let requests = budget(Until {
            requests: Some(5),
            ..Until::default()
        });
        assert_eq!(requests.page(spent(0, 1, 0, 3)), send);
        assert_eq!(requests.page(spent(0, 2, 0, 3)), Allowance::Wait);
        assert_eq!(requests.page(spent(0, 4, 0, 0)), send);
        assert_eq!(
            requests.page(spent(0, 5, 0, 0)),
            Allowance::Spent(Stop::Requests)
        );
        let bytes = budget(Until {
            bytes: Some(250),
            ..Until::default()
        });
        assert_eq!(bytes.page(spent(0, 0, 40, 1)), send);
        assert_eq!(bytes.page(spent(0, 0, 60, 1)), Allowance::Wait);
        let short = Allowance::Send { body_bytes_max: 90 };
        assert_eq!(bytes.page(spent(0, 0, 160, 0)), short);
        assert_eq!(
            bytes.page(spent(0, 0, 250, 0)),
            Allowance::Spent(Stop::Bytes)
        );
    }
}
