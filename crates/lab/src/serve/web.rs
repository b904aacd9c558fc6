//! A web that can be served: hosts, the sites on them, and what each page holds at a moment.
//!
//! All pages are numbered through. In a graph a page keeps its number and each host is a site; of
//! several histories the pages follow one another, site after site, every page ever seen.

use std::fmt;
use std::sync::Arc;

use turnstone_frontier::PageId;
use turnstone_linkgraph::LinkGraph;

use super::answer::Answer;
use super::mix::mix;
use super::names::{host_names, host_of, numbered_names};
use super::page::{self, Content, Form, Length, Links};
use super::places::{Addresses, Places, SitePlace, path_of, push_escaped};
use super::request::Request;
use super::sitemap::Since;
use super::timeline::{At, SiteTime, Timeline};
use crate::history::History;
use crate::web::GraphWeb;

/// 2020-01-01, the date of every page of a graph, in seconds since 1970.
const GRAPH_MODIFIED_S: u64 = 1_577_836_800;
const DAY_S: u64 = 86_400;

/// What the closure of a made-up web looks like.
type Custom = dyn Fn(&Request<'_>) -> Answer + Send + Sync;

/// A web that can be served.
#[derive(Debug)]
pub struct Web {
    pub(super) hosts: Vec<String>,
    pub(super) sites: Vec<Site>,
    pub(super) places: Places,
    source: Source,
}

/// A site of a served web.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) name: String,
    pub(super) host: u32,
    /// How many pages it ever had.
    pub(super) pages: u32,
    /// The page to begin with: the one at `/`, or the first.
    pub(super) entry: Option<PageId>,
    /// The first of its pages, where they follow one another.
    first: u32,
    time: SiteTime,
}

enum Source {
    Graph(LinkGraph, GraphPages),
    Histories(Vec<(Arc<History>, Timeline)>),
    Custom(Box<Custom>),
}

/// What the pages of a link graph look like, which does not record it.
#[derive(Clone, Copy, Debug)]
pub struct GraphPages {
    /// Hosts among which pages without URLs are dealt.
    pub hosts: u32,
    /// About how large a page is.
    pub page_bytes: u32,
    /// What the texts hang on.
    pub seed: u64,
}

impl Default for GraphPages {
    fn default() -> Self {
        Self {
            hosts: 1,
            page_bytes: 20_000,
            seed: 1,
        }
    }
}

/// How a moment of a web is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Virtual seconds in a second; 0 stands still.
    pub(super) scale: f64,
    /// Microseconds since the server started.
    pub(super) now_us: u64,
}

impl Web {
    /// A link graph: pages with URLs on their hosts, without URLs page i at `/p/i`.
    pub fn graph(web: GraphWeb, pages: GraphPages) -> Self {
        assert!(pages.hosts > 0, "pages need a host");
        let page_count = web.graph.page_count() as u32;
        let (names, addresses) = match web.urls {
            None => {
                let hosts = pages.hosts;
                let addresses = Addresses::Numbered {
                    pages: page_count,
                    hosts,
                };
                (numbered_names(hosts), addresses)
            }
            Some(urls) => {
                let hosts = urls.hosts();
                let names = (0..hosts.len() as u32)
                    .map(|host| hosts.name(turnstone_frontier::HostId(host)).to_owned())
                    .collect();
                (names, Addresses::Listed { urls, hosts })
            }
        };
        let places = Places::new(addresses);
        let site = |(host, name): (usize, &String)| Site {
            name: name.clone(),
            host: host as u32,
            pages: 0,
            entry: places.find(host as u32, "/"),
            first: 0,
            time: SiteTime::new(Vec::new()),
        };
        let mut sites: Vec<Site> = names.iter().enumerate().map(site).collect();
        for page in (0..page_count).map(PageId) {
            let site = &mut sites[places.host(page) as usize];
            site.pages += 1;
            site.entry.get_or_insert(page);
        }
        Self {
            hosts: host_names(names),
            sites,
            places,
            source: Source::Graph(web.graph, pages),
        }
    }

    /// Site histories, each a site of its own; those of one host share it.
    pub fn histories<H: Into<Arc<History>>>(histories: impl IntoIterator<Item = H>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut sites = Vec::new();
        let mut site_places = Vec::new();
        let mut source = Vec::new();
        let mut first = 0u32;
        for history in histories {
            let history: Arc<History> = history.into();
            let pages = u32::try_from(history.page_count()).expect("ids are 32-bit");
            let name = host_of(&history.origin);
            let host = names.iter().position(|known| *known == name);
            let host = host.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            site_places.push(SitePlace {
                first,
                host: host as u32,
                prefix: path_of(&history.origin).trim_end_matches('/').to_owned(),
                paths: history.pages.iter().map(|page| page.url.clone()).collect(),
            });
            let entry = history
                .pages
                .iter()
                .position(|page| page.url == "/")
                .unwrap_or(0);
            sites.push(Site {
                name: history.site.clone(),
                host: host as u32,
                pages,
                entry: (pages > 0).then_some(PageId(first + entry as u32)),
                first,
                time: SiteTime::new(history.dates.clone()),
            });
            let timeline = Timeline::of(&history);
            source.push((history, timeline));
            first = first.checked_add(pages).expect("page ids are 32-bit");
        }
        Self {
            hosts: host_names(names),
            sites,
            places: Places::new(Addresses::Sites(site_places)),
            source: Source::Histories(source),
        }
    }

