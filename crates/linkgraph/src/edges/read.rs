//! Reading edge lists.
//!
//! Bytes are parsed where they lie in the read buffer; with ids nothing is allocated or hashed a
//! link. Cost: O(links), some 20 ns a link with ids beside the decompressor; memory as for
//! [`ArcBuilder`], and 8 bytes a link more where URLs have to be put in order first.

use std::path::{Path, PathBuf};

use memchr::memchr;
use turnstone_frontier::PageId;

use crate::arcs::ArcBuilder;
use crate::error::{LineFault, ReadError, shown};
use crate::input::Lines;
use crate::stored::StoredGraph;
use crate::strings::{Index, Strings};
use crate::urls::UrlTable;

/// Ids must be dense: so many pages without any link are believed, and so many for each link.
const UNLINKED_PAGES_MAX: u64 = 1 << 20;
const PAGES_PER_LINK_MAX: u64 = 64;

/// Reads `NAME.tsv`, `.tsv.zst` or `.tsv.gz` and the list of URLs beside it, if there is one.
pub fn read(path: &Path) -> Result<StoredGraph, ReadError> {
    let urls_path = super::web_name(path).and_then(|name| UrlTable::beside(&name));
    let urls = match urls_path {
        Some(urls_path) => Some((UrlTable::read(&urls_path)?, urls_path)),
        None => None,
    };
    let mut list = EdgeList {
        lines: Lines::open(path)?,
        pages_said: None,
    };
    let Some(by_id) = list.first_link_is_by_id()? else {
        return match urls {
            Some((urls, _)) if !urls.is_empty() => {
                let graph = ArcBuilder::new().finish(urls.len());
                Ok(StoredGraph {
                    graph,
                    urls: Some(urls),
                })
            }
            _ => list.without_links(path),
        };
    };
    // The first link was only looked at.
    list.lines = Lines::open(path)?;
    match (by_id, urls) {
        (true, None) => list.ids(path),
        (true, Some((urls, urls_path))) => list.ids_with_urls(urls, urls_path),
        (false, None) => list.urls(path),
        (false, Some((urls, urls_path))) => list.urls_with_list(urls, urls_path),
    }
}

struct EdgeList {
    lines: Lines,
    /// What a comment `# pages N` said.
    pages_said: Option<u64>,
}

impl EdgeList {
    /// Whether the first link is two whole numbers; `None` if there is no link.
    fn first_link_is_by_id(&mut self) -> Result<Option<bool>, ReadError> {
        let is_id = |field: &[u8]| field.iter().all(u8::is_ascii_digit);
        if !self.advance()? {
            return Ok(None);
        }
        let (source, target) = self.link()?;
        Ok(Some(is_id(source) && is_id(target)))
    }

    fn ids(mut self, path: &Path) -> Result<StoredGraph, ReadError> {
        let mut arcs = ArcBuilder::new();
        while self.advance()? {
            let (source, target) = self.link()?;
            match (parse_id(source), parse_id(target)) {
                (Some(source), Some(target)) => arcs.add(source, target),
                (None, _) => return Err(not_an_id(source, &self.lines)),
                (_, None) => return Err(not_an_id(target, &self.lines)),
            }
        }
        let pages = (arcs.pages_seen() as u64).max(self.pages_said.unwrap_or(0));
        let graph = arcs.finish(believable(pages, self.lines.line(), path)?);
        Ok(StoredGraph { graph, urls: None })
    }

    fn ids_with_urls(mut self, urls: UrlTable, path: PathBuf) -> Result<StoredGraph, ReadError> {
        let mut arcs = ArcBuilder::new();
        let pages = urls.len();
        while self.advance()? {
            let (source, target) = self.link()?;
            match (parse_id(source), parse_id(target)) {
                (Some(source), Some(target)) if source.index().max(target.index()) < pages => {
                    arcs.add(source, target);
                }
                (Some(source), Some(target)) => {
                    let id = u64::from(source.max(target).0);
                    return Err(self.lines.fault(LineFault::NoSuchId {
                        id,
                        pages,
                        urls: path,
                    }));
                }
                (None, _) => return Err(not_an_id(source, &self.lines)),
                (_, None) => return Err(not_an_id(target, &self.lines)),
            }
        }
        Ok(StoredGraph {
            graph: arcs.finish(pages),
            urls: Some(urls),
        })
    }

    fn urls_with_list(mut self, urls: UrlTable, path: PathBuf) -> Result<StoredGraph, ReadError> {
        let mut arcs = ArcBuilder::new();
        while self.advance()? {
            let (source, target) = self.link()?;
            let found = |field| text(field).map(|url| urls.find(url));
            match (found(source), found(target)) {
                (Ok(Some(source)), Ok(Some(target))) => arcs.add(source, target),
                (Err(fault), _) | (_, Err(fault)) => return Err(self.lines.fault(fault)),
                (unknown, _) => {
                    let field = if unknown == Ok(None) { source } else { target };
                    let fault = LineFault::NoSuchUrl {
                        url: shown(field),
                        urls: path,
                    };
                    return Err(self.lines.fault(fault));
                }
            }
        }
        Ok(StoredGraph {
            graph: arcs.finish(urls.len()),
            urls: Some(urls),
        })
    }

