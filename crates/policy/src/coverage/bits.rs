//! A set of pages, one bit each: a million pages fit a core's own cache.

use turnstone_frontier::PageId;

/// A set of pages. Pages beyond its end are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    #[inline]
    pub(super) fn has(&self, page: PageId) -> bool {
        let word = self.words.get(page.index() / 64);
        word.is_some_and(|word| word >> (page.index() % 64) & 1 != 0)
    }

    /// Puts a page in or takes it out. Returns whether that changed anything.
    pub(super) fn put(&mut self, page: PageId, is_in: bool) -> bool {
        let (word, bit) = (page.index() / 64, 1 << (page.index() % 64));
        if self.has(page) == is_in {
            return false;
        }
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] ^= bit;
        true
    }

    /// Every page of the set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(PageId::from_index(index * 64 + bit))
            })
        })
    }

    /// How many pages are in the set.
    pub(super) fn count(&self) -> u64 {
        self.words.iter().map(|w| u64::from(w.count_ones())).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

turnstone_frontier::saved!(Bits: words);