    /// Whatever a function answers, on this many hosts. It is asked for robots.txt too.
    pub fn custom(
        hosts: u32,
        answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static,
    ) -> Self {
        assert!(hosts > 0, "a web needs a host");
        let names = numbered_names(hosts);
        let site = |(host, name): (usize, &String)| Site {
            name: name.clone(),
            host: host as u32,
            pages: 0,
            entry: None,
            first: 0,
            time: SiteTime::new(Vec::new()),
        };
        Self {
            sites: names.iter().enumerate().map(site).collect(),
            hosts: names,
            places: Places::new(Addresses::Numbered { pages: 0, hosts }),
            source: Source::Custom(Box::new(answer)),
        }
    }

    /// How many hosts there are.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// How many pages there ever were.
    pub fn page_count(&self) -> u32 {
        self.places.page_count()
    }

    /// Pages that cannot be reached, as another has the same address; see `docs/serve-web.md`.
    pub fn shadowed(&self) -> u64 {
        self.places.shadowed
    }

    /// The most snapshots a site has.
    pub fn snapshot_count(&self) -> usize {
        (self.sites.iter().map(|site| site.time.snapshot_count()))
            .max()
            .unwrap_or(1)
    }

    /// The number in the whole web of a page of a site.
    pub fn page(&self, site: usize, page: PageId) -> PageId {
        assert!(page.0 < self.sites[site].pages || matches!(self.source, Source::Graph(..)));
        PageId(self.sites[site].first + page.0)
    }

    /// Moves one site in time.
    pub(super) fn go(&self, site: usize, at: At, now_us: u64) {
        self.sites[site].time.go(at, now_us);
    }

    /// The snapshot a site shows, and its date; none before the first.
    pub(super) fn snapshot(&self, site: usize, moment: Moment) -> Option<usize> {
        self.sites[site].time.now(moment.scale, moment.now_us)
    }

    /// The pages that a host has at a moment, and since when each is as it is.
    pub(super) fn present(&self, host: usize, moment: Moment) -> Vec<(PageId, Since)> {
        match &self.source {
            Source::Custom(_) => Vec::new(),
            Source::Graph(..) => (0..self.page_count())
                .map(PageId)
                .filter(|page| self.places.host(*page) as usize == host)
                .map(|page| (page, Since::Recorded(GRAPH_MODIFIED_S)))
                .collect(),
            Source::Histories(histories) => {
                let mut present = Vec::new();
                let of_host = |(_, site): &(usize, &Site)| site.host as usize == host;
                for (number, site) in self.sites.iter().enumerate().filter(of_host) {
                    let (history, timeline) = &histories[number];
                    let Some(snapshot) = self.snapshot(number, moment) else {
                        continue;
                    };
                    for own in (0..site.pages).map(PageId) {
                        let Some((_, since)) = timeline.at(own, snapshot) else {
                            continue;
                        };
                        let since = match site.time.shown_us(since, moment.scale) {
                            Some(us) => Since::Shown(us),
                            None => Since::Recorded(modified_s(history, since)),
                        };
                        present.push((PageId(site.first + own.0), since));
                    }
                }
                present
            }
        }
    }

    /// The date of a snapshot, for people.
    pub(super) fn date(&self, site: usize, snapshot: usize) -> Option<String> {
        self.sites[site]
            .time
            .date(snapshot)
            .map(|date| date.to_string())
    }

    /// Whether robots.txt and all else is the function's to answer.
    pub(super) fn is_custom(&self) -> bool {
        matches!(self.source, Source::Custom(_))
    }

    /// The page to begin with at a site, at a moment.
    pub(super) fn seed(&self, site: usize, moment: Moment) -> Option<PageId> {
        let entry = self.sites[site].entry?;
        let Source::Histories(histories) = &self.source else {
            return Some(entry);
        };
        let snapshot = self.snapshot(site, moment)?;
        let (history, timeline) = &histories[site];
        let first = self.sites[site].first;
        let is_there = |page: &PageId| timeline.at(*page, snapshot).is_some();
        let pages = (0..history.page_count() as u32).map(PageId);
        std::iter::once(PageId(entry.0 - first))
            .chain(pages)
            .find(is_there)
            .map(|page| PageId(page.0 + first))
    }

