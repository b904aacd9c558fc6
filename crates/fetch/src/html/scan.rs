//! Through a page, token by token: by ourselves where it is plain, by the tokenizer where it is not.
//!
//! [`Plain`] reads on as far as it can, which is nearly always to the end. What it leaves goes to
//! html5ever's tokenizer, piece by piece, until that is between two tokens again.
//!
//! The tokenizer keeps a whole tag in memory and compares each attribute with all before it, so one
//! tag of a hundred megabytes, or of a million attributes, would cost too much. We walk each tag
//! first, by the standard's rules for quotes, and leave out one that is too long or has too many
//! attributes. All else goes through whole: text up to the next `<`, comments and doctypes up to a
//! `>`, raw text (scripts, styles) up to its end tag.
//!
//! Invariant: outside raw text and comments the tokenizer is between two tokens whenever a tag is
//! walked, so our idea of where the tag ends is the tokenizer's too. A page reads the same by
//! [`scan`] and by [`scan_by_tokenizer`].
//! Cost: linear.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use super::collect::{Collector, Mode};
use super::page::PageLimits;
use super::plain::{Plain, is_end_tag};
use super::sink::Sink;
use super::tag::{name_end, walk};

/// Text is handed on in pieces of this size, so that no copy of it grows large.
const PIECE_BYTES_MAX: usize = 32 * 1024;
/// What begins and ends text without markup in SVG and MathML.
pub(super) const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// Reads the tokens of a decoded page.
pub(super) fn scan(text: &str, collector: Collector, limits: &PageLimits) -> Collector {
    let collector = RefCell::new(collector);
    let mut plain = Plain::new(text, limits);
    let mut at = plain.read_plain(0, &mut collector.borrow_mut());
    if at < text.len() {
        let mut pieces = Pieces::new(&collector, limits);
        while at < text.len() {
            at += pieces.feed(&text[at..]);
            if pieces.is_between_tokens() {
                at = plain.read_plain(at, &mut collector.borrow_mut());
            }
        }
        pieces.tokenizer.end();
    }
    collector.into_inner()
}

/// The same by html5ever's tokenizer alone: slower, without limits on tags, and the truth.
pub(super) fn scan_by_tokenizer(text: &str, collector: Collector) -> Collector {
    let collector = RefCell::new(collector);
    let tokenizer = Tokenizer::new(Sink::new(&collector), options());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(text));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    drop(tokenizer);
    collector.into_inner()
}

/// The decoder took the byte-order mark away already.
fn options() -> TokenizerOpts {
    TokenizerOpts {
        discard_bom: false,
        ..TokenizerOpts::default()
    }
}

/// What the tokenizer is in the middle of when a piece ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// Text: perhaps a character reference or line end.
    Text,
    /// A comment, doctype or processing instruction: its token has not come.
    Construct,
    Cdata,
}

/// The tokenizer, fed piece by piece.
struct Pieces<'a> {
    tokenizer: Tokenizer<Sink<'a>>,
    queue: BufferQueue,
    collector: &'a RefCell<Collector>,
    limits: &'a PageLimits,
    inside: Inside,
}

impl<'a> Pieces<'a> {
    fn new(collector: &'a RefCell<Collector>, limits: &'a PageLimits) -> Pieces<'a> {
        Pieces {
            tokenizer: Tokenizer::new(Sink::new(collector), options()),
            queue: BufferQueue::default(),
            collector,
            limits,
            inside: Inside::Nothing,
        }
    }

    fn is_between_tokens(&self) -> bool {
        self.inside == Inside::Nothing && self.collector.borrow().mode() == Mode::Markup
    }

    /// Takes the next piece, and returns its length.
    fn feed(&mut self, rest: &str) -> usize {
        let (mode, in_foreign) = {
            let collector = self.collector.borrow();
            (collector.mode(), collector.in_foreign())
        };
        let piece = match mode {
            _ if self.inside == Inside::Construct => construct(rest),
            _ if self.inside == Inside::Cdata => cdata_piece(rest),
            Mode::Markup if in_foreign && rest.starts_with(CDATA) => Piece::Cdata(CDATA.len()),
            Mode::Markup => markup_piece(rest, self.limits),
            Mode::RawText(element) => raw_piece(rest, element.raw_name(), self.limits),
            Mode::Plaintext => Piece::Raw(text_end(rest, rest.len())),
        };
        if let Piece::LeftOut { bytes, is_tag } = piece {
            self.collector.borrow_mut().tags_left_out += u64::from(is_tag);
            // What was open before the tag must not go on behind it. This makes no token.
            if mode == Mode::Markup {
                self.tokenize("</>");
                self.inside = Inside::Nothing;
            }
            return bytes;
        }
        let constructs_before = self.tokenizer.sink.constructs();
        self.tokenize(&rest[..piece.bytes()]);
        self.inside = match piece {
            Piece::Text(_) => Inside::Text,
            Piece::Construct(_) if self.tokenizer.sink.constructs() == constructs_before => {
                Inside::Construct
            }
            Piece::Cdata(_) => Inside::Cdata,
            _ => Inside::Nothing,
        };
        piece.bytes()
    }

    fn tokenize(&mut self, text: &str) {
        self.queue.push_back(StrTendril::from_slice(text));
        // Never stops for a script: our sink does not ask for it.
        let _ = self.tokenizer.feed(&self.queue);
    }
}

/// What is handed on at once, by its length.
enum Piece {
    /// Text between two tokens, or behind a `<` that begins nothing else.
    Text(usize),
    /// Text where no markup is.
    Raw(usize),
    /// May continue in the next piece: a comment, a doctype, a processing instruction.
    Construct(usize),
    /// A CDATA section, but for its end.
    Cdata(usize),
    Tag(usize),
    /// A tag that is too much, or one that never ends and so is none.
    LeftOut {
        bytes: usize,
        is_tag: bool,
    },
}

