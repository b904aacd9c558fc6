//! A site with an endless calendar behind one link, made up page by page as it is asked for.
//!
//! The site proper is finite and rather deep: a front page, sections, each a chain of list pages,
//! each list with its articles. The front page also links to a calendar: months without end, each
//! with its days, linking to the months and years around it. Every page links back to the front.
//!
//! Cost: what was seen: a page and its links, once fetched.

use std::collections::BTreeMap;

use turnstone_frontier::{Change, HostId, Links, PageId};

use crate::driver::{Answer, Answers, Newcomer};

/// The size of the site proper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sections the front page links to.
    pub sections: u32,
    /// List pages of a section, each linking to the next.
    pub lists: u32,
    /// Articles of a list page.
    pub articles: u32,
}

impl Shape {
    /// Pages of the site proper.
    pub fn pages(&self) -> u64 {
        let (sections, lists) = (u64::from(self.sections), u64::from(self.lists));
        1 + sections * lists * (1 + u64::from(self.articles))
    }
}

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Front,
    List(u32, u32),
    Article(u32, u32, u32),
    Month(u32),
    Day(u32, u32),
}

const DAYS: u32 = 30;
const YEAR: u32 = 12;

/// What has been seen of the site.
#[derive(Debug)]
pub struct TrapSite {
    shape: Shape,
    places: Vec<Place>,
    numbers: BTreeMap<Place, PageId>,
    /// By page: its links, once fetched.
    links: Vec<Vec<PageId>>,
    announced: usize,
}

impl TrapSite {
    /// Nothing is known but the front page, which is page 0.
    pub fn new(shape: Shape) -> Self {
        let mut site = Self {
            shape,
            places: Vec::new(),
            numbers: BTreeMap::new(),
            links: Vec::new(),
            announced: 0,
        };
        site.number(Place::Front);
        site
    }

    /// How many pages were seen.
    pub fn known(&self) -> usize {
        self.places.len()
    }

    /// Whether a page is part of the calendar.
    pub fn is_trap(&self, page: PageId) -> bool {
        matches!(self.places[page.index()], Place::Month(_) | Place::Day(..))
    }

    /// Fetches a page; pages it links to are known from here on.
    pub fn fetch(&mut self, page: PageId) {
        if self.links[page.index()].is_empty() {
            let mut links: Vec<PageId> = self
                .targets(self.places[page.index()])
                .into_iter()
                .map(|place| self.number(place))
                .collect();
            links.sort_unstable();
            links.dedup();
            self.links[page.index()] = links;
        }
    }

    /// The links of a page that was fetched.
    pub fn links(&self, page: PageId) -> &[PageId] {
        &self.links[page.index()]
    }

    fn number(&mut self, place: Place) -> PageId {
        let next = PageId::from_index(self.places.len());
        let page = *self.numbers.entry(place).or_insert(next);
        if page == next {
            self.places.push(place);
            self.links.push(Vec::new());
        }
        page
    }

    fn targets(&self, place: Place) -> Vec<Place> {
        let Shape {
            sections,
            lists,
            articles,
        } = self.shape;
        let mut targets = vec![Place::Front];
        match place {
            Place::Front => {
                targets.clear();
                targets.extend((0..sections).map(|section| Place::List(section, 0)));
                targets.push(Place::Month(0));
            }
            Place::List(section, list) => {
                let around = [list.wrapping_sub(1), list + 1];
                let around = around.into_iter().filter(|list| *list < lists);
                targets.extend(around.map(|list| Place::List(section, list)));
                targets.extend((0..articles).map(|at| Place::Article(section, list, at)));
            }
            Place::Article(section, list, at) => {
                targets.push(Place::List(section, list));
                targets.push(Place::Article(section, list, (at + 1) % articles));
            }
            Place::Month(month) => {
                let back = [1, YEAR].into_iter().filter_map(|by| month.checked_sub(by));
                targets.extend(back.chain([month + 1, month + YEAR]).map(Place::Month));
                targets.extend((0..DAYS).map(|day| Place::Day(month, day)));
            }
            Place::Day(month, day) => {
                targets.push(Place::Month(month));
                targets.push(match day + 1 {
                    DAYS => Place::Day(month + 1, 0),
                    next => Place::Day(month, next),
                });
            }
        }
        targets
    }
}

impl Answers for TrapSite {
    fn asked(&mut self, page: PageId) {
        self.fetch(page);
    }

    fn newcomer(&mut self) -> Option<Newcomer> {
        let page = PageId::from_index(self.announced);
        let is_known = self.announced < self.known();
        self.announced += usize::from(is_known);
        is_known.then_some(Newcomer {
            page,
            host: HostId(0),
            seed: page.0 == 0,
        })
    }

    fn answer(&self, page: PageId) -> Answer<'_> {
        Answer::Fetched(Change::New, self.links(page))
    }

    fn lent(&self) -> &dyn Links {
        self
    }
}

impl Links for TrapSite {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        self.links(page)
    }
}
