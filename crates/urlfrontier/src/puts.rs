//! What clients put: read from messages off the owner's thread, taken in by it.
//!
//! The protocol has no words for what came of a page. A client that knows says it in the metadata of a known item:
//! `turnstone.status` (or StormCrawler's `fetch.statusCode`) is the HTTP status, `turnstone.links` the links,
//! `turnstone.digest` what stands for the content, `turnstone.moved-to` where a redirect led. These are told to the
//! policy; all but the status are not kept for the client. What they mean and cost is in `docs/frontier.md`.

use prost::Message as _;
use turnstone_frontier::Tick;
use turnstone_ledger::{Came, Named, ToldOf};

use crate::crawls::{Crawl, Crawls, CrawlsError};
use crate::names;
use crate::wire::turnstone::Page;
use crate::wire::urlfrontier::ack_message::Status;
use crate::wire::urlfrontier::{StringList, UrlInfo, UrlItem, url_item};

/// The longest URL.
pub const URL_BYTES_MAX: usize = 64 << 10;
/// The longest metadata of a URL, as encoded.
pub const METADATA_BYTES_MAX: usize = 256 << 10;
/// The most links of a page that are taken; those beyond are counted as left out.
pub const LINKS_MAX: usize = 100_000;

const STATUS: &str = "turnstone.status";
const STORMCRAWLER_STATUS: &str = "fetch.statusCode";
const LINKS: &str = "turnstone.links";
const DIGEST: &str = "turnstone.digest";
const MOVED_TO: &str = "turnstone.moved-to";

/// One URL that was put.
pub(crate) struct Put {
    crawl: String,
    /// Nothing where the URL cannot be kept.
    queue: Option<String>,
    url: String,
    metadata: Vec<u8>,
    /// Nothing for a discovered one.
    told: Option<Told>,
}

/// What is told of a URL that was asked for.
#[derive(Default)]
struct Told {
    due_s: u64,
    came: Option<What>,
}

#[derive(Default)]
struct What {
    status: u16,
    moved_to: Option<String>,
    links: Option<Vec<String>>,
    links_left_out: u64,
    digest: Vec<u8>,
    title: String,
    body_bytes: u64,
}

impl Put {
    /// A discovered URL.
    pub(crate) fn discovered(info: UrlInfo) -> Self {
        let queue = names::queue(&info.key, &info.url);
        let metadata = encode(info.metadata);
        let fits = info.url.len() <= URL_BYTES_MAX && metadata.len() <= METADATA_BYTES_MAX;
        Self {
            crawl: info.crawl_id,
            queue: queue.filter(|_| fits),
            url: info.url,
            metadata,
            told: None,
        }
    }

    /// An item of `PutURLs`.
    pub(crate) fn item(item: UrlItem) -> Self {
        match item.item {
            Some(url_item::Item::Discovered(discovered)) => {
                Self::discovered(discovered.info.unwrap_or_default())
            }
            Some(url_item::Item::Known(known)) => {
                let mut info = known.info.unwrap_or_default();
                let came = said(&mut info);
                let told = Told {
                    due_s: known.refetchable_from_date,
                    came,
                };
                Self {
                    told: Some(told),
                    ..Self::discovered(info)
                }
            }
            None => Self::discovered(UrlInfo::default()),
        }
    }

    /// A page of `PutPages`.
    pub(crate) fn page(page: Page) -> Self {
        let (links, cut) = cut(page.links);
        let what = What {
            status: u16::try_from(page.status).unwrap_or(0),
            moved_to: Some(page.moved_to).filter(|to| !to.is_empty()),
            links: Some(links),
            links_left_out: page.links_left_out.saturating_add(cut),
            digest: page.digest,
            title: page.title,
            body_bytes: page.body_bytes,
        };
        let told = Told {
            due_s: page.refetchable_from_date,
            came: Some(what),
        };
        Self {
            told: Some(told),
            ..Self::discovered(page.info.unwrap_or_default())
        }
    }
}

