//! One made-up site, unfolding snapshot by snapshot.
//!
//! A site is directories with pages. Every directory has an index that lists its newest pages and
//! a temperament: how likely it is to grow, to change and to lose pages. What happens to it is in
//! [`life`]; here is what it is, and how a snapshot of it is taken: hubs list what there is, and only
//! a content that is new gets a version.

mod life;

use turnstone_frontier::Random;

use super::HistoryPlan;
use super::content::mix;

/// How many of a directory's newest pages its index links to.
const LISTED_IN_INDEX: usize = 200;
/// How many of the site's newest pages the front page and the feed link to.
const LISTED_IN_FRONT: usize = 12;
const LISTED_IN_FEED: usize = 20;

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The page at `/`.
    Front,
    /// The index of a directory.
    Index,
    /// The feed of newest pages.
    Feed,
    /// All others.
    Article,
}

#[derive(Debug)]
pub(super) struct Page {
    pub(super) kind: Kind,
    pub(super) directory: usize,
    /// What it says, and how often that was revised.
    pub(super) text: u64,
    pub(super) revision: u32,
    pub(super) links: Vec<u32>,
    is_present: bool,
    /// Whether it was, in the snapshot before.
    was_present: bool,
    /// Its content may be another than in the snapshot before.
    is_touched: bool,
    /// It is missing by mistake, and back in the next snapshot.
    is_returning: bool,
    /// The version it was given last, and that content's hash.
    version: Option<(u32, u64)>,
}

#[derive(Debug)]
pub(super) struct Directory {
    pub(super) path: String,
    pub(super) topic: u64,
    index: u32,
    /// Its articles, oldest first, those gone included until it is tidied.
    articles: Vec<u32>,
    growth: f64,
    restlessness: f64,
    mortality: f64,
}

/// What the outside is told.
pub(super) trait Witness {
    /// A page was born. Ids are dense and come in order.
    fn born(&mut self, _: &Site, _page: u32) {}
    /// A page got a content no page had before. Ids are dense and come in order.
    fn version(&mut self, _: &Site, _page: u32, _version: u32) {}
    /// A snapshot is complete: what was set and what is gone.
    fn snapshot(&mut self, _number: u32, _set: &[(u32, u32)], _gone: &[u32]) {}
}

#[derive(Debug)]
pub(super) struct Site {
    plan: HistoryPlan,
    random: Random,
    pub(super) pages: Vec<Page>,
    pub(super) directories: Vec<Directory>,
    /// How often it was redesigned.
    pub(super) design: u32,
    restlessness: f64,
    mortality: f64,
    /// The newest articles, oldest first.
    newest: Vec<u32>,
    versions: u32,
}

impl Site {
    /// Unfolds a site with so many pages at first, telling a witness.
    pub(super) fn unfold(plan: HistoryPlan, first_pages: u32, witness: &mut dyn Witness) {
        let mut random = Random::new(mix(&[plan.seed, 0x517e]));
        let restlessness = temperament(&mut random);
        let mortality = temperament(&mut random);
        let mut site = Self {
            plan,
            random,
            pages: Vec::new(),
            directories: Vec::new(),
            design: 0,
            restlessness,
            mortality,
            newest: Vec::new(),
            versions: 0,
        };
        site.found(first_pages, witness);
        site.close(0, witness);
        for snapshot in 1..plan.snapshots {
            site.step(witness);
            site.close(snapshot, witness);
        }
    }

    /// The first snapshot: the front page, the feed, directories and their articles.
    fn found(&mut self, first_pages: u32, witness: &mut dyn Witness) {
        self.directory("/".to_owned(), Kind::Front, witness);
        self.birth(Kind::Feed, 0, witness);
        let directories = 1 + f64::from(first_pages).sqrt() as u32 / 3;
        for _ in 0..directories {
            self.new_directory(witness);
        }
        while (self.pages.len() as u32) < first_pages {
            let directory = self.growing_directory();
            self.article(directory, witness);
        }
    }

    fn directory(&mut self, path: String, kind: Kind, witness: &mut dyn Witness) -> usize {
        let directory = self.directories.len();
        self.directories.push(Directory {
            path,
            topic: mix(&[self.plan.seed, directory as u64, 12]) % 500,
            index: 0,
            articles: Vec::new(),
            growth: temperament(&mut self.random),
            restlessness: temperament(&mut self.random),
            mortality: temperament(&mut self.random),
        });
        self.directories[directory].index = self.birth(kind, directory, witness);
        self.pages[0].is_touched = true;
        directory
    }

    fn birth(&mut self, kind: Kind, directory: usize, witness: &mut dyn Witness) -> u32 {
        let page = self.pages.len() as u32;
        self.pages.push(Page {
            kind,
            directory,
            text: mix(&[self.plan.seed, u64::from(page), 13]),
            revision: 0,
            links: Vec::new(),
            is_present: true,
            was_present: false,
            is_touched: true,
            is_returning: false,
            version: None,
        });
        witness.born(self, page);
        page
    }

