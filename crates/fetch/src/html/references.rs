//! Character references: `&amp;`, `&#39;`, and what the standard makes of `&copy=1`.
//!
//! A reference needs no end: in text the longest name that stands there counts (`&notit;` is `¬it;`);
//! in an attribute a name without its semicolon does not count before a letter, a digit or an equals
//! sign, so that `?a=1&copy=2` stays what it is. The names are html5ever's own table, which knows
//! all beginnings of names too.
//!
//! Cost: one look-up by hash for a name with its semicolon, five more at the most without; none for
//! the handful that make up nearly all.

use std::borrow::Cow;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

/// The longest name without a semicolon, and the longest with one.
const BARE_BYTES_MAX: usize = 6;
const NAME_BYTES_MAX: usize = 32;

/// Where a reference stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    Attribute,
}

/// What a reference stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reference {
    /// One character, and for a few names a second.
    pub(super) first: char,
    pub(super) second: Option<char>,
    /// How many bytes are spent on it.
    pub(super) bytes: usize,
}

/// The ampersand itself.
const BARE: Reference = one('&', 1);

const fn one(first: char, bytes: usize) -> Reference {
    Reference {
        first,
        second: None,
        bytes,
    }
}

/// Reads the reference that these bytes begin with; the first is an ampersand.
pub(super) fn read_reference(bytes: &[u8], place: Place) -> Reference {
    match bytes {
        [_, b'l', b't', b';', ..] => one('<', 4),
        [_, b'g', b't', b';', ..] => one('>', 4),
        [_, b'a', b'm', b'p', b';', ..] => one('&', 5),
        [_, b'q', b'u', b'o', b't', b';', ..] => one('"', 6),
        [_, b'n', b'b', b's', b'p', b';', ..] => one('\u{a0}', 6),
        [_, b'#', ..] => numbered(bytes).unwrap_or(BARE),
        [_, letter, ..] if letter.is_ascii_alphanumeric() => named(bytes, place).unwrap_or(BARE),
        _ => BARE,
    }
}

fn numbered(bytes: &[u8]) -> Option<Reference> {
    let (start, radix) = match bytes.get(2)? {
        b'x' | b'X' => (3, 16),
        _ => (2, 10),
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    let digits = bytes[start..].iter().map_while(digit);
    let mut count = 0;
    let number = digits.fold(0u32, |number, digit| {
        count += 1;
        number.saturating_mul(radix).saturating_add(digit)
    });
    if count == 0 {
        return None;
    }
    let end = start + count;
    let first = match number {
        0 => '\u{fffd}',
        // What windows-1252 has there; five places are left as they are.
        0x80..=0x9F => C1_REPLACEMENTS[number as usize - 0x80]
            .or(char::from_u32(number))
            .unwrap_or('\u{fffd}'),
        _ => char::from_u32(number).unwrap_or('\u{fffd}'),
    };
    Some(one(first, end + usize::from(bytes.get(end) == Some(&b';'))))
}

fn named(bytes: &[u8], place: Place) -> Option<Reference> {
    let rest = &bytes[1..];
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric();
    let run = rest.iter().take(NAME_BYTES_MAX).take_while(is_of_name);
    let run = run.count();
    let next = rest.get(run);
    if next == Some(&b';')
        && let Some(found) = look_up(&rest[..=run])
    {
        return Some(found);
    }
    match place {
        Place::Attribute if matches!(next, Some(b'=' | b';')) => None,
        Place::Attribute => look_up(&rest[..run]),
        Place::Text => (2..=run.min(BARE_BYTES_MAX))
            .rev()
            .find_map(|bytes| look_up(&rest[..bytes])),
    }
}

fn look_up(name: &[u8]) -> Option<Reference> {
    let name = std::str::from_utf8(name).ok()?;
    let &(first, second) = NAMED_ENTITIES.get(name)?;
    // Beginnings of names are in the table too, and stand for nothing.
    let first = char::from_u32(first).filter(|c| *c != '\0')?;
    Some(Reference {
        first,
        second: char::from_u32(second).filter(|c| *c != '\0'),
        bytes: 1 + name.len(),
    })
}

/// The value of an attribute as it is meant: references read, line ends made one, NUL replaced.
pub(super) fn read_value(value: &str) -> Cow<'_, str> {
    let bytes = value.as_bytes();
    let Some(mut next) = memchr::memchr3(b'&', b'\r', 0, bytes) else {
        return Cow::Borrowed(value);
    };
    let mut out = String::with_capacity(value.len());
    let mut at = 0;
    loop {
        out.push_str(&value[at..next]);
        at = next + 1;
        match bytes[next] {
            b'&' => {
                let reference = read_reference(&bytes[next..], Place::Attribute);
                out.push(reference.first);
                out.extend(reference.second);
                at = next + reference.bytes;
            }
            b'\r' => {
                out.push('\n');
                at += usize::from(bytes.get(at) == Some(&b'\n'));
            }
            _ => out.push('\u{fffd}'),
        }
        match memchr::memchr3(b'&', b'\r', 0, &bytes[at..]) {
            Some(more) => next = at + more,
            None => {
                out.push_str(&value[at..]);
                return Cow::Owned(out);
            }
        }
    }
}
