//! Many strings in one piece of memory, and finding one of them again.
//!
//! Twenty million URLs as `String`s would cost 24 bytes and an allocation each; here they lie end
//! to end in one arena with 8 bytes of bookkeeping. The index is a hash table of numbers (about 7
//! bytes a string) over a randomly keyed hash, so that a list made to collide does not.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// Strings by number, in the order they were pushed.
#[derive(Clone, Default)]
pub(crate) struct Strings {
    text: String,
    ends: Vec<u64>,
}

impl Strings {
    pub(crate) fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len() as u64);
    }

    #[inline]
    pub(crate) fn get(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.text[start..self.ends[i] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.text.len() as u64 + 8 * self.ends.len() as u64
    }

    pub(crate) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// Where to find a string in a [`Strings`].
#[derive(Clone, Default)]
pub(crate) struct Index {
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Index {
    /// An index of all strings; of equal ones the first is found.
    pub(crate) fn of(strings: &Strings) -> Self {
        let mut index = Self {
            table: HashTable::with_capacity(strings.len()),
            hasher: RandomState::new(),
        };
        for i in 0..strings.len() {
            index.add(strings, i);
        }
        index
    }

    pub(crate) fn find(&self, strings: &Strings, string: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(string);
        self.table
            .find(hash, |&i| strings.get(i as usize) == string)
            .copied()
    }

    /// The number of `string`, which is pushed if it is new.
    pub(crate) fn intern(&mut self, strings: &mut Strings, string: &str) -> u32 {
        if let Some(i) = self.find(strings, string) {
            return i;
        }
        strings.push(string);
        self.add(strings, strings.len() - 1);
        (strings.len() - 1) as u32
    }

    fn add(&mut self, strings: &Strings, i: usize) {
        let string = strings.get(i);
        let hash = self.hasher.hash_one(string);
        if self
            .table
            .find(hash, |&j| strings.get(j as usize) == string)
            .is_none()
        {
            let rehash = |&j: &u32| self.hasher.hash_one(strings.get(j as usize));
            self.table.insert_unique(hash, i as u32, rehash);
        }
    }
}
