//! Keeping one authority's robots.txt fresh: a state machine without a clock.
//!
//! The caller asks [`Record::next`] what to fetch, fetches it politely, tells
//! [`Record::observe`] what came of it, and before each page asks [`Record::access`]. Rules always
//! belong to the authority first asked, wherever redirects led (RFC 9309 s2.3.1.2).
//!
//! | answer | meaning |
//! |---|---|
//! | 2xx | parse; good for 24 h, less if `Cache-Control` says so |
//! | 3xx | follow, five at most, across hosts; six, a loop or no usable target = unavailable |
//! | 4xx but 429 | unavailable: everything may be fetched; asked again after 24 h |
//! | 429, 5xx, no answer | unreachable: nothing may be fetched; asked again with back-off |
//!
//! While unreachable, a copy from before is reused, unless the answer was a 429 or named a
//! `Retry-After`: then nothing is fetched until that time. After 30 days of silence an authority
//! of which we have no copy counts as unavailable ([`AfterLongSilence`] can forbid this).
//!
//! Invariant: no access is ever granted before a first answer, nor from a copy past its lifetime
//! that the authority was not asked to renew.

use super::rules::Rules;
use crate::urls::read_standard;

/// How many redirects are followed for one robots.txt.
pub const REDIRECTS_MAX: usize = 5;

/// Slack before a clock that went back makes us ask again.
const CLOCK_SLACK_S: u64 = 300;

/// Times, in seconds, that govern asking. The defaults are what RFC 9309 says or suggests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshOptions {
    /// The longest life of a copy.
    pub lifetime_max_s: u64,
    /// The shortest life of a copy, whatever `Cache-Control` says: robots.txt is not asked for
    /// before every page.
    pub lifetime_min_s: u64,
    /// First wait after a failure; doubles with each further one.
    pub backoff_min_s: u64,
    /// Longest wait after a failure.
    pub backoff_max_s: u64,
    /// Longest `Retry-After` that is believed.
    pub retry_after_max_s: u64,
    /// How long an authority must be silent for [`AfterLongSilence`] to apply.
    pub silence_s: u64,
    /// What then holds for an authority of which no copy is known.
    pub after_silence: AfterLongSilence,
}

impl Default for RefreshOptions {
    fn default() -> Self {
        RefreshOptions {
            lifetime_max_s: 24 * 3600,
            lifetime_min_s: 300,
            backoff_min_s: 300,
            backoff_max_s: 6 * 3600,
            retry_after_max_s: 24 * 3600,
            silence_s: 30 * 24 * 3600,
            after_silence: AfterLongSilence::Open,
        }
    }
}

/// What holds for an authority whose robots.txt could not be reached for 30 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLongSilence {
    /// As if there were no robots.txt (RFC 9309 s2.3.1.4 permits it).
    Open,
    /// Nothing is fetched until the authority answers.
    StayClosed,
}

/// What came of fetching the URL that [`Record::next`] named.
#[derive(Debug, Clone, Copy)]
pub enum Answer<'a> {
    /// The server answered.
    Response {
        /// HTTP status.
        status: u16,
        /// The `Location` header, as sent.
        location: Option<&'a str>,
        /// The decoded body, possibly cut by a body limit.
        body: &'a [u8],
        /// The `Cache-Control` header.
        cache_control: Option<&'a str>,
        /// `Retry-After`, already turned into seconds from now.
        retry_after_s: Option<u64>,
    },
    /// No answer: time-out, DNS, TLS, refused address, broken protocol.
    Unreachable {
        /// In words, for people.
        why: &'a str,
    },
}

/// What the last complete answer meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Never answered.
    Unasked,
    /// The rules in [`Record::copy`] hold.
    Rules,
    /// There is no robots.txt: everything may be fetched.
    Open {
        /// Why, for people.
        why: String,
    },
    /// The authority could not tell us.
    Unreachable {
        /// Why, for people.
        why: String,
    },
}

/// What to do about this authority's robots.txt now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Fetch this URL (charged to *its* host, checked by the address guard) and report.
    Fetch(String),
    /// Nothing until then.
    Wait {
        /// When to look again.
        until_s: u64,
    },
}

