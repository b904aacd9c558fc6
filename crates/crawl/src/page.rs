//! One page, in a task of its own: fetch, decode, parse, name the links, pack for the archive.
//!
//! Everything that costs time happens here, beside the owner. What the owner gets is small: facts,
//! links with their fingerprints, and the bytes to append.
//!
//! Limits: those of the client and of [`PageLimits`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::Semaphore;
use turnstone_fetch::html::refresh::refresh_of;
use turnstone_fetch::html::{LinkKind, PageInput, PageLimits, Unseen, read_page};
use turnstone_fetch::media::{Media, media_of};
use turnstone_fetch::preferences::{Sayings, Use};
use turnstone_fetch::robots::tags::PageWishes;
use turnstone_fetch::sitemap::{SitemapInput, SitemapLimits, read_sitemap};
use turnstone_fetch::soft404::PageFacts;
use turnstone_fetch::urls::{KeyOptions, canonical_key};
use turnstone_fetch::wall::{Blocked, Wall, WallInput, can_be_wall, wall_behind, wall_of};
use turnstone_fetch::{
    Client, DecodeFault, FetchError, Kept, Limits, Method, Permit, Redirect, Request, Response,
    Room, Spacing, Truncation, Url, Validators, retry_after,
};
use turnstone_frontier::{PageId, Tick};
use turnstone_pagestore::{Facts, Key, Keyer, warc};

use crate::archive::{Archivist, Copy};
use crate::clock::Clock;
use crate::plan::Lists;

/// Bodies longer than this are parsed where they do not hold up other tasks.
const LONG_BODY_BYTES: usize = 256 << 10;
/// The longest title kept.
const TITLE_BYTES_MAX: usize = 300;

/// What every task needs. Shared.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) keyer: Keyer,
    pub(crate) keys: KeyOptions,
    pub(crate) limits: PageLimits,
    pub(crate) agent: String,
    pub(crate) obey_nofollow: bool,
    /// What feeds and sitemaps that a page names in its head are to it.
    pub(crate) lists: Lists,
    /// Whether what pages are judged by is kept.
    pub(crate) judges: bool,
    /// The least time between two requests to a host.
    pub(crate) delay: Duration,
    pub(crate) archivist: Option<Archivist>,
    /// Uses that we crawl for.
    pub(crate) respect: Vec<Use>,
    /// Long bodies read at once: what they unpack to is not held against the room they take.
    pub(crate) long_reads: Semaphore,
    /// Whether requests may be sent, where that may end.
    pub(crate) permit: Option<Permit>,
}

impl Context {
    fn reading(&self) -> Reading<'_> {
        Reading {
            keyer: &self.keyer,
            keys: &self.keys,
            pages: &self.limits,
            bodies: self.client.limits(),
            agent: &self.agent,
            obey_nofollow: self.obey_nofollow,
            lists: self.lists,
            judges: self.judges,
            respect: &self.respect,
        }
    }
}

/// How bodies are read, live or from an old crawl.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) keyer: &'a Keyer,
    pub(crate) keys: &'a KeyOptions,
    pub(crate) pages: &'a PageLimits,
    pub(crate) bodies: &'a Limits,
    pub(crate) agent: &'a str,
    pub(crate) obey_nofollow: bool,
    /// What feeds and sitemaps that a page names in its head are to it.
    pub(crate) lists: Lists,
    /// Whether what pages are judged by is kept.
    pub(crate) judges: bool,
    /// Uses that we crawl for.
    pub(crate) respect: &'a [Use],
}

/// The class of a page whose publisher says no to a use that we crawl for.
pub(crate) const RESERVED: &str = "reserved";

/// What keeps a page from a use that we crawl for, in words.
pub(crate) fn reserved(sayings: &Sayings, respect: &[Use], agent: &str) -> Option<String> {
    let no = |of: &Use| {
        let said = sayings.forbids(*of, agent)?;
        Some(format!("its publisher says no to {of} ({said})"))
    };
    respect.iter().find_map(no)
}

/// A page to ask for.
#[derive(Debug)]
pub struct Job {
    /// The page.
    pub page: PageId,
    /// Its URL.
    pub url: Url,
    /// How it is asked for.
    pub method: Method,
    /// What makes the request conditional.
    pub validators: Option<Validators>,
    /// The copy that the validators speak of.
    pub copy: Option<Copy>,
    /// The longest body.
    pub body_bytes_max: usize,
    /// How long its host rests after this request.
    pub delay_ms: u64,
    /// Which connection may be used.
    pub kept: Kept,
    /// How far from the host's other requests it must be.
    pub spacing: Option<Spacing>,
}

