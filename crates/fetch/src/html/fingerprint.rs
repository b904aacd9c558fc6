//! Fingerprints of visible text, made while it streams by.
//!
//! Words are runs of letters and digits, folded to lower case; each ideograph and kana is a word
//! of its own, since such text has no spaces. The text hash is over the words in order and tells
//! "same text"; the SimHash (Charikar 2002) adds up single words and neighbouring pairs, so pages
//! that share most of them differ in few bits.
//!
//! Hashes are fixed (FNV-1a with a final mix): the same text gives the same numbers on every
//! machine and in every release. Cost: a few operations per character and some dozens per word:
//! the 64 counters are kept bit by bit in a few machine words, so one addition counts for all 64.

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

/// Planes of the bit-by-bit counters, and how many votes they can hold.
const PLANES: usize = 10;
const VOTES_MAX: u32 = (1 << PLANES) - 1;
/// Votes that are gathered and added together: four at a time need fewer steps than one by one.
const GATHERED: usize = 4;
/// By ASCII byte: what it is in a word, in lower case; 0 for what ends one.
const IN_WORD: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};
const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

/// Takes text in pieces of any size.
#[derive(Debug, Clone)]
pub(super) struct WordStream {
    /// Bit `b` of plane `p` is bit `p` of the counter of hash bit `b`.
    planes: [u64; PLANES],
    /// Votes in the planes.
    votes: u32,
    /// Votes not yet in the planes.
    gathered: [u64; GATHERED],
    gathered_count: usize,
    /// Counters of votes that left the planes, and their number.
    counts: [u64; 64],
    counted: u64,
    words: u64,
    whole: u64,
    /// Hash of the word being read, if one is.
    word: Option<u64>,
    previous: u64,
}

impl Default for WordStream {
    fn default() -> Self {
        WordStream {
            planes: [0; PLANES],
            votes: 0,
            gathered: [0; GATHERED],
            gathered_count: 0,
            counts: [0; 64],
            counted: 0,
            words: 0,
            whole: FNV_OFFSET,
            word: None,
            previous: 0,
        }
    }
}

impl WordStream {
    pub(super) fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = rest.bytes().take_while(u8::is_ascii).count();
            self.push_ascii(&rest.as_bytes()[..ascii]);
            rest = &rest[ascii..];
            let others = rest.find(|c: char| c.is_ascii()).unwrap_or(rest.len());
            self.push_others(&rest[..others]);
            rest = &rest[others..];
        }
    }

    fn push_ascii(&mut self, text: &[u8]) {
        for &byte in text {
            match IN_WORD[usize::from(byte & 0x7f)] {
                0 => self.end_word(),
                lower => self.extend(u32::from(lower)),
            }
        }
    }

    fn push_others(&mut self, text: &str) {
        for c in text.chars() {
            if is_ideographic(c) {
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
        self.add_gathered();
        self.empty_planes();
        let simhash = (0..64)
            .filter(|bit| self.counts[*bit] * 2 > self.counted)
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

    /// Adds one to the counter of each bit that is set.
    fn vote(&mut self, hash: u64) {
        self.gathered[self.gathered_count] = hash;
        self.gathered_count += 1;
        if self.gathered_count == GATHERED {
            self.add_gathered();
        }
    }

    /// Adds the gathered votes to the planes: four ones become a one, a two and a four.
    fn add_gathered(&mut self) {
        let [a, b, c, d] = self.gathered;
        let (one, two) = add(a, b, c);
        let (one, also_two) = add(one, d, 0);
        let (two, four) = add(two, also_two, 0);
        self.carry(0, one);
        self.carry(1, two);
        self.carry(2, four);
        self.votes += self.gathered_count as u32;
        self.gathered = [0; GATHERED];
        self.gathered_count = 0;
        if self.votes > VOTES_MAX - GATHERED as u32 {
            self.empty_planes();
        }
    }

    /// Adds a bit of this weight to every counter.
    fn carry(&mut self, from: usize, mut carry: u64) {
        for plane in &mut self.planes[from..] {
            let both = *plane & carry;
            *plane ^= carry;
            carry = both;
            if carry == 0 {
                break;
            }
        }
    }

    fn empty_planes(&mut self) {
        for (place, plane) in self.planes.iter_mut().enumerate() {
            for (bit, count) in self.counts.iter_mut().enumerate() {
                *count += (*plane >> bit & 1) << place;
            }
            *plane = 0;
        }
        self.counted += u64::from(std::mem::take(&mut self.votes));
    }
}

/// Adds three bits of one weight, 64 times over: the sum, and what is carried.
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let either = a ^ b;
    (either ^ c, a & b | either & c)
}

fn fold(whole: u64, word: u64) -> u64 {
    (whole.rotate_left(29) ^ word).wrapping_mul(FNV_PRIME)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The counters kept bit by bit agree with 64 plain ones, over and beyond what planes hold.
    #[test]
    fn planes_count_like_plain_counters() {
        for votes in [1, 2, 3, 1000, 1023, 1024, 1025, 5000] {
            let (mut stream, mut plain) = (WordStream::default(), [0u64; 64]);
            for i in 0..votes {
                let hash = mix(i) & mix(i * 7 + 1);
                stream.vote(hash);
                plain
                    .iter_mut()
                    .enumerate()
                    .for_each(|(bit, count)| *count += hash >> bit & 1);
            }
            stream.add_gathered();
            stream.empty_planes();
            assert_eq!((stream.counts, stream.counted), (plain, votes));
        }
    }
}