/// Takes all in, in order.
pub(crate) fn take(crawls: &mut Crawls, puts: &[Put]) -> Vec<Status> {
    let mut latest: Option<(&str, Tick)> = None;
    let mut statuses = Vec::with_capacity(puts.len());
    for put in puts {
        let Some(queue) = &put.queue else {
            statuses.push(Status::Skipped);
            continue;
        };
        let name = names::crawl(&put.crawl);
        let crawl = match crawls.find_or_make(name) {
            Ok(crawl) => crawl,
            Err(CrawlsError::TooMany) => {
                statuses.push(Status::Skipped);
                continue;
            }
            Err(_) => {
                statuses.push(Status::Fail);
                continue;
            }
        };
        // The clock is read once for URLs of one crawl that come together.
        let tick = match latest {
            Some((known, tick)) if known == name => tick,
            _ => crawl.now(),
        };
        latest = Some((name, tick));
        statuses.push(take_one(crawl, tick, queue, put));
    }
    statuses
}

fn take_one(crawl: &mut Crawl, tick: Tick, queue: &str, put: &Put) -> Status {
    if crawl.usable().is_err() {
        return Status::Fail;
    }
    let named = Named {
        url: &put.url,
        host: queue,
        metadata: &put.metadata,
    };
    if crawl.loans.is_full() && crawl.loans.find(&put.url, queue).is_none() {
        return Status::Skipped;
    }
    let Some(told) = &put.told else {
        return match crawl.loans.discover(tick, &named) {
            true => Status::Ok,
            false => Status::Skipped,
        };
    };
    let told = ToldOf {
        due_s: told.due_s,
        came: told.came.as_ref().map(|what| Came {
            status: what.status,
            moved_to: what.moved_to.as_deref(),
            links: what
                .links
                .as_ref()
                .map(|links| links.iter().map(String::as_str).collect()),
            links_left_out: what.links_left_out,
            digest: &what.digest,
            title: &what.title,
            body_bytes: what.body_bytes,
        }),
    };
    match crawl.loans.tell(tick, &named, &told, host_of_link) {
        Ok(()) => Status::Ok,
        Err(_) => Status::Fail,
    }
}

/// The queue of a link.
fn host_of_link(url: &str) -> Option<String> {
    names::queue("", url).filter(|_| url.len() <= URL_BYTES_MAX)
}

/// What a client says in metadata of what came, taken out of it.
fn said(info: &mut UrlInfo) -> Option<What> {
    let first = |list: &StringList| list.values.first().cloned();
    let mut take = |key: &str| info.metadata.remove(key);
    let (links, digest) = (take(LINKS), take(DIGEST));
    let moved_to = take(MOVED_TO).as_ref().and_then(first);
    let status = [STATUS, STORMCRAWLER_STATUS]
        .iter()
        .find_map(|key| info.metadata.get(*key));
    let status = status.and_then(first)?.trim().parse().ok()?;
    let (links, links_left_out) = match links {
        Some(links) => {
            let (links, cut) = cut(links.values);
            (Some(links), cut)
        }
        None => (None, 0),
    };
    Some(What {
        status,
        moved_to,
        links,
        links_left_out,
        digest: digest
            .as_ref()
            .and_then(first)
            .unwrap_or_default()
            .into_bytes(),
        ..What::default()
    })
}

/// As many links as are taken, and how many are not.
fn cut(mut links: Vec<String>) -> (Vec<String>, u64) {
    let left_out = links.len().saturating_sub(LINKS_MAX) as u64;
    links.truncate(LINKS_MAX);
    (links, left_out)
}

/// Metadata as the journal keeps it: a message that has nothing else.
fn encode(metadata: std::collections::BTreeMap<String, StringList>) -> Vec<u8> {
    let info = UrlInfo {
        metadata,
        ..UrlInfo::default()
    };
    info.encode_to_vec()
}

/// Metadata as it was encoded; none where these are no such bytes.
pub(crate) fn decode(metadata: &[u8]) -> std::collections::BTreeMap<String, StringList> {
    UrlInfo::decode(metadata)
        .map(|info| info.metadata)
        .unwrap_or_default()
}