/// A link with its fingerprint.
#[derive(Debug)]
pub struct FoundLink {
    /// The fingerprint of its canonical URL.
    pub key: Key,
    /// Where it leads.
    pub url: Url,
    /// Where it stands.
    pub by: By,
    /// When the page it leads to last changed, as the list it stands in says: seconds of 1970.
    pub changed_s: Option<u64>,
}

/// Where the address of a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// In a link or redirect.
    Link,
    /// It is no link: a robots.txt or the head of a page names a sitemap or a feed there.
    Head,
}

/// What came of a page.
#[derive(Debug)]
pub struct Report {
    /// The page.
    pub page: PageId,
    /// The URL that was asked for.
    pub url: Url,
    /// How it was asked for.
    pub method: Method,
    /// Whether the request was conditional.
    pub conditional: bool,
    /// How long it took.
    pub took: Duration,
    /// The first tick after its request was written, where that is known.
    pub sent: Option<Tick>,
    /// How long its host rests after this request.
    pub delay_ms: u64,
    /// What came.
    pub result: Result<Box<Answer>, FetchError>,
}

/// An answer, read.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Where it leads, if elsewhere.
    pub redirect: Redirect,
    /// How long the host asks to be left alone.
    pub retry_after: Option<Duration>,
    /// What cut the body, if anything did.
    pub truncation: Option<Truncation>,
    /// What is known of the page.
    pub facts: Facts,
    /// Its links.
    pub links: Vec<FoundLink>,
    /// What is to be appended to the WARC files before this is told to the asker.
    pub capture: Option<warc::Capture>,
    /// What a long body took; the capture may be as long.
    pub room: Option<Room>,
    /// What a page that came is judged by.
    pub soft: Option<Box<PageFacts>>,
}

/// Asks for a page and reads what comes.
pub(crate) async fn fetch(context: Arc<Context>, job: Job) -> Report {
    let (page, url) = (job.page, job.url.clone());
    let conditional = job.validators.is_some();
    let started = Instant::now();
    let wall = SystemTime::now();
    let method = job.method;
    let mut request = match method {
        Method::Get => Request::get(job.url.clone()),
        Method::Head => Request::head(job.url.clone()),
    };
    request.validators = job.validators;
    request.body_bytes_max = Some(job.body_bytes_max);
    request.kept = job.kept;
    request.spacing = job.spacing;
    request.permit.clone_from(&context.permit);
    let result = context.client.fetch(request).await;
    let took = started.elapsed();
    let sent = result
        .as_ref()
        .ok()
        .map(|it| context.clock.tick_at(it.sent_at));
    let result = match result {
        Err(error) => Err(error),
        Ok(response) => {
            let read = |response| {
                let moment = (wall, took);
                Box::new(read(&context, (&job.url, job.copy), response, moment))
            };
            Ok(if response.body.len() > LONG_BODY_BYTES {
                let _turn = context.long_reads.acquire().await;
                tokio::task::block_in_place(|| read(response))
            } else {
                read(response)
            })
        }
    };
    Report {
        page,
        url,
        method,
        conditional,
        took,
        sent,
        delay_ms: job.delay_ms,
        result,
    }
}

fn read(
    context: &Context,
    (url, copy): (&Url, Option<Copy>),
    response: Response,
    (wall, took): (SystemTime, Duration),
) -> Answer {
    let redirect = Redirect::of(response.status, &response.headers, url);
    let wall_ms = wall
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        });
    let payload = warc::Payload::new(&response.body);
    let mut facts = Facts {
        requests: response.requests_sent,
        milliseconds: u32::try_from(took.as_millis()).unwrap_or(u32::MAX),
        wall_ms,
        ..Facts::default()
    };
    let (links, soft) = read_response(&context.reading(), url, (&response, payload), &mut facts);
    if let Redirect::To { url: to, .. } = &redirect
        && let Some(blocked) = wall_behind(url, to)
    {
        block(&mut facts, &blocked);
    }
    // A wall that says it is the page must not be replayed as the page, and what is reserved is not kept.
    let poses = facts.class.starts_with(Wall::CLASS) && (200..300).contains(&response.status);
    let kept = !poses && facts.class != RESERVED;
    let archivist = context.archivist.as_ref().filter(|_| kept);
    let capture = archivist
        .and_then(|archivist| archivist.pack(url, &response, (payload, copy), wall_ms, &mut facts));
    Answer {
        status: response.status,
        redirect,
        retry_after: retry_after(&response.headers, wall, context.delay),
        truncation: response.truncation,
        facts,
        links,
        capture,
        room: response.room,
        soft,
    }
}

