//! What a page says: words, titles, sizes and hashes, each computed from numbers and never stored.
//!
//! A text is a number (`text`) that a page keeps until it changes; two pages with the same number
//! say the same. Words come from a topic, so that pages of one directory resemble each other, and
//! from the text itself; a change replaces some of the latter.

/// Mixes numbers into one that looks random (the finaliser of SplitMix64).
pub(super) fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, number| {
        let mut x = (hash ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    })
}

/// A made-up word: the same number, the same word.
pub(super) fn word(number: u64) -> String {
    const ONSETS: [&str; 16] = [
        "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr",
    ];
    const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ea", "ou"];
    let mut rest = mix(&[number]);
    let mut text = String::new();
    for _ in 0..2 + rest % 3 {
        rest = mix(&[rest]);
        text.push_str(ONSETS[(rest % 16) as usize]);
        text.push_str(VOWELS[(rest / 16 % 8) as usize]);
    }
    if text.len() < 3 {
        text.push('n');
    }
    text
}

/// How many words the made-up language has; few enough that pages share some by chance.
const LANGUAGE: u64 = 20_000;
/// How many of the most frequent words a history lists.
const TERMS: u64 = 24;

/// A content as a history describes it.
pub(super) struct Content {
    pub(super) words: u32,
    pub(super) images: u32,
    pub(super) title: String,
    pub(super) terms: Vec<(String, u32)>,
}

/// What a text with this number and topic, revised so often, says.
pub(super) fn content(text: u64, topic: u64, revision: u64) -> Content {
    let length = mix(&[text, 1]);
    // Between 40 and some thousand words, most of them few hundred; a revision moves it a little.
    let words = 40 + (length % 400) * (1 + length / 400 % 9) + mix(&[text, revision]) % 20;
    let mut terms: Vec<(String, u32)> = Vec::new();
    for place in 0..TERMS {
        let number = match place % 3 {
            0 => mix(&[topic, place]),
            // Every revision replaces one in eight of the words that are the text's own.
            _ if revision > 0 => mix(&[text, place, revision_of_word(text, place, revision)]),
            _ => mix(&[text, place, 0]),
        };
        let term = word(number % LANGUAGE);
        let count = (words / (8 + 4 * place)).max(1) as u32;
        if terms.iter().all(|(known, _)| *known != term) {
            terms.push((term, count));
        }
    }
    let title = [mix(&[text, 2]), mix(&[text, 3]), topic]
        .map(|number| word(number % LANGUAGE))
        .join(" ");
    Content {
        words: words as u32,
        images: (mix(&[text, 4]) % 8) as u32,
        title,
        terms,
    }
}

/// The last revision, up to this one, that replaced a word.
fn revision_of_word(text: u64, place: u64, revision: u64) -> u64 {
    const LOOK_BACK: u64 = 40;
    let oldest = revision.saturating_sub(LOOK_BACK);
    let replaced = |revision: &u64| mix(&[text, place, *revision, 7]).is_multiple_of(8);
    (oldest + 1..=revision).rev().find(replaced).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_keeps_most_of_the_words() {
        let (before, after) = (content(5, 9, 3), content(5, 9, 4));
        let kept = before
            .terms
            .iter()
            .filter(|(term, _)| after.terms.iter().any(|(other, _)| other == term))
            .count();
        assert!(
            kept * 2 > before.terms.len(),
            "{kept} of {}",
            before.terms.len()
        );
        assert_eq!(before.title, after.title);
        assert!((0..500).all(|number| word(number).len() >= 3));
    }
}
