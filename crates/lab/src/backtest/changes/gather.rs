//! Histories become a store, one after the other: pages are gathered, then numbered in the order in
//! which they join.

use std::sync::{Arc, Mutex, OnceLock};

use turnstone_frontier::{PageId, Tick};

use super::sites::{Calendar, Compare, Content, Pace, SiteStore};
use crate::cluster::{Look, Words};
use crate::history::{History, Known, VersionId};
use turnstone_policy::changes::paths;

const DAY_MS: u64 = 86_400_000;

/// One page as it is gathered, before pages are numbered.
struct Gathered {
    site: u32,
    joins: u32,
    directory: u32,
    look: Look,
    /// Where its site's pages and its own links begin among the gathered ones.
    links: Vec<PageId>,
    contents: Vec<Content>,
    known: Vec<Known>,
}

pub(super) struct Gatherer {
    calendar: Calendar,
    sites: Vec<String>,
    pages: Vec<Gathered>,
    /// By site: by its own page number, the gathered page.
    numbers: Vec<Vec<Option<u32>>>,
    directories: paths::Directories,
    words: Words,
    /// By cycle: days since the start.
    days: Vec<u64>,
}

impl Gatherer {
    pub(super) fn new(calendar: Calendar) -> Self {
        Self {
            calendar,
            sites: Vec::new(),
            pages: Vec::new(),
            numbers: Vec::new(),
            directories: paths::Directories::default(),
            words: Words::default(),
            days: vec![0],
        }
    }

    /// How many cycles a site has, the start not counted.
    fn cycles_of(&self, history: &History) -> u32 {
        match self.calendar.pace {
            Pace::Weeks(_) => self.calendar.cycles,
            Pace::Snapshots => self.calendar.cycles.min(history.snapshots.len() as u32 - 1),
        }
    }

    /// The days after its first snapshot on which a site is looked at in a cycle.
    fn days_of(&self, history: &History, cycle: u32) -> i64 {
        match self.calendar.pace {
            Pace::Weeks(weeks) => 7 * i64::from(weeks) * i64::from(cycle),
            Pace::Snapshots => {
                i64::from(history.dates[cycle as usize].days_since(history.dates[0]))
            }
        }
    }

    pub(super) fn add(&mut self, history: &History) {
        let site = self.sites.len() as u32;
        self.sites.push(history.site.clone());
        self.directories.begin_host();
        let words = self.words.adopt(&history.words);
        let mut numbers: Vec<Option<u32>> = vec![None; history.page_count()];
        let mut walk = history.walk();
        let mut next_snapshot = 0;
        for cycle in 0..=self.cycles_of(history) {
            let days = self.days_of(history, cycle);
            let is_due = |snapshot: usize| match self.calendar.pace {
                Pace::Weeks(_) => history
                    .dates
                    .get(snapshot)
                    .is_some_and(|date| i64::from(date.days_since(history.dates[0])) <= days),
                Pace::Snapshots => snapshot <= cycle as usize,
            };
            while is_due(next_snapshot) {
                walk.step();
                next_snapshot += 1;
            }
            self.note_days(cycle, days);
            if cycle == 0 || self.calendar.grow {
                for (page, version) in walk.present() {
                    if numbers[page.index()].is_none() {
                        numbers[page.index()] = Some(self.pages.len() as u32);
                        let gathered = self.gather(history, page, version, &words);
                        self.pages.push(Gathered {
                            site,
                            joins: cycle,
                            contents: vec![Content::ABSENT; cycle as usize],
                            known: vec![Known::Seen(0); cycle as usize],
                            ..gathered
                        });
                    }
                }
            }
            for (page, number) in numbers.iter().enumerate() {
                if let Some(number) = number {
                    let version = walk.version(PageId::from_index(page));
                    let content =
                        version.map_or(Content::ABSENT, |version| self.content(history, version));
                    let same = |a, b| self.content(history, a) == self.content(history, b);
                    let page = PageId::from_index(page);
                    let known = history.known(page, next_snapshot - 1, version, &same);
                    let gathered = &mut self.pages[*number as usize];
                    gathered.contents.push(content);
                    gathered.known.push(known);
                }
            }
        }
        self.numbers.push(numbers);
    }

