//! Long lists of hosts and URLs: what people keep in files to let in or to keep out.
//!
//! A line is a host, which stands for itself and every host below it, or a URL, which stands for
//! everything that begins with it. Two habits of block lists are understood, because the large
//! public ones have them: `0.0.0.0 ads.example` and `||ads.example^`.
//!
//! Regular expressions cannot do this: a million of them compile for minutes and match one after
//! the other. Hosts and prefixes are two sorted arrays instead. Of the prefixes only those are kept
//! that no other one begins, so at most one can begin a URL, and it is the last that does not
//! sort behind it.
//!
//! Cost: O(labels · log hosts + log prefixes) a look, a sort to build; the text of the lines in memory.

use std::sync::Arc;

use thiserror::Error;
use url::Url;

use crate::parse::{UrlLimits, parse};
use crate::{KeyOptions, canonical_key, host_of};

/// What a line of a list stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListLine {
    /// A host and every host below it, in lower case.
    Host(String),
    /// A URL, and everything that begins with it.
    Url(Url),
}

/// Why a line of a list means nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ListLineError {
    /// It looks like a URL, and is none that can be asked for.
    #[error("{0}; give a URL like https://example.org/ or a host like example.org")]
    Url(String),
    /// It is no host name.
    #[error("not a host name; give a host like example.org or a URL like https://example.org/")]
    Host,
}

impl ListLine {
    /// Reads a line; nothing where nothing is meant: an empty line, or one that begins with `#`.
    /// Behind white space a `#` begins a comment too.
    pub fn read(line: &str) -> Result<Option<Self>, ListLineError> {
        let line = line.trim().trim_start_matches('\u{feff}');
        let end = line
            .match_indices('#')
            .find(|(at, _)| *at == 0 || line[..*at].ends_with(char::is_whitespace));
        let line = end.map_or(line, |(at, _)| line[..at].trim_end());
        if line.is_empty() {
            return Ok(None);
        }
        if line.contains("://") {
            let url = parse(line, &UrlLimits::default());
            let mut url = url.map_err(|error| ListLineError::Url(error.to_string()))?;
            url.set_fragment(None);
            return Ok(Some(Self::Url(url)));
        }
        let mut words = line.split_whitespace();
        let name = match (words.next(), words.next(), words.next()) {
            (Some("0.0.0.0" | "127.0.0.1" | "::" | "::1"), Some(name), None) => name,
            (Some(name), None, _) => name,
            _ => return Err(ListLineError::Host),
        };
        let name = name
            .strip_prefix("||")
            .and_then(|name| name.strip_suffix('^'))
            .or_else(|| name.strip_prefix("*."))
            .unwrap_or(name);
        // Only what is nothing but a host comes back as the host of a URL.
        let plain = !name.contains(['/', '?', '@', '\\', '*', '^', '|'])
            && (!name.contains(':') || name.starts_with('['));
        let url = Url::parse(&format!("http://{name}/")).ok();
        let url = url.filter(|url| plain && url.port().is_none() && url.path() == "/");
        match url {
            Some(url) if !host_of(&url).is_empty() => Ok(Some(Self::Host(
                host_of(&url).trim_end_matches('.').to_owned(),
            ))),
            _ => Err(ListLineError::Host),
        }
    }

    /// The page that a line names as a seed: the URL, or the home page of the host over https.
    pub fn seed(&self) -> Option<Url> {
        match self {
            Self::Host(host) => Url::parse(&format!("https://{host}/")).ok(),
            Self::Url(url) => Some(url.clone()),
        }
    }
}

/// Lines of a list, ready to be looked up. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UrlList {
    hosts: Arc<[String]>,
    prefixes: Arc<[String]>,
}

impl FromIterator<ListLine> for UrlList {
    fn from_iter<T: IntoIterator<Item = ListLine>>(lines: T) -> Self {
        let (mut hosts, mut prefixes) = (Vec::new(), Vec::new());
        for line in lines {
            match line {
                ListLine::Host(host) => hosts.push(host),
                ListLine::Url(url) => prefixes.push(canonical_key(&url, &KeyOptions::default())),
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        prefixes.sort_unstable();
        // Whatever begins with another one stands right behind it or behind others that do.
        prefixes.dedup_by(|next, kept| next.starts_with(kept.as_str()));
        Self {
            hosts: hosts.into(),
            prefixes: prefixes.into(),
        }
    }
}

impl UrlList {
    /// Whether nothing is on it.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.prefixes.is_empty()
    }

    /// How many hosts and prefixes are on it, each once.
    pub fn len(&self) -> usize {
        self.hosts.len() + self.prefixes.len()
    }

    /// The entries as lines: hosts, then URLs.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().chain(&*self.prefixes).map(String::as_str)
    }

