//! Whether a page may be asked for, authority by authority.
//!
//! Records come from the journal when an authority is first met in a process, and go there when
//! they change: a restart neither asks again within a record's life nor asks a page without one.

use std::collections::HashMap;
use std::time::Duration;

use turnstone_fetch::preferences::Sayings;
use turnstone_fetch::robots::{Access, Next, Record, RefreshOptions};
use turnstone_fetch::{FetchError, Limits, Response, Url};
use turnstone_frontier::PageId;

/// The records of all authorities met in this process.
#[derive(Debug)]
pub(crate) struct Robots {
    authorities: HashMap<String, Authority>,
    options: RefreshOptions,
    agent: String,
    crawl_delay_max: Duration,
}

#[derive(Debug)]
struct Authority {
    record: Record,
    /// A request for it is under way.
    asking: bool,
    /// Pages handed out that wait for it.
    waiting: Vec<PageId>,
}

/// What may be done about a page now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Ask for it; the host wants this much time between requests.
    Granted {
        /// The `Crawl-delay`.
        delay: Option<Duration>,
    },
    /// Do not ask for it, because of this line.
    Refused {
        /// The line, or why everything is refused.
        line: String,
    },
    /// Ask for nothing there before then.
    Closed {
        /// Why.
        why: String,
        /// In seconds of 1970.
        until_s: u64,
    },
    /// Ask for this URL first.
    Ask(String),
    /// It is being asked for: the page waits.
    Asking,
}

impl Robots {
    pub(crate) fn new(options: RefreshOptions, agent: &str, crawl_delay_max: Duration) -> Self {
        Self {
            authorities: HashMap::new(),
            options,
            agent: agent.to_owned(),
            crawl_delay_max,
        }
    }

    /// Whether an authority has been met; if not, `load` it first.
    pub(crate) fn knows(&self, authority: &str) -> bool {
        self.authorities.contains_key(authority)
    }

    /// Takes in what the journal has of an authority. A record that cannot be read is as none. One
    /// that could not be reached is tried again at once by a new process, unless its host asked to
    /// be let alone.
    pub(crate) fn load(&mut self, authority: &str, saved: Option<&[u8]>, now_s: u64) {
        let mut record = saved
            .and_then(|bytes| Record::restore(bytes).ok())
            .unwrap_or_else(|| Record::new(authority));
        if record.failures > 0 && record.held_until_s <= now_s {
            record.ask_at_s = record.ask_at_s.min(now_s);
        }
        let authority = authority.to_owned();
        self.authorities.entry(authority).or_insert(Authority {
            record,
            asking: false,
            waiting: Vec::new(),
        });
    }

    /// What may be done about a page of a known authority.
    pub(crate) fn permission(&self, authority: &str, url: &Url, now_s: u64) -> Permission {
        let entry = &self.authorities[authority];
        // Also when it could not be reached the last time: some day it can.
        if let Next::Fetch(url) = entry.record.next(now_s) {
            return if entry.asking {
                Permission::Asking
            } else {
                Permission::Ask(url)
            };
        }
        match entry.record.access(now_s, &self.options) {
            Access::Rules { rules, .. } => {
                let verdict = rules.check_url(url);
                if !verdict.allowed {
                    let line = verdict.line.map_or_else(
                        || "robots.txt".to_owned(),
                        |line| format!("robots.txt line {}: {}", line.number, line.text),
                    );
                    return Permission::Refused { line };
                }
                let delay = self.crawl_delay(authority, now_s);
                Permission::Granted { delay }
            }
            Access::Open { .. } => Permission::Granted { delay: None },
            Access::Closed { why, until_s } => Permission::Closed {
                why: why.to_owned(),
                until_s,
            },
            Access::Unknown => Permission::Closed {
                why: "robots.txt is to be asked for later".to_owned(),
                until_s: entry.record.ask_at_s,
            },
        }
    }

    /// What the robots.txt of a known authority says of how a page may be used.
    pub(crate) fn sayings(&self, authority: &str, url: &Url, now_s: u64) -> Sayings {
        let record = self.authorities.get(authority).map(|entry| &entry.record);
        match record.map(|record| record.access(now_s, &self.options)) {
            Some(Access::Rules { rules, .. }) => rules.sayings(url),
            Some(Access::Open { .. } | Access::Closed { .. } | Access::Unknown) | None => {
                Sayings::default()
            }
        }
    }

    /// The sitemaps that the robots.txt of a known authority names.
    pub(crate) fn sitemaps(&self, authority: &str, now_s: u64) -> Vec<String> {
        match self.authorities[authority]
            .record
            .access(now_s, &self.options)
        {
            Access::Rules { rules, .. } => rules.sitemaps().map(str::to_owned).collect(),
            Access::Open { .. } | Access::Closed { .. } | Access::Unknown => Vec::new(),
        }
    }

    /// How long a known authority wants to rest between requests, if its rules say so.
    pub(crate) fn crawl_delay(&self, authority: &str, now_s: u64) -> Option<Duration> {
        let record = &self.authorities[authority].record;
        match record.access(now_s, &self.options) {
            Access::Rules { rules, .. } => {
                let delay = rules.crawl_delay(self.crawl_delay_max)?;
                Some(delay.granted)
            }
            Access::Open { .. } | Access::Closed { .. } | Access::Unknown => None,
        }
    }

    /// A request for an authority's robots.txt begins.
    pub(crate) fn asking(&mut self, authority: &str) {
        self.entry(authority).asking = true;
    }

    /// Nobody asks for an authority's robots.txt just now.
    pub(crate) fn not_asking(&mut self, authority: &str) {
        self.entry(authority).asking = false;
    }

    /// Whether an authority's robots.txt is asked for where it belongs, and not where a redirect led.
    pub(crate) fn is_at_home(&self, authority: &str) -> bool {
        self.authorities[authority].record.chain.is_empty()
    }

    /// A page waits for an authority's robots.txt.
    pub(crate) fn wait(&mut self, authority: &str, page: PageId) {
        self.entry(authority).waiting.push(page);
    }

    /// Takes in what came of a request; rules that broke off or cannot be decoded are as none that
    /// came. Returns the record as it is now, to be written, and the next URL to ask for if the answer
    /// was a redirect.
    pub(crate) fn answered(
        &mut self,
        authority: &str,
        fetched: &Result<Response, FetchError>,
        limits: &Limits,
        now_s: u64,
    ) -> (Vec<u8>, Option<String>) {
        let Some(entry) = self.authorities.get_mut(authority) else {
            unreachable!("only known authorities are asked");
        };
        let record = &mut entry.record;
        record.observe_fetch(now_s, fetched, limits, &self.agent, &self.options);
        entry.asking = !record.chain.is_empty();
        let next = record.chain.last().cloned();
        (record.save(), next)
    }

    /// The request brought no answer that says anything. Returns the record as it was.
    pub(crate) fn unanswered(&mut self, authority: &str) -> Vec<u8> {
        let entry = self.entry(authority);
        entry.asking = false;
        entry.record.save()
    }

    /// The pages that waited for an authority.
    pub(crate) fn waited(&mut self, authority: &str) -> Vec<PageId> {
        std::mem::take(&mut self.entry(authority).waiting)
    }

    fn entry(&mut self, authority: &str) -> &mut Authority {
        let entry = self.authorities.get_mut(authority);
        entry.expect("an authority is loaded before it is used")
    }
}
