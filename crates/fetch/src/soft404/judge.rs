//! The verdict: alive, gone, or not to be known, with the evidence for it.
//!
//! In this order: what the server says itself; the root, which is never judged; login walls;
//! redirects that end where the probe's did or where many others do; text that is the probe's
//! text. Between "surely the same" and "surely another" text, title phrases and a canonical link
//! to the front page decide, and only together with equal titles.
//!
//! Cost: constant.

use std::fmt;

use url::Url;

use super::evidence::{HostEvidence, directory_of, probe_url};
use super::facts::{PageFacts, is_root};
use super::phrases::says_not_found;
use crate::html::simhash_distance;

/// Texts shorter than this are the shell of a script, not a page.
const WORDS_MIN: u64 = 8;

/// Thresholds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoftOptions {
    /// Texts whose SimHashes differ in at most this many bits are the same.
    pub distance_same: u32,
    /// Up to this many bits, titles and canonical links decide.
    pub distance_unsure: u32,
    /// This many pages redirected to one target make it a graveyard.
    pub common_target_min: u32,
    /// How long a probe counts.
    pub probe_age_max_s: u64,
}

impl Default for SoftOptions {
    fn default() -> Self {
        SoftOptions {
            distance_same: 5,
            distance_unsure: 14,
            common_target_min: 3,
            probe_age_max_s: 24 * 3600,
        }
    }
}

/// One reason for a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The server's own status.
    Status(u16),
    /// The front page of a host is never judged.
    Root,
    /// The fetch ended at a login page, or page and random sibling both ask for a password.
    LoginWall,
    /// Page or random sibling is behind a wall of this class.
    Wall(&'static str),
    /// Random names meet a login page and this page does not: it exists outside the wall.
    ProbeAtWall,
    /// Too little text to compare: the page is made by scripts.
    NoText,
    /// The random sibling got an honest 404 or 410.
    ProbeHonest,
    /// Five or more directories told the truth, so the host is believed.
    HostHonest,
    /// The random sibling failed with this status, so it says nothing.
    ProbeFailed(u16),
    /// Page and random sibling were redirected to the same place.
    SameTarget(String),
    /// The page was redirected to the front page.
    ToRoot,
    /// So many pages were redirected to the same place.
    CommonTarget(u32),
    /// In how many of 64 bits the text differs from the random sibling's.
    Distance(u32),
    /// The titles differ.
    OtherTitle,
    /// The title says "not found" in some language.
    TitlePhrase,
    /// The page names the front page as its true address.
    CanonicalRoot,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Status(status) => write!(f, "the server answered {status}"),
            Evidence::Root => write!(f, "the front page of a host is never judged"),
            Evidence::LoginWall => write!(f, "behind a login page"),
            Evidence::Wall(class) => write!(f, "a wall answers instead ({class})"),
            Evidence::ProbeAtWall => write!(
                f,
                "a random sibling is behind a login page, this page is not"
            ),
            Evidence::NoText => write!(f, "too little text to compare"),
            Evidence::ProbeHonest => write!(f, "a random sibling got an honest 404"),
            Evidence::HostHonest => {
                write!(f, "random siblings in five directories got honest 404s")
            }
            Evidence::ProbeFailed(status) => {
                write!(f, "a random sibling got {status}, which says nothing")
            }
            Evidence::SameTarget(target) => {
                write!(f, "redirected to {target}, as a random sibling was")
            }
            Evidence::ToRoot => write!(f, "redirected to the front page"),
            Evidence::CommonTarget(count) => write!(f, "{count} pages were redirected there"),
            Evidence::Distance(bits) => write!(
                f,
                "text differs from a random sibling's in {bits} of 64 bits"
            ),
            Evidence::OtherTitle => write!(f, "its title is not that of a random sibling"),
            Evidence::TitlePhrase => write!(f, "its title says \"not found\""),
            Evidence::CanonicalRoot => write!(f, "it names the front page as its address"),
        }
    }
}

/// What became of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// There, as far as we can tell.
    Alive(Vec<Evidence>),
    /// Gone, and the server says so.
    HardGone(Vec<Evidence>),
    /// Gone, although the server says otherwise.
    SoftGone(Vec<Evidence>),
    /// Cannot be known.
    Unknown(Vec<Evidence>),
    /// Not yet: fetch `url` (politely, charged to its host), tell
    /// [`HostEvidence::add_probe`] with `directory`, and judge again.
    Probe {
        /// The random sibling to fetch.
        url: Url,
        /// The key to file it under.
        directory: String,
    },
}

