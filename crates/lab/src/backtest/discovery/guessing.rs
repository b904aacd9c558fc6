//! A driver that guesses: it has the addresses, the policy has the ids.
//!
//! Before each request of a round the guesser is asked for its best addresses. Each is made known to the
//! policy as a page that was guessed, with its chance and what it would bring; the policy ranks it among the known
//! pages. What the guesser no longer names is withdrawn. A live crawl does the same, and leaves out what robots.txt
//! or a trap rule forbids.
//!
//! Of a crawl directory, an address that the record does not have counts as not there.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use turnstone_frontier::{Chance, Event, PageId};
use turnstone_guess::Guesser;

use super::ids::Ids;
use super::web::{DiscoveryWeb, OWN_HOST};

/// How many guesses are before the policy at a time.
const OPEN_MAX: usize = 4;

/// The addresses of a site, and what may be among them.
pub(super) struct Guessing {
    guesser: Guesser,
    /// By address: the page of the record.
    pages: HashMap<String, PageId>,
    /// By address: the policy's id of a guess that is no page yet.
    guessed: BTreeMap<String, PageId>,
    /// By the policy's id: the address.
    urls: BTreeMap<PageId, String>,
    /// Before the policy now, as it was told.
    open: BTreeMap<PageId, (Chance, u32)>,
    begun: Option<usize>,
}

impl Guessing {
    pub(super) fn new(web: &DiscoveryWeb) -> Self {
        let pages = web.history().pages.iter().enumerate();
        Self {
            guesser: Guesser::new(),
            pages: pages
                .map(|(page, of)| (of.url.clone(), PageId::from_index(page)))
                .collect(),
            guessed: BTreeMap::new(),
            urls: BTreeMap::new(),
            open: BTreeMap::new(),
            begun: None,
        }
    }

    /// A snapshot begins, if it has not.
    pub(super) fn begin(&mut self, web: &DiscoveryWeb, snapshot: usize) {
        if snapshot > 0 && self.begun != Some(snapshot) {
            let date = web.history().dates.get(snapshot);
            self.guesser.begin(date.map_or(0, |date| i64::from(date.0)));
            self.begun = Some(snapshot);
            self.open.clear();
        }
    }

    /// A page of the record becomes known. Returns the id it was guessed under, if it was.
    pub(super) fn know(&mut self, web: &DiscoveryWeb, page: PageId) -> Option<PageId> {
        let url = &web.history().pages[page.index()].url;
        self.guesser.add(url);
        self.guessed.remove(url)
    }

    /// Tells the policy what may be there now.
    pub(super) fn offer(&mut self, ids: &mut Ids, mut tell: impl FnMut(&Event<'_>)) {
        let mut before = std::mem::take(&mut self.open);
        for guess in self.guesser.best(OPEN_MAX) {
            let page = match self.guessed.get(&guess.url) {
                Some(page) => *page,
                None => {
                    let page = ids.issue_guess();
                    tell(&Event::Discovered {
                        page,
                        host: OWN_HOST,
                        seed: false,
                    });
                    self.guessed.insert(guess.url.clone(), page);
                    self.urls.insert(page, guess.url.clone());
                    page
                }
            };
            let told = (Chance::near(guess.chance), guess.brings.round() as u32);
            let (chance, brings) = told;
            if before.remove(&page) != Some(told) {
                tell(&Event::Guessed {
                    page,
                    chance,
                    brings,
                });
            }
            self.open.insert(page, told);
        }
        for (page, _) in before {
            if self.urls.contains_key(&page) {
                tell(&Event::Guessed {
                    page,
                    chance: Chance::near(f64::MIN_POSITIVE),
                    brings: 0,
                });
            }
        }
    }

    /// A guess is asked for: the page of the record it is, if that is one of the `new` ones.
    pub(super) fn answer(&mut self, id: PageId, new: std::ops::Range<u32>) -> Option<PageId> {
        self.open.remove(&id);
        let url = self
            .urls
            .get(&id)
            .expect("a page that is not in the record was guessed");
        let page = self
            .pages
            .get(url)
            .copied()
            .filter(|page| new.contains(&page.0));
        self.guesser.told(url, page.is_some());
        page
    }
}
