//! What each link of a site is worth.
//!
//! A first walk over the stored pages gathers where links lead, which fragments pages have, and what tells a page that
//! is gone although the server says 200. When all of that was asked for, a second walk tells which links are not
//! well. Between the two nothing is kept of the links themselves: a tree of ten thousand pages repeats two million.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use turnstone_fetch::Url;
use turnstone_fetch::html::outline::Anchor;
use turnstone_fetch::soft404::{
    HostEvidence, PageFacts, SoftOptions, Verdict, directory_of, judge, probe_url,
};
use turnstone_fetch::urls::{host_of, percent::hex_pair, shown};
use turnstone_frontier::{Links as _, PageId};
use turnstone_pagestore::PageState;

use super::book::{Book, Fate, Kind};

/// Probes are judged in the process that had them asked, or in one soon after.
const NOW_S: u64 = 0;

/// Something to be said of a link.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) kind: Kind,
    /// Where it leads, fragment and all.
    pub(super) url: String,
    pub(super) class: String,
    pub(super) said: String,
    pub(super) line: Option<u32>,
    pub(super) text: String,
    /// Where its redirects end.
    pub(super) landed: Option<String>,
}

/// A page of one of the two books.
type Place = (Which, PageId);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Which {
    Pages,
    Beside,
}

/// What is known of a page that links lead to.
struct Known {
    marks: HashSet<u64>,
    facts: PageFacts,
}

/// A site with all that its links lead to.
pub(super) struct Site {
    pages: Book,
    beside: Option<Book>,
    /// By target, without fragment: what became of it.
    targets: BTreeMap<String, Option<Fate>>,
    /// Targets that are not asked for, and why.
    left: BTreeMap<String, String>,
    known: HashMap<Place, Known>,
    hosts: BTreeMap<String, HostEvidence>,
    own: BTreeSet<String>,
    hasher: RandomState,
    page_count: u64,
}

impl Site {
    /// Walks over the pages for the first time.
    pub(super) fn read(pages: Book) -> anyhow::Result<Self> {
        let mut site = Self {
            pages,
            beside: None,
            targets: BTreeMap::new(),
            left: BTreeMap::new(),
            known: HashMap::new(),
            hosts: BTreeMap::new(),
            own: BTreeSet::new(),
            hasher: RandomState::new(),
            page_count: 0,
        };
        for seed in site.pages.store.index().seeds().to_vec() {
            let url = site.pages.url(seed)?;
            site.own.insert(host_of(&url).to_owned());
            site.targets.insert(url.into(), None);
        }
        for page in site.pages.stored() {
            site.page_count += 1;
            for anchor in site.anchors(page, true)? {
                site.targets.entry(anchor.url.into()).or_default();
            }
            site.own.insert(host_of(&site.pages.url(page)?).to_owned());
        }
        site.look_up()?;
        Ok(site)
    }

    pub(super) fn page_count(&self) -> u64 {
        self.page_count
    }

    pub(super) fn target_count(&self) -> u64 {
        self.targets.len() as u64
    }