/// Reads what a response tells of its page.
pub(crate) fn read_response(
    reading: &Reading<'_>,
    url: &Url,
    (response, payload): (&Response, warc::Payload<'_>),
    facts: &mut Facts,
) -> (Vec<FoundLink>, Option<Box<PageFacts>>) {
    let content_type = response.headers.get("content-type");
    facts.status = response.status;
    facts.body_bytes = response.body.len() as u64;
    facts.mime = mime(content_type.and_then(|value| value.to_str().ok()));
    if let Some(validators) = Validators::of(&response.headers) {
        facts.etag = validators.etag().unwrap_or_default().to_owned();
        facts.last_modified = validators.last_modified().unwrap_or_default().to_owned();
    }
    if !(200..300).contains(&response.status) {
        if can_be_wall(response.status)
            && let Some(blocked) = wall_of_error(reading, url, response)
        {
            block(facts, &blocked);
        }
        return (Vec::new(), None);
    }
    facts.digest = Some(payload.digest().0);
    let mut sayings = Sayings::default();
    sayings.add_headers(&response.headers);
    let (links, soft) = read_body(reading, url, response, (facts, &mut sayings));
    facts.preferences = sayings.to_string();
    let is_wall = facts.class.starts_with(Wall::CLASS);
    if let Some(said) = reserved(&sayings, reading.respect, reading.agent).filter(|_| !is_wall) {
        reserve(facts, said);
        return (Vec::new(), None);
    }
    (links, soft)
}

/// Reads title, text and links of a body.
fn read_body(
    reading: &Reading<'_>,
    url: &Url,
    response: &Response,
    (facts, sayings): (&mut Facts, &mut Sayings),
) -> (Vec<FoundLink>, Option<Box<PageFacts>>) {
    let header = |name: &str| response.headers.get(name).and_then(|v| v.to_str().ok());
    let content_type = header("content-type");
    let decoded = response.decoded(reading.bodies);
    let body: &[u8] = &decoded.body;
    if let Some(fault) = &decoded.fault {
        flag(facts, fault);
    }
    let media = media_of(content_type, body);
    match media {
        Media::Html => {
            let input = PageInput {
                url,
                content_type,
                body,
                agent: reading.agent,
            };
            let mut page = read_page(input, reading.pages);
            page.cuts.body = response.shortfall(&decoded);
            sayings.extend(&page.sayings);
            let blocked = wall_of(&WallInput {
                url,
                status: response.status,
                headers: &response.headers,
                page: Some(&page),
                body,
            });
            let soft = reading.judges.then(|| {
                let mut soft = PageFacts::of_page(url, url, response.status, &page);
                if page.cuts.text {
                    // What comes before the cut may be the same on every page.
                    soft.fingerprint = page.fingerprint;
                }
                soft.wall = blocked.as_ref().map(|blocked| blocked.wall);
                Box::new(soft)
            });
            if let Some(blocked) = blocked {
                block(facts, &blocked);
                return (Vec::new(), soft);
            }
            facts.text_hash = page.fingerprint.text_hash;
            facts.simhash = page.fingerprint.simhash;
            facts.words = u32::try_from(page.fingerprint.words).unwrap_or(u32::MAX);
            facts.title = cut(page.title.unwrap_or_default());
            let mut wishes = PageWishes::default();
            for value in response.headers.get_all("x-robots-tag") {
                if let Ok(value) = value.to_str() {
                    wishes.add_header(value, reading.agent);
                }
            }
            wishes.merge(&page.wishes);
            if wishes.nofollow && reading.obey_nofollow {
                say(facts, "nofollow: its links were not taken");
                return (Vec::new(), soft);
            }
            missed(facts, page.cuts.unseen_links());
            let (mut links, mut named) = (Vec::new(), Vec::new());
            for link in page.links {
                match (link.kind, reading.lists) {
                    (LinkKind::List, Lists::Beside) => named.push(link.url),
                    (LinkKind::List, Lists::Ignored) => {}
                    (LinkKind::List, Lists::Linked) => links.push(link.url),
                    (kind, _) if kind.is_page() => links.push(link.url),
                    _ => {}
                }
            }
            let refresh = refresh_of(&response.headers, url, &reading.pages.urls);
            links.extend(refresh.map(|refresh| refresh.url));
            // What a link leads to as well is a link: those that are none come last.
            let links = links.into_iter().map(|url| (url, By::Link, None));
            let named = named.into_iter().map(|url| (url, By::Head, None));
            (distinct(reading, links.chain(named)), soft)
        }
        Media::Xml | Media::Json | Media::Gzip => {
            let input = SitemapInput {
                url,
                content_type,
                body,
                vouching_hosts: &[],
            };
            let list = read_sitemap(input, &SitemapLimits::default());
            facts.text_hash = list_hash(facts);
            missed(
                facts,
                match response.shortfall(&decoded) {
                    Some(_) => Unseen::Unbounded,
                    None => list.unseen_links(),
                },
            );
            let entries = list.entries.into_iter().map(|entry| {
                let date = entry.lastmod_s.and_then(|date| u64::try_from(date).ok());
                (entry.url, By::Link, date)
            });
            (distinct(reading, entries), None)
        }
        Media::Text | Media::Pdf | Media::Image | Media::AudioVideo | Media::Binary => {
            facts.text_hash = list_hash(facts);
            (Vec::new(), None)
        }
    }
}

/// The wall that an error page is, if it is one.
fn wall_of_error(reading: &Reading<'_>, url: &Url, response: &Response) -> Option<Blocked> {
    let content_type = response.headers.get("content-type");
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let decoded = response.decoded(reading.bodies);
    let body: &[u8] = &decoded.body;
    let input = PageInput {
        url,
        content_type,
        body,
        agent: reading.agent,
    };
    let is_page = media_of(content_type, body) == Media::Html;
    let page = is_page.then(|| read_page(input, reading.pages));
    wall_of(&WallInput {
        url,
        status: response.status,
        headers: &response.headers,
        page: page.as_ref(),
        body,
    })
}

/// What came is a wall: nothing of it is the page's.
fn block(facts: &mut Facts, blocked: &Blocked) {
    facts.class = blocked.wall.class().to_owned();
    facts.detail = blocked.to_string();
    facts.digest = None;
    facts.etag.clear();
    facts.last_modified.clear();
}

/// Nothing is kept of a page that we came for and may not use so.
fn reserve(facts: &mut Facts, said: String) {
    facts.class = RESERVED.to_owned();
    facts.detail = said;
    facts.digest = None;
    facts.etag.clear();
    facts.last_modified.clear();
    facts.title.clear();
    (facts.text_hash, facts.simhash, facts.words) = (0, 0, 0);
    facts.unseen_links = 0;
}

/// A body that is not what its coding says has a class of its own.
fn flag(facts: &mut Facts, fault: &DecodeFault) {
    let class = match fault {
        DecodeFault::NotCoded(_) | DecodeFault::TrailingBytes(..) => "ok-mislabelled",
        DecodeFault::EndsEarly(_) | DecodeFault::Damaged(..) => "ok-cut",
        DecodeFault::TooLarge(_) | DecodeFault::Ratio { .. } => "ok-bomb",
        DecodeFault::Unknown(_) | DecodeFault::TooManyCodings(_) => "ok-unreadable",
    };
    // An old crawl may know worse of it.
    if matches!(facts.class.as_str(), "" | "ok") {
        facts.class = class.to_owned();
    }
    say(facts, &format!("its body {}", described(fault)));
}

fn described(fault: &DecodeFault) -> String {
    match fault {
        DecodeFault::NotCoded(coding) => format!("is declared as {coding}, but is not"),
        DecodeFault::TooLarge(_) | DecodeFault::Ratio { .. } => fault.to_string(),
        other => format!("cannot be decoded to its end: {other}"),
    }
}

/// Adds to what is said of a page.
fn say(facts: &mut Facts, what: &str) {
    if !facts.detail.is_empty() {
        facts.detail += "; ";
    }
    facts.detail += what;
}

/// Links that a limit cut are counted: what nobody saw is not proven to be stored.
fn missed(facts: &mut Facts, unseen: Unseen) {
    let (count, words) = match unseen {
        Unseen::None => return,
        Unseen::AtMost(1) => (1, "1 link".to_owned()),
        Unseen::AtMost(count) => (count, format!("up to {count} links")),
        Unseen::Unbounded => (Facts::UNBOUNDED, "nobody knows how many links".to_owned()),
    };
    facts.unseen_links = count;
    say(
        facts,
        &format!("a limit cut the page: {words} could not be seen"),
    );
}

/// What is not a page with text is the same only if its bytes are.
pub(crate) fn list_hash(facts: &Facts) -> u64 {
    Facts::hash_of_digest(facts.digest.unwrap_or_default())
}

/// Each page once, in the order of the document.
fn distinct(
    reading: &Reading<'_>,
    urls: impl Iterator<Item = (Url, By, Option<u64>)>,
) -> Vec<FoundLink> {
    let mut seen = HashSet::new();
    let found = urls.map(|(url, by, changed_s)| FoundLink {
        key: reading.keyer.key(&canonical_key(&url, reading.keys)),
        url,
        by,
        changed_s,
    });
    found.filter(|found| seen.insert(found.key)).collect()
}

fn mime(content_type: Option<&str>) -> String {
    let essence = content_type.unwrap_or_default().split(';').next();
    let essence = essence.unwrap_or_default().trim();
    essence.chars().take(100).collect()
}

fn cut(mut title: String) -> String {
    if title.len() > TITLE_BYTES_MAX {
        let mut end = TITLE_BYTES_MAX;
        while !title.is_char_boundary(end) {
            end -= 1;
        }
        title.truncate(end);
    }
    title
}
