//! A web by seed: which pages there are, what they link to, how they change, which hosts misbehave.
//!
//! What a page is depends on the seed, its URL and the age of the web alone, but for faults that
//! pass: those end after so many requests, fewer than the crawler's patience, so that every page
//! that exists can be had. The web grows older only between two questions, so that what was asked
//! can be held against what there was.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use turnstone_fetch::Url;

use super::dice::fate;

/// Pages of a host at first, beside its calendar without end; so many more come with each age.
const PAGES: u64 = 9;
const PAGES_AN_AGE: u64 = 2;
/// What a host wants between two requests, where it wants more than our own delay.
pub(super) const CRAWL_DELAY_MS: u64 = 3000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It comes, after so many failures.
    There(u64),
    Gone,
    MovedTo(u64, u64),
    /// The server says that it is too much, so often.
    Busy(u64),
}

#[derive(Debug)]
pub(super) struct VirtualWeb {
    pub(super) seed: u64,
    pub(super) hosts: u64,
    pub(super) age: u64,
}

impl VirtualWeb {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            hosts: 2 + fate(seed, "hosts").below(4),
            age: 0,
        }
    }

    pub(super) fn url(&self, host: u64, page: u64) -> Url {
        let folder = if page % 3 == 2 { "x/" } else { "" };
        Url::parse(&format!("http://h{host}.example/{folder}p{page}.html")).unwrap()
    }

    pub(super) fn place(&self, url: &Url) -> Option<(u64, u64)> {
        let name = url.path().rsplit('/').next()?;
        let page = name.strip_prefix('p')?.strip_suffix(".html")?;
        Some((self.host(url)?, page.parse().ok()?))
    }

    fn host(&self, url: &Url) -> Option<u64> {
        let name = url.host_str()?.strip_prefix('h')?;
        name.strip_suffix(".example")?.parse().ok()
    }

    fn pages(&self) -> u64 {
        PAGES + PAGES_AN_AGE * self.age
    }

    /// Some hosts share an address.
    pub(super) fn address(&self, host: &str) -> IpAddr {
        let own = fate(self.seed, host).below(self.hosts + 1) as u8;
        Ipv4Addr::new(192, 0, 2, own).into()
    }

    fn is_one_in(&self, what: &str, host: &str, throws: u64) -> bool {
        fate(self.seed, &format!("{what} {host}")).once_in(throws)
    }

    /// Hosts that never answer; the first does.
    pub(super) fn is_dead(&self, host: &str) -> bool {
        host != "h0.example" && self.is_one_in("dead", host, 8)
    }

    /// Hosts that answer 200 to anything.
    pub(super) fn is_liar(&self, host: &str) -> bool {
        self.is_one_in("liar", host, 5)
    }

    pub(super) fn refuses_heads(&self, host: &str) -> bool {
        self.is_one_in("heads", host, 4)
    }

    /// Hosts whose robots.txt is at the first one.
    pub(super) fn is_ruled_elsewhere(&self, host: &str) -> bool {
        host != "h0.example" && self.is_one_in("elsewhere", host, 5)
    }

    /// How far apart a host wants requests to be.
    pub(super) fn crawl_delay_ms(&self, host: &str) -> u64 {
        if self.is_one_in("delay", host, 4) {
            CRAWL_DELAY_MS
        } else {
            0
        }
    }

    /// What robots.txt of a host forbids.
    pub(super) fn forbids(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        self.is_one_in("robots", host, 3) && url.path().contains("p4")
    }

    /// The rules of a host.
    pub(super) fn rules(&self, host: &str) -> String {
        let mut text = String::from("User-agent: *\n");
        if self.is_one_in("robots", host, 3) {
            text += "Disallow: /p4\nDisallow: /x/p4\n";
        }
        if self.crawl_delay_ms(host) > 0 {
            text += &format!("Crawl-delay: {}\n", CRAWL_DELAY_MS / 1000);
        }
        if self.is_one_in("map", host, 3) {
            text += &format!("Sitemap: http://{host}/map.xml\n");
        }
        text
    }

    /// The last age at which something happened to a page, by one throw in so many.
    fn turned(&self, what: &str, throws: u64) -> u64 {
        let turns = |age: &u64| fate(self.seed, &format!("{what} {age}")).once_in(throws);
        (1..=self.age).rev().find(turns).unwrap_or(0)
    }

    pub(super) fn kind(&self, host: u64, page: u64) -> Kind {
        if (host, page) == (0, 0) {
            return Kind::There(0);
        }
        let turned = self.turned(&format!("turn {host} {page}"), 6);
        let mut dice = fate(self.seed, &format!("kind {host} {page} {turned}"));
        match dice.below(12) {
            0 | 1 => Kind::Gone,
            2 => Kind::MovedTo(dice.below(self.hosts), dice.below(PAGES)),
            3 => Kind::There(1 + dice.below(2)),
            4 => Kind::Busy(1 + dice.below(2)),
            _ => Kind::There(0),
        }
    }

    /// Which content a page has now: the age it is from.
    pub(super) fn version(&self, url: &Url) -> u64 {
        if url.path() == "/map.xml" {
            return self.age;
        }
        self.turned(&format!("change {url}"), 3)
    }

    /// The links of a page: within the web, out of it, and into a calendar without end. With each
    /// the age of what it leads to, where the page says so.
    pub(super) fn links(&self, url: &Url) -> Vec<(Url, Option<u64>)> {
        if let Some(day) = url.path().strip_prefix("/day/") {
            let next = day.parse::<u64>().unwrap_or(0) + 1;
            return vec![(url.join(&format!("/day/{next}")).unwrap(), None)];
        }
        if url.path() == "/map.xml" {
            let Some(host) = self.host(url) else {
                return Vec::new();
            };
            let pages = (0..self.pages()).map(|page| self.url(host, page));
            let dated = pages.map(|url| {
                let version = self.version(&url);
                (url, Some(version))
            });
            return dated.collect();
        }
        let version = self.version(url);
        let mut dice = fate(self.seed, &format!("links {url} {version}"));
        let pages = PAGES + PAGES_AN_AGE * version;
        let mut links: Vec<Url> = (0..1 + dice.below(6))
            .map(|_| self.url(dice.below(self.hosts), dice.below(pages)))
            .collect();
        if dice.once_in(4) {
            links.push(Url::parse(&format!("http://far{}.example/", dice.below(3))).unwrap());
        }
        if dice.once_in(6) {
            links.push(url.join("/day/1").unwrap());
        }
        links.into_iter().map(|url| (url, None)).collect()
    }

    /// The pages that can be had from the first one, as far as `in_scope` reaches; without calendars.
    pub(super) fn reachable(&self, in_scope: impl Fn(&Url) -> bool) -> BTreeSet<String> {
        let mut there = BTreeSet::new();
        let mut met = BTreeSet::new();
        let mut next = vec![self.url(0, 0)];
        while let Some(url) = next.pop() {
            let host = url.host_str().unwrap_or_default().to_owned();
            let fits = in_scope(&url) && !self.is_dead(&host) && !self.forbids(&url);
            let Some((host, page)) = self.place(&url).filter(|_| fits) else {
                continue;
            };
            if !met.insert(url.to_string()) {
                continue;
            }
            match self.kind(host, page) {
                Kind::Gone => {}
                Kind::MovedTo(host, page) => next.push(self.url(host, page)),
                Kind::There(_) | Kind::Busy(_) => {
                    there.insert(url.to_string());
                    next.extend(self.links(&url).into_iter().map(|(url, _)| url));
                }
            }
        }
        there
    }

    /// Whether a page is there, wherever that is; nothing where a survey may find it hard to say.
    pub(super) fn is_alive(&self, url: &Url) -> Option<bool> {
        let (host, page) = self.place(url)?;
        match self.kind(host, page) {
            Kind::There(_) | Kind::Busy(_) => Some(true),
            Kind::Gone => Some(false),
            Kind::MovedTo(..) => None,
        }
    }
}
