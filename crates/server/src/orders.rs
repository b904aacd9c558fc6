//! What may be ordered of a crawl while it runs, and who carries it out.
//!
//! Only the process that runs a crawl writes its journal, so only there orders are taken: [`Control`] is what
//! such a process gives the server. Each order is written into the journal before it counts, so everybody who
//! looks at the crawl, now or later, sees what was ordered and when; a server in another process shows it and
//! says that it can order nothing.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

/// The kind of the note that an order leaves in the journal: its JSON, as people gave it.
pub const ORDER_NOTE: &str = "order";

/// The most seeds in one order.
pub const SEEDS_MAX: usize = 1000;

/// An order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "order",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Order {
    /// Ask for nothing until told to go on; what is under way comes back.
    Pause {},
    /// Go on.
    Resume {},
    /// End cleanly.
    Stop {},
    /// Start from these URLs too.
    Seeds {
        /// As people write them.
        add: Vec<String>,
    },
    /// Another scope.
    Scope {
        /// All of it.
        scope: ScopeTerms,
    },
    /// Other budgets.
    Budgets {
        /// All of them.
        budgets: Budgets,
    },
}

/// A scope, as `turnstone.toml` has it. All lists empty: the hosts of the seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ScopeTerms {
    /// These hosts.
    pub hosts: Vec<String>,
    /// These registrable domains.
    pub sites: Vec<String>,
    /// Below these URLs.
    pub prefixes: Vec<String>,
    /// What matches one of these regular expressions.
    pub include: Vec<String>,
    /// But nothing that matches one of these.
    pub exclude: Vec<String>,
    /// Any host.
    pub everywhere: bool,
    /// The most links from a seed.
    pub depth: Option<u32>,
}

/// When a crawl stops, whichever comes first; nothing for no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Budgets {
    /// Pages stored.
    pub pages: Option<u64>,
    /// Requests sent.
    pub requests: Option<u64>,
    /// Bytes of bodies received.
    pub bytes: Option<u64>,
    /// Time in this process, as `1h` or `90s`.
    pub time: Option<String>,
}

/// What is in force, for forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// The scope.
    pub scope: ScopeTerms,
    /// The budgets.
    pub budgets: Budgets,
    /// Whether seeds and scope can change while this command runs; else why not.
    pub fixed: Option<String>,
}

/// Why an order is not carried out, in a line for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// An answer that is still to come.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Carries orders out.
pub trait Control: Send + Sync {
    /// What is in force.
    fn settings(&self) -> Settings;

    /// Carries out an order: once it is written, and says what came of it.
    fn carry_out(&self, order: Order) -> Later<Result<String, Refused>>;
}
