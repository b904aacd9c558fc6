//! What sites say of themselves: sitemaps as pages, and their dates as hints.
//!
//! A sitemap or a feed is a page like any other, and its entries are links like any others. The sitemaps that
//! robots.txt names are pages of the crawl too, if its plan says so. Where a crawl wants to know what changed, a
//! date in a sitemap or feed that is later than our last look at a page is a *hint*: written to the journal, told
//! to the policy. Whether hints of a site are worth anything is for the policy to learn.
//!
//! A hint is written once for each date: a page is hinted at again only when a later date is given.
//!
//! Limits: [`SITEMAPS_PER_ROBOTS_MAX`] sitemaps of a robots.txt, [`HINTS_PER_FILE_MAX`] dates of a file, the
//! latest first; dates in the future ([`AHEAD_S_MAX`]) say nothing.

use std::cmp::Reverse;

use turnstone_fetch::Url;
use turnstone_fetch::urls::{UrlLimits, canonical_key, resolve};
use turnstone_frontier::{Fault, PageId, Policy};
use turnstone_pagestore::{Hint, PageState, Position, Settled};

use crate::asker::{AskError, Asker};
use crate::page::FoundLink;
use crate::plan::Lists;

/// Sitemaps taken of one robots.txt.
const SITEMAPS_PER_ROBOTS_MAX: usize = 100;
/// Dates looked at of one sitemap or feed.
const HINTS_PER_FILE_MAX: usize = 10_000;
/// How far ahead of our clock a date may be.
const AHEAD_S_MAX: u64 = DAY_S;
const DAY_S: u64 = 86_400;

/// The last second that a date may mean: one without a time (midnight) stands for its whole day,
/// or a change later on the day of our fetch would be missed.
fn end_of(date_s: u64) -> u64 {
    if date_s.is_multiple_of(DAY_S) {
        date_s + DAY_S - 1
    } else {
        date_s
    }
}

impl<P: Policy> Asker<P> {
    /// The sitemaps that an authority's robots.txt names become pages.
    pub(crate) fn announce_sitemaps(&mut self, authority: &str) {
        if self.lists() == Lists::Ignored {
            return;
        }
        let Ok(base) = Url::parse(authority) else {
            return;
        };
        let now_s = self.now_s();
        let named = self.robots.sitemaps(authority, now_s);
        for name in named.iter().take(SITEMAPS_PER_ROBOTS_MAX) {
            let Ok(mut url) = resolve(&base, name, &UrlLimits::default()) else {
                continue;
            };
            url.set_fragment(None);
            let key = self.keyer.key(&canonical_key(&url, &self.plan.keys));
            self.page_of(key, &url, (1, true));
        }
    }

    /// What sitemaps and feeds are to this crawl.
    fn lists(&self) -> Lists {
        match self.member {
            Some(_) if self.plan.lists == Lists::Beside => Lists::Ignored,
            _ => self.plan.lists,
        }
    }

    /// Takes the dates that a page just fetched gives of others as hints.
    pub(crate) fn take_hints(&mut self, by: PageId, found: &[FoundLink]) -> Result<(), AskError> {
        if self.plan.lists != Lists::Linked {
            return Ok(());
        }
        let latest_s = self.wall_ms / 1000 + AHEAD_S_MAX;
        let mut dated: Vec<(u64, PageId)> = found
            .iter()
            .filter_map(|found| {
                let changed_s = found.changed_s.filter(|date| *date <= latest_s)?;
                let changed_s = end_of(changed_s);
                Some((changed_s, self.ledger.index().find(found.key)?))
            })
            .collect();
        if dated.len() > HINTS_PER_FILE_MAX {
            dated.select_nth_unstable_by_key(HINTS_PER_FILE_MAX, |(date, page)| {
                (Reverse(*date), *page)
            });
            dated.truncate(HINTS_PER_FILE_MAX);
        }
        dated.sort_unstable_by_key(|(_, page)| *page);
        for (changed_s, page) in dated {
            let index = self.ledger.index();
            let known = index.is_stored(page) || index.state(page) == PageState::Gone;
            if page == by || !known || index.hint(page).is_some_and(|last| last >= changed_s) {
                continue;
            }
            let seen_ms = self.seen_ms(page)?;
            if seen_ms.is_some_and(|seen_ms| changed_s.saturating_mul(1000) > seen_ms) {
                self.hinted(Hint {
                    page,
                    by,
                    changed_s,
                });
            }
        }
        Ok(())
    }

    /// When we last saw what a page holds, or that it is not there; by the wall clock.
    fn seen_ms(&self, page: PageId) -> Result<Option<u64>, AskError> {
        let mut at = self.ledger.index().outcome_at(page);
        while let Some(here) = at {
            let outcome = self.ledger.store().outcome_at(here)?;
            let looked = matches!(
                outcome.settled,
                Settled::Fetched(_) | Settled::Failed(Fault::Gone)
            );
            if looked {
                return Ok(Some(outcome.facts.wall_ms));
            }
            at = Some(outcome.before).filter(|before| *before != Position(0));
        }
        Ok(None)
    }
}
