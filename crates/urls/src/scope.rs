//! Which URLs belong to a crawl.
//!
//! A URL is in scope when it matches one of the positive rules (hosts, sites, prefixes, `include`
//! expressions, the include list; none at all means everything), matches no `exclude` expression and
//! is not on the exclude list, and keeps the limits on depth, path and query. The first rule that refuses is
//! named.
//!
//! Pure: a function of the URL and its depth. Regular expressions are of the linear kind.
//! Cost: O(expressions + prefixes + log hosts + URL), and that of looking into the lists.

use std::fmt;

use regex::RegexSet;
use thiserror::Error;
use url::Url;

use crate::list::{UrlList, fingerprint};
use crate::{KeyOptions, canonical_key, host_of, site_of};

/// Longer lists are told by their length and a fingerprint.
const TOLD_MAX: usize = 100;

/// What belongs to a crawl, as a user writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRules {
    /// Hosts, exactly: `www.example.org`.
    pub hosts: Vec<String>,
    /// Registrable domains with all their hosts: `example.org`.
    pub sites: Vec<String>,
    /// URL prefixes: `https://example.org/docs/`.
    pub prefixes: Vec<String>,
    /// Regular expressions on the whole URL; one match lets it in.
    pub include: Vec<String>,
    /// Regular expressions on the whole URL; one match keeps it out.
    pub exclude: Vec<String>,
    /// Hosts and prefixes, many of them; one lets a URL in.
    pub include_list: UrlList,
    /// Hosts and prefixes, many of them; one keeps a URL out.
    pub exclude_list: UrlList,
    /// Most links from a seed.
    pub depth_max: u32,
    /// Most path segments.
    pub path_segments_max: usize,
    /// Longest path, in bytes.
    pub path_bytes_max: usize,
    /// Most query parameters.
    pub query_params_max: usize,
    /// Longest query, in bytes.
    pub query_bytes_max: usize,
}

impl Default for ScopeRules {
    fn default() -> Self {
        ScopeRules {
            hosts: Vec::new(),
            sites: Vec::new(),
            prefixes: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            include_list: UrlList::default(),
            exclude_list: UrlList::default(),
            depth_max: u32::MAX,
            path_segments_max: 20,
            path_bytes_max: 2048,
            query_params_max: 20,
            query_bytes_max: 2048,
        }
    }
}

/// Why rules cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// An expression does not compile, or all together grow too large.
    #[error("scope option {option}: {source}")]
    Expression {
        /// `include` or `exclude`.
        option: &'static str,
        /// What is wrong with which expression.
        source: Box<regex::Error>,
    },
    /// A prefix that is no URL.
    #[error("scope option prefixes: \"{prefix}\" is not an http or https URL")]
    Prefix {
        /// The prefix.
        prefix: String,
    },
}

/// The rule that keeps a URL out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutOfScope {
    /// No positive rule lets it in.
    NotIncluded,
    /// This `exclude` expression matches.
    Excluded(String),
    /// This host or prefix of the exclude list covers it.
    Listed(String),
    /// Too many links from a seed.
    Depth(u32),
    /// Too many path segments.
    PathSegments(usize),
    /// The path is too long.
    PathBytes(usize),
    /// Too many query parameters.
    QueryParams(usize),
    /// The query is too long.
    QueryBytes(usize),
}

impl fmt::Display for OutOfScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutOfScope::NotIncluded => {
                write!(f, "scope: no host, site, prefix or include rule matches")
            }
            OutOfScope::Excluded(expression) => write!(f, "scope exclude: {expression}"),
            OutOfScope::Listed(entry) => write!(f, "scope exclude list: {entry}"),
            OutOfScope::Depth(depth) => write!(f, "scope depth_max: {depth} links from a seed"),
            OutOfScope::PathSegments(count) => {
                write!(f, "scope path_segments_max: {count} segments")
            }
            OutOfScope::PathBytes(bytes) => write!(f, "scope path_bytes_max: {bytes} bytes"),
            OutOfScope::QueryParams(count) => {
                write!(f, "scope query_params_max: {count} parameters")
            }
            OutOfScope::QueryBytes(bytes) => write!(f, "scope query_bytes_max: {bytes} bytes"),
        }
    }
}

