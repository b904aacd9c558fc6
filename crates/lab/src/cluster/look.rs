//! What a page looks like, and the words that texts and addresses are made of.

use std::collections::HashMap;

use crate::history::Version;

/// A page as its first copy showed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Words of visible text.
    pub words: u32,
    /// Images.
    pub images: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Frequent words of its text, with counts.
    pub terms: Vec<(u32, u32)>,
    /// Its address.
    pub address: Address,
}

/// What there is to see in an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Its words, with counts.
    pub tokens: Vec<(u32, u32)>,
    /// Slashes after the host.
    pub depth: u32,
    /// The word that is its top-level domain.
    pub top_level: u32,
}

impl Look {
    /// A page with this content at this address.
    pub fn new(
        version: &Version,
        terms: impl Iterator<Item = (u32, u32)>,
        address: Address,
    ) -> Self {
        Self {
            words: version.words,
            images: version.images,
            bytes: version.bytes,
            terms: terms.collect(),
            address,
        }
    }
}

/// Words as dense numbers.
#[derive(Clone, Debug, Default)]
pub struct Words {
    numbers: HashMap<String, u32>,
}

impl Words {
    /// How many words there are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// The number of a word, which may be new.
    pub fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(word.to_owned(), number);
        number
    }

    /// The numbers of a list of words.
    pub fn adopt(&mut self, words: &[String]) -> Vec<u32> {
        words.iter().map(|word| self.number(word)).collect()
    }

    /// The address of a page below an origin such as `https://example.org/`.
    pub fn address(&mut self, origin: &str, url: &str) -> Address {
        let rest = origin.split_once("://").map_or(origin, |(_, rest)| rest);
        let host = rest.split('/').next().unwrap_or("");
        let top_level = host.rsplit('.').next().unwrap_or("");
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let parts = [rest, url].into_iter();
        let tokens = parts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        for token in tokens.filter(|token| !token.is_empty()) {
            let number = self.number(&token.to_lowercase());
            match counts.iter_mut().find(|(known, _)| *known == number) {
                Some((_, count)) => *count += 1,
                None => counts.push((number, 1)),
            }
        }
        Address {
            tokens: counts,
            depth: url.matches('/').count() as u32,
            top_level: self.number(top_level),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let mut words = Words::default();
        let address = words.address("https://www.example.org/", "/Docs/1.2/docs.html");
        assert_eq!(address.depth, 3);
        assert_eq!(address.top_level, words.number("org"));
        let docs = words.number("docs");
        assert!(address.tokens.contains(&(docs, 2)), "{address:?}");
    }
}
