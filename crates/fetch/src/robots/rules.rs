//! The rules one robots.txt file has for one crawler.
//!
//! Reading keeps only the lines that matter to us: the rules and crawl-delay of the groups that
//! name our product token (or of `*` when none does), every `Sitemap`, and what is said of how pages may be used. The
//! kept lines are the whole state: saving them and reading them back gives the same rules.
//!
//! Rules are sorted most octets first, allow before disallow, so the first match decides. The
//! sort is stable, so of two equal rules the earlier line is named. Rules without stars are plain
//! prefixes and are found by binary search; only the others are tried one by one.
//!
//! Cost: parsing O(file log rules); a check a few binary searches for prefixes and O(path) for
//! each rule with a star. Memory: our own lines, at most 500 KiB, and 4 bytes per rule.

use std::fmt;
use std::time::Duration;

use super::line::{cut, decode, lines, name_and_value};
use super::pattern::{Pattern, normalise};
use crate::preferences::Sayings;

/// One line of a robots.txt file, safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Line number, from 1.
    pub number: u32,
    /// The line without its comment; control characters and broken UTF-8 in percent form.
    pub text: Box<str>,
}

/// Whether a path may be fetched, and the line that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission<'a> {
    /// The path may be fetched.
    pub allowed: bool,
    /// The deciding line; `None` when no rule matches, which allows.
    pub line: Option<&'a Line>,
}

impl fmt::Display for Permission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.allowed {
            "allowed"
        } else {
            "disallowed"
        };
        match self.line {
            Some(line) => write!(f, "{word} by line {}: {}", line.number, line.text),
            None => write!(f, "{word}: no rule matches"),
        }
    }
}

/// A wish for slowness, as written and as we grant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrawlDelay {
    /// What the file asks for.
    pub asked: Duration,
    /// What we keep: `asked`, or the cap.
    pub granted: Duration,
}

impl CrawlDelay {
    /// The cap shortened what was asked.
    pub fn is_capped(&self) -> bool {
        self.granted < self.asked
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Rule {
    allow: bool,
    pattern: Pattern,
    line: Line,
}

/// What one file asks of one crawler. The default has no rules and allows everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// The rule that decides comes first.
    rules: Vec<Rule>,
    /// Places in `rules` of plain prefixes, sorted by their text, each text once.
    prefixes: Vec<u32>,
    /// Places in `rules` of all others, ascending.
    others: Vec<u32>,
    crawl_delay: Option<(Duration, Line)>,
    sitemaps: Vec<Line>,
    content_usage: Vec<Line>,
    /// `Content-Signal` and `License` lines.
    sayings: Vec<Line>,
    named: bool,
    html: bool,
}

impl Rules {
    /// Reads a file for the crawler whose product token is `agent` (`turnstone`, letters, `-`
    /// and `_`; what follows, such as `/1.0`, is ignored). Never fails: what makes no sense is
    /// skipped.
    pub fn parse(bytes: &[u8], agent: &str) -> Rules {
        let decoded = decode(cut(bytes));
        let (kept, named) = select(&decoded, product_token(agent));
        let mut rules = Rules::from_lines(kept);
        rules.named = named;
        rules.html = looks_like_html(&decoded);
        rules
    }

    /// Rebuilds rules from the lines [`Rules::lines`] gave.
    pub fn from_lines(lines: impl IntoIterator<Item = Line>) -> Rules {
        let mut out = Rules::default();
        for line in lines {
            let Some((name, value)) = name_and_value(&line.text) else {
                continue;
            };
            match Field::of(name) {
                Field::Rule { allow } => {
                    if let Some(pattern) = Pattern::new(value) {
                        out.rules.push(Rule {
                            allow,
                            pattern,
                            line,
                        });
                    }
                }
                Field::CrawlDelay => {
                    let Some(delay) = parse_delay(value) else {
                        continue;
                    };
                    // Several wishes: the slowest is the polite one.
                    if out
                        .crawl_delay
                        .as_ref()
                        .is_none_or(|(known, _)| *known < delay)
                    {
                        out.crawl_delay = Some((delay, line));
                    }
                }
                Field::Sitemap => out.sitemaps.push(line),
                Field::ContentUsage => out.content_usage.push(line),
                Field::ContentSignal | Field::License => out.sayings.push(line),
                Field::Agent | Field::Unknown => {}
            }
        }
        // As in the file, also where they were read apart.
        out.sayings.sort_by_key(|line| line.number);
        out.rules
            .sort_by_key(|r| (std::cmp::Reverse(r.pattern.octets()), !r.allow));
        out.index();
        out
    }

