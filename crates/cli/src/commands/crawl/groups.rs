//! Limits for each host, for each site and for named groups of hosts: `--limit` and `[[group]]`.
//!
//! One form for all of them: whom it is for, and what. A group without hosts is for every host. Given by a
//! flag, a limit is called what it is for, and takes the place of one of that name; `turnstone.toml` keeps
//! it for the next run.

use serde::{Deserialize, Serialize};
use turnstone_crawl::limits::{Each, Limit};
use turnstone_fetch::list::{ListLine, UrlList};

use crate::exit::Usage;
use crate::units;

/// A limit: `[[group]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct GroupConfig {
    /// What it is called.
    pub(crate) name: String,
    /// The hosts it is for, with those below them; all without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// For whom it counts: `host`, `site` or `group`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per: Option<String>,
    /// Pages stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pages: Option<u64>,
    /// Requests for pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requests: Option<u64>,
    /// Bytes of bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// Links from a seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<u32>,
    /// Time between requests to a host, as `5s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
}

impl GroupConfig {
    /// Reads `host:pages=100`, `site:bytes=1GB` or `a.example,b.example:requests=500,delay=5s`.
    pub(super) fn parse(text: &str) -> Result<Self, Usage> {
        let wrong = |what: String| Usage::of("--limit", format!("'{text}': {what}"));
        let form =
            "give whom and what, as host:pages=100 or a.example,b.example:requests=500,delay=5s";
        let first = text.find('=').ok_or_else(|| wrong(form.to_owned()))?;
        let colon = text[..first]
            .rfind(':')
            .ok_or_else(|| wrong(form.to_owned()))?;
        let (whom, what) = (text[..colon].trim(), &text[colon + 1..]);
        let mut group = Self {
            name: whom.to_owned(),
            ..Self::default()
        };
        match whom {
            "" => return Err(wrong(form.to_owned())),
            "host" | "site" => group.per = Some(whom.to_owned()),
            hosts => {
                group.hosts = hosts
                    .split(',')
                    .map(|host| host.trim().to_owned())
                    .collect();
            }
        }
        for item in what.split(',') {
            let (name, value) = item.split_once('=').ok_or_else(|| wrong(form.to_owned()))?;
            let number = || units::count(value).map_err(wrong);
            match name.trim() {
                "pages" => group.pages = Some(number()?),
                "requests" => group.requests = Some(number()?),
                "bytes" => group.bytes = Some(units::bytes(value).map_err(wrong)?),
                "depth" => {
                    let depth = value
                        .parse()
                        .map_err(|_| wrong(format!("'{value}' is no depth")))?;
                    group.depth = Some(depth);
                }
                "delay" => {
                    units::span_ms(value).map_err(wrong)?;
                    group.delay = Some(value.to_owned());
                }
                other => {
                    return Err(wrong(format!(
                        "there is no limit '{other}'; there are pages, requests, bytes, depth, delay"
                    )));
                }
            }
        }
        group.limit()?;
        Ok(group)
    }

    /// What the crawl is told.
    pub(crate) fn limit(&self) -> Result<Limit, Usage> {
        let wrong = |what: String| Usage(format!("limit '{}': {what}", self.name));
        if self.name.is_empty() {
            return Err(wrong("give it a name".to_owned()));
        }
        let each = match self.per.as_deref() {
            Some("host") => Each::Host,
            Some("site") => Each::Site,
            Some("group") => Each::Together,
            None if self.hosts.is_empty() => Each::Host,
            None => Each::Together,
            Some(other) => {
                return Err(wrong(format!(
                    "per = '{other}': it counts per host, site or group"
                )));
            }
        };
        let read = |host: &String| match ListLine::read(host) {
            Ok(Some(line @ ListLine::Host(_))) => Ok(line),
            Ok(_) => Err(wrong(format!(
                "'{host}' is no host; give names like example.org"
            ))),
            Err(error) => Err(wrong(format!("'{host}': {error}"))),
        };
        let hosts: UrlList = self.hosts.iter().map(read).collect::<Result<_, _>>()?;
        let zero = [self.pages, self.requests, self.bytes].contains(&Some(0));
        if zero {
            return Err(wrong(
                "at least one must be allowed; leave hosts out with --exclude-list".to_owned(),
            ));
        }
        let delay = self.delay.as_deref().map(units::span_ms).transpose();
        Ok(Limit {
            name: self.name.clone(),
            hosts: (!self.hosts.is_empty()).then_some(hosts),
            each,
            pages: self.pages,
            requests: self.requests,
            bytes: self.bytes,
            depth: self.depth,
            delay_ms: delay.map_err(wrong)?,
        })
    }
}