    /// The entry that a URL falls under.
    pub fn find(&self, url: &Url) -> Option<&str> {
        if !self.hosts.is_empty() {
            let mut name = host_of(url).trim_end_matches('.');
            loop {
                let found = self.hosts.binary_search_by(|host| host.as_str().cmp(name));
                if let Ok(found) = found {
                    return Some(&self.hosts[found]);
                }
                match name.split_once('.') {
                    Some((_, above)) => name = above,
                    None => break,
                }
            }
        }
        if self.prefixes.is_empty() {
            return None;
        }
        let key = canonical_key(url, &KeyOptions::default());
        let behind = self.prefixes.partition_point(|prefix| *prefix <= key);
        let prefix = self.prefixes[..behind].last()?;
        key.starts_with(prefix.as_str()).then_some(prefix)
    }
}

/// What stands for many names in a text that must differ when they do.
pub(crate) fn fingerprint<'a>(names: impl Iterator<Item = &'a str>) -> u64 {
    // FNV-1a: the same on every machine and in every release.
    let bytes = names.flat_map(|name| name.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        match ListLine::read(line) {
            Ok(Some(ListLine::Host(host))) => format!("host {host}"),
            Ok(Some(ListLine::Url(url))) => format!("url {url}"),
            Ok(None) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn lines() {
        for (line, expect) in [
            ("", "nothing"),
            ("  # all of it", "nothing"),
            ("Example.ORG", "host example.org"),
            ("example.org.", "host example.org"),
            ("*.example.org", "host example.org"),
            ("bücher.example", "host xn--bcher-kva.example"),
            ("[::1]", "host [::1]"),
            ("10.0.0.1", "host 10.0.0.1"),
            ("0.0.0.0 ads.example  # why", "host ads.example"),
            ("||ads.example^", "host ads.example"),
            ("http://a.example/b#c", "url http://a.example/b"),
            ("http://a.example/b #c", "url http://a.example/b"),
        ] {
            assert_eq!(read(line), expect, "{line}");
        }
        for line in ["two words", "a.example/b", "a.example:80", "a b c", "a^"] {
            assert!(
                read(line).starts_with("not a host name"),
                "{line}: {}",
                read(line)
            );
        }
        assert!(read("ftp://a.example/").contains("give a URL"));
    }

    /// Against the slow truth: every entry is tried.
    #[test]
    fn the_entry_that_covers_a_url_is_found() {
        let lines = [
            "a.example",
            "b.a.example",
            "example.org",
            "http://c.example/x",
            "http://c.example/x/y",
            "http://c.example/xa",
            "https://c.example/",
            "http://d.example/q?a=1",
        ];
        let list: UrlList = lines
            .iter()
            .filter_map(|line| ListLine::read(line).unwrap())
            .collect();
        assert_eq!(
            list.len(),
            6,
            "what another one covers is dropped: {list:?}"
        );
        let urls = [
            "http://a.example/",
            "http://z.b.a.example/p",
            "http://xa.example/",
            "http://c.example/",
            "http://c.example/x",
            "http://c.example/x/y/z",
            "http://c.example/w",
            "https://c.example/w",
            "http://d.example/q?a=12",
            "http://d.example/q",
            "http://org/",
            "http://www.example.org./",
        ];
        for url in urls {
            let url = Url::parse(url).unwrap();
            let key = canonical_key(&url, &KeyOptions::default());
            let host = host_of(&url).trim_end_matches('.');
            let slow = lines
                .iter()
                .any(|line| match ListLine::read(line).unwrap().unwrap() {
                    ListLine::Host(name) => host == name || host.ends_with(&format!(".{name}")),
                    ListLine::Url(url) => key.starts_with(url.as_str()),
                });
            assert_eq!(list.find(&url).is_some(), slow, "{url}");
        }
    }
}