    /// As [`Rules::from_lines`], with what the lines alone cannot tell.
    pub(super) fn from_saved(lines: Vec<Line>, named: bool, html: bool) -> Rules {
        Rules {
            named,
            html,
            ..Rules::from_lines(lines)
        }
    }

    /// Every line that matters, in the order of the file: enough to rebuild the rules.
    pub fn lines(&self) -> Vec<&Line> {
        let rules = self.rules.iter().map(|r| &r.line);
        let delay = self.crawl_delay.iter().map(|(_, line)| line);
        let mut all: Vec<&Line> = rules
            .chain(delay)
            .chain(&self.sitemaps)
            .chain(&self.content_usage)
            .chain(&self.sayings)
            .collect();
        all.sort_by_key(|line| line.number);
        all
    }

    /// Whether a URL may be fetched. Only its path and query count.
    pub fn check_url(&self, url: &url::Url) -> Permission<'_> {
        match url.query() {
            Some(query) => self.check(&format!("{}?{query}", url.path())),
            None => self.check(url.path()),
        }
    }

    /// Whether a path (with its query, if any) may be fetched. The most specific rule wins, allow
    /// on a tie; `/robots.txt` itself is always allowed.
    pub fn check(&self, path_and_query: &str) -> Permission<'_> {
        let path = normalise(path_and_query);
        if path == "/robots.txt" {
            return Permission {
                allowed: true,
                line: None,
            };
        }
        match self.deciding(&path) {
            Some(rule) => Permission {
                allowed: rule.allow,
                line: Some(&rule.line),
            },
            None => Permission {
                allowed: true,
                line: None,
            },
        }
    }

    /// The first rule that matches.
    fn deciding(&self, path: &str) -> Option<&Rule> {
        let prefix = self.longest_prefix(path);
        let other = self
            .others
            .iter()
            .take_while(|at| prefix.is_none_or(|p| **at < p))
            .find(|at| self.rules[**at as usize].pattern.matches(path));
        Some(&self.rules[*other.or(prefix.as_ref())? as usize])
    }

    /// The place of the longest plain prefix of a path.
    ///
    /// The last text that does not sort after the path is either its prefix, or shares only its
    /// first bytes with it; then no longer prefix exists, and we search again for those bytes.
    fn longest_prefix(&self, path: &str) -> Option<u32> {
        let mut path = path.as_bytes();
        let mut candidates = self.prefixes.as_slice();
        loop {
            let end = candidates.partition_point(|at| self.prefix_text(*at) <= path);
            let last = *candidates[..end].last()?;
            let text = self.prefix_text(last);
            let shared = text.iter().zip(path).take_while(|(a, b)| a == b).count();
            if shared == text.len() {
                return Some(last);
            }
            path = &path[..shared];
            candidates = &candidates[..end - 1];
        }
    }

    fn prefix_text(&self, at: u32) -> &[u8] {
        self.rules[at as usize]
            .pattern
            .as_prefix()
            .unwrap_or("")
            .as_bytes()
    }

    fn index(&mut self) {
        let places = 0..u32::try_from(self.rules.len()).expect("500 KiB hold fewer lines");
        let is_prefix = |at: &u32| self.rules[*at as usize].pattern.as_prefix().is_some();
        let (mut prefixes, others): (Vec<u32>, Vec<u32>) = places.partition(is_prefix);
        // Stable: of equal texts the first, which is the deciding one, stays.
        prefixes.sort_by(|a, b| self.prefix_text(*a).cmp(self.prefix_text(*b)));
        prefixes.dedup_by(|a, b| self.prefix_text(*a) == self.prefix_text(*b));
        (self.prefixes, self.others) = (prefixes, others);
    }

    /// The delay our group asks for between requests, cut to `cap`.
    pub fn crawl_delay(&self, cap: Duration) -> Option<CrawlDelay> {
        let asked = self.crawl_delay.as_ref()?.0;
        Some(CrawlDelay {
            asked,
            granted: asked.min(cap),
        })
    }

    /// Sitemap addresses as written; relative ones are not resolved.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.sitemaps
            .iter()
            .filter_map(|line| name_and_value(&line.text))
            .map(|(_, value)| value)
    }

    /// `Content-Usage` lines (IETF aipref draft) that concern us, verbatim. Kept, not enforced.
    pub fn content_usage(&self) -> impl Iterator<Item = &Line> {
        self.content_usage.iter()
    }

    /// What the file says of how a page may be used: of `Content-Usage` rules with paths the longest that
    /// matches, several if they are as long; every `Content-Signal` of our group, every `License`.
    pub fn sayings(&self, url: &url::Url) -> Sayings {
        let path = match url.query() {
            Some(query) => normalise(&format!("{}?{query}", url.path())),
            None => normalise(url.path()),
        };
        let mut said = Sayings::default();
        let mut best: Vec<(usize, &str)> = Vec::new();
        for line in &self.content_usage {
            let Some((_, value)) = name_and_value(&line.text) else {
                continue;
            };
            let rule = value
                .split_once(char::is_whitespace)
                .map_or(value, |it| it.0);
            let octets = match rule.starts_with('/').then(|| Pattern::new(rule)) {
                None => 0,
                Some(Some(pattern)) if pattern.matches(&path) => pattern.octets(),
                Some(_) => continue,
            };
            if best.first().is_none_or(|(longest, _)| octets > *longest) {
                best.clear();
            }
            if best.first().is_none_or(|(longest, _)| octets == *longest) {
                best.push((octets, value));
            }
        }
        for (_, value) in best {
            said.add_rule("content-usage", value);
        }
        for line in &self.sayings {
            if let Some((name, value)) = name_and_value(&line.text) {
                said.add_rule(name, value);
            }
        }
        said
    }

    /// How many path rules concern us.
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// A group names our product token; otherwise the `*` groups applied.
    pub fn names_us(&self) -> bool {
        self.named
    }

    /// The body is an HTML page, so most likely nobody wrote a robots.txt.
    pub fn is_html(&self) -> bool {
        self.html
    }
}

