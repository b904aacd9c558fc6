//! A crawl directory, asked what became of URLs.

use std::path::Path;
use std::rc::Rc;

use turnstone_crawl::stored::Outlined;
use turnstone_fetch::Url;
use turnstone_fetch::html::Ignored;
use turnstone_fetch::urls::{KeyOptions, canonical_key};
use turnstone_frontier::PageId;
use turnstone_pagestore::{PageState, Settled, Store};

use crate::commands::copies::Copies;
use crate::commands::directory::{Directory, fate_of};

/// The most redirects that are followed from page to page.
const HOPS_MAX: usize = 20;

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It leads to nothing.
    Broken,
    /// Something stands before what it leads to: a wall, a refusal, too many requests.
    Blocked,
    /// Nobody asked: robots.txt, a limit, a wish of the user.
    Unchecked,
    /// It leads to a page by way of a redirect.
    Moved,
    /// All is well.
    There,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Blocked => "blocked",
            Self::Unchecked => "unchecked",
            Self::Moved => "redirect",
            Self::There => "ok",
        }
    }
}

/// What became of a URL.
#[derive(Clone, Debug)]
pub(super) struct Fate {
    pub(super) kind: Kind,
    pub(super) class: String,
    pub(super) said: String,
    /// The page at the end of its redirects, if there is one.
    pub(super) page: Option<PageId>,
    pub(super) landed: Url,
}

/// A crawl directory.
pub(super) struct Book {
    pub(super) store: Rc<Store>,
    keys: KeyOptions,
}

impl Book {
    /// Nothing if there is no crawl directory.
    pub(super) fn look(path: &Path) -> anyhow::Result<Option<Self>> {
        if !path.join("store/journal").exists() {
            return Ok(None);
        }
        let directory = Directory::look(path)?;
        Ok(Some(Self {
            keys: directory.plan.keys,
            store: Rc::new(directory.store),
        }))
    }

    /// Requests sent, over all runs.
    pub(super) fn requests(&self) -> u64 {
        self.store.index().tally().requests
    }

    /// Pages that are stored and in scope.
    pub(super) fn stored(&self) -> Vec<PageId> {
        let index = self.store.index();
        let pages = self.store.pages_in(PageState::Fetched);
        pages.filter(|page| !index.is_outside(*page)).collect()
    }

    pub(super) fn url(&self, page: PageId) -> anyhow::Result<Url> {
        Ok(Url::parse(&self.store.url(page)?)?)
    }

    /// What became of a URL; nothing if the crawl never met it, or left it out.
    pub(super) fn fate(&self, url: &Url) -> anyhow::Result<Option<Fate>> {
        let key = self.store.keyer().key(&canonical_key(url, &self.keys));
        let index = self.store.index();
        let Some(first) = index.find(key) else {
            return Ok(None);
        };
        let mut page = first;
        for _ in 0..HOPS_MAX {
            let last = match index.state(page) {
                PageState::Moved => self.store.outcome(page)?,
                _ => None,
            };
            match last.map(|outcome| outcome.settled) {
                Some(Settled::Moved(to)) => page = to,
                _ => break,
            }
        }
        let landed = self.url(page)?;
        let (class, said) = fate_of(&self.store, page)?;
        let kind = match index.state(page) {
            PageState::Outside | PageState::Away if page == first => return Ok(None),
            PageState::Outside | PageState::Away => Kind::Unchecked,
            PageState::Fetched if page != first => Kind::Moved,
            PageState::Fetched => Kind::There,
            PageState::Gone => Kind::Broken,
            PageState::Waiting | PageState::InFlight if class.is_empty() => Kind::Unchecked,
            _ => kind_of(&class),
        };
        let said = match said.as_str() {
            "" => "not asked for".to_owned(),
            _ => said,
        };
        let there = matches!(kind, Kind::There | Kind::Moved);
        Ok(Some(Fate {
            kind,
            class,
            said,
            page: there.then_some(page),
            landed,
        }))
    }

    /// The links, fragments and facts of a stored page; nothing if it is no HTML or its body was not kept.
    pub(super) fn outlined(&self, page: PageId) -> anyhow::Result<Option<Outlined>> {
        let copies = Copies::in_store(&self.store, Ignored::default(), (self.url(page)?, page))?;
        let copy = copies.at(None)?;
        if copy.digest.is_none() {
            return Ok(None);
        }
        Ok(copies.outlined(&copies.read(copy)?))
    }
}

/// What it means that a page was refused, or brought no verdict, with a class.
fn kind_of(class: &str) -> Kind {
    const BLOCKED: [&str; 6] = [
        "http-401", "http-402", "http-403", "http-407", "http-429", "http-451",
    ];
    const UNASKED: [&str; 6] = ["robots", "trap", "host-pages", "limit", "url", "scope"];
    if class.starts_with("blocked-") || BLOCKED.contains(&class) {
        Kind::Blocked
    } else if UNASKED.contains(&class) {
        Kind::Unchecked
    } else {
        Kind::Broken
    }
}
