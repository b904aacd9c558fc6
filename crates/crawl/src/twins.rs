//! Twins: addresses that differ in a parameter which changes nothing, learned host by host.
//!
//! `gclid`, `ref`, session ids under names of their own: a page linked with many values of such a parameter
//! eats a crawl's budget one copy after the other, and no list of names knows them all; some sites do
//! route by a name that elsewhere only tracks. So names are not trusted: a host shows what they mean.
//! Whenever a page with a parameter comes, it is held against the page without it, or with another value. A
//! parameter that changed nothing [`SAME_MIN`] times, over [`BASES_MIN`] addresses, and never changed anything,
//! is *idle* there. New addresses that differ from a known one in idle parameters alone are not asked for: class
//! `twin`. One in [`AUDIT`] is asked for all the same, and a single one that differs ends the rule.
//!
//! What is idle is a note in the journal, so a restart knows it. Sightings towards a rule are not: they begin
//! again. Limits: [`PARAMETERS_MAX`] of an address, [`NAMES_MAX`] of a host, [`BASES_KEPT`] addresses in all.
//! Cost: an address without a query, nothing; with one, a look-up for each parameter.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use turnstone_fetch::Url;
use turnstone_fetch::urls::canonical_key;
use turnstone_frontier::{HostId, PageId, Policy};
use turnstone_pagestore::{Key, PageState, Settled};

use crate::asker::{AskError, Asker};

/// Times that a parameter must have changed nothing.
const SAME_MIN: u32 = 8;
/// Over so many addresses.
const BASES_MIN: u32 = 3;
/// One in so many twins is asked for all the same.
const AUDIT: u64 = 32;
/// Texts with fewer words are alike for other reasons.
const WORDS_MIN: u32 = 20;
/// An address with more parameters is left alone.
const PARAMETERS_MAX: usize = 8;
/// Parameters told apart of each host.
const NAMES_MAX: usize = 64;
/// Addresses without a parameter that are remembered.
const BASES_KEPT: usize = 100_000;

/// The class of a page that is not asked for because it is another one's twin.
pub(crate) const TWIN: &str = "twin";

/// What was seen of parameters.
#[derive(Debug, Default)]
pub(crate) struct Twins {
    hosts: HashMap<HostId, OfHost>,
    /// By what an address is without a parameter: the text that came first, and whether it was counted.
    bases: HashMap<(Key, Key), (u64, bool)>,
}

#[derive(Debug, Default)]
struct OfHost {
    names: BTreeMap<String, Seen>,
    idle: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    same: u32,
    bases: u32,
    differs: bool,
}

impl Seen {
    fn is_idle(self) -> bool {
        !self.differs && self.same >= SAME_MIN && self.bases >= BASES_MIN
    }
}