/// What the name of a line means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Agent,
    Rule { allow: bool },
    CrawlDelay,
    Sitemap,
    ContentUsage,
    ContentSignal,
    License,
    Unknown,
}

impl Field {
    fn of(name: &str) -> Field {
        let known = [
            ("user-agent", Field::Agent),
            ("allow", Field::Rule { allow: true }),
            ("disallow", Field::Rule { allow: false }),
            ("crawl-delay", Field::CrawlDelay),
            ("sitemap", Field::Sitemap),
            ("content-usage", Field::ContentUsage),
            ("content-signal", Field::ContentSignal),
            ("license", Field::License),
        ];
        let found = known
            .iter()
            .find(|(word, _)| name.eq_ignore_ascii_case(word));
        found.map_or(Field::Unknown, |(_, field)| *field)
    }
}

/// The lines that concern `agent`, and whether a group names it.
fn select(bytes: &[u8], agent: &str) -> (Vec<Line>, bool) {
    let (mut ours, mut anyones, mut global) = (Vec::new(), Vec::new(), Vec::new());
    let (mut in_ours, mut in_anyones, mut named) = (false, false, false);
    // Agent lines that follow each other, whatever stands between but rules, open one group.
    let mut heading = false;
    let mut seen_agent = false;
    for raw in lines(bytes) {
        let Some((name, value)) = name_and_value(&raw.text) else {
            continue;
        };
        let field = Field::of(name);
        let line = || Line {
            number: raw.number,
            text: raw.text.as_ref().into(),
        };
        match field {
            Field::Agent => {
                if !heading {
                    (in_ours, in_anyones, heading) = (false, false, true);
                }
                seen_agent = true;
                if value == "*" || value.starts_with("* ") {
                    in_anyones = true;
                } else if !agent.is_empty() && product_token(value).eq_ignore_ascii_case(agent) {
                    (in_ours, named) = (true, true);
                }
            }
            Field::Rule { .. } | Field::CrawlDelay | Field::ContentUsage | Field::ContentSignal => {
                // Only path rules end a run of agent lines (RFC 9309 s2.2.1).
                heading = heading && !matches!(field, Field::Rule { .. });
                if in_ours {
                    ours.push(line());
                }
                if in_anyones {
                    anyones.push(line());
                }
                let says = matches!(field, Field::ContentUsage | Field::ContentSignal);
                if !seen_agent && says {
                    global.push(line());
                }
            }
            Field::Sitemap | Field::License => global.push(line()),
            Field::Unknown => {}
        }
    }
    global.extend(if named { ours } else { anyones });
    (global, named)
}

/// The leading product token: letters, `-` and `_`.
fn product_token(value: &str) -> &str {
    let end = value
        .bytes()
        .position(|b| !(b.is_ascii_alphabetic() || b == b'-' || b == b'_'));
    &value[..end.unwrap_or(value.len())]
}

/// A delay in seconds, decimals allowed; negative and non-numbers are no delay.
fn parse_delay(value: &str) -> Option<Duration> {
    let seconds: f64 = value.parse().ok()?;
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    ["<!doctype html", "<html", "<head", "<body"]
        .iter()
        .any(|tag| {
            start
                .get(..tag.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(tag.as_bytes()))
        })
}
