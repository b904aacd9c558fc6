//! One tag, walked by the standard's rules for names and quotes.
//!
//! The walk finds where a tag ends without building anything, so that the size of a tag can be
//! checked before anyone keeps it. On its way it notes the attributes as they are spelt, if they are
//! wanted. Values are read when somebody asks for them: most tags have attributes, and few of those
//! matter.
//!
//! Cost: one look at each byte of a tag; quoted values, its longest part, many bytes at once.

use std::borrow::Cow;

use super::elements::{Element, element_of};
use super::references::read_value;

/// A tag as the collector sees it.
#[derive(Clone, Copy)]
pub(super) struct Tag<'a> {
    pub(super) element: Element,
    /// In letters of any size.
    pub(super) name: &'a str,
    pub(super) attributes: Attributes<'a>,
    pub(super) self_closing: bool,
}

impl<'a> Tag<'a> {
    pub(super) fn new(name: &'a str, attributes: Attributes<'a>, self_closing: bool) -> Tag<'a> {
        Tag {
            element: element_of(name),
            name,
            attributes,
            self_closing,
        }
    }
}

/// The attributes of a tag in their order. Of two with one name the first counts.
#[derive(Clone, Copy)]
pub(super) enum Attributes<'a> {
    /// As the page spells them.
    Spelt(&'a [(&'a str, &'a str)]),
    /// As they are meant.
    Meant(&'a [(&'a str, &'a str)]),
}

impl<'a> Attributes<'a> {
    /// The value of an attribute.
    pub(super) fn get(self, name: &str) -> Option<Cow<'a, str>> {
        match self {
            Attributes::Spelt(all) => {
                let mut all = all.iter();
                let found = all.find(|(other, _)| other.eq_ignore_ascii_case(name));
                found.map(|(_, value)| read_value(value))
            }
            Attributes::Meant(all) => {
                let found = all.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| Cow::Borrowed(*value))
            }
        }
    }
}

/// Where a tag ends, and what is in it.
#[derive(Clone, Copy)]
pub(super) struct Walked {
    /// Where it ends: behind its `>`, or at the end of the page if it has none.
    pub(super) end: usize,
    /// How many attributes it has.
    pub(super) attributes: usize,
    /// It has an end.
    pub(super) closed: bool,
    pub(super) self_closing: bool,
}

const SPACE: u8 = 1;
const SLASH: u8 = 2;
const CLOSE: u8 = 4;
const EQUALS: u8 = 8;
/// What a byte can end.
static ENDS: [u8; 256] = {
    let mut ends = [0; 256];
    ends[b'\t' as usize] = SPACE;
    ends[b'\n' as usize] = SPACE;
    ends[0x0C] = SPACE;
    ends[b'\r' as usize] = SPACE;
    ends[b' ' as usize] = SPACE;
    ends[b'/' as usize] = SLASH;
    ends[b'>' as usize] = CLOSE;
    ends[b'=' as usize] = EQUALS;
    ends
};

pub(super) fn is_space(byte: u8) -> bool {
    ENDS[usize::from(byte)] == SPACE
}

/// The place of the next byte that is one of these, or the end.
#[inline]
fn find(bytes: &[u8], from: usize, wanted: u8) -> usize {
    let mut at = from;
    while at < bytes.len() && ENDS[usize::from(bytes[at])] & wanted == 0 {
        at += 1;
    }
    at
}

/// The place of the next byte that is none of these, or the end.
#[inline]
fn skip(bytes: &[u8], from: usize, unwanted: u8) -> usize {
    let mut at = from;
    while at < bytes.len() && ENDS[usize::from(bytes[at])] & unwanted != 0 {
        at += 1;
    }
    at
}

/// Where the name ends that begins here.
#[inline]
pub(super) fn name_end(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, SPACE | SLASH | CLOSE)
}

/// Walks a tag from the end of its name on, minding quotes as the standard's tokenizer does, and
/// tells `note` each attribute.
#[inline]
pub(super) fn walk<'a>(
    text: &'a str,
    name_end: usize,
    mut note: impl FnMut(&'a str, &'a str),
) -> Walked {
    let bytes = text.as_bytes();
    let mut walked = Walked {
        end: bytes.len(),
        attributes: 0,
        closed: false,
        self_closing: false,
    };
    let mut at = name_end;
    loop {
        let before = at;
        at = skip(bytes, at, SPACE | SLASH);
        let Some(first) = bytes.get(at) else {
            return walked;
        };
        if *first == b'>' {
            walked.end = at + 1;
            walked.closed = true;
            walked.self_closing = bytes[before..at].ends_with(b"/");
            return walked;
        }
        walked.attributes += 1;
        let start = at;
        // An equals sign here begins a name.
        at = find(bytes, at + 1, SPACE | SLASH | CLOSE | EQUALS);
        let name = start..at;
        let mut value = at..at;
        let after_name = skip(bytes, at, SPACE);
        if bytes.get(after_name) == Some(&b'=') {
            let start = skip(bytes, after_name + 1, SPACE);
            match bytes.get(start) {
                Some(quote @ (b'"' | b'\'')) => {
                    let Some(length) = memchr::memchr(*quote, &bytes[start + 1..]) else {
                        return walked;
                    };
                    value = start + 1..start + 1 + length;
                    at = value.end + 1;
                }
                Some(b'>') | None => at = start,
                Some(_) => {
                    at = find(bytes, start, SPACE | CLOSE);
                    value = start..at;
                }
            }
        }
        note(&text[name], &text[value]);
    }
}