/// The names of the parameters of an address, each once.
fn names(url: &Url) -> Vec<String> {
    let mut names: Vec<String> = url
        .query_pairs()
        .map(|(name, _)| name.into_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// An address without the parameters of some names.
fn without(url: &Url, idle: impl Fn(&str) -> bool) -> Url {
    let mut bare = url.clone();
    // Pieces as they stand: an address is not spelt anew for what it keeps.
    let kept: Vec<&str> = url
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|piece| {
            let name = url::form_urlencoded::parse(piece.as_bytes()).next();
            name.is_none_or(|(name, _)| !idle(&name))
        })
        .collect();
    bare.set_query((!kept.is_empty()).then(|| kept.join("&")).as_deref());
    bare
}

impl<P: Policy> Asker<P> {
    /// The page that a new address is a twin of, if it is one, with the parameters that change nothing.
    pub(crate) fn twin_of(&mut self, host: HostId, url: &Url, key: Key) -> Option<String> {
        url.query()?;
        self.know_idle(host);
        let idle = &self.twins.hosts.get(&host)?.idle;
        if idle.is_empty() || u64::from_le_bytes(first(&key)).is_multiple_of(AUDIT) {
            return None;
        }
        let names = names(url);
        let dropped: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| idle.contains(*name))
            .collect();
        if dropped.is_empty() {
            return None;
        }
        let bare = without(url, |name| idle.contains(name));
        let base = self.keyer.key(&canonical_key(&bare, &self.plan.keys));
        if !self.twins.bases.contains_key(&(base, base)) && !self.is_wanted(base) {
            // The first of its kind stands for all of them.
            self.remember_base((base, base), 0);
            return None;
        }
        Some(format!(
            "the same page as {}: {} changes nothing on this host",
            turnstone_fetch::urls::shown(bare.as_str()),
            dropped.join(", ")
        ))
    }

    /// The same for a page that was found before its host showed what its parameters mean.
    pub(crate) fn late_twin(&mut self, page: PageId, host: HostId, url: &Url) -> Option<String> {
        let index = self.ledger.index();
        if self.plan.pattern_trust.is_none() || index.is_stored(page) || index.is_seed(page) {
            return None;
        }
        let key = self.keyer.key(&canonical_key(url, &self.plan.keys));
        self.twin_of(host, url, key)
    }

    /// A page came: its parameters are held against what came without them.
    pub(crate) fn look_for_twins(
        &mut self,
        page: PageId,
        url: &Url,
        (text, words): (u64, u32),
    ) -> Result<(), AskError> {
        let names = match url.query() {
            Some(_) if words >= WORDS_MIN => names(url),
            _ => return Ok(()),
        };
        if names.len() > PARAMETERS_MAX {
            return Ok(());
        }
        let host = self.ledger.index().host(page);
        self.know_idle(host);
        for name in names {
            let bare = without(url, |it| it == name);
            let base = self.keyer.key(&canonical_key(&bare, &self.plan.keys));
            let mark = (base, self.keyer.key(&name));
            let known = match self.twins.bases.get(&mark) {
                Some((text, _)) => Some(*text),
                None => self.text_of(base)?,
            };
            let Some(other) = known else {
                self.remember_base(mark, text);
                continue;
            };
            self.remember_base(mark, other);
            let of_host = self.twins.hosts.entry(host).or_default();
            if of_host.names.len() >= NAMES_MAX && !of_host.names.contains_key(&name) {
                continue;
            }
            let seen = of_host.names.entry(name.clone()).or_default();
            if other == text {
                seen.same += 1;
                if let Some((_, counted)) = self.twins.bases.get_mut(&mark) {
                    seen.bases += u32::from(!std::mem::replace(counted, true));
                }
            } else {
                seen.differs = true;
            }
            let is_idle = seen.is_idle();
            let changed = match (is_idle, seen.differs) {
                (true, _) => of_host.idle.insert(name),
                (false, true) => of_host.idle.remove(&name),
                (false, false) => false,
            };
            if changed {
                self.note_idle(host);
            }
        }
        Ok(())
    }

    /// Whether the page of a key is stored, or is still to be asked for.
    fn is_wanted(&self, key: Key) -> bool {
        let index = self.ledger.index();
        index.find(key).is_some_and(|page| {
            matches!(
                index.state(page),
                PageState::Fetched | PageState::Waiting | PageState::InFlight | PageState::Unknown
            )
        })
    }

    /// The text of a stored page, by its key.
    fn text_of(&self, key: Key) -> Result<Option<u64>, AskError> {
        let Some(page) = self.ledger.index().find(key) else {
            return Ok(None);
        };
        let outcome = self.ledger.store().outcome(page)?;
        Ok(outcome
            .filter(|outcome| matches!(outcome.settled, Settled::Fetched(_)))
            .map(|outcome| outcome.facts.text_hash))
    }

    fn remember_base(&mut self, mark: (Key, Key), text: u64) {
        if self.twins.bases.len() < BASES_KEPT {
            self.twins.bases.entry(mark).or_insert((text, false));
        }
    }

    /// Looks up, once, what the journal knows of a host.
    fn know_idle(&mut self, host: HostId) {
        if self.twins.hosts.contains_key(&host) {
            return;
        }
        let kind = self.idle_note(host);
        let mut of_host = OfHost::default();
        // A note that cannot be read is as none: then it is learned again.
        if let Ok(Some(bytes)) = self.ledger.store().note(&kind)
            && let Ok(text) = String::from_utf8(bytes)
        {
            of_host.idle = text.lines().map(str::to_owned).collect();
        }
        self.twins.hosts.insert(host, of_host);
    }

    fn note_idle(&mut self, host: HostId) {
        let kind = self.idle_note(host);
        let idle = self.twins.hosts.get(&host).map(|it| &it.idle);
        let names: Vec<&str> = idle.into_iter().flatten().map(String::as_str).collect();
        self.note(&kind, names.join("\n").as_bytes());
    }

    fn idle_note(&self, host: HostId) -> String {
        format!("idle {}", self.ledger.index().host_name(host))
    }
}

fn first(key: &Key) -> [u8; 8] {
    let bytes = key.to_bytes();
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_parameter_is_otherwise_the_same() {
        let check = |url: &str, name: &str, expected: &str| {
            let url = Url::parse(url).unwrap();
            assert_eq!(without(&url, |it| it == name).as_str(), expected);
        };
        check(
            "http://a.b/p?x=1&gclid=q&y=2",
            "gclid",
            "http://a.b/p?x=1&y=2",
        );
        check("http://a.b/p?gclid=q", "gclid", "http://a.b/p");
        check("http://a.b/p?a%20b=1&c", "a b", "http://a.b/p?c");
        check("http://a.b/p?a=1&a=2", "a", "http://a.b/p");
        assert_eq!(
            names(&Url::parse("http://a.b/?b=1&a=2&b=3").unwrap()),
            ["a", "b"]
        );
    }

    #[test]
    fn one_that_differs_is_enough() {
        let mut seen = Seen {
            same: 100,
            bases: 9,
            differs: false,
        };
        assert!(seen.is_idle());
        seen.differs = true;
        assert!(!seen.is_idle());
        assert!(
            !Seen {
                same: 100,
                bases: 2,
                differs: false
            }
            .is_idle(),
            "of two addresses only"
        );
    }
}
