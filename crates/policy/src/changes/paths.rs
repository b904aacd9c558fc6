//! Directories of addresses: what lies between the host and the last slash.
//!
//! `/a/b/c.html` and `/a/b/` are both in `/a/b/`; a query belongs to the file name. Each host has
//! a top of its own.
//!
//! Cost: one search per path part; the names are kept while the tree is built.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::DirectoryTree;

/// Numbers directories as they are met; a directory comes after the one above it.
#[derive(Debug, Default)]
pub struct Directories {
    /// (directory above, name) → directory.
    numbers: BTreeMap<(u32, String), u32>,
    parent: Vec<u32>,
    top: u32,
}

impl Directories {
    /// Addresses from here on are of another host.
    pub fn begin_host(&mut self) {
        self.top = self.parent.len() as u32;
        self.parent.push(self.top);
    }

    /// The directory of an address of the present host, from its first slash on.
    pub fn of(&mut self, url: &str) -> u32 {
        let mut directory = self.top;
        for name in directory_names(url) {
            let key = (directory, name.to_owned());
            directory = *self.numbers.entry(key).or_insert_with(|| {
                self.parent.push(directory);
                self.parent.len() as u32 - 1
            });
        }
        directory
    }

    /// The tree of all directories met, with the pages in them.
    pub fn tree(self, of_page: Vec<u32>) -> DirectoryTree {
        DirectoryTree::new(of_page, self.parent)
    }
}

/// The tree of the directories of some pages: by page its host, and its URL.
pub fn of_urls<'a, E>(
    hosts: &[u32],
    url_of: impl Fn(usize) -> Result<Cow<'a, str>, E>,
) -> Result<DirectoryTree, E> {
    let mut by_host: Vec<usize> = (0..hosts.len()).collect();
    by_host.sort_by_key(|page| (hosts[*page], *page));
    let mut directories = Directories::default();
    let mut of_page = vec![0; hosts.len()];
    let mut host = None;
    for page in by_host {
        if host.replace(hosts[page]) != Some(hosts[page]) {
            directories.begin_host();
        }
        of_page[page] = directories.of(path_of(&url_of(page)?));
    }
    Ok(directories.tree(of_page))
}

/// What stands behind scheme and authority.
fn path_of(url: &str) -> &str {
    url.find("://")
        .and_then(|at| url[at + 3..].find('/').map(|slash| at + 3 + slash))
        .map_or("/", |at| &url[at..])
}

/// The names of the directories on the way to a page.
fn directory_names(url: &str) -> impl Iterator<Item = &str> {
    let path = url.split(['?', '#']).next().unwrap_or("");
    let path = path.strip_prefix('/').unwrap_or(path);
    let end = path.rfind('/').unwrap_or(0);
    path[..end].split('/').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_frontier::PageId;

    #[test]
    fn a_page_is_in_the_directory_before_its_last_slash() {
        let mut directories = Directories::default();
        directories.begin_host();
        let urls = [
            "/",
            "/a.html",
            "/d/",
            "/d/x.html",
            "/d/e/?q=/z/y",
            "/e/x.html",
        ];
        let mut of_page: Vec<u32> = urls.iter().map(|url| directories.of(url)).collect();
        directories.begin_host();
        of_page.push(directories.of("/d/x.html"));
        let tree = directories.tree(of_page);
        let distances: Vec<Option<i32>> = (0..7)
            .map(|page| tree.distance(PageId(3), PageId(page)))
            .collect();
        assert_eq!(
            distances,
            [Some(1), Some(1), Some(0), Some(0), Some(-1), Some(2), None]
        );
    }
}
