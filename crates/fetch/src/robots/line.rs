//! From bytes to the lines of a robots.txt file.
//!
//! The file is cut at [`BYTES_MAX`] (at the last line end before it), a byte-order mark is
//! skipped, UTF-16 with a mark is decoded, and lines end at CR, LF or CRLF. Bytes that are not
//! UTF-8 and control characters are kept in percent form, so that a line can be shown on any
//! terminal and still matches the same URLs.
//!
//! Cost: one pass, nothing kept but the line at hand.

use std::borrow::Cow;

use crate::urls::percent::push_percent;

/// How much of a robots.txt file is read: 500 KiB, the least RFC 9309 asks for.
pub const BYTES_MAX: usize = 500 * 1024;

/// One line that says something: its number (from 1), its whole text and its two halves.
pub(super) struct RawLine<'a> {
    pub(super) number: u32,
    pub(super) text: Cow<'a, str>,
}

/// The part of a file that counts: at most [`BYTES_MAX`], ending at a line end.
pub(super) fn cut(bytes: &[u8]) -> &[u8] {
    if bytes.len() <= BYTES_MAX {
        return bytes;
    }
    match memchr::memrchr2(b'\n', b'\r', &bytes[..BYTES_MAX]) {
        Some(end) => &bytes[..=end],
        // One line longer than the whole limit is no rule anybody wrote.
        None => &[],
    }
}

/// The file as UTF-8 bytes without its byte-order mark.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, [u8]> {
    let utf16 = match bytes {
        [0xFF, 0xFE, ..] => Some(encoding_rs::UTF_16LE),
        [0xFE, 0xFF, ..] => Some(encoding_rs::UTF_16BE),
        _ => None,
    };
    if let Some(encoding) = utf16 {
        let text = encoding.decode_without_bom_handling(&bytes[2..]).0;
        return Cow::Owned(text.into_owned().into_bytes());
    }
    // A mark that lost its tail still means "mark": the published vectors skip such a part.
    let mark = [0xEF, 0xBB, 0xBF];
    let skipped = bytes
        .iter()
        .zip(mark)
        .take_while(|(a, b)| **a == *b)
        .count();
    Cow::Borrowed(&bytes[skipped..])
}

/// The lines of a decoded file that are neither empty nor only a comment.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = RawLine<'_>> {
    let mut rest = bytes;
    let mut number = 0u32;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            let ending = match &rest[end..] {
                [b'\r', b'\n', ..] => 2,
                [] => 0,
                _ => 1,
            };
            rest = &rest[end + ending..];
            number += 1;
            let content = memchr::memchr(b'#', line).map_or(line, |hash| &line[..hash]);
            let content = content.trim_ascii();
            if !content.is_empty() {
                return Some(RawLine {
                    number,
                    text: printable(content),
                });
            }
        }
        None
    })
}

/// Splits `name: value`. A missing colon is forgiven when there are exactly two words.
pub(super) fn name_and_value(text: &str) -> Option<(&str, &str)> {
    if let Some((name, value)) = text.split_once(':') {
        return Some((name.trim(), value.trim()));
    }
    let mut words = text.split_ascii_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(name), Some(value), None) => Some((name, value)),
        _ => None,
    }
}

/// Text with bytes outside UTF-8 and control characters in percent form.
fn printable(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.chars().any(is_unprintable)
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_unprintable(c) {
                let mut buffer = [0; 4];
                c.encode_utf8(&mut buffer)
                    .bytes()
                    .for_each(|b| push_percent(&mut out, b));
            } else {
                out.push(c);
            }
        }
        chunk
            .invalid()
            .iter()
            .for_each(|b| push_percent(&mut out, *b));
    }
    Cow::Owned(out)
}

fn is_unprintable(c: char) -> bool {
    c.is_control() && c != '\t'
}