/// Judges a page by its facts and what is known of its host. `token` is a fresh random number
/// for the name of a probe.
pub fn judge(
    page: &PageFacts,
    host: &HostEvidence,
    now_s: u64,
    token: u64,
    options: &SoftOptions,
) -> Verdict {
    if page.is_hard_gone() {
        return Verdict::HardGone(vec![Evidence::Status(page.status)]);
    }
    if !(200..=299).contains(&page.status) {
        return Verdict::Unknown(vec![Evidence::Status(page.status)]);
    }
    let Some(probe_url) = probe_url(&page.requested, token) else {
        return Verdict::Alive(vec![Evidence::Root]);
    };
    if let Some(wall) = page.wall {
        return Verdict::Unknown(vec![Evidence::Wall(wall.class())]);
    }
    if page.is_login_wall() {
        return Verdict::Unknown(vec![Evidence::LoginWall]);
    }
    let directory = directory_of(&page.requested);
    match host.probe(&directory, now_s, options.probe_age_max_s) {
        Some(probe) => compare(page, probe, host, options),
        None if host.is_truthful() => against_honest(page, host, Evidence::HostHonest, options),
        None => Verdict::Probe {
            url: probe_url,
            directory,
        },
    }
}

fn compare(
    page: &PageFacts,
    probe: &PageFacts,
    host: &HostEvidence,
    options: &SoftOptions,
) -> Verdict {
    if probe.is_hard_gone() {
        return against_honest(page, host, Evidence::ProbeHonest, options);
    }
    if !(200..=299).contains(&probe.status) {
        return Verdict::Unknown(vec![Evidence::ProbeFailed(probe.status)]);
    }
    if let Some(wall) = probe.wall {
        return Verdict::Unknown(vec![Evidence::Wall(wall.class())]);
    }
    if probe.is_login_wall() {
        return Verdict::Alive(vec![Evidence::ProbeAtWall]);
    }
    if page.is_redirected() {
        let place = |url: &Url| (url.host_str().map(str::to_owned), url.path().to_owned());
        if place(&page.landed) == place(&probe.landed) {
            let target = format!(
                "{}{}",
                crate::urls::origin_of(&page.landed),
                page.landed.path()
            );
            return Verdict::SoftGone(vec![Evidence::SameTarget(target)]);
        }
        if let Some(verdict) = graveyard(page, host, options) {
            return verdict;
        }
    }
    compare_text(page, probe, options)
}

fn compare_text(page: &PageFacts, probe: &PageFacts, options: &SoftOptions) -> Verdict {
    let (a, b) = (&page.fingerprint, &probe.fingerprint);
    let distance = if a.text_hash == b.text_hash {
        0
    } else {
        simhash_distance(a.simhash, b.simhash).max(1)
    };
    let mut evidence = vec![Evidence::Distance(distance)];
    if a.words < WORDS_MIN && b.words < WORDS_MIN && page.title == probe.title {
        return Verdict::Unknown(vec![Evidence::NoText]);
    }
    if distance <= options.distance_same && page.password_field && probe.password_field {
        return Verdict::Unknown(vec![Evidence::LoginWall]);
    }
    if distance == 0 {
        return Verdict::SoftGone(evidence);
    }
    if page.title != probe.title {
        evidence.push(Evidence::OtherTitle);
        return Verdict::Alive(evidence);
    }
    // A text half as long again is another text, whatever a short hash says.
    let alike = a.words.abs_diff(b.words) * 3 <= a.words.max(b.words);
    if alike && distance <= options.distance_same {
        return Verdict::SoftGone(evidence);
    }
    if alike && distance <= options.distance_unsure {
        if says_not_found(&page.full_title) {
            evidence.push(Evidence::TitlePhrase);
            return Verdict::SoftGone(evidence);
        }
        if page.canonical.as_ref().is_some_and(is_root) {
            evidence.push(Evidence::CanonicalRoot);
            return Verdict::SoftGone(evidence);
        }
    }
    Verdict::Alive(evidence)
}

/// The server is honest about missing pages, but may send retired ones elsewhere.
fn against_honest(
    page: &PageFacts,
    host: &HostEvidence,
    why: Evidence,
    options: &SoftOptions,
) -> Verdict {
    if page.is_redirected()
        && let Some(verdict) = graveyard(page, host, options)
    {
        return verdict;
    }
    Verdict::Alive(vec![why])
}

/// A redirect to the front page, or to where many pages go.
fn graveyard(page: &PageFacts, host: &HostEvidence, options: &SoftOptions) -> Option<Verdict> {
    let count = host.redirects_to(&page.landed);
    let to_root = is_root(&page.landed);
    let mut evidence = Vec::new();
    if to_root {
        evidence.push(Evidence::ToRoot);
    }
    if count >= options.common_target_min {
        evidence.push(Evidence::CommonTarget(count));
    }
    match (to_root, count >= options.common_target_min) {
        (true, true) => Some(Verdict::SoftGone(evidence)),
        // Many old addresses of one living page look the same; a phrase tells them apart.
        (false, true) if says_not_found(&page.full_title) => {
            evidence.push(Evidence::TitlePhrase);
            Some(Verdict::SoftGone(evidence))
        }
        (true, false) => Some(Verdict::Unknown(evidence)),
        (false, _) => None,
    }
}
