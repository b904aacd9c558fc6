//! Fingerprints of visible text, made while it streams by.
//!
//! Words are runs of letters and digits, folded to lower case; each ideograph and kana is a word
//! of its own, since such text has no spaces. The text hash is over the words in order and tells
//! "same text"; the SimHash (Charikar 2002) adds up single words and neighbouring pairs, so pages
//! that share most of them differ in few bits.
//!
//! Hashes are fixed (FNV-1a with a final mix): the same text gives the same numbers on every
//! machine and in every release. Cost: about one operation per character and some dozens per word:
//! words are found 64 bytes at a time, and the 64 counters are kept bit by bit in a few machine
//! words, so one addition counts for all 64.

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
/// Votes that are gathered before they are counted: counting many at once needs fewer steps.
const GATHERED: usize = 64;
/// Votes that are counted at once; the lowest planes keep what does not make a whole.
const COUNTED: usize = 16;
/// Makes letters of ASCII small, eight at a time; digits have this bit already.
const LOWER: u64 = 0x2020_2020_2020_2020;
/// Bytes of a word that are hashed at once.
const BLOCK: usize = 8;
/// Bytes that are searched for the ends of words at once.
const SEARCHED: usize = 64;
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
            let ascii = ascii_prefix(rest.as_bytes());
            self.push_ascii(&rest.as_bytes()[..ascii]);
            rest = &rest[ascii..];
            let others = rest.find(|c: char| c.is_ascii()).unwrap_or(rest.len());
            self.push_others(&rest[..others]);
            rest = &rest[others..];
        }
    }

    /// Looks for where words begin and end in many bytes at once. Only the first word may have
    /// begun before this text, and only the last may go on behind it.
    fn push_ascii(&mut self, text: &[u8]) {
        let text = self.push_begun(text);
        let (mut in_word, mut start) = (false, 0);
        for (number, searched) in text.chunks(SEARCHED).enumerate() {
            let mask = words_in(searched);
            // A bit for each place where a word begins or ends; the end of the text is none.
            let mut edges = mask ^ (mask << 1 | u64::from(in_word));
            edges &= u64::MAX >> (SEARCHED - searched.len());
            while edges != 0 {
                let at = number * SEARCHED + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                if in_word {
                    self.word_ended(hash_word(text, start, at));
                } else {
                    start = at;
                }
                in_word = !in_word;
            }
        }
        if in_word {
            self.extend(&text[start..], LOWER);
        }
    }

    /// Ends the word that was being read, if it ends here. Returns the text behind it.
    fn push_begun<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        if !self.in_word || text.is_empty() {
            return text;
        }
        let bytes = text.iter().take_while(|byte| byte.is_ascii_alphanumeric());
        let (begun, rest) = text.split_at(bytes.count());
        self.extend(begun, LOWER);
        if !rest.is_empty() {
            self.end_word();
        }
        rest
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
    /// only those whose hash is chosen, which near copies choose alike. A vote that is not chosen
    /// is overwritten by the next: no branch that could be foreseen wrongly.
    #[inline]
    fn word_ended(&mut self, hash: u64) {
        let word = mix(hash);
        self.words += 1;
        self.whole = step(self.whole.rotate_left(29), word);
        let all = self.words <= ALL_VOTE;
        self.vote(word, all | (word >> 62 == 0));
        let pair = self.previous.rotate_left(23) ^ word;
        self.vote(mix(pair), (self.words > 1) & (all | (pair >> 62 == 0)));
        self.previous = word;
        if self.gathered_count > GATHERED - 2 {
            self.count_gathered();
        }
    }

    pub(super) fn finish(mut self) -> Fingerprint {
        self.end_word();
        if self.words == 0 {
            return Fingerprint::default();
        }
        self.count_gathered();
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

    /// Keeps a vote for each bit that is set, if it counts. There must be room.
    #[inline]
    fn vote(&mut self, hash: u64, counts: bool) {
        self.gathered[self.gathered_count] = hash;
        self.gathered_count += usize::from(counts);
    }

    /// Adds the gathered votes to the planes.
    fn count_gathered(&mut self) {
        let count = std::mem::take(&mut self.gathered_count);
        if self.votes + count as u32 > VOTES_MAX {
            self.empty_planes();
        }
        self.votes += count as u32;
        let whole = count.next_multiple_of(COUNTED);
        self.gathered[count..whole].fill(0);
        for votes in self.gathered[..whole].as_chunks::<COUNTED>().0 {
            let mut carry = add_sixteen(&mut self.planes, votes);
            for plane in &mut self.planes[4..] {
                (*plane, carry) = (*plane ^ carry, *plane & carry);
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

/// How many bytes from the beginning are ASCII.
fn ascii_prefix(text: &[u8]) -> usize {
    let (blocks, _) = text.as_chunks::<BLOCK>();
    let ascii = |block: &&[u8; BLOCK]| u64::from_ne_bytes(**block) & 0x8080_8080_8080_8080 == 0;
    let sure = BLOCK * blocks.iter().take_while(ascii).count();
    let rest = text[sure..].iter();
    sure + rest.take_while(|byte| byte.is_ascii()).count()
}

/// A bit for each of up to 64 bytes of ASCII: whether it is a letter or digit.
#[inline]
fn words_in(searched: &[u8]) -> u64 {
    let (blocks, rest) = searched.as_chunks::<BLOCK>();
    let masks = blocks.iter().enumerate();
    let mask = masks.fold(0, |mask, (number, block)| {
        mask | words_in_block(u64::from_le_bytes(*block)) << (BLOCK * number)
    });
    if rest.is_empty() {
        return mask;
    }
    let last = block_at(searched, BLOCK * blocks.len());
    mask | words_in_block(last) << (BLOCK * blocks.len())
}

/// The same for eight bytes. In bytes below 128 a sum shows in the highest bit, and in no other
/// byte, whether a bound was reached.
fn words_in_block(block: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let reaches = |bytes: u64, bound: u8| bytes + EACH * u64::from(0x80 - bound);
    let small = block | LOWER;
    let letter = reaches(small, b'a') & !reaches(small, b'z' + 1);
    let digit = reaches(block, b'0') & !reaches(block, b'9' + 1);
    let bits = (letter | digit) >> 7 & EACH;
    // Moves bit 8i to bit 56 + i; no two land on one place.
    bits.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The hash of a word that stands whole in the text.
#[inline]
fn hash_word(text: &[u8], start: usize, end: usize) -> u64 {
    let mut hash = START;
    let mut at = start;
    while end - at >= BLOCK {
        hash = step(hash, block_at(text, at) | LOWER);
        at += BLOCK;
    }
    let bytes = end - at;
    let kept = (1 << (8 * bytes)) - 1;
    let last = (block_at(text, at) | LOWER) & kept;
    step(hash, last | (bytes as u64) << 56)
}

/// Eight bytes of text, or what there is.
#[inline]
fn block_at(text: &[u8], at: usize) -> u64 {
    let rest = &text[at..];
    if let Some(block) = rest.first_chunk::<BLOCK>() {
        return u64::from_le_bytes(*block);
    }
    match text.last_chunk::<BLOCK>() {
        Some(_) if rest.is_empty() => 0,
        // The end of the text without what stands before the place.
        Some(last) => u64::from_le_bytes(*last) >> (8 * (BLOCK - rest.len())),
        None => {
            let bytes = rest.iter().rev();
            bytes.fold(0, |block, byte| block << 8 | u64::from(*byte))
        }
    }
}

/// Adds sixteen votes to planes 0 to 3; returns what goes to plane 4 (Harley and Seal's tree).
fn add_sixteen(planes: &mut [u64; PLANES], votes: &[u64; COUNTED]) -> u64 {
    let [ones, twos, fours, eights, ..] = planes;
    let mut carried = [0; 2];
    for (eight, votes) in carried.iter_mut().zip(votes.as_chunks::<8>().0) {
        let mut four = [0; 2];
        for (four, votes) in four.iter_mut().zip(votes.as_chunks::<4>().0) {
            let (two_a, two_b);
            (*ones, two_a) = add(*ones, votes[0], votes[1]);
            (*ones, two_b) = add(*ones, votes[2], votes[3]);
            (*twos, *four) = add(*twos, two_a, two_b);
        }
        (*fours, *eight) = add(*fours, four[0], four[1]);
    }
    let sixteen;
    (*eights, sixteen) = add(*eights, carried[0], carried[1]);
    sixteen
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

    /// The fingerprint, character by character and with plain counters.
    fn slow(text: &str) -> Fingerprint {
        let mut words: Vec<String> = vec![String::new()];
        for c in text.chars() {
            match c {
                c if is_ideographic(c) => words.extend([c.to_string(), String::new()]),
                c if c.is_alphanumeric() => words.last_mut().unwrap().extend(c.to_lowercase()),
                _ => words.push(String::new()),
            }
        }
        words.retain(|word| !word.is_empty());
        let (mut whole, mut previous) = (START, None);
        let (mut counts, mut votes) = ([0; 64], 0);
        let mut vote = |hash: u64| {
            votes += 1;
            (0..64).for_each(|bit| counts[bit] += hash >> bit & 1);
        };
        for (number, word) in words.iter().enumerate() {
            let (blocks, rest) = word.as_bytes().as_chunks::<8>();
            let hash = blocks
                .iter()
                .fold(START, |hash, block| step(hash, u64::from_le_bytes(*block)));
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            last[7] = rest.len() as u8;
            let hash = mix(step(hash, u64::from_le_bytes(last)));
            whole = step(whole.rotate_left(29), hash);
            let all = number < 512;
            if all || hash >> 62 == 0 {
                vote(hash);
            }
            let pair = previous.map(|previous: u64| previous.rotate_left(23) ^ hash);
            if let Some(pair) = pair.filter(|pair| all || pair >> 62 == 0) {
                vote(mix(pair));
            }
            previous = Some(hash);
        }
        let simhash = (0..64).filter(|bit| counts[*bit] * 2 > votes);
        Fingerprint {
            text_hash: if words.is_empty() { 0 } else { mix(whole) },
            simhash: simhash.fold(0, |hash, bit| hash | 1 << bit),
            words: words.len() as u64,
        }
    }

    #[test]
    fn fast_is_as_slow() {
        let letters: Vec<char> = "aZ09 -.@[`{/:\u{7f}\u{10}éŁ漢カ—\u{a0}".chars().collect();
        for round in 0..2000u64 {
            let length = mix(round) % if round % 50 == 0 { 9000 } else { 200 };
            let mut kinds = (0..length).map(|i| mix(mix(round) ^ i));
            let text: String = (0..length)
                .map(|_| match kinds.next().unwrap() {
                    // Mostly words of ASCII, so that long runs of it come up.
                    kind if kind >> 8 & 0xF < 11 => char::from(b'a' + (kind % 26) as u8),
                    kind if kind >> 8 & 0xF < 14 => ' ',
                    kind => letters[(kind % letters.len() as u64) as usize],
                })
                .collect();
            assert_eq!(Fingerprint::of(&text), slow(&text), "of {text:?}");
        }
    }

    #[test]
    fn planes_count_like_plain_counters() {
        for votes in [1, 2, 3, 1000, 1023, 1024, 1025, 5000] {
            let (mut stream, mut plain) = (WordStream::default(), [0u64; 64]);
            for i in 0..votes {
                let hash = mix(i) & mix(i * 7 + 1);
                stream.vote(hash, true);
                if stream.gathered_count == GATHERED {
                    stream.count_gathered();
                }
                plain
                    .iter_mut()
                    .enumerate()
                    .for_each(|(bit, count)| *count += hash >> bit & 1);
            }
            stream.count_gathered();
            stream.empty_planes();
            assert_eq!((stream.counts, stream.counted), (plain, votes));
        }
    }
}