impl fmt::Display for ScopeRules {
    /// The same rules, the same text: a line for each that differs from the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        let lists = [
            ("hosts", &self.hosts),
            ("sites", &self.sites),
            ("prefixes", &self.prefixes),
            ("include", &self.include),
            ("exclude", &self.exclude),
        ];
        let everything =
            lists[..4].iter().all(|(_, list)| list.is_empty()) && self.include_list.is_empty();
        write!(f, "{}", if everything { "everywhere" } else { "within" })?;
        for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
            if list.len() <= TOLD_MAX {
                write!(f, "\n{name} {}", list.join(" "))?;
            } else {
                let print = fingerprint(list.iter().map(String::as_str));
                write!(
                    f,
                    "\n{name} {} of them, fingerprint {print:016x}",
                    list.len()
                )?;
            }
        }
        let files = [
            ("include_list", &self.include_list),
            ("exclude_list", &self.exclude_list),
        ];
        for (name, list) in files.iter().filter(|(_, list)| !list.is_empty()) {
            let print = fingerprint(list.lines());
            write!(
                f,
                "\n{name} {} of them, fingerprint {print:016x}",
                list.len()
            )?;
        }
        let limits = [
            (
                "depth_max",
                u64::from(self.depth_max),
                u64::from(default.depth_max),
            ),
            (
                "path_segments_max",
                self.path_segments_max as u64,
                default.path_segments_max as u64,
            ),
            (
                "path_bytes_max",
                self.path_bytes_max as u64,
                default.path_bytes_max as u64,
            ),
            (
                "query_params_max",
                self.query_params_max as u64,
                default.query_params_max as u64,
            ),
            (
                "query_bytes_max",
                self.query_bytes_max as u64,
                default.query_bytes_max as u64,
            ),
        ];
        for (name, limit, _) in limits.iter().filter(|(_, limit, usual)| limit != usual) {
            write!(f, "\n{name} {limit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules.fmt(f)
    }
}

/// Rules ready for use.
#[derive(Debug, Clone)]
pub struct Scope {
    rules: ScopeRules,
    /// Hosts and sites in order, to be looked up: there may be as many as there are seeds.
    hosts: Vec<String>,
    sites: Vec<String>,
    include: RegexSet,
    exclude: RegexSet,
}

impl Scope {
    /// Checks and compiles the rules.
    pub fn new(mut rules: ScopeRules) -> Result<Scope, ScopeError> {
        let compile = |option, expressions: &[String]| {
            RegexSet::new(expressions).map_err(|e| ScopeError::Expression {
                option,
                source: Box::new(e),
            })
        };
        let include = compile("include", &rules.include)?;
        let exclude = compile("exclude", &rules.exclude)?;
        for name in rules.hosts.iter_mut().chain(&mut rules.sites) {
            *name = name.trim_end_matches('.').to_lowercase();
        }
        for prefix in &mut rules.prefixes {
            let url = Url::parse(prefix)
                .ok()
                .filter(|u| matches!(u.scheme(), "http" | "https"));
            let Some(url) = url else {
                return Err(ScopeError::Prefix {
                    prefix: prefix.clone(),
                });
            };
            *prefix = canonical_key(&url, &KeyOptions::default());
        }
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort_unstable();
            names
        };
        Ok(Scope {
            hosts: sorted(&rules.hosts),
            sites: sorted(&rules.sites),
            rules,
            include,
            exclude,
        })
    }

    /// Whether a URL, `depth` links from a seed, belongs to the crawl.
    pub fn check(&self, url: &Url, depth: u32) -> Result<(), OutOfScope> {
        if !self.lets_in(url) {
            return Err(OutOfScope::NotIncluded);
        }
        if let Some(hit) = self.exclude.matches(url.as_str()).iter().next() {
            return Err(OutOfScope::Excluded(self.rules.exclude[hit].clone()));
        }
        if let Some(entry) = self.rules.exclude_list.find(url) {
            return Err(OutOfScope::Listed(entry.to_owned()));
        }
        let rules = &self.rules;
        let segments = url.path().split('/').filter(|s| !s.is_empty()).count();
        let query = url.query().unwrap_or("");
        let params = if query.is_empty() {
            0
        } else {
            query.split('&').count()
        };
        if depth > rules.depth_max {
            Err(OutOfScope::Depth(depth))
        } else if segments > rules.path_segments_max {
            Err(OutOfScope::PathSegments(segments))
        } else if url.path().len() > rules.path_bytes_max {
            Err(OutOfScope::PathBytes(url.path().len()))
        } else if params > rules.query_params_max {
            Err(OutOfScope::QueryParams(params))
        } else if query.len() > rules.query_bytes_max {
            Err(OutOfScope::QueryBytes(query.len()))
        } else {
            Ok(())
        }
    }

    /// Whether the exclude list keeps a URL out: then it is not asked for even if it is a seed.
    pub fn is_listed_out(&self, url: &Url) -> bool {
        self.rules.exclude_list.find(url).is_some()
    }

    fn lets_in(&self, url: &Url) -> bool {
        let rules = &self.rules;
        if rules.hosts.is_empty()
            && rules.sites.is_empty()
            && rules.prefixes.is_empty()
            && rules.include.is_empty()
            && rules.include_list.is_empty()
        {
            return true;
        }
        let has = |names: &[String], name: &str| {
            let found = names.binary_search_by(|other| other.as_str().cmp(name));
            found.is_ok()
        };
        has(&self.hosts, host_of(url))
            || !self.sites.is_empty() && has(&self.sites, site_of(url))
            || rules.include_list.find(url).is_some()
            || self.include.is_match(url.as_str())
            || !rules.prefixes.is_empty() && {
                let key = canonical_key(url, &KeyOptions::default());
                rules.prefixes.iter().any(|prefix| key.starts_with(prefix))
            }
    }
}
