//! What is known of a host from earlier fetches: probes by directory, and where redirects go.
//!
//! Everything is bounded: the oldest probes go first, and targets beyond the limit are not counted.

use std::collections::BTreeMap;

use url::Url;

use super::facts::{PageFacts, is_root};
use crate::html::simhash_distance;
use crate::urls::origin_of;

/// Most directories whose probe is remembered.
const PROBES_MAX: usize = 4096;
/// Most redirect targets counted.
const TARGETS_MAX: usize = 1024;
/// Most probes that a page is held against before its own directory has one.
const RESEMBLED_MAX: usize = 64;
/// After this many directories that all told the truth, the host is believed.
const TRUTHFUL_MIN: usize = 5;

/// One host's history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostEvidence {
    probes: BTreeMap<String, (u64, PageFacts)>,
    targets: BTreeMap<String, u32>,
}

impl HostEvidence {
    /// Remembers what came of the probe of a directory.
    pub fn add_probe(&mut self, directory: &str, facts: PageFacts, now_s: u64) {
        if self.probes.len() >= PROBES_MAX && !self.probes.contains_key(directory) {
            let oldest = self
                .probes
                .iter()
                .min_by_key(|(_, (at, _))| *at)
                .map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                self.probes.remove(&oldest);
            }
        }
        self.probes.insert(directory.to_owned(), (now_s, facts));
    }

    /// Counts where a fetch was redirected to. Call once for each page, before judging it.
    pub fn add_page(&mut self, facts: &PageFacts) {
        if facts.is_redirected() {
            let target = target_of(&facts.landed);
            if self.targets.len() < TARGETS_MAX || self.targets.contains_key(&target) {
                *self.targets.entry(target).or_insert(0) += 1;
            }
        }
    }

    /// How many pages were redirected to where this one landed.
    pub fn redirects_to(&self, landed: &Url) -> u32 {
        self.targets.get(&target_of(landed)).copied().unwrap_or(0)
    }

    /// The probe of a directory, if it is at most `age_max_s` old.
    pub fn probe(&self, directory: &str, now_s: u64, age_max_s: u64) -> Option<&PageFacts> {
        let (at, facts) = self.probes.get(directory)?;
        (now_s.saturating_sub(*at) < age_max_s).then_some(facts)
    }

    /// Whether nothing was probed and nothing redirected yet.
    pub fn is_empty(&self) -> bool {
        self.probes.is_empty() && self.targets.is_empty()
    }

    /// How many directories were probed.
    pub fn probe_count(&self) -> usize {
        self.probes.len()
    }

    /// Whether a page is much like what another directory showed to a random name.
    pub fn resembles(&self, page: &PageFacts, distance_max: u32) -> bool {
        let (text, title) = (&page.fingerprint, &page.title);
        let probes = self.probes.values().take(RESEMBLED_MAX);
        probes
            .filter(|(_, seen)| (200..300).contains(&seen.status))
            .any(|(_, seen)| {
                let other = &seen.fingerprint;
                other.text_hash == text.text_hash
                    || !title.is_empty()
                        && seen.title == *title
                        && simhash_distance(other.simhash, text.simhash) <= distance_max
            })
    }

    /// Every probe so far, of five directories or more, got an honest 404.
    pub fn is_truthful(&self) -> bool {
        self.probes.len() >= TRUTHFUL_MIN
            && self.probes.values().all(|(_, facts)| facts.is_hard_gone())
    }
}

/// Where redirects meet: the address without its query, which often echoes the origin.
fn target_of(url: &Url) -> String {
    format!("{}{}", origin_of(url), url.path())
}

/// The directory whose probe counts for a URL: everything up to the last slash of its path.
/// A URL that ends in a slash is an entry of the directory above.
pub fn directory_of(url: &Url) -> String {
    let path = url.path().trim_end_matches('/');
    let end = path.rfind('/').map_or(0, |at| at + 1);
    format!(
        "{}{}",
        origin_of(url),
        if end == 0 { "/" } else { &path[..end] }
    )
}

/// A URL beside this one that surely does not exist. `token` should be random and fresh; the
/// shape (extension, trailing slash) is kept, because servers route by it. `None` for a root.
pub fn probe_url(url: &Url, token: u64) -> Option<Url> {
    if is_root(url) {
        return None;
    }
    let path = url.path();
    let (body, slash) = match path.strip_suffix('/') {
        Some(body) => (body, "/"),
        None => (path, ""),
    };
    let (directory, last) = body.split_at(body.rfind('/').map_or(0, |at| at + 1));
    let extension = last
        .rfind('.')
        .filter(|at| *at > 0)
        .map_or("", |at| &last[at..]);
    let mut probe = url.clone();
    probe.set_path(&format!("{directory}{}{extension}{slash}", word_of(token)));
    probe.set_query(None);
    probe.set_fragment(None);
    Some(probe)
}

/// A pronounceable word of 16 letters: nobody's page, and no digits for echo filters to miss.
fn word_of(mut token: u64) -> String {
    const CONSONANTS: &[u8; 16] = b"bcdfghjklmnprstv";
    const VOWELS: &[u8; 4] = b"aeiou".first_chunk().expect("five vowels hold four");
    let mut word = String::with_capacity(20);
    for _ in 0..10 {
        word.push(char::from(CONSONANTS[(token & 15) as usize]));
        word.push(char::from(VOWELS[(token >> 4 & 3) as usize]));
        token >>= 6;
    }
    word
}
