//! A crawl at one moment, as everybody is shown it: the dashboard, the JSON API and the metrics say the same
//! because they are made of the same [`Picture`].
//!
//! Its JSON is described by `docs/schema/server-v1.json`, and a test holds answers against that.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::course::Point;
use crate::hosts::{HostCounts, HostRow};

/// The version of the JSON form: it grows when a program that reads it would have to change.
pub(crate) const VERSION: u32 = 1;

/// Whether a crawl goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A process has it.
    Running,
    /// A process has it, and was told to wait.
    Paused,
    /// It is about to end.
    Ending,
    /// The last process ended, and said why.
    Stopped,
    /// The last process was killed.
    Interrupted,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Running,
        Self::Paused,
        Self::Ending,
        Self::Stopped,
        Self::Interrupted,
    ];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Ending => "ending",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether a process has the crawl.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::Ending)
    }
}

/// How fast it goes, over the last ten seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    /// Fetches that brought a page.
    pub pages_per_second: f64,
    /// Requests.
    pub requests_per_second: f64,
    /// Bytes of bodies.
    pub bytes_per_second: f64,
}

/// Which share of the personalised PageRank is stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cover {
    /// At least this, proven.
    pub proven: f64,
    /// At most this; known while the crawl runs.
    pub possible: Option<f64>,
    /// At least this with the confidence that was asked for, by a sample.
    pub certified: Option<f64>,
    /// What can still be proven, whatever is fetched.
    pub provable: Option<f64>,
}

/// A budget and what of it is spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spending {
    /// What is counted: `pages`, `requests`, `bytes`, `seconds`.
    pub what: &'static str,
    /// So much.
    pub spent: u64,
    /// Of so much; nothing without limit.
    pub limit: Option<u64>,
}

/// An order that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OrderRow {
    /// When.
    pub time: String,
    /// What, as it stands in the journal.
    pub order: Value,
}

/// A crawl at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// The version of this form.
    pub version: u32,
    /// What the crawl is called here.
    pub name: String,
    /// Where it is.
    pub directory: String,
    /// When it was looked at.
    pub as_of: String,
    /// Whether it goes on.
    pub state: State,
    /// Who works in it.
    pub holder: Option<String>,
    /// Why the last process ended.
    pub stopped_by: Option<String>,
    /// Whether orders are taken here.
    pub takes_orders: bool,
    /// Which question is asked.
    pub question: String,
    /// By which policy.
    pub policy: String,
    /// Its scope, a rule a line.
    pub scope: Vec<String>,
    /// How many seeds it has.
    pub seeds: u64,
    /// When its first process began.
    pub started: Option<String>,
    /// When something was written last.
    pub last_change: Option<String>,
    /// Pages known and in scope.
    pub known: u64,
    /// Pages stored and in scope.
    pub pages: u64,
    /// Requests sent, robots.txt included.
    pub requests: u64,
    /// Of them, for robots.txt.
    pub robots_requests: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Requests under way.
    pub open: u64,
    /// Pages that are ranked and wait; known while the crawl runs.
    pub queued: Option<u64>,
    /// Pages by state.
    pub states: BTreeMap<&'static str, u64>,
    /// Answers by status class.
    pub answers: BTreeMap<&'static str, u64>,
    /// Settled pages by class.
    pub classes: BTreeMap<String, u64>,
    /// How fast it goes.
    pub rate: Rate,
    /// What is proven.
    pub coverage: Option<Cover>,
    /// How it went.
    pub course: Vec<Point>,
    /// Hosts by condition.
    pub host_counts: HostCounts,
    /// The most troubled hosts.
    pub hosts: Vec<HostRow>,
    /// The slice of a crawl that runs for ever, with its split.
    pub slice: Option<Value>,
    /// Budgets.
    pub budgets: Vec<Spending>,
    /// What somebody should look at.
    pub warnings: Vec<String>,
    /// How many events there were, by kind.
    pub event_counts: BTreeMap<&'static str, u64>,
    /// The latest events, the newest first.
    pub events: Vec<Value>,
    /// The last orders, the newest first.
    pub orders: Vec<OrderRow>,
}