    /// URLs without a list: number them as they come, then put them in order.
    fn urls(mut self, path: &Path) -> Result<StoredGraph, ReadError> {
        let mut met = Strings::default();
        let mut index = Index::default();
        let mut links: Vec<(u32, u32)> = Vec::new();
        while self.advance()? {
            let (source, target) = self.link()?;
            match (text(source), text(target)) {
                (Ok(source), Ok(target)) => {
                    let source = index.intern(&mut met, source);
                    links.push((source, index.intern(&mut met, target)));
                }
                (Err(fault), _) | (_, Err(fault)) => return Err(self.lines.fault(fault)),
            }
            if met.len() > u32::MAX as usize - 2 {
                return Err(ReadError::file(
                    path,
                    "more than 4294967293 URLs; page ids are 32-bit",
                ));
            }
        }
        drop(index);
        let mut in_order: Vec<u32> = (0..met.len() as u32).collect();
        in_order.sort_unstable_by(|&a, &b| met.get(a as usize).cmp(met.get(b as usize)));
        let mut page_of = vec![PageId(0); met.len()];
        let mut urls = Strings::default();
        for (page, &i) in in_order.iter().enumerate() {
            page_of[i as usize] = PageId::from_index(page);
            urls.push(met.get(i as usize));
        }
        let mut arcs = ArcBuilder::new();
        for (source, target) in links {
            arcs.add(page_of[source as usize], page_of[target as usize]);
        }
        let graph = arcs.finish(urls.len());
        Ok(StoredGraph {
            graph,
            urls: Some(UrlTable::from_strings(urls)),
        })
    }

    /// A list that says how many pages there are but has no link is a web; an empty one is not.
    fn without_links(self, path: &Path) -> Result<StoredGraph, ReadError> {
        match self.pages_said {
            None | Some(0) => Err(ReadError::file(
                path,
                "holds no link; a link is a line source<TAB>target",
            )),
            Some(pages) => {
                let pages = believable(pages, self.lines.line(), path)?;
                Ok(StoredGraph {
                    graph: ArcBuilder::new().finish(pages),
                    urls: None,
                })
            }
        }
    }

    /// Goes on to the next line that should hold a link; false at the end.
    #[inline]
    fn advance(&mut self) -> Result<bool, ReadError> {
        while self.lines.advance()? {
            let line = self.lines.current();
            match line.first() {
                Some(b'0'..=b'9') => return Ok(true),
                Some(b'#') => self.pages_said = pages_said(line).or(self.pages_said),
                _ if line.iter().all(u8::is_ascii_whitespace) => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Source and target of the current line.
    #[inline]
    fn link(&self) -> Result<(&[u8], &[u8]), ReadError> {
        two_fields(self.lines.current())
            .map_err(|fields| self.lines.fault(LineFault::NotTwoFields(fields)))
    }
}

/// The two fields of a line, or how many there are instead.
#[inline]
fn two_fields(line: &[u8]) -> Result<(&[u8], &[u8]), usize> {
    let separator = if memchr(b'\t', line).is_some() {
        b'\t'
    } else {
        b' '
    };
    let mut fields = line
        .split(|&byte| byte == separator)
        .map(<[u8]>::trim_ascii)
        .filter(|f| !f.is_empty());
    match (fields.next(), fields.next(), fields.next()) {
        (Some(source), Some(target), None) => Ok((source, target)),
        (None, ..) => Err(0),
        (Some(_), None, _) => Err(1),
        (Some(_), Some(_), Some(_)) => Err(3 + fields.count()),
    }
}

/// A page id; the largest number is kept free so that a page count fits into 32 bits.
#[inline]
fn parse_id(field: &[u8]) -> Option<PageId> {
    if field.is_empty() || field.len() > 10 {
        return None;
    }
    let mut id = 0u64;
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        id = 10 * id + u64::from(digit);
    }
    u32::try_from(id)
        .ok()
        .filter(|&id| id < u32::MAX)
        .map(PageId)
}

/// N of a comment `# pages N`.
fn pages_said(comment: &[u8]) -> Option<u64> {
    let words = std::str::from_utf8(comment).ok()?.strip_prefix('#')?;
    words.trim().strip_prefix("pages ")?.trim().parse().ok()
}

fn text(field: &[u8]) -> Result<&str, LineFault> {
    std::str::from_utf8(field).map_err(|_| LineFault::NotUtf8)
}

fn not_an_id(field: &[u8], lines: &Lines) -> ReadError {
    lines.fault(LineFault::NotAnId(shown(field)))
}

/// Refuses a page count that would fill the memory for a handful of links.
fn believable(pages: u64, lines: u64, path: &Path) -> Result<usize, ReadError> {
    if pages > UNLINKED_PAGES_MAX + PAGES_PER_LINK_MAX * lines || pages >= u64::from(u32::MAX) {
        let fault = format!(
            "{pages} pages for {lines} lines; ids must be dense (0, 1, 2, …), \
             or a list of URLs must stand beside the file"
        );
        return Err(ReadError::file(path, fault));
    }
    Ok(pages as usize)
}
