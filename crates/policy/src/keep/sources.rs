//! Which stored pages show links to pages that nobody knew: each page as a source of new ones.
//!
//! A source shows new pages at some rate a day, a Gamma posterior of its own (a ← γa + k, b ← γb +
//! days after a fetch that showed k), whose prior is what sources of its *kind* on its site show: pages
//! with about as many links and about as many pages linking to them. Only pages that were not known
//! before count in k, so of sources that show the same only the one that is fetched first stays rich.
//! (The posterior of the Thompson crawler of 2023 with its mean instead of a draw: the budget of a
//! round is spent on many sources at once, and the prior by kind is what makes untried ones worth a
//! try.)
//!
//! Cost: O(1) a fetch and a question; 8 bytes a page, 16 a site.

/// New pages a day that a page is believed to show before anything is known.
const FIRST_GUESS: f64 = 0.002;

/// Classes of pages by the number of their links, and of links to them: powers of two.
const CLASSES: usize = 12;

/// New pages, and the days in which they came.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shown {
    pub(super) pages: f64,
    pub(super) days: f64,
}

turnstone_frontier::saved!(Shown: pages, days);

impl Shown {
    fn posterior(self, prior: f64, weight: f64) -> f64 {
        (self.pages + weight) / (self.days + weight / prior)
    }

    /// Forgets a little, and adds a fetch.
    pub(super) fn fade_and_add(&mut self, keep: f64, pages: f64, days: f64) {
        self.pages = keep * self.pages + pages;
        self.days = keep * self.days + days;
    }
}

/// What kind of source a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    links: u8,
    linked: u8,
}

impl Kind {
    /// A page with so many links, that so many pages link to.
    pub(super) fn of(links: u32, linked: u32) -> Self {
        let class = |count: u32| (32 - count.leading_zeros()).min(CLASSES as u32 - 1) as u8;
        Self {
            links: class(links),
            linked: class(linked),
        }
    }

    fn index(self) -> usize {
        usize::from(self.links) * CLASSES + usize::from(self.linked)
    }
}

/// How much priors weigh, in new pages, and how fast a source is forgotten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trust {
    /// The prior of a page.
    pub(super) page: f64,
    /// The prior of a kind and of a site.
    pub(super) kind: f64,
    /// What a source's past still weighs after a fetch.
    pub(super) keep: f64,
}

/// What is known of sources by site and by kind.
#[derive(Debug)]
pub(super) struct Sources {
    trust: Trust,
    all: Shown,
    sites: Vec<Shown>,
    /// By kind: new pages seen, and how many were expected by site alone (as `days`).
    kinds: Vec<Shown>,
}

impl Sources {
    pub(super) fn new(trust: Trust) -> Self {
        Self {
            trust,
            all: Shown::default(),
            sites: Vec::new(),
            kinds: vec![Shown::default(); CLASSES * CLASSES],
        }
    }

    fn site(&self, site: u32) -> f64 {
        let weight = self.trust.kind;
        let all = self.all.posterior(FIRST_GUESS, weight);
        let seen = self.sites.get(site as usize).copied();
        seen.unwrap_or_default().posterior(all, weight)
    }

    /// New pages a day that a page is believed to show.
    pub(super) fn rate(&self, site: u32, kind: Kind, own: Shown) -> f64 {
        let weight = self.trust.kind;
        let of_kind = self.kinds[kind.index()];
        let factor = (of_kind.pages + weight) / (of_kind.days + weight);
        own.posterior(self.site(site) * factor, self.trust.page)
    }

    /// A stored page was fetched again after so many days, and showed so many new pages.
    pub(super) fn learn(&mut self, site: u32, kind: Kind, own: &mut Shown, pages: f64, days: f64) {
        let expected = self.site(site) * days;
        let of_kind = &mut self.kinds[kind.index()];
        of_kind.pages += pages;
        of_kind.days += expected;
        if self.sites.len() <= site as usize {
            self.sites.resize(site as usize + 1, Shown::default());
        }
        // Of a site, what its sources show on average: sources that are asked often do not count
        // for more than their time.
        self.sites[site as usize].fade_and_add(1.0, pages, days);
        self.all.fade_and_add(1.0, pages, days);
        own.fade_and_add(self.trust.keep, pages, days);
    }

    turnstone_frontier::saved_in_place!(pub(super) [all, sites, kinds],
        |it| it.kinds.len() != CLASSES * CLASSES => "another number of kinds of pages");
}
