//! A budget for each URL pattern of a host.
//!
//! A pattern is the path with digits and hex folded, and the names of the query parameters: all
//! days of a calendar share one, all articles of a shop another. Each pattern may be fetched a
//! number of times on trust; each page of it that brought something new earns more. So an endless
//! site of empty pages stops at the trust, and a large site of real pages never stops.
//!
//! Cost: one hash look-up per call; 16 bytes per pattern. When a host has more patterns than
//! [`BudgetOptions::patterns_max`], further ones share one budget: that, too, is how traps look.

use std::collections::HashMap;
use std::fmt;

use url::Url;

use super::single::TrapClass;

/// How much trust a pattern gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetOptions {
    /// Fetches of one pattern before it must have brought anything new.
    pub trust: u32,
    /// Fetches of one pattern of facets; facets earn nothing.
    pub facet_trust: u32,
    /// Further fetches that one new page earns.
    pub earned_per_new: u32,
    /// Most fetches of one pattern, whatever it earns.
    pub pattern_max: u32,
    /// Most patterns told apart.
    pub patterns_max: usize,
}

impl Default for BudgetOptions {
    fn default() -> Self {
        BudgetOptions {
            trust: 200,
            facet_trust: 50,
            earned_per_new: 2,
            pattern_max: 1_000_000,
            patterns_max: 100_000,
        }
    }
}

/// A pattern has used up its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverBudget {
    /// The pattern.
    pub pattern: String,
    /// How many of its URLs were admitted.
    pub admitted: u32,
    /// How many of them brought something new.
    pub new: u32,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pattern budget: {} of {} admitted, {} new",
            self.admitted, self.pattern, self.new
        )
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    admitted: u32,
    new: u32,
}

/// The history of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatternBudget {
    counts: HashMap<u64, Count>,
}

impl PatternBudget {
    /// Whether a URL may be asked for; else which pattern is used up. `class` is what
    /// [`super::judge`] found. Nothing is counted: see [`PatternBudget::asked`].
    pub fn allows(
        &self,
        url: &Url,
        class: Option<TrapClass>,
        options: &BudgetOptions,
    ) -> Result<(), OverBudget> {
        let pattern = pattern_of(url);
        let key = self.key(&pattern, options);
        let count = self.counts.get(&key).copied().unwrap_or_default();
        let budget = match class {
            Some(TrapClass::Facet) => options.facet_trust,
            Some(TrapClass::Trap) => 0,
            Some(TrapClass::Session | TrapClass::Tracking) | None => options
                .trust
                .saturating_add(count.new.saturating_mul(options.earned_per_new))
                .min(options.pattern_max),
        };
        if count.admitted < budget {
            return Ok(());
        }
        Err(OverBudget {
            pattern,
            admitted: count.admitted,
            new: count.new,
        })
    }

    /// Counts a URL that was asked for.
    pub fn asked(&mut self, url: &Url, options: &BudgetOptions) {
        let count = self.count(&pattern_of(url), options);
        count.admitted = count.admitted.saturating_add(1);
    }

    /// Admits a URL and counts it, or says which pattern is used up.
    pub fn admit(
        &mut self,
        url: &Url,
        class: Option<TrapClass>,
        options: &BudgetOptions,
    ) -> Result<(), OverBudget> {
        self.allows(url, class, options)?;
        self.asked(url, options);
        Ok(())
    }

    /// Tells that a fetched page brought text not seen before.
    pub fn brought_new(&mut self, url: &Url, options: &BudgetOptions) {
        let count = self.count(&pattern_of(url), options);
        count.new = count.new.saturating_add(1);
    }

    /// How many patterns are told apart so far.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Nothing was admitted yet.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The counts, for saving: pattern hash, admitted, new; sorted.
    pub fn entries(&self) -> Vec<(u64, u32, u32)> {
        let mut all: Vec<_> = self
            .counts
            .iter()
            .map(|(hash, c)| (*hash, c.admitted, c.new))
            .collect();
        all.sort_unstable();
        all
    }

    /// The budget that [`PatternBudget::entries`] described.
    pub fn from_entries(entries: impl IntoIterator<Item = (u64, u32, u32)>) -> PatternBudget {
        let counts = entries
            .into_iter()
            .map(|(hash, admitted, new)| (hash, Count { admitted, new }));
        PatternBudget {
            counts: counts.collect(),
        }
    }

    fn count(&mut self, pattern: &str, options: &BudgetOptions) -> &mut Count {
        let key = self.key(pattern, options);
        self.counts.entry(key).or_default()
    }

    /// Where a pattern is counted: when there are too many, all others together.
    fn key(&self, pattern: &str, options: &BudgetOptions) -> u64 {
        const OVERFLOW: u64 = 0;
        let key = hash(pattern);
        if self.counts.len() >= options.patterns_max && !self.counts.contains_key(&key) {
            return OVERFLOW;
        }
        key
    }
}

/// The pattern of a URL: `/news/#/@?id&page` for `/news/2024/0a1b2c3d4e5f?page=2&id=7`.
pub fn pattern_of(url: &Url) -> String {
    let mut out = String::with_capacity(url.path().len() + 16);
    for (i, segment) in url.path().split('/').enumerate() {
        if i > 0 {
            out.push('/');
        }
        fold_segment(segment, &mut out);
    }
    if let Some(query) = url.query() {
        let mut names: Vec<&str> = query
            .split('&')
            .map(|p| p.split('=').next().unwrap_or(p))
            .collect();
        names.sort_unstable();
        names.dedup();
        out.push('?');
        out.push_str(&names.join("&"));
    }
    out
}

/// Hex of eight or more digits becomes `@`, other runs of digits `#`.
fn fold_segment(segment: &str, out: &mut String) {
    const HEX_MIN: usize = 8;
    for word in segment.split_inclusive(['-', '_', '.', ';', ',', '+', '=']) {
        let bare = word.trim_end_matches(['-', '_', '.', ';', ',', '+', '=']);
        let is_hex = bare.len() >= HEX_MIN
            && bare.bytes().all(|b| b.is_ascii_hexdigit())
            && bare.bytes().any(|b| b.is_ascii_digit())
            && bare.bytes().any(|b| !b.is_ascii_digit());
        if is_hex {
            out.push('@');
            out.push_str(&word[bare.len()..]);
            continue;
        }
        let mut in_digits = false;
        for c in word.chars() {
            if !c.is_ascii_digit() {
                out.push(c);
            } else if !in_digits {
                out.push('#');
            }
            in_digits = c.is_ascii_digit();
        }
    }
}

/// FNV-1a: fixed, so that saved counts mean the same tomorrow. Never 0, which is for overflow.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3)
    });
    hash.max(1)
}