    fn go(&mut self, page: u32) {
        let Page {
            directory,
            is_present,
            ..
        } = self.pages[page as usize];
        if !is_present {
            return;
        }
        self.pages[page as usize].is_present = false;
        let index = self.directories[directory].index;
        self.pages[index as usize].is_touched = true;
        self.pages[0].is_touched = true;
    }

    /// Hubs list what there is now, contents that are new get versions, and the snapshot is told.
    fn close(&mut self, snapshot: u32, witness: &mut dyn Witness) {
        self.tidy();
        let (mut set, mut gone) = (Vec::new(), Vec::new());
        for page in 0..self.pages.len() as u32 {
            let at = &mut self.pages[page as usize];
            let was_touched = std::mem::take(&mut at.is_touched);
            let (is_present, was_present) = (at.is_present, at.was_present);
            at.was_present = is_present;
            match (is_present, was_present) {
                (true, _) if was_touched => set.extend(self.content_of(page, was_present, witness)),
                (true, false) => set.extend(at.version.map(|(version, _)| (page, version))),
                (false, true) => gone.push(page),
                (true, true) | (false, false) => {}
            }
        }
        witness.snapshot(snapshot, &set, &gone);
    }

    /// The version of a touched page, if that is news; a content seen before keeps its version.
    fn content_of(
        &mut self,
        page: u32,
        was_present: bool,
        witness: &mut dyn Witness,
    ) -> Option<(u32, u32)> {
        if let Some(listed) = self.listed(page) {
            self.pages[page as usize].links = listed;
        }
        let hash = self.raw_hash(page);
        match self.pages[page as usize].version {
            Some((version, known)) if known == hash => (!was_present).then_some((page, version)),
            _ => {
                let version = self.versions;
                self.versions += 1;
                self.pages[page as usize].version = Some((version, hash));
                witness.version(self, page, version);
                Some((page, version))
            }
        }
    }

    /// The hash of a page's visible text: hubs show what they link to.
    pub(super) fn text_hash(&self, page: u32) -> u64 {
        let Page {
            kind,
            text,
            revision,
            ref links,
            ..
        } = self.pages[page as usize];
        let listed = if kind == Kind::Article {
            &[]
        } else {
            links.as_slice()
        };
        let shown = listed
            .iter()
            .fold(0, |hash, link| mix(&[hash, u64::from(*link)]));
        mix(&[text, u64::from(revision), shown])
    }

    /// The hash of a page's bytes.
    pub(super) fn raw_hash(&self, page: u32) -> u64 {
        let links = self.pages[page as usize].links.iter();
        let links = links.fold(0, |hash, link| mix(&[hash, u64::from(*link)]));
        mix(&[self.text_hash(page), u64::from(self.design), links])
    }

    /// What a hub links to now; none for articles.
    fn listed(&self, page: u32) -> Option<Vec<u32>> {
        let latest = |pages: &[u32], count: usize| -> Vec<u32> {
            let present = pages
                .iter()
                .rev()
                .filter(|page| self.pages[**page as usize].is_present);
            present.take(count).copied().collect()
        };
        let directory = &self.directories[self.pages[page as usize].directory];
        let mut links = match self.pages[page as usize].kind {
            Kind::Article => return None,
            Kind::Feed => latest(&self.newest, LISTED_IN_FEED),
            Kind::Index => [vec![0], latest(&directory.articles, LISTED_IN_INDEX)].concat(),
            Kind::Front => {
                let indexes = self
                    .directories
                    .iter()
                    .skip(1)
                    .map(|directory| directory.index);
                let indexes = indexes.filter(|index| self.pages[*index as usize].is_present);
                let newest = latest(&self.newest, LISTED_IN_FRONT);
                [
                    vec![1],
                    indexes.collect(),
                    newest,
                    latest(&directory.articles, LISTED_IN_INDEX),
                ]
                .concat()
            }
        };
        links.retain(|link| *link != page);
        let mut seen = std::collections::BTreeSet::new();
        links.retain(|link| seen.insert(*link));
        Some(links)
    }

    /// Forgets the articles that are gone for good.
    fn tidy(&mut self) {
        let pages = &self.pages;
        let kept = |page: &u32| {
            let page = &pages[*page as usize];
            page.is_present || page.is_returning
        };
        self.newest.retain(kept);
        for directory in &mut self.directories {
            directory.articles.retain(kept);
        }
    }

    fn happens(&mut self, chance: f64) -> bool {
        self.random.unit() < chance
    }
}

/// A factor with mean 1: mostly small, sometimes large.
fn temperament(random: &mut Random) -> f64 {
    let drawn = -(1.0 - random.unit()).ln();
    // The mean of the square of an exponential is 2.
    drawn * drawn / 2.0
}
