//! The hosts of an import, and where a crawl of each would begin.
//!
//! The seed of a host is its home page if a source holds it, else its earliest page: so importing
//! makes no page known that no source names. What lies on these hosts is in scope.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use turnstone_urls::{Url, host_of};

/// The most hosts that get a seed: those with the most fetches. The policy's identity names them
/// all, and a thousand trusted pages are as good as a million.
const SEEDS_MAX: usize = 1000;

/// The hosts of an import.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Homes(HashMap<String, Home>);

/// What is known of a host.
#[derive(Debug, Serialize, Deserialize)]
struct Home {
    /// Whether `url` is its home page.
    is_home: bool,
    at: u64,
    url: String,
    fetches: u64,
}

impl Home {
    /// What makes the better seed: smaller is better.
    fn order(&self) -> (bool, u64, &str) {
        (!self.is_home, self.at, &self.url)
    }
}

impl Homes {
    /// Notes a fetch.
    pub fn add(&mut self, url: &Url, at: u64) {
        let new = |fetches| Home {
            is_home: url.path() == "/" && url.query().is_none(),
            at,
            url: url.as_str().to_owned(),
            fetches,
        };
        match self.0.get_mut(host_of(url)) {
            None => {
                self.0.insert(host_of(url).to_owned(), new(1));
            }
            Some(home) => {
                home.fetches += 1;
                let could_be = !home.is_home || home.at >= at;
                if could_be {
                    let other = new(home.fetches);
                    if other.order() < home.order() {
                        *home = other;
                    }
                }
            }
        }
    }

    /// Adds what another part of the import found.
    pub fn merge(&mut self, other: Self) {
        for (host, theirs) in other.0 {
            match self.0.get_mut(&host) {
                None => {
                    self.0.insert(host, theirs);
                }
                Some(ours) => {
                    let fetches = ours.fetches + theirs.fetches;
                    if theirs.order() < ours.order() {
                        *ours = theirs;
                    }
                    ours.fetches = fetches;
                }
            }
        }
    }

    /// Whether a host was fetched from.
    pub fn has(&self, host: &str) -> bool {
        self.0.contains_key(host)
    }

    /// How many hosts there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Every host, in the order of the alphabet.
    pub fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = self.0.keys().cloned().collect();
        hosts.sort_unstable();
        hosts
    }

    /// Where a crawl would begin, the largest hosts first.
    pub fn seeds(&self) -> Vec<&str> {
        let mut homes: Vec<(&String, &Home)> = self.0.iter().collect();
        homes.sort_unstable_by_key(|(host, home)| (std::cmp::Reverse(home.fetches), *host));
        homes.truncate(SEEDS_MAX);
        homes.into_iter().map(|(_, home)| &*home.url).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_page_wins_then_the_earliest() {
        let add = |homes: &mut Homes, url: &str, at| homes.add(&Url::parse(url).unwrap(), at);
        let mut homes = Homes::default();
        add(&mut homes, "https://a.example/x", 5);
        add(&mut homes, "https://a.example/y", 3);
        add(&mut homes, "https://b.example/x", 1);
        assert_eq!(
            homes.seeds(),
            ["https://a.example/y", "https://b.example/x"]
        );
        let mut more = Homes::default();
        add(&mut more, "https://b.example/", 9);
        add(&mut more, "https://b.example/z", 1);
        homes.merge(more);
        assert_eq!(homes.seeds(), ["https://b.example/", "https://a.example/y"]);
        assert!(homes.has("a.example") && !homes.has("c.example"));
    }
}
