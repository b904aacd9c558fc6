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
/// By byte: whether it is a letter or digit of ASCII.
const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};
/// Makes letters of ASCII small, eight at a time; digits have this bit already.
const LOWER: u64 = 0x2020_2020_2020_2020;
/// Bytes of a word that are hashed at once.
const BLOCK: usize = 8;
/// Words from the beginning that all vote; behind them one in four does.
const ALL_VOTE: u64 = 512;
const START: u64 = 0xCBF2_9CE4_8422_2325;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

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
    /// The word being read: the hash of its whole blocks, and the bytes behind them.
    word: u64,
    block: u64,
    block_bytes: usize,
    in_word: bool,
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
            whole: START,
            word: START,
            block: 0,
            block_bytes: 0,
            in_word: false,
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
        let mut at = 0;
        while at < text.len() {
            let start = at;
            while at < text.len() && IN_WORD[usize::from(text[at])] {
                at += 1;
            }
            if at > start {
                self.push_word(text, start, at);
            }
            if at < text.len() {
                self.end_word();
                at += 1;
            }
        }
    }

    /// Most words are short, and whole within the text: they are hashed in one step.
    #[inline]
    fn push_word(&mut self, text: &[u8], start: usize, end: usize) {
        let bytes = end - start;
        if let (false, true, Some(block)) = (
            self.in_word,
            bytes < BLOCK && end < text.len(),
            text.get(start..start + BLOCK),
        ) {
            let block: [u8; BLOCK] = block.try_into().expect("a block has its length");
            let kept = (1 << (8 * bytes)) - 1;
            let block = (u64::from_le_bytes(block) | LOWER) & kept;
            self.word_ended(step(START, block | (bytes as u64) << 56));
        } else {
            self.extend(&text[start..end], LOWER);
        }
    }

    fn push_others(&mut self, text: &str) {
        let mut bytes = [0; 4];
        for c in text.chars() {
            if is_ideographic(c) {
                self.end_word();
                self.extend(c.encode_utf8(&mut bytes).as_bytes(), 0);
                self.end_word();
            } else if c.is_alphanumeric() {
                for lower in c.to_lowercase() {
                    self.extend(lower.encode_utf8(&mut bytes).as_bytes(), 0);
                }
            } else {
                self.end_word();
            }
        }
    }

    /// Adds bytes to the word being read; `case` makes them small letters.
    fn extend(&mut self, bytes: &[u8], case: u64) {
        let mut bytes = bytes;
        self.in_word |= !bytes.is_empty();
        while self.block_bytes > 0 && !bytes.is_empty() {
            let byte = u64::from(bytes[0] | case as u8);
            self.block |= byte << (8 * self.block_bytes);
            self.block_bytes += 1;
            bytes = &bytes[1..];
            if self.block_bytes == BLOCK {
                self.word = step(self.word, self.block);
                (self.block, self.block_bytes) = (0, 0);
            }
        }
        while let Some((block, rest)) = bytes.split_first_chunk::<BLOCK>() {
            self.word = step(self.word, u64::from_le_bytes(*block) | case);
            bytes = rest;
        }
        for &byte in bytes {
            self.block |= u64::from(byte | case as u8) << (8 * self.block_bytes);
            self.block_bytes += 1;
        }
    }

    /// A word ends here.
    pub(super) fn end_word(&mut self) {
        if !self.in_word {
            return;
        }
        // The last block has room for its length.
        let last = self.block | (self.block_bytes as u64) << 56;
        let word = step(self.word, last);
        (self.word, self.block, self.block_bytes, self.in_word) = (START, 0, 0, false);
        self.word_ended(word);
    }

    /// Takes in a word by its hash. Each word votes, and each pair of neighbours; of a long text
    /// only those whose hash is chosen, which near copies choose alike.
    #[inline]
    fn word_ended(&mut self, hash: u64) {
        let word = mix(hash);
        self.words += 1;
        self.whole = step(self.whole.rotate_left(29), word);
        let all = self.words <= ALL_VOTE;
        if all || word >> 62 == 0 {
            self.vote(word);
        }
        let pair = self.previous.rotate_left(23) ^ word;
        if self.words > 1 && (all || pair >> 62 == 0) {
            self.vote(mix(pair));
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

/// One step of a hash: both halves of a product, so that every bit counts.
fn step(hash: u64, block: u64) -> u64 {
    let product = u128::from(hash ^ block) * u128::from(MULTIPLIER);
    product as u64 ^ (product >> 64) as u64
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
    fn a_text_in_pieces_is_the_same_text() {
        let text = "Die Äpfel, 漢字 and a verylongwordindeed123 of ÉTÉ; end";
        let whole = Fingerprint::of(text);
        for (at, _) in text.char_indices() {
            let mut stream = WordStream::default();
            stream.push(&text[..at]);
            stream.push(&text[at..]);
            assert_eq!(stream.finish(), whole, "cut at {at}");
        }
        assert_eq!(whole, Fingerprint::of(&text.to_lowercase()));
        assert_ne!(whole, Fingerprint::of(&text.replace("end", "ends")));
        assert_eq!(whole.words, 10);
    }

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