    fn content(&self, history: &History, version: VersionId) -> Content {
        let version = &history.versions[version.index()];
        Content::of(match self.calendar.compare {
            Compare::Text => version.text,
            Compare::Raw => version.raw,
        })
    }

    fn gather(
        &mut self,
        history: &History,
        page: PageId,
        version: VersionId,
        words: &[u32],
    ) -> Gathered {
        let url = &history.pages[page.index()].url;
        let terms = history.terms.row(version.index());
        Gathered {
            site: 0,
            joins: 0,
            directory: self.directories.of(url),
            look: Look::new(
                &history.versions[version.index()],
                terms
                    .iter()
                    .map(|(word, count)| (words[*word as usize], *count)),
                self.words.address(&history.origin, url),
            ),
            links: history.links_of(version).to_vec(),
            contents: Vec::new(),
            known: Vec::new(),
        }
    }

    /// A cycle is when the site looked at last then is looked at.
    fn note_days(&mut self, cycle: u32, days: i64) {
        let (cycle, days) = (cycle as usize, u64::try_from(days).unwrap_or(0));
        if self.days.len() <= cycle {
            self.days.resize(cycle + 1, 0);
        }
        self.days[cycle] = self.days[cycle].max(days);
    }

    /// By cycle: its tick. Two cycles on one day are told apart.
    fn ticks(&self) -> Vec<Tick> {
        let mut last = 0;
        let tick = |days: &u64| {
            last = (days * DAY_MS).max(last + 1);
            Tick(last)
        };
        let later = self.days.iter().skip(1).map(tick);
        std::iter::once(Tick(0)).chain(later).collect()
    }

    /// Numbers the pages in the order in which they join.
    pub(super) fn finish(self) -> SiteStore {
        let mut order: Vec<u32> = (0..self.pages.len() as u32).collect();
        order.sort_by_key(|gathered| self.pages[*gathered as usize].joins);
        let mut number_of = vec![0u32; order.len()];
        for (number, gathered) in order.iter().enumerate() {
            number_of[*gathered as usize] = number as u32;
        }
        let ticks = self.ticks();
        let mut pages: Vec<Option<Gathered>> = self.pages.into_iter().map(Some).collect();
        let cycles = ticks.len();
        let mut contents = vec![Vec::with_capacity(order.len()); cycles];
        let mut known = vec![Vec::with_capacity(order.len()); cycles];
        let (mut joins, mut looks) = (Vec::new(), Vec::new());
        let mut graph = turnstone_linkgraph::GraphBuilder::with_capacity(order.len(), 0);
        let (mut site_of, mut directory_of) = (Vec::new(), Vec::new());
        for gathered in order {
            let page = pages[gathered as usize]
                .take()
                .expect("each page is numbered once");
            let numbers = &self.numbers[page.site as usize];
            let links = page.links.iter().filter_map(|link| numbers[link.index()]);
            let mut links: Vec<PageId> =
                links.map(|link| PageId(number_of[link as usize])).collect();
            links.sort_unstable();
            links.dedup();
            graph.push(&links);
            site_of.push(page.site);
            directory_of.push(page.directory);
            joins.push(page.joins);
            looks.push(page.look);
            // A site that ends earlier stands still, and nothing more is known of it.
            let end = page.contents.last().copied().unwrap_or(Content::ABSENT);
            for cycle in 0..cycles {
                contents[cycle].push(page.contents.get(cycle).copied().unwrap_or(end));
                let here = page.known.get(cycle).copied();
                known[cycle].push(here.unwrap_or(Known::Unknown));
            }
        }
        if known.iter().flatten().all(|known| *known == Known::Seen(0)) {
            known.clear();
        }
        SiteStore {
            sites: self.sites,
            site_of: site_of.into(),
            joins,
            contents,
            known,
            ticks,
            pace: self.calendar.pace,
            graph: graph.finish(),
            directories: Arc::new(self.directories.tree(directory_of)),
            looks,
            words: self.words,
            link_map: OnceLock::new(),
            importance: OnceLock::new(),
            features: OnceLock::new(),
            clusters: Mutex::default(),
        }
    }
}
