//! The stores of one crawl as one web: of a crawl in one piece its own, of a crawl in shards those of all.
//!
//! Each shard numbers pages by itself, and knows pages of others as *away*. Here every page has one number:
//! that of its shard, where it is at home. A page that is away and that its shard has not met yet (the
//! transfer that names it is under way) counts once, wherever it is linked from first.
//!
//! For those who look. Cost: 4 bytes a page of each shard, and one read of a journal for each page that is away.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use turnstone_frontier::PageId;

use crate::error::StoreError;
use crate::keys::Key;
use crate::store::Store;

/// The folder of a crawl directory that has its shards.
const SHARDS: &str = "shards";
/// No number: out of scope.
const NONE: u32 = u32::MAX;

/// The folders of the shards of a crawl, in order; none for a crawl in one piece, or where there is none.
pub fn shard_folders(directory: &Path) -> Vec<PathBuf> {
    let whole = directory.join(SHARDS);
    let folders = (0u32..).map(|shard| whole.join(shard.to_string()));
    folders
        .take_while(|folder| folder.join("store/journal").is_file())
        .collect()
}

/// The stores of one crawl.
#[derive(Debug)]
pub struct Joined {
    stores: Vec<Store>,
    /// By store and page.
    numbers: Vec<Vec<u32>>,
    /// By number: its store, and its number there.
    pages: Vec<(u32, PageId)>,
}

impl Joined {
    /// Looks at a crawl directory.
    pub fn look(directory: &Path) -> Result<Self, StoreError> {
        let folders = shard_folders(directory);
        let stores = match folders.is_empty() {
            true => vec![Store::look(directory)?],
            false => folders
                .iter()
                .map(|folder| Store::look(folder))
                .collect::<Result<_, _>>()?,
        };
        Self::of(stores)
    }

    /// Joins stores that are open: one, or all shards of a crawl in order.
    pub fn of(stores: Vec<Store>) -> Result<Self, StoreError> {
        let is_one = stores.len() == 1;
        let mut pages = Vec::new();
        let mut numbers = Vec::new();
        for (shard, store) in stores.iter().enumerate() {
            let index = store.index();
            let all = (0..index.page_count()).map(PageId::from_index);
            let number = |page: PageId| {
                let away = !is_one && index.away(index.host(page)).is_some();
                if away || index.is_outside(page) {
                    return NONE;
                }
                pages.push((shard as u32, page));
                pages.len() as u32 - 1
            };
            numbers.push(all.map(number).collect::<Vec<u32>>());
        }
        let mut unmet: HashMap<Key, u32> = HashMap::new();
        for (shard, store) in stores.iter().enumerate().filter(|_| !is_one) {
            let index = store.index();
            for page in (0..index.page_count()).map(PageId::from_index) {
                let Some(owner) = index.away(index.host(page)).map(|owner| owner as usize) else {
                    continue;
                };
                if index.is_outside(page) || owner >= stores.len() {
                    continue;
                }
                let (key, _) = store.named(page)?;
                let number = match stores[owner].index().find(key) {
                    Some(home) => numbers[owner][home.index()],
                    None => *unmet.entry(key).or_insert_with(|| {
                        pages.push((shard as u32, page));
                        pages.len() as u32 - 1
                    }),
                };
                numbers[shard][page.index()] = number;
            }
        }
        Ok(Self {
            stores,
            numbers,
            pages,
        })
    }

    /// The stores, in order.
    pub fn stores(&self) -> &[Store] {
        &self.stores
    }

    /// Whether the crawl is cut into shards.
    pub fn is_cut(&self) -> bool {
        self.stores.len() > 1
    }

    /// How many pages there are in scope.
    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// Every page in scope by its number: the number of its store, and its number there.
    pub fn pages(&self) -> impl Iterator<Item = (usize, PageId)> + '_ {
        self.pages
            .iter()
            .map(|(shard, page)| (*shard as usize, *page))
    }

    /// The number of a page of a store; nothing if it is out of scope.
    pub fn number(&self, store: usize, page: PageId) -> Option<PageId> {
        let number = self.numbers[store][page.index()];
        (number != NONE).then_some(PageId(number))
    }
}
