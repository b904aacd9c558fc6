//! Made-up text that stands for a recorded one: a stream of words that hangs on one number.
//!
//! A text is drawn in phrases of eight words out of a fixed store of 4,096, so that a page of
//! 20 KB costs some hundred copies and no more, and two texts share next to no run of words: what
//! compares pages by shingles tells them apart. The store itself is made once, always the same.

use std::sync::OnceLock;

use super::mix::Stream;

/// Words in a phrase.
pub(super) const PHRASE_WORDS: usize = 8;
/// Phrases in the store, a power of two.
const PHRASES: usize = 4096;
/// Different words.
const WORDS: usize = 2048;
/// What the store is made from; changing it changes every page served.
const STORE_SEED: u64 = 0x7475_726e_7374_6f6e;

/// The words of one text, without end.
#[derive(Clone, Debug)]
pub(super) struct Text(Stream);

impl Text {
    /// The text that stands for this hash.
    pub(super) fn of(hash: u64) -> Self {
        Self(Stream(hash))
    }

    /// The next eight words, with single spaces between.
    pub(super) fn phrase(&mut self) -> &'static str {
        &store()[(self.0.next() as usize) & (PHRASES - 1)]
    }
}

fn store() -> &'static [String] {
    static STORE: OnceLock<Vec<String>> = OnceLock::new();
    STORE.get_or_init(|| {
        let mut stream = Stream(STORE_SEED);
        let words: Vec<String> = (0..WORDS).map(|_| word(&mut stream)).collect();
        let mut phrase = || {
            let picked: Vec<&str> = (0..PHRASE_WORDS)
                .map(|_| words[stream.next() as usize % WORDS].as_str())
                .collect();
            picked.join(" ")
        };
        (0..PHRASES).map(|_| phrase()).collect()
    })
}

/// Two or three syllables.
fn word(stream: &mut Stream) -> String {
    const HEADS: &[u8] = b"bdfgklmnprstvz";
    const HEARTS: &[u8] = b"aeiou";
    let mut number = stream.next();
    let mut draw = |letters: &[u8]| {
        let letter = letters[(number % letters.len() as u64) as usize];
        number /= letters.len() as u64;
        char::from(letter)
    };
    let syllables = if draw(b"01") == '0' { 2 } else { 3 };
    (0..syllables)
        .flat_map(|_| [draw(HEADS), draw(HEARTS)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_for_the_same_hash_and_another_for_another() {
        let first = |hash| {
            let mut text = Text::of(hash);
            [text.phrase(), text.phrase(), text.phrase()]
        };
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        for phrase in first(7) {
            assert_eq!(phrase.split(' ').count(), PHRASE_WORDS, "{phrase}");
        }
    }
}
