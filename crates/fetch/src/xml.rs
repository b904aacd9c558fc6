//! Walking XML lists from strangers: lenient, flat, and blind to DTDs.
//!
//! quick-xml reads the markup; here only the five predefined entities and character numbers are
//! resolved, everything a DTD could declare is dropped, so there is nothing to expand. End tags
//! need not match. Where the text breaks, the walk ends and says so; what came before stays.
//!
//! Also the way from bytes to text: gzip by content, undone up to a limit inside the decoder
//! loop, and the encoding by mark, header, declaration.
//! Cost: linear; no recursion, so depth costs nothing.

use std::borrow::Cow;
use std::io::Read;

use encoding_rs::{Encoding, UTF_8};
use quick_xml::Reader;
use quick_xml::escape::{resolve_xml_entity, unescape_with};
use quick_xml::events::{BytesStart, Event};

/// Most attributes looked at on one element.
const ATTRIBUTES_MAX: usize = 64;

/// Receives what the walk meets. `depth` is 1 for the root element.
pub(crate) trait Visitor {
    /// An element begins.
    fn start(&mut self, element: &Element<'_>, depth: usize);
    /// Text inside the innermost element, possibly in several pieces.
    fn text(&mut self, text: &str);
    /// An element ends.
    fn end(&mut self, local_name: &str, depth: usize);
    /// Enough: the walk may stop.
    fn is_done(&self) -> bool;
}

/// An element's name and attributes.
pub(crate) struct Element<'a> {
    /// The part of the name before the colon, or nothing.
    pub(crate) prefix: &'a str,
    /// The part after it.
    pub(crate) name: &'a str,
    tag: &'a BytesStart<'a>,
}

impl Element<'_> {
    /// The value of an attribute by its full name, entities resolved.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        // Checking for duplicates is quadratic, and we take the first anyway.
        let mut attributes = self.tag.attributes();
        attributes.with_checks(false);
        let found = attributes
            .flatten()
            .take(ATTRIBUTES_MAX)
            .find(|a| a.key.as_ref() == name)?;
        Some(match unescape_with(&found.value, resolve_xml_entity) {
            Ok(value) => value.into_owned(),
            Err(_) => found.value.into_owned(),
        })
    }
}

/// Walks a document. `Some` says where and why it broke off.
pub(crate) fn walk(text: &str, visitor: &mut impl Visitor) -> Option<String> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut depth = 0;
    while !visitor.is_done() {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                depth += 1;
                start(&tag, depth, visitor);
            }
            Ok(Event::Empty(tag)) => {
                start(&tag, depth + 1, visitor);
                visitor.end(tag.local_name().as_ref(), depth + 1);
            }
            Ok(Event::End(tag)) => {
                visitor.end(tag.local_name().as_ref(), depth);
                depth = depth.saturating_sub(1);
            }
            Ok(Event::Text(text)) => visitor.text(&text),
            Ok(Event::CData(text)) => visitor.text(&text),
            Ok(Event::GeneralRef(entity)) => match entity.resolve_char_ref() {
                Ok(Some(c)) => visitor.text(c.encode_utf8(&mut [0; 4])),
                _ => visitor.text(resolve_xml_entity(&entity).unwrap_or("")),
            },
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            Ok(Event::Eof) => {
                return (depth > 0).then(|| "the document ends inside an element".to_owned());
            }
            Err(error) => return Some(format!("at byte {}: {error}", reader.error_position())),
        }
    }
    None
}

fn start(tag: &BytesStart<'_>, depth: usize, visitor: &mut impl Visitor) {
    let name = tag.name();
    let (local, prefix) = name.decompose();
    let element = Element {
        prefix: prefix.as_ref().map_or("", |p| p.as_ref()),
        name: local.as_ref(),
        tag,
    };
    visitor.start(&element, depth);
}

/// A body as bytes, gzip undone.
pub(crate) struct Unpacked<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    /// More than the limit was there.
    pub(crate) cut: bool,
    /// Why gzip broke off, if it did.
    pub(crate) broken: Option<String>,
}

/// Undoes gzip if the content is gzip, up to a limit.
pub(crate) fn unpack(body: &[u8], bytes_max: usize) -> Unpacked<'_> {
    if !body.starts_with(&[0x1F, 0x8B]) {
        let kept = &body[..body.len().min(bytes_max)];
        return Unpacked {
            bytes: Cow::Borrowed(kept),
            cut: kept.len() < body.len(),
            broken: None,
        };
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(bytes_max)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let broken = match flate2::read::MultiGzDecoder::new(body)
        .take(limit)
        .read_to_end(&mut bytes)
    {
        Ok(_) => None,
        Err(error) => Some(format!("gzip: {error}")),
    };
    let cut = bytes.len() > bytes_max;
    bytes.truncate(bytes_max);
    Unpacked {
        bytes: Cow::Owned(bytes),
        cut,
        broken,
    }
}

/// Bytes as text: by byte-order mark, then `charset` of the header, then the XML declaration,
/// then UTF-8. Latin-1 that claims to be UTF-8 by saying nothing is read as Latin-1.
pub(crate) fn decode<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    let label = |label: &[u8]| Encoding::for_label(label);
    let declared = || label(declared_encoding(bytes)?);
    let named = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => Some(encoding),
        None => charset.and_then(|c| label(c.as_bytes())).or_else(declared),
    };
    let encoding = match named {
        Some(encoding) => encoding,
        None if std::str::from_utf8(bytes).is_err() => encoding_rs::WINDOWS_1252,
        None => UTF_8,
    };
    encoding.decode_with_bom_removal(bytes).0
}

fn declared_encoding(bytes: &[u8]) -> Option<&[u8]> {
    let head = &bytes[..bytes.len().min(256)];
    let declaration = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(declaration, b"?>")?;
    let at = memchr::memmem::find(&declaration[..end], b"encoding")?;
    let value = declaration[at + 8..end]
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let quote = value.first().filter(|b| matches!(b, b'"' | b'\''))?;
    let close = memchr::memchr(*quote, &value[1..])?;
    Some(&value[1..=close])
}

/// Adds text to a field, up to a limit; the rest is dropped.
pub(crate) fn push_limited(field: &mut String, text: &str, bytes_max: usize) {
    let mut end = text.len().min(bytes_max.saturating_sub(field.len()));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    field.push_str(&text[..end]);
}