impl Piece {
    fn bytes(&self) -> usize {
        match self {
            Piece::Text(bytes)
            | Piece::Raw(bytes)
            | Piece::Construct(bytes)
            | Piece::Cdata(bytes)
            | Piece::Tag(bytes)
            | Piece::LeftOut { bytes, .. } => *bytes,
        }
    }
}

fn construct(rest: &str) -> Piece {
    let end = memchr::memchr(b'>', rest.as_bytes());
    Piece::Construct(end.map_or(rest.len(), |at| at + 1))
}

/// The next piece of a CDATA section, or its end.
fn cdata_piece(rest: &str) -> Piece {
    match memchr::memmem::find(rest.as_bytes(), CDATA_END.as_bytes()) {
        Some(0) => Piece::Raw(CDATA_END.len()),
        end => Piece::Cdata(text_end(rest, end.unwrap_or(rest.len()))),
    }
}

/// A tag with its attributes.
fn tag_piece(rest: &str, limits: &PageLimits) -> Piece {
    let name_at = if rest.as_bytes().get(1) == Some(&b'/') {
        2
    } else {
        1
    };
    let tag = walk(rest, name_end(rest.as_bytes(), name_at), |_, _| {});
    let fits = tag.closed
        && tag.end <= limits.tag_bytes_max
        && tag.attributes <= limits.tag_attributes_max;
    if fits {
        Piece::Tag(tag.end)
    } else {
        Piece::LeftOut {
            bytes: tag.end,
            is_tag: tag.closed,
        }
    }
}

/// The next piece outside raw text.
fn markup_piece(rest: &str, limits: &PageLimits) -> Piece {
    let bytes = rest.as_bytes();
    match bytes {
        [b'<', letter, ..] | [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
            tag_piece(rest, limits)
        }
        // The standard drops this one without a token.
        [b'<', b'/', b'>', ..] => Piece::Raw(3),
        [b'<', b'!' | b'?' | b'/', ..] => construct(rest),
        [b'<', ..] => Piece::Text(text_end(rest, 1 + next_less_than(&bytes[1..]))),
        _ => Piece::Text(text_end(rest, next_less_than(bytes))),
    }
}

/// The next piece of a script, style, title or the like: up to or at its end tag.
fn raw_piece(rest: &str, name: &str, limits: &PageLimits) -> Piece {
    let bytes = rest.as_bytes();
    if is_end_tag(bytes, name.as_bytes()) {
        return tag_piece(rest, limits);
    }
    // At least one byte, so that a `</` which is no end tag is passed.
    let next = memchr::memmem::find(&bytes[1..], b"</").map_or(bytes.len(), |at| at + 1);
    Piece::Raw(text_end(rest, next))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bits of markup that change how what follows is read, spelt in every way.
    const BITS: &[&str] = &[
        "<a href=x>",
        "<A HREF=X>",
        "<a href='x y' rel=\"NoFollow a\">",
        "<a href=a&amp;b>",
        "<a href=x href=y>",
        "<a =x= href = \"/q\" / b>",
        "<a href=x/>",
        "<a href=>",
        "<a href=\"x",
        "<a href='\r\n'>",
        "<a\0b href=x>",
        "<img src=i srcset='a 1x, b 2x'/>",
        "<input type=password>",
        "<link rel=canonical href=c>",
        "<base href=/b/>",
        "<meta name=robots content=nofollow>",
        "</a>",
        "</A x=y>",
        "</a",
        "</>",
        "</ x>",
        "<p>",
        "<b>",
        "</b>",
        "<br/>",
        "<br//>",
        "<br / >",
        "<title>",
        "</title>",
        "</TITLE >",
        "<textarea>",
        "</textarea>",
        "<script>",
        "</script>",
        "<!--",
        "<!-- <a href=z> -->",
        "-->",
        "<!doctype html>",
        "<?pi",
        "?>",
        "<svg>",
        "</svg>",
        "<svg/>",
        "<desc>",
        "<![CDATA[",
        "]]>",
        ">",
        "<",
        "< a",
        "&lt",
        "&lt;",
        "&",
        "&am",
        "p;",
        "&#6",
        "5;",
        "\r",
        "\n",
        "\0",
        "\u{feff}",
        " ",
        "word",
        "Ä",
        "=",
        "\"",
        "'",
    ];

    fn facts(found: Collector) -> impl PartialEq + std::fmt::Debug {
        let links: Vec<_> = found
            .links
            .iter()
            .enumerate()
            .map(|(number, link)| format!("{link:?} {:?}", found.links.seconds(number)))
            .collect();
        let heads = (found.title, found.base, found.wishes, found.password_field);
        (links, heads, found.text, found.words.finish())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_way_past_the_tokenizer_reads_the_same(
            bits in prop::collection::vec(prop::sample::select(BITS), 0..40),
            long in prop::option::weighted(0.1, (0usize..40, PIECE_BYTES_MAX - 40..PIECE_BYTES_MAX)),
        ) {
            let mut text = bits.concat();
            if let Some((at, bytes)) = long {
                let at = bits.iter().take(at).map(|bit| bit.len()).sum();
                text.insert_str(at, &"x".repeat(bytes));
            }
            let limits = PageLimits::default();
            let new = || Collector::new(&limits, "bot", None);
            prop_assert_eq!(
                facts(scan(&text, new(), &limits)),
                facts(scan_by_tokenizer(&text, new()))
            );
        }
    }
}
