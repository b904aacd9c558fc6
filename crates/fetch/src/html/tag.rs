//! One tag, walked by the standard's rules for names and quotes.
//!
//! The walk finds where a tag ends without building anything, so that the size of a tag can be
//! checked before anyone keeps it. On its way it notes the attributes; if all of them stand in the
//! page as they are meant (small letters, no character reference, nothing to be replaced), the tag
//! is [plain](Walked::plain) and needs no tokenizer.
//!
//! Cost: one look at each byte of the tag, a second one if it might be plain.

use super::elements::opens_raw_text;

/// A tag as the collector sees it: name and attribute names in small letters.
#[derive(Clone, Copy)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    pub(super) attributes: Attributes<'a>,
    pub(super) self_closing: bool,
}

/// A whole tag.
pub(super) enum Markup<'a> {
    Start(Tag<'a>),
    /// An end tag, by its name.
    End(&'a str),
}

/// The attributes of a tag in their order. Of two with one name the first counts.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a>(pub(super) &'a [(&'a str, &'a str)]);

impl<'a> Attributes<'a> {
    /// The value of an attribute.
    pub(super) fn get(self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| *value)
    }
}

/// Where a tag ends, and what is in it.
pub(super) struct Walked<'a> {
    /// Its length, or that of the rest of the page if it has no end.
    pub(super) bytes: usize,
    /// How many attributes it has, also those beyond the limit.
    pub(super) attributes: usize,
    /// It has an end.
    pub(super) closed: bool,
    is_end: bool,
    self_closing: bool,
    name: &'a str,
}

impl<'a> Walked<'a> {
    /// The tag, if the page spells it out and what follows is markup too. `noted` are its
    /// attributes.
    pub(super) fn plain<'b>(
        &self,
        text: &str,
        noted: &'b [(&'a str, &'a str)],
    ) -> Option<Markup<'b>> {
        let is_plain_name = |name: &str| !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let replaced = memchr::memchr3(b'&', b'\r', 0, &text.as_bytes()[..self.bytes]);
        if replaced.is_some() || !is_plain_name(self.name) || opens_raw_text(self.name).is_some() {
            return None;
        }
        if self.is_end {
            return Some(Markup::End(self.name));
        }
        let start = Markup::Start(Tag {
            name: self.name,
            attributes: Attributes(noted),
            self_closing: self.self_closing,
        });
        let are_plain = noted.iter().all(|(name, _)| is_plain_name(name));
        are_plain.then_some(start)
    }
}

/// Walks the tag that begins here, minding quotes as the standard's tokenizer does, and notes its
/// attributes, `noted_max` of them at most.
pub(super) fn walk<'a>(
    text: &'a str,
    noted: &mut Vec<(&'a str, &'a str)>,
    noted_max: usize,
) -> Walked<'a> {
    let bytes = text.as_bytes();
    let position = |from: usize, wanted: fn(u8) -> bool| {
        bytes[from..]
            .iter()
            .position(|b| wanted(*b))
            .map_or(bytes.len(), |n| from + n)
    };
    noted.clear();
    let is_end = bytes.get(1) == Some(&b'/');
    let name_at = if is_end { 2 } else { 1 };
    let mut at = position(name_at, |b| is_space(b) || matches!(b, b'/' | b'>'));
    let mut walked = Walked {
        bytes: bytes.len(),
        attributes: 0,
        closed: false,
        is_end,
        self_closing: false,
        name: &text[name_at..at],
    };
    loop {
        let before = at;
        at = position(at, |b| !is_space(b) && b != b'/');
        if at == bytes.len() {
            return walked;
        }
        if bytes[at] == b'>' {
            walked.bytes = at + 1;
            walked.closed = true;
            walked.self_closing = bytes[before..at].ends_with(b"/");
            return walked;
        }
        walked.attributes += 1;
        let start = at;
        // An equals sign here begins a name.
        at = position(at + 1, |b| is_space(b) || matches!(b, b'/' | b'>' | b'='));
        let name = &text[start..at];
        let mut value = "";
        let after_name = position(at, |b| !is_space(b));
        if bytes.get(after_name) == Some(&b'=') {
            let start = position(after_name + 1, |b| !is_space(b));
            (value, at) = match bytes.get(start) {
                Some(quote @ (b'"' | b'\'')) => match memchr::memchr(*quote, &bytes[start + 1..]) {
                    Some(length) => {
                        let end = start + 1 + length;
                        (&text[start + 1..end], end + 1)
                    }
                    None => ("", bytes.len()),
                },
                Some(b'>') | None => ("", start),
                Some(_) => {
                    let end = position(start, |b| is_space(b) || b == b'>');
                    (&text[start..end], end)
                }
            };
        }
        if noted.len() < noted_max {
            noted.push((name, value));
        }
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}