/// What may be fetched from the authority now.
#[derive(Debug, Clone, PartialEq)]
pub enum Access<'a> {
    /// Follow these rules.
    Rules {
        /// The rules.
        rules: &'a Rules,
        /// They are an old copy, reused because the authority cannot be reached.
        stale: bool,
    },
    /// Everything.
    Open {
        /// Why, for people.
        why: &'a str,
    },
    /// Nothing.
    Closed {
        /// Why, for people.
        why: &'a str,
        /// When robots.txt is asked for again.
        until_s: u64,
    },
    /// Nothing yet: ask [`Record::next`] first.
    Unknown,
}

/// The state of one authority's robots.txt. Plain data: see also [`Record::save`].
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Scheme, host and port: `https://example.org:8443`.
    pub origin: String,
    /// What the last complete answer meant.
    pub standing: Standing,
    /// The last rules read, kept while unreachable.
    pub copy: Option<Rules>,
    /// When the last complete answer came.
    pub answered_at_s: u64,
    /// When to ask again.
    pub ask_at_s: u64,
    /// Nothing is fetched before this, copy or no copy (429, `Retry-After`).
    pub held_until_s: u64,
    /// Since when every attempt failed.
    pub silent_since_s: Option<u64>,
    /// Failed attempts in a row.
    pub failures: u32,
    /// Redirects being followed: the URLs to fetch so far, the last one not yet fetched.
    pub chain: Vec<String>,
}

impl Record {
    /// An authority nothing is known of. `origin` is scheme, host and port without a path, as
    /// `url::Origin::ascii_serialization` writes it.
    pub fn new(origin: &str) -> Record {
        Record {
            origin: origin.to_owned(),
            standing: Standing::Unasked,
            copy: None,
            answered_at_s: 0,
            ask_at_s: 0,
            held_until_s: 0,
            silent_since_s: None,
            failures: 0,
            chain: Vec::new(),
        }
    }

    /// What to fetch now, or until when to wait.
    pub fn next(&self, now_s: u64) -> Next {
        if let Some(url) = self.chain.last() {
            return Next::Fetch(url.clone());
        }
        if self.due(now_s) {
            return Next::Fetch(format!("{}/robots.txt", self.origin));
        }
        Next::Wait {
            until_s: self.ask_at_s,
        }
    }