    /// Answers a request; `more` are links that the entry page has beside the recorded ones.
    pub(super) fn answer(&self, request: &Request<'_>, more: &[String], moment: Moment) -> Answer {
        let place = || self.places.find(request.host as u32, request.path);
        match &self.source {
            Source::Custom(answer) => answer(request),
            Source::Graph(graph, pages) => match place() {
                None => Answer::not_found(),
                Some(page) => {
                    let hash = mix(&[pages.seed, u64::from(page.0)]);
                    let content = Content {
                        raw: hash,
                        text: hash,
                        length: Length::Bytes(pages.page_bytes),
                    };
                    let more = self.more_links(request.host, page, more);
                    let body =
                        self.body(Form::Html, content, (graph.links(page), 0, more), request);
                    Answer::ok(Form::Html.content_type(), body).conditional(
                        request,
                        format!("\"{hash:016x}\""),
                        GRAPH_MODIFIED_S,
                    )
                }
            },
            Source::Histories(histories) => place()
                .and_then(|page| self.recorded(page, histories, request, more, moment))
                .unwrap_or_else(Answer::not_found),
        }
    }

    /// A page of a history, if it is there now.
    fn recorded(
        &self,
        page: PageId,
        histories: &[(Arc<History>, Timeline)],
        request: &Request<'_>,
        more: &[String],
        moment: Moment,
    ) -> Option<Answer> {
        let site = self.sites.partition_point(|site| site.first <= page.0) - 1;
        let (history, timeline) = &histories[site];
        let first = self.sites[site].first;
        let own = PageId(page.0 - first);
        let (version, since) = timeline.at(own, self.snapshot(site, moment)?)?;
        let record = history.versions[version.index()];
        let links = history.links_of(version);
        let form = form(history, own, links);
        let content = Content {
            raw: record.raw,
            text: record.text,
            length: Length::Words {
                words: record.words,
                bytes: record.bytes,
            },
        };
        let more = if form == Form::Html { more } else { &[] };
        let more = self.more_links(site, page, more);
        let body = self.body(form, content, (links, first, more), request);
        let modified_s = modified_s(history, since);
        let etag = format!("\"{:016x}-{:x}\"", record.raw, version.0);
        Some(Answer::ok(form.content_type(), body).conditional(request, etag, modified_s))
    }

    /// Only the entry page of a site has links beside the recorded ones.
    fn more_links<'a>(&self, site: usize, page: PageId, more: &'a [String]) -> &'a [String] {
        if self.sites[site].entry == Some(page) {
            more
        } else {
            &[]
        }
    }

    /// A body with these links: recorded ones (numbered from a first page), and more.
    fn body(
        &self,
        form: Form,
        content: Content,
        (links, first, more): (&[PageId], u32, &[String]),
        request: &Request<'_>,
    ) -> Vec<u8> {
        let href = |link: usize, out: &mut Vec<u8>| match links.get(link) {
            None => push_escaped(&more[link - links.len()], out),
            Some(to) => self.push_href(PageId(to.0 + first), form, request, out),
        };
        let count = links.len() + more.len();
        page::body(form, content, &Links { count, href: &href })
    }

    /// The address of a page as a link: a path on the same host, else all of it.
    fn push_href(&self, page: PageId, form: Form, request: &Request<'_>, out: &mut Vec<u8>) {
        let host = self.places.host(page) as usize;
        let path = self.places.path(page);
        // A path that begins with two slashes would be read as a host.
        if host != request.host || form != Form::Html || path.starts_with("//") {
            out.extend_from_slice(request.origins[host].as_bytes());
        }
        push_escaped(&path, out);
    }
}

/// When a snapshot was, in seconds of 1970. Snapshots of one day must differ for If-Modified-Since.
fn modified_s(history: &History, snapshot: usize) -> u64 {
    let day = u64::try_from(history.dates[snapshot].0).unwrap_or(0);
    day * DAY_S + snapshot as u64 % DAY_S
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Graph(..) => "a link graph",
            Self::Histories(_) => "histories",
            Self::Custom(_) => "a function",
        })
    }
}

/// What an XML page is: the record does not tell feeds from sitemaps, but names and links do.
fn form(history: &History, page: PageId, links: &[PageId]) -> Form {
    let page = &history.pages[page.index()];
    let all_xml = || links.iter().all(|link| history.pages[link.index()].is_xml);
    match (page.is_xml, page.url.contains("sitemap")) {
        (false, _) => Form::Html,
        (true, false) => Form::Feed,
        (true, true) if !links.is_empty() && all_xml() => Form::SitemapIndex,
        (true, true) => Form::Sitemap,
    }
}
