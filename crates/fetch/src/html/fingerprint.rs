//! Fingerprints of visible text, made while it streams by.
//!
//! Words are runs of letters and digits, folded to lower case; each ideograph and kana is a word
//! of its own, since such text has no spaces. The text hash is over the words in order and tells
//! "same text"; the SimHash (Charikar 2002) adds up single words and neighbouring pairs, so pages
//! that share most of them differ in few bits.
//!
//! Hashes are fixed (FNV-1a with a final mix): the same text gives the same numbers on every
//! machine and in every release. Cost: a few operations per character, 128 additions per word.

/// What the text of a page looks like from afar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// 64-bit hash of the words in order; 0 when there are none.
    pub text_hash: u64,
    /// 64-bit SimHash; 0 when there are no words.
    pub simhash: u64,
    /// Number of words.
    pub words: u64,
}

/// In how many of 64 bits two SimHashes differ.
pub fn simhash_distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

impl Fingerprint {
    /// The fingerprint of a text at hand.
    pub fn of(text: &str) -> Fingerprint {
        let mut stream = WordStream::default();
        stream.push(text);
        stream.finish()
    }
}

const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

/// Takes text in pieces of any size.
#[derive(Debug, Clone)]
pub(super) struct WordStream {
    counts: [i32; 64],
    words: u64,
    whole: u64,
    /// Hash of the word being read, if one is.
    word: Option<u64>,
    previous: u64,
}

impl Default for WordStream {
    fn default() -> Self {
        WordStream {
            counts: [0; 64],
            words: 0,
            whole: FNV_OFFSET,
            word: None,
            previous: 0,
        }
    }
}

impl WordStream {
    pub(super) fn push(&mut self, text: &str) {
        for c in text.chars() {
            if c.is_ascii() {
                if c.is_ascii_alphanumeric() {
                    self.extend(u32::from(c.to_ascii_lowercase()));
                } else {
                    self.end_word();
                }
            } else if is_ideographic(c) {
                self.end_word();
                self.extend(u32::from(c));
                self.end_word();
            } else if c.is_alphanumeric() {
                c.to_lowercase().for_each(|l| self.extend(u32::from(l)));
            } else {
                self.end_word();
            }
        }
    }

    /// A word ends here: a block begins or ends.
    pub(super) fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let word = mix(word);
        self.words += 1;
        self.whole = fold(self.whole, word);
        self.vote(word);
        if self.words > 1 {
            self.vote(mix(self.previous.rotate_left(23) ^ word));
        }
        self.previous = word;
    }

    pub(super) fn finish(mut self) -> Fingerprint {
        self.end_word();
        if self.words == 0 {
            return Fingerprint::default();
        }
        let simhash = (0..64)
            .filter(|bit| self.counts[*bit] > 0)
            .fold(0, |hash, bit| hash | 1 << bit);
        Fingerprint {
            text_hash: mix(self.whole),
            simhash,
            words: self.words,
        }
    }

    fn extend(&mut self, unit: u32) {
        let hash = self.word.unwrap_or(FNV_OFFSET);
        self.word = Some((hash ^ u64::from(unit)).wrapping_mul(FNV_PRIME));
    }

    fn vote(&mut self, hash: u64) {
        for (bit, count) in self.counts.iter_mut().enumerate() {
            // Saturates on purpose: two billion words of one kind are one kind.
            *count = count.saturating_add(((hash >> bit & 1) as i32) * 2 - 1);
        }
    }
}

fn fold(whole: u64, word: u64) -> u64 {
    word.to_le_bytes()
        .iter()
        .fold(whole, |h, b| (h ^ u64::from(*b)).wrapping_mul(FNV_PRIME))
}

/// The final mix of SplitMix64: every input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// Scripts written without spaces, where a character is nearly a word.
fn is_ideographic(c: char) -> bool {
    matches!(u32::from(c), 0x2E80..=0x2FDF | 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}
