//! What was asked of a crawl. Plain data; every default is what most people want.

use std::time::Duration;

use turnstone_fetch::html::{LinksWanted, PageLimits};
use turnstone_fetch::preferences::Use;
use turnstone_fetch::robots::RefreshOptions;
use turnstone_fetch::scope::Scope;
use turnstone_fetch::soft404::SoftOptions;
use turnstone_fetch::traps::{BudgetOptions, TrapOptions};
use turnstone_fetch::urls::KeyOptions;
use turnstone_frontier::Politeness;

use turnstone_ledger::{Pace, Past, Terms, Until};

use crate::limits::Limit;

/// Text that is read of a page, to take echoes of its address out of it: apologies are short.
const DOUBTED_TEXT_BYTES: usize = 4 << 10;

/// Everything a crawl must know beyond its policy.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How gently hosts are asked.
    pub politeness: Politeness,
    /// Whether hosts at one address are asked as one.
    pub per_address: bool,
    /// The longest `Crawl-delay` that is honoured.
    pub crawl_delay_max: Duration,
    /// The most requests under way.
    pub connections: usize,
    /// When to stop.
    pub until: Until,
    /// How much may be asked of hosts, sites and groups of hosts.
    pub limits: Vec<Limit>,
    /// What belongs to the crawl.
    pub scope: Scope,
    /// What a trap looks like.
    pub traps: TrapOptions,
    /// How many pages of one URL pattern are fetched on trust; `None` for as many as there are.
    pub pattern_trust: Option<u32>,
    /// How often a page without a verdict is tried.
    pub attempts_max: u32,
    /// Tries after which a host that does not answer is not waited for, when nothing else is left.
    pub tries: u32,
    /// Redirects followed in a row.
    pub redirects_max: u32,
    /// Whether `nofollow` pages give no links.
    pub obey_nofollow: bool,
    /// How robots.txt is kept fresh.
    pub robots: RefreshOptions,
    /// Which URLs are one page.
    pub keys: KeyOptions,
    /// What is read of a page at most.
    pub pages: PageLimits,
    /// The largest body.
    pub body_bytes_max: usize,
    /// Our product token, for robots.txt.
    pub agent: String,
    /// How often what was written is made durable.
    pub sync_every: Duration,
    /// Entries after which a checkpoint is written, at least: see [`Plan::checkpoint_due`].
    pub checkpoint_every: u64,
    /// How long open requests may go on when the crawl is told to end.
    pub grace: Duration,
    /// How long a tick takes, in microseconds: 1,000, but for tests.
    pub tick_us: u64,
    /// Whether to go on when the goal cannot be proven any more.
    pub beyond_reach: bool,
    /// The round that this crawl is, if it is one.
    pub round: Option<Round>,
    /// How rounds follow one another, if they do: then the round says what is asked, and this what
    /// each may spend.
    pub pace: Option<Pace>,
    /// What the sitemaps that robots.txt names and the feeds that pages name in their heads are.
    pub lists: Lists,
    /// Uses that we crawl for: a page whose publisher says no to one of them is not kept.
    pub respect: Vec<Use>,
    /// How pages are told from answers that only look like them; nothing for those who take what comes.
    pub soft404: Option<SoftOptions>,
    /// How pages are judged, if the crawl is a survey of what is still there.
    pub survey: Option<SoftOptions>,
}

/// What sitemaps and feeds are to a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lists {
    /// Nothing, unless links lead to them.
    #[default]
    Ignored,
    /// Pages of the crawl, beside its links: nothing leads to them unless a link does. So they, and what only
    /// they name, hold no mass and are asked for when all else is done. For a crawl whose guarantee speaks of
    /// pages that links lead to. Shards ignore them: without mass nothing crosses.
    Beside,
    /// Pages of the crawl that pages which name them lead to, and dates in them are hints.
    Linked,
}

/// One round of a question that is asked again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Which question: `refresh`, `discover`, `keep`.
    pub question: String,
    /// How many fetches the policy may choose.
    pub budget: u64,
}

impl Plan {
    /// The defaults, for a scope.
    pub fn new(scope: Scope) -> Self {
        Self {
            politeness: Politeness::default(),
            per_address: true,
            crawl_delay_max: Duration::from_secs(30),
            connections: 64,
            until: Until::default(),
            limits: Vec::new(),
            scope,
            traps: TrapOptions::default(),
            pattern_trust: Some(BudgetOptions::default().trust),
            attempts_max: 3,
            tries: crate::silence::TRIES,
            redirects_max: 10,
            obey_nofollow: true,
            // The first tries come soon after each other: a crawl of one host has nothing else to do.
            robots: RefreshOptions {
                backoff_min_s: 20,
                ..RefreshOptions::default()
            },
            keys: KeyOptions::default(),
            // Fingerprints cover all text; none of it is kept here.
            pages: PageLimits {
                text_bytes_max: 0,
                links: LinksWanted::Pages,
                ..PageLimits::default()
            },
            body_bytes_max: 10 << 20,
            agent: "turnstone".to_owned(),
            sync_every: Duration::from_millis(200),
            checkpoint_every: 100_000,
            grace: Duration::from_secs(10),
            tick_us: 1000,
            beyond_reach: false,
            round: None,
            pace: None,
            lists: Lists::Ignored,
            respect: Vec::new(),
            soft404: None,
            survey: None,
        }
    }
}

impl Plan {
    /// The terms of a crawl with this plan, as the journal has them.
    pub fn terms(&self, question: &str, policy: impl Into<String>, past: Past) -> Terms {
        Terms {
            question: question.to_owned(),
            policy: policy.into(),
            past,
            pattern_trust: self.pattern_trust,
            sitemaps: self.lists == Lists::Beside,
            scope: self.scope.to_string(),
        }
    }

    /// What is read of a page. A survey also needs its text, to hold it against a sibling's; who only doubts
    /// needs that of short pages.
    pub(crate) fn page_limits(&self) -> PageLimits {
        let mut limits = self.pages.clone();
        if self.soft404.is_some() {
            limits.text_bytes_max = limits.text_bytes_max.max(DOUBTED_TEXT_BYTES);
        }
        if self.survey.is_some() {
            limits.text_bytes_max = limits
                .text_bytes_max
                .max(PageLimits::default().text_bytes_max);
        }
        limits
    }

    /// After how many entries a checkpoint is due. Writing one costs as much as there are pages,
    /// and saves folding the entries since: so it is due when as much has happened.
    pub fn checkpoint_due(&self, pages: u64) -> u64 {
        self.checkpoint_every.max(pages / 5)
    }
}