    /// What may be fetched now.
    pub fn access(&self, now_s: u64, options: &RefreshOptions) -> Access<'_> {
        match &self.standing {
            Standing::Unasked => Access::Unknown,
            Standing::Rules | Standing::Open { .. } if self.due(now_s) => Access::Unknown,
            Standing::Rules => match &self.copy {
                Some(rules) => Access::Rules {
                    rules,
                    stale: false,
                },
                None => Access::Unknown,
            },
            Standing::Open { why } => Access::Open { why },
            Standing::Unreachable { why } => {
                let closed = Access::Closed {
                    why,
                    until_s: self.ask_at_s,
                };
                if now_s < self.held_until_s {
                    return closed;
                }
                if let Some(rules) = &self.copy {
                    return Access::Rules { rules, stale: true };
                }
                match options.after_silence {
                    AfterLongSilence::Open if self.long_silent(now_s, options) => Access::Open {
                        why: "robots.txt unreachable for 30 days or more",
                    },
                    AfterLongSilence::Open | AfterLongSilence::StayClosed => closed,
                }
            }
        }
    }

    /// The authority has been silent for longer than the options allow: worth a log line.
    pub fn long_silent(&self, now_s: u64, options: &RefreshOptions) -> bool {
        self.silent_since_s
            .is_some_and(|since| now_s.saturating_sub(since) >= options.silence_s)
    }

    /// Folds in what came of the URL that [`Record::next`] named. `agent` is our product token.
    pub fn observe(
        &mut self,
        now_s: u64,
        answer: Answer<'_>,
        agent: &str,
        options: &RefreshOptions,
    ) {
        let Answer::Response {
            status,
            location,
            body,
            cache_control,
            retry_after_s,
        } = answer
        else {
            let Answer::Unreachable { why } = answer else {
                return;
            };
            return self.unreachable(now_s, why.to_owned(), None, options);
        };
        let lifetime = cache_control.and_then(cache_control_lifetime_s);
        match status {
            200..=299 => {
                self.copy = Some(Rules::parse(body, agent));
                self.settle(now_s, Standing::Rules, lifetime, options);
            }
            304 if self.copy.is_some() => self.settle(now_s, Standing::Rules, lifetime, options),
            300..=399 => self.redirected(now_s, status, location, options),
            429 => {
                // Without a Retry-After the back-off is the wait.
                let wait = retry_after_s.or(Some(self.backoff_s(options)));
                self.unreachable(now_s, "robots.txt answered 429".to_owned(), wait, options);
            }
            400..=499 => self.open(
                now_s,
                format!("robots.txt answered {status}"),
                lifetime,
                options,
            ),
            _ => {
                let why = format!("robots.txt answered {status}");
                self.unreachable(now_s, why, retry_after_s, options);
            }
        }
    }

    fn redirected(
        &mut self,
        now_s: u64,
        status: u16,
        location: Option<&str>,
        options: &RefreshOptions,
    ) {
        let here = match self.next(now_s) {
            Next::Fetch(url) => url,
            Next::Wait { .. } => format!("{}/robots.txt", self.origin),
        };
        let target = url::Url::parse(&here)
            .ok()
            .zip(location)
            .and_then(|(base, location)| {
                let mut target = read_standard(Some(&base), location).ok()?;
                target.set_fragment(None);
                matches!(target.scheme(), "http" | "https").then_some(target)
            });
        let why = match target {
            None => format!("robots.txt answered {status} without a usable target"),
            Some(_) if self.chain.len() >= REDIRECTS_MAX => {
                format!("robots.txt redirects more than {REDIRECTS_MAX} times")
            }
            Some(url)
                if url.as_str() == here || self.chain.iter().any(|seen| seen == url.as_str()) =>
            {
                "robots.txt redirects in a loop".to_owned()
            }
            Some(url) => {
                self.chain.push(url.into());
                return;
            }
        };
        self.open(now_s, why, None, options);
    }

    fn open(&mut self, now_s: u64, why: String, lifetime: Option<u64>, options: &RefreshOptions) {
        self.copy = None;
        self.settle(now_s, Standing::Open { why }, lifetime, options);
    }

    fn settle(
        &mut self,
        now_s: u64,
        standing: Standing,
        lifetime: Option<u64>,
        options: &RefreshOptions,
    ) {
        let life = lifetime
            .unwrap_or(options.lifetime_max_s)
            .max(options.lifetime_min_s)
            .min(options.lifetime_max_s);
        self.standing = standing;
        self.answered_at_s = now_s;
        self.ask_at_s = now_s.saturating_add(life);
        self.held_until_s = 0;
        self.silent_since_s = None;
        self.failures = 0;
        self.chain.clear();
    }

    fn unreachable(
        &mut self,
        now_s: u64,
        why: String,
        held: Option<u64>,
        options: &RefreshOptions,
    ) {
        let wait = match held {
            Some(asked) => asked.clamp(options.backoff_min_s, options.retry_after_max_s),
            None => self.backoff_s(options),
        };
        self.standing = Standing::Unreachable { why };
        self.answered_at_s = now_s;
        self.ask_at_s = now_s.saturating_add(wait);
        self.held_until_s = if held.is_some() { self.ask_at_s } else { 0 };
        self.silent_since_s.get_or_insert(now_s);
        self.failures = self.failures.saturating_add(1);
        self.chain.clear();
    }

    /// The wait after one more failure: doubling, capped.
    fn backoff_s(&self, options: &RefreshOptions) -> u64 {
        let doubled = options
            .backoff_min_s
            .saturating_mul(1 << self.failures.min(32));
        doubled.min(options.backoff_max_s)
    }

    /// Time to ask: the copy's life is over, or the clock went back behind the last answer.
    fn due(&self, now_s: u64) -> bool {
        now_s >= self.ask_at_s || now_s.saturating_add(CLOCK_SLACK_S) < self.answered_at_s
    }
}

/// The lifetime a `Cache-Control` header gives: `max-age`, or zero for `no-store`/`no-cache`.
pub fn cache_control_lifetime_s(header: &str) -> Option<u64> {
    let mut lifetime: Option<u64> = None;
    for directive in header.split(',') {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        let seconds = match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => Some(0),
            // A number too large for us is still a number: as long as can be.
            "max-age" => match value.trim().trim_matches('"') {
                digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                    Some(digits.parse().unwrap_or(u64::MAX))
                }
                _ => None,
            },
            _ => None,
        };
        lifetime = match (lifetime, seconds) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    lifetime
}
