//! URLs as they stand in the journals: where they are is asked of the owner, a slice at a time, so that nobody waits
//! long behind a long list; what they are is read beside it.

use std::sync::Arc;

use tonic::Status;
use turnstone_frontier::{HostId, PageId};
use turnstone_pagestore::{Position, Reader, StoreError};

use crate::crawls::{Crawl, Crawls};
use crate::names;
use crate::owner::{Answer, Owner};
use crate::puts::decode;
use crate::wire::urlfrontier::{KnownUrlItem, UrlInfo, UrlItem, url_item};

/// How many pages the owner looks at before others have their turn.
pub(crate) const SLICE: usize = 16_384;

/// Where a page's entries are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    page_at: Position,
    outcome_at: Option<Position>,
}

/// Reads the pages of one crawl.
#[derive(Clone)]
pub(crate) struct Pages {
    reader: Reader,
    epoch_ms: u64,
    crawl: Arc<str>,
}

/// A page as it was read.
pub(crate) struct Read {
    pub(crate) info: UrlInfo,
    /// When it is due, in seconds of 1970; 0 for never.
    due_s: u64,
    created_s: u64,
}

impl Pages {
    pub(crate) fn of(crawl: &Crawl) -> Self {
        Self {
            reader: crawl.loans.reader(),
            epoch_ms: crawl.loans.lender().epoch_ms(),
            crawl: crawl.name.clone(),
        }
    }

    /// Reads one page, whose queue is known.
    pub(crate) fn read(&self, place: Place, key: String) -> Result<Read, StoreError> {
        let announced = self.reader.announced(place.page_at)?;
        let created_s = (self.epoch_ms + announced.tick.0) / 1000;
        let (due_s, metadata) = match place.outcome_at {
            None => (created_s, announced.metadata),
            Some(at) => {
                let (due_s, metadata) = self.reader.wanted(at)?;
                (due_s.unwrap_or(0), metadata)
            }
        };
        let info = UrlInfo {
            url: announced.url,
            key,
            metadata: decode(&metadata),
            crawl_id: (*self.crawl).to_owned(),
        };
        Ok(Read {
            info,
            due_s,
            created_s,
        })
    }
}

impl Read {
    /// As an item of the protocol.
    pub(crate) fn item(self) -> UrlItem {
        UrlItem {
            item: Some(url_item::Item::Known(KnownUrlItem {
                info: Some(self.info),
                refetchable_from_date: self.due_s,
            })),
            id: String::new(),
            creation_date: self.created_s,
        }
    }
}

/// Where a page stands.
pub(crate) fn place(crawl: &Crawl, page: PageId) -> Place {
    let (page_at, outcome_at) = crawl.loans.places(page);
    Place {
        page_at,
        outcome_at,
    }
}

/// Which URLs are meant.
#[derive(Clone, Debug)]
pub(crate) struct Which {
    crawl: String,
    key: String,
    filter: String,
    ignore_case: bool,
}

impl Which {
    pub(crate) fn new(
        crawl: &str,
        key: String,
        filter: Option<String>,
        ignore_case: Option<bool>,
    ) -> Self {
        let filter = filter
            .filter(|filter| !filter.trim().is_empty())
            .unwrap_or_default();
        let ignore_case = ignore_case.unwrap_or(false);
        Self {
            crawl: names::crawl(crawl).to_owned(),
            key,
            filter: match ignore_case {
                true => filter.to_lowercase(),
                false => filter,
            },
            ignore_case,
        }
    }

    fn passes(&self, url: &str) -> bool {
        match (self.filter.is_empty(), self.ignore_case) {
            (true, _) => true,
            (false, false) => url.contains(&self.filter),
            (false, true) => url.to_lowercase().contains(&self.filter),
        }
    }

    pub(crate) fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }
}

/// A slice of a crawl's pages: those that are meant, with their queues, and where the next slice begins.
struct Slice {
    pages: Pages,
    places: Vec<(Place, HostId)>,
    /// The names of the queues among them.
    keys: Vec<(HostId, String)>,
    next: Option<usize>,
}

/// Reads every URL that is meant, in the order in which they were first put; ends when `see` says so.
pub(crate) async fn each(
    owner: &Owner,
    which: Which,
    mut see: impl FnMut(Read) -> bool + Send + 'static,
) -> Result<(), Status> {
    let mut from = Some(0);
    while let Some(start) = from {
        let wanted = which.clone();
        let job = move |crawls: &mut Crawls| Ok(slice(crawls, &wanted, start));
        // Only what is written can be read beside the owner.
        let Some(slice) = owner.ask(Answer::Written, job).await? else {
            return Ok(());
        };
        let passes = which.clone();
        let read = move || -> Result<_, StoreError> {
            for (place, host) in slice.places {
                let at = slice.keys.binary_search_by_key(&host, |(host, _)| *host);
                let key = at.map(|at| slice.keys[at].1.clone()).unwrap_or_default();
                let read = slice.pages.read(place, key)?;
                if passes.passes(&read.info.url) && !see(read) {
                    return Ok((see, None));
                }
            }
            Ok((see, slice.next))
        };
        let read = tokio::task::spawn_blocking(read).await;
        let read = read.map_err(|_| Status::internal("reading ended early"))?;
        (see, from) = read.map_err(|error| Status::internal(error.to_string()))?;
    }
    Ok(())
}

fn slice(crawls: &mut Crawls, which: &Which, start: usize) -> Option<Slice> {
    let crawl = crawls.find(&which.crawl)?;
    let index = crawl.loans.index();
    let only = match which.key.is_empty() {
        true => None,
        false => Some(crawl.loans.queue(&which.key)?.0),
    };
    let end = index.page_count().min(start + SLICE);
    let mut places = Vec::new();
    let mut keys: Vec<HostId> = Vec::new();
    for page in (start..end).map(PageId::from_index) {
        let host = crawl.loans.lender().host(page);
        if only.is_none_or(|only| only == host) && crawl.loans.is_there(page) {
            places.push((place(crawl, page), host));
            keys.push(host);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let named = keys
        .into_iter()
        .map(|host| (host, index.host_name(host).to_owned()));
    Some(Slice {
        pages: Pages::of(crawl),
        places,
        keys: named.collect(),
        next: (end < index.page_count()).then_some(end),
    })
}
