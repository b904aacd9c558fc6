//! The URL of each page, the page of each URL, and the host of each page.
//!
//! Plain string work: a URL here is a name, taken as it stands in the list; nothing is parsed or
//! normalised but the host, which is the authority part without user and in lower case.
//!
//! Cost: the text and 8 bytes a page; about 7 bytes a page more from the first `find` on.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memchr::memchr2;
use turnstone_frontier::{HostId, PageId};

use crate::error::{LineFault, ReadError, WriteError, shown};
use crate::input::{Lines, with_suffix};
use crate::output::{NewFile, Sealed};
use crate::strings::{Index, Strings};

/// The URLs of the pages `0..len`.
#[derive(Clone, Default)]
pub struct UrlTable {
    urls: Strings,
    index: OnceLock<Index>,
}

impl UrlTable {
    /// A table without pages.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn from_strings(mut urls: Strings) -> Self {
        urls.shrink();
        Self {
            urls,
            index: OnceLock::new(),
        }
    }

    /// Reads a list of URLs: line i, counted from 0, is the URL of page i.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let mut lines = Lines::open(path)?;
        let mut urls = Strings::default();
        while lines.advance()? {
            match std::str::from_utf8(lines.current()) {
                Ok("") => return Err(lines.fault(LineFault::Empty)),
                Ok(url) => urls.push(url),
                Err(_) => return Err(lines.fault(LineFault::NotUtf8)),
            }
        }
        if u32::try_from(urls.len()).is_err() {
            return Err(ReadError::file(
                path,
                "more than 4294967295 URLs; page ids are 32-bit",
            ));
        }
        Ok(Self::from_strings(urls))
    }

    /// The list of URLs that stands beside a web called `name`: `name.urls`, `.urls.zst` or
    /// `.urls.gz`, the first there is.
    pub fn beside(name: &Path) -> Option<PathBuf> {
        [".urls", ".urls.zst", ".urls.gz"]
            .into_iter()
            .map(|suffix| with_suffix(name, suffix))
            .find(|path| path.is_file())
    }

    /// Writes the list; the file appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        let mut writer = UrlWriter::create(path)?;
        for i in 0..self.len() {
            writer.push(self.urls.get(i))?;
        }
        writer.finish()
    }

    /// Appends the URL of the next page.
    pub fn push(&mut self, url: &str) -> PageId {
        self.index = OnceLock::new();
        self.urls.push(url);
        PageId::from_index(self.urls.len() - 1)
    }

    /// The URL of a page.
    #[inline]
    pub fn url(&self, page: PageId) -> &str {
        self.urls.get(page.index())
    }

    /// The page with this URL, exactly as written in the list; the first, if several have it.
    /// The first call builds the index: O(pages).
    pub fn find(&self, url: &str) -> Option<PageId> {
        self.index
            .get_or_init(|| Index::of(&self.urls))
            .find(&self.urls, url)
            .map(PageId)
    }

    /// Number of pages.
    pub fn len(&self) -> usize {
        self.urls.len()
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of text and bookkeeping, without the index.
    pub fn memory_bytes(&self) -> u64 {
        self.urls.memory_bytes()
    }

    /// The host of every page; hosts are numbered as they first appear.
    pub fn hosts(&self) -> Hosts {
        let mut names = Strings::default();
        let mut index = Index::default();
        let mut of_page = Vec::with_capacity(self.len());
        // Neighbours mostly share their host, so ask the index only when it changes.
        let mut last: Option<(&str, HostId)> = None;
        for i in 0..self.len() {
            let authority = authority(self.urls.get(i));
            let host = match last {
                Some((same, host)) if same == authority => host,
                _ => HostId(index.intern(&mut names, &host_name(authority))),
            };
            last = Some((authority, host));
            of_page.push(host);
        }
        Hosts { of_page, names }
    }
}

impl PartialEq for UrlTable {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.urls.get(i) == other.urls.get(i))
    }
}

impl fmt::Debug for UrlTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} URLs", self.len())?;
        (0..self.len().min(20)).try_for_each(|i| write!(f, "\n{i}: {}", self.urls.get(i)))
    }
}

/// The host of each page, and the name of each host.
#[derive(Clone)]
pub struct Hosts {
    of_page: Vec<HostId>,
    names: Strings,
}

impl Hosts {
    /// The host of a page.
    #[inline]
    pub fn host(&self, page: PageId) -> HostId {
        self.of_page[page.index()]
    }

    /// The host of every page, by page.
    pub fn of_pages(&self) -> &[HostId] {
        &self.of_page
    }

    /// The name of a host, with its port where the URL has one.
    pub fn name(&self, host: HostId) -> &str {
        self.names.get(host.index())
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no hosts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hosts of {} pages", self.len(), self.of_page.len())
    }
}

/// What stands between `://` and the path; a URL without a scheme begins with its host.
fn authority(url: &str) -> &str {
    let rest = match url.find("://") {
        // Only a scheme may stand before: `host/redirect?to=http://other` has none.
        Some(at) if !url[..at].contains(['/', '?', '#']) => &url[at + 3..],
        _ => url.strip_prefix("//").unwrap_or(url),
    };
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

/// The authority without user and password, in lower case.
fn host_name(authority: &str) -> Cow<'_, str> {
    let host = authority.rsplit('@').next().unwrap_or(authority);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

/// Writes a list of URLs one by one.
pub(crate) struct UrlWriter {
    file: NewFile,
}

impl UrlWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, WriteError> {
        Ok(Self {
            file: NewFile::create(path)?,
        })
    }

    pub(crate) fn push(&mut self, url: &str) -> Result<(), WriteError> {
        if url.is_empty() || memchr2(b'\n', b'\r', url.as_bytes()).is_some() {
            let fault = format!("'{}' cannot stand in a list of URLs", shown(url.as_bytes()));
            return Err(WriteError::new(
                self.file.path(),
                std::io::Error::other(fault),
            ));
        }
        self.file.put(url.as_bytes())?;
        self.file.put(b"\n")
    }

    pub(crate) fn seal(self) -> Result<Sealed, WriteError> {
        self.file.seal()
    }

    fn finish(self) -> Result<(), WriteError> {
        self.seal()?.publish()
    }
}
