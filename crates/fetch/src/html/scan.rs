//! Feeding the tokenizer in pieces that it cannot choke on.
//!
//! html5ever's tokenizer keeps a whole tag in memory and compares each attribute with all before
//! it, so one tag of a hundred megabytes, or of a million attributes, would cost too much. We walk
//! each tag first, by the standard's rules for quotes, and leave out one that is too long or has
//! too many attributes. All else goes through whole: text up to the next `<`, comments and
//! doctypes up to a `>`, raw text (scripts, styles) up to its end tag. Text that the tokenizer would
//! only copy goes to the sink as it is.
//!
//! Invariant: outside raw text and comments the tokenizer is between two tokens whenever a tag is
//! walked, so our idea of where the tag ends is the tokenizer's too.
//! Cost: one extra look at each byte of a tag.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use super::collect::{Collector, Mode, Sink};
use super::page::PageLimits;

/// Text is handed on in pieces of this size, so that no copy of it grows large.
const PIECE_BYTES_MAX: usize = 32 * 1024;

/// Runs the tokenizer over a decoded page.
pub(super) fn scan(text: &str, collector: Collector, limits: &PageLimits) -> Collector {
    let tokenizer = Tokenizer::new(Sink::new(collector), TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = text;
    // Inside a comment or doctype: no token came since it began.
    let mut unfinished = false;
    // The tokenizer had the last piece of text, and may be within a character reference.
    let mut had_text = false;
    while !rest.is_empty() {
        let piece = match tokenizer.sink.mode() {
            _ if unfinished => Piece::construct(rest),
            Mode::Markup => markup_piece(rest, limits),
            Mode::RawText(name) => raw_piece(rest, name, limits),
            Mode::Plaintext => Piece::feed(text_end(rest, rest.len())),
        };
        let (now, later) = rest.split_at(piece.bytes);
        rest = later;
        if piece.kind == PieceKind::LeftOut {
            tokenizer.sink.note_left_out_tag();
            continue;
        }
        if piece.kind == PieceKind::Text && !had_text && !needs_tokenizer(now) {
            tokenizer.sink.text(now);
            continue;
        }
        had_text = piece.kind == PieceKind::Text;
        let tokens_before = tokenizer.sink.tokens();
        queue.push_back(StrTendril::from_slice(now));
        // Never stops for a script: our sink does not ask for it.
        let _ = tokenizer.feed(&queue);
        unfinished = piece.kind == PieceKind::Construct && tokenizer.sink.tokens() == tokens_before;
    }
    tokenizer.end();
    tokenizer.sink.into_collector()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// Text between two tokens, outside raw text.
    Text,
    Whole,
    /// May continue in the next piece: a comment, a doctype, a processing instruction.
    Construct,
    LeftOut,
}

struct Piece {
    bytes: usize,
    kind: PieceKind,
}

impl Piece {
    fn text(bytes: usize) -> Piece {
        Piece {
            bytes,
            kind: PieceKind::Text,
        }
    }

    fn feed(bytes: usize) -> Piece {
        Piece {
            bytes,
            kind: PieceKind::Whole,
        }
    }

    fn construct(rest: &str) -> Piece {
        let end = memchr::memchr(b'>', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        Piece {
            bytes: end,
            kind: PieceKind::Construct,
        }
    }

    fn tag(rest: &str, limits: &PageLimits) -> Piece {
        let tag = walk_tag(rest.as_bytes());
        let fits = tag.closed
            && tag.bytes <= limits.tag_bytes_max
            && tag.attributes <= limits.tag_attributes_max;
        Piece {
            bytes: tag.bytes,
            kind: if fits {
                PieceKind::Whole
            } else {
                PieceKind::LeftOut
            },
        }
    }
}

/// The next piece outside raw text.
fn markup_piece(rest: &str, limits: &PageLimits) -> Piece {
    let bytes = rest.as_bytes();
    match bytes {
        [b'<', letter, ..] if letter.is_ascii_alphabetic() => Piece::tag(rest, limits),
        [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => Piece::tag(rest, limits),
        // The standard drops this one without a token.
        [b'<', b'/', b'>', ..] => Piece::feed(3),
        [b'<', b'!' | b'?' | b'/', ..] => Piece::construct(rest),
        [b'<', ..] => Piece::feed(text_end(rest, 1 + next_less_than(&bytes[1..]))),
        _ => Piece::text(text_end(rest, next_less_than(bytes))),
    }
}

/// Whether the tokenizer would make something else of this text than the text: there is a
/// character reference, a line end to be made one, or a character that it drops.
fn needs_tokenizer(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b'&', b'\r', 0, bytes).is_some() || text.starts_with('\u{feff}')
}

/// The next piece of a script, style, title or the like: up to or at its end tag.
fn raw_piece(rest: &str, name: &str, limits: &PageLimits) -> Piece {
    let bytes = rest.as_bytes();
    if is_end_tag(bytes, name) {
        return Piece::tag(rest, limits);
    }
    // At least one byte, so that a `</` which is no end tag is passed.
    let next = memchr::memmem::find(&bytes[1..], b"</").map_or(bytes.len(), |at| at + 1);
    Piece::feed(text_end(rest, next))
}

fn is_end_tag(bytes: &[u8], name: &str) -> bool {
    bytes.starts_with(b"</")
        && bytes
            .get(2..2 + name.len())
            .is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
        && bytes
            .get(2 + name.len())
            .is_none_or(|b| is_space(*b) || matches!(b, b'/' | b'>'))
}

fn next_less_than(bytes: &[u8]) -> usize {
    memchr::memchr(b'<', bytes).unwrap_or(bytes.len())
}

/// At most `end`, at most one piece, on a character boundary, and never nothing.
fn text_end(text: &str, end: usize) -> usize {
    let mut end = if end > PIECE_BYTES_MAX {
        PIECE_BYTES_MAX
    } else {
        end
    };
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

struct WalkedTag {
    bytes: usize,
    attributes: usize,
    closed: bool,
}

/// Finds the end of the tag that begins here, minding quotes as the standard's tokenizer does.
fn walk_tag(bytes: &[u8]) -> WalkedTag {
    let mut at = if bytes.get(1) == Some(&b'/') { 2 } else { 1 };
    let mut attributes = 0;
    let position = |from: usize, wanted: fn(u8) -> bool| {
        bytes[from..]
            .iter()
            .position(|b| wanted(*b))
            .map_or(bytes.len(), |n| from + n)
    };
    at = position(at, |b| is_space(b) || matches!(b, b'/' | b'>'));
    loop {
        at = position(at, |b| !is_space(b) && b != b'/');
        if at == bytes.len() {
            return WalkedTag {
                bytes: at,
                attributes,
                closed: false,
            };
        }
        if bytes[at] == b'>' {
            return WalkedTag {
                bytes: at + 1,
                attributes,
                closed: true,
            };
        }
        attributes += 1;
        // An equals sign here begins a name.
        at = position(at + 1, |b| is_space(b) || matches!(b, b'/' | b'>' | b'='));
        let after_name = position(at, |b| !is_space(b));
        if bytes.get(after_name) != Some(&b'=') {
            continue;
        }
        at = position(after_name + 1, |b| !is_space(b));
        at = match bytes.get(at) {
            Some(quote @ (b'"' | b'\'')) => {
                memchr::memchr(*quote, &bytes[at + 1..]).map_or(bytes.len(), |n| at + n + 2)
            }
            Some(b'>') | None => at,
            Some(_) => position(at, |b| is_space(b) || b == b'>'),
        };
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}