    /// Whether the site has pages on the host of a URL.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        self.own.contains(host_of(url))
    }

    /// The links of a stored page; where it is no HTML, those that the journal has of it.
    fn anchors(&mut self, page: PageId, first: bool) -> anyhow::Result<Vec<Anchor>> {
        if let Some(read) = self.pages.outlined(page)? {
            if first {
                self.know((Which::Pages, page), &read.outline.marks, read.facts);
            }
            return Ok(read.outline.anchors);
        }
        let mut buffer = Vec::new();
        let links = self.pages.store.links_of(page, &mut buffer);
        let anchor = |link: &PageId| {
            Ok(Anchor {
                url: self.pages.url(*link)?,
                fragment: None,
                line: 0,
                text: String::new(),
                part: false,
            })
        };
        links.iter().map(anchor).collect()
    }

    fn know(&mut self, place: Place, marks: &[String], facts: PageFacts) {
        let marks = marks.iter().map(|mark| self.hasher.hash_one(mark.as_str()));
        let marks = marks.collect();
        self.known.insert(place, Known { marks, facts });
    }

    /// Asks the books what became of every target that is not known yet.
    fn look_up(&mut self) -> anyhow::Result<()> {
        let Self {
            pages,
            beside,
            targets,
            ..
        } = self;
        for (target, fate) in targets.iter_mut().filter(|(_, fate)| fate.is_none()) {
            let url = Url::parse(target)?;
            *fate = pages.fate(&url)?;
            if fate.is_none()
                && let Some(beside) = beside
            {
                *fate = beside.fate(&url)?;
            }
        }
        Ok(())
    }

    /// What links lead to and no page of the site is, redirects out of it included.
    pub(super) fn strangers(&self) -> Vec<Url> {
        let unknown = self.targets.iter().filter(|(_, fate)| match fate {
            None => true,
            Some(fate) => fate.class.starts_with("redirect-outside"),
        });
        unknown
            .filter_map(|(url, _)| Url::parse(url).ok())
            .collect()
    }

    /// A target is not asked for.
    pub(super) fn leave(&mut self, url: &Url, why: String) {
        self.left.insert(url.to_string(), why);
    }

    /// What was asked for beside the pages is there.
    pub(super) fn beside(&mut self, book: Option<Book>) -> anyhow::Result<()> {
        let Some(book) = book else {
            return Ok(());
        };
        for fate in self.targets.values_mut() {
            if fate
                .as_ref()
                .is_some_and(|it| it.class.starts_with("redirect-outside"))
            {
                *fate = None;
            }
        }
        self.beside = Some(book);
        let Some(beside) = &self.beside else {
            return Ok(());
        };
        let mut outlined = Vec::new();
        for (target, fate) in self.targets.iter_mut().filter(|(_, fate)| fate.is_none()) {
            let url = Url::parse(target)?;
            *fate = match beside.fate(&url)? {
                Some(fate) => Some(fate),
                None => self.pages.fate(&url)?,
            };
            if let Some(page) = fate.as_ref().and_then(|fate| fate.page)
                && beside.store.index().state(page) == PageState::Fetched
                && let Some(read) = beside.outlined(page)?
            {
                outlined.push(((Which::Beside, page), read));
            }
        }
        for (place, read) in outlined {
            self.know(place, &read.outline.marks, read.facts);
        }
        Ok(())
    }

    /// Which book a fate is of.
    fn place(&self, url: &Url, fate: &Fate) -> Option<Place> {
        let page = fate.page?;
        let ours = self.pages.fate(url).ok().flatten();
        let ours = ours.is_some_and(|ours| ours.page == Some(page) && ours.landed == fate.landed);
        Some(if ours {
            (Which::Pages, page)
        } else {
            (Which::Beside, page)
        })
    }

    /// What tells whether a target is there, if it came as a page.
    fn facts(&self, url: &Url, fate: &Fate) -> Option<PageFacts> {
        let known = self.known.get(&self.place(url, fate)?);
        match known {
            Some(known) => Some(PageFacts {
                requested: url.clone(),
                landed: fate.landed.clone(),
                ..known.facts.clone()
            }),
            None if fate.kind == Kind::Moved => Some(PageFacts::of_status(url, &fate.landed, 200)),
            None => None,
        }
    }

    /// Random siblings that are to be asked for, of so many directories of a host at most.
    pub(super) fn probes(&self, host_max: usize) -> Vec<Url> {
        let mut wanted: BTreeMap<String, BTreeMap<String, Url>> = BTreeMap::new();
        for (url, fate) in self.judged() {
            let evidence = self.hosts.get(host_of(&url)).cloned().unwrap_or_default();
            let Some(facts) = self.facts(&url, fate) else {
                continue;
            };
            let token = token(&directory_of(&url));
            let options = SoftOptions::default();
            if let Verdict::Probe {
                url: probe,
                directory,
            } = judge(&facts, &evidence, NOW_S, token, &options)
            {
                let host = wanted.entry(host_of(&url).to_owned()).or_default();
                if host.len() < host_max || host.contains_key(&directory) {
                    host.entry(directory).or_insert(probe);
                }
            }
        }
        wanted
            .into_values()
            .flat_map(BTreeMap::into_values)
            .collect()
    }

    /// Targets that came.
    fn judged(&self) -> impl Iterator<Item = (Url, &Fate)> {
        let fates = self.targets.iter();
        fates.filter_map(|(url, fate)| {
            let fate = fate.as_ref().filter(|fate| fate.page.is_some())?;
            Some((Url::parse(url).ok()?, fate))
        })
    }

    /// Takes in what random siblings answered.
    pub(super) fn learn(&mut self, probes: Option<Book>) -> anyhow::Result<()> {
        let Some(probes) = probes else {
            return Ok(());
        };
        let mut hosts: BTreeMap<String, HostEvidence> = BTreeMap::new();
        for (url, fate) in self.judged() {
            if let Some(facts) = self.facts(&url, fate) {
                hosts
                    .entry(host_of(&url).to_owned())
                    .or_default()
                    .add_page(&facts);
            }
        }
        for &probe in probes.store.index().seeds() {
            let url = probes.url(probe)?;
            let Some(fate) = probes.fate(&url)? else {
                continue;
            };
            let facts = match (fate.kind, fate.page) {
                (Kind::There, Some(page)) => match probes.outlined(page)? {
                    Some(read) => read.facts,
                    None => PageFacts::of_status(&url, &url, 200),
                },
                (Kind::Moved, _) => PageFacts::of_status(&url, &fate.landed, 200),
                (Kind::Broken, _) if probes.store.index().state(probe) == PageState::Gone => {
                    PageFacts::of_status(&url, &url, 404)
                }
                // It says nothing.
                _ => PageFacts::of_status(&url, &url, 503),
            };
            let evidence = hosts.entry(host_of(&url).to_owned()).or_default();
            evidence.add_probe(&directory_of(&url), facts, NOW_S);
        }
        self.hosts = hosts;
        Ok(())
    }

    /// Whether a target is gone although its server says 200.
    fn soft(&self, url: &Url, fate: &Fate) -> Option<String> {
        let evidence = self.hosts.get(host_of(url))?;
        let facts = self.facts(url, fate)?;
        match judge(&facts, evidence, NOW_S, 0, &SoftOptions::default()) {
            Verdict::SoftGone(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                Some(reasons.join("; "))
            }
            _ => None,
        }
    }

    /// Walks over the pages again: what is to be said of their links, by page.
    pub(super) fn findings(&mut self) -> anyhow::Result<BTreeMap<String, Vec<Finding>>> {
        self.look_up()?;
        let mut all: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
        let mut soft = HashMap::new();
        for seed in self.pages.store.index().seeds().to_vec() {
            let url = self.pages.url(seed)?;
            let finding = self.finding(&url, None, &mut soft);
            if let Some(finding) = finding.filter(|it| it.kind != Kind::Moved) {
                all.entry("(where the check began)".to_owned())
                    .or_default()
                    .push(finding);
            }
        }
        for page in self.pages.stored() {
            let mut said = HashSet::new();
            for anchor in self.anchors(page, false)? {
                let found = self.finding(&anchor.url, anchor.fragment.as_deref(), &mut soft);
                let Some(mut finding) = found else {
                    continue;
                };
                if !said.insert((finding.url.clone(), anchor.line)) {
                    continue;
                }
                finding.line = (anchor.line > 0).then_some(anchor.line);
                finding.text = anchor.text;
                let holder = shown(self.pages.url(page)?.as_str());
                all.entry(holder).or_default().push(finding);
            }
        }
        Ok(all)
    }

    /// What is to be said of a link; nothing if all is well.
    fn finding(
        &self,
        url: &Url,
        fragment: Option<&str>,
        soft: &mut HashMap<String, Option<String>>,
    ) -> Option<Finding> {
        let whole = match fragment {
            Some(fragment) => format!("{url}#{fragment}"),
            None => url.to_string(),
        };
        let finding = |kind, class: &str, said: &str, landed: Option<&Url>| {
            Some(Finding {
                kind,
                url: shown(&whole),
                class: class.to_owned(),
                said: said.to_owned(),
                line: None,
                text: String::new(),
                landed: landed.map(|url| shown(url.as_str())),
            })
        };
        let fate = self.targets.get(url.as_str()).and_then(Option::as_ref);
        let Some(fate) = fate else {
            let why = self.left.get(url.as_str());
            let why = why.map_or("not asked for", String::as_str);
            return finding(Kind::Unchecked, "not-asked", why, None);
        };
        if fate.page.is_none() {
            return finding(fate.kind, &fate.class, &fate.said, None);
        }
        let gone = soft
            .entry(url.to_string())
            .or_insert_with(|| self.soft(url, fate));
        if let Some(why) = gone {
            let why = format!("the server says 200, but the page is gone: {why}");
            return finding(Kind::Broken, "soft-404", &why, None);
        }
        if let Some(fragment) = fragment
            && !self.has_mark(url, fate, fragment)
        {
            let said = "the page has no such id or name";
            return finding(Kind::Broken, "fragment", said, None);
        }
        match fate.kind {
            Kind::Moved => finding(Kind::Moved, "redirect", "redirects", Some(&fate.landed)),
            _ => None,
        }
    }

    /// Whether a fragment points at something; true where nobody can know.
    fn has_mark(&self, url: &Url, fate: &Fate, fragment: &str) -> bool {
        // Text fragments, routes of scripts, and the top of the page need no mark.
        let free = fragment.starts_with(":~:")
            || fragment.starts_with(['!', '/'])
            || fragment.eq_ignore_ascii_case("top");
        let fragment = fragment.split(":~:").next().unwrap_or_default();
        let known = self
            .place(url, fate)
            .and_then(|place| self.known.get(&place));
        let Some(known) = known.filter(|_| !free) else {
            return true;
        };
        let meant = decoded(fragment);
        [fragment, &meant]
            .iter()
            .any(|mark| known.marks.contains(&self.hasher.hash_one(*mark)))
    }
}

/// A fragment with its percent forms read.
fn decoded(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = (bytes[at] == b'%')
            .then(|| hex_pair(&bytes[at + 1..]))
            .flatten();
        out.push(pair.unwrap_or(bytes[at]));
        at += if pair.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A number for the name of a random sibling: one for each directory, so that a check that is done again asks
/// conditionally. `probe_url` spells it as a name that nobody uses.
fn token(directory: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in directory.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    debug_assert!(
        Url::parse(directory).is_ok_and(|url| probe_url(&url, hash).is_some() || url.path() == "/")
    );
    hash ^ hash >> 31
}
