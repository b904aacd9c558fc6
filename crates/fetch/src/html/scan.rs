//! Feeding the tokenizer in pieces that it cannot choke on, and only those that need it.
//!
//! html5ever's tokenizer keeps a whole tag in memory and compares each attribute with all before
//! it, so one tag of a hundred megabytes, or of a million attributes, would cost too much. We walk
//! each tag first, by the standard's rules for quotes, and leave out one that is too long or has
//! too many attributes. All else goes through whole: text up to the next `<`, comments and
//! doctypes up to a `>`, raw text (scripts, styles) up to its end tag.
//!
//! Most text and most tags mean what they spell: no character reference, no line end to be made
//! one, no name in capitals. Those go past the tokenizer, straight to the sink. They may where the
//! tokenizer is between two tokens, so that it cannot tell whether it was asked.
//!
//! Invariant: outside raw text and comments the tokenizer is between two tokens whenever a tag is
//! walked, so our idea of where the tag ends is the tokenizer's too. With and without the way past
//! it the page reads the same.
//! Cost: one extra look at each byte of a tag, two if it goes past the tokenizer.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use super::collect::{Collector, Mode, Sink};
use super::page::PageLimits;
use super::tag::{Walked, is_space, walk};

/// Text is handed on in pieces of this size, so that no copy of it grows large.
const PIECE_BYTES_MAX: usize = 32 * 1024;
/// What begins and ends text without markup in SVG and MathML.
const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// Reads the tokens of a decoded page.
pub(super) fn scan(text: &str, collector: Collector, limits: &PageLimits) -> Collector {
    let tokenizer = Tokenizer::new(Sink::new(collector), options());
    let sink = &tokenizer.sink;
    let queue = BufferQueue::default();
    let mut attributes = Vec::new();
    let mut rest = text;
    let mut inside = Inside::Nothing;
    // The tokenizer is not within a character reference or line end.
    let mut settled = true;
    while !rest.is_empty() {
        let mode = sink.mode();
        let piece = match mode {
            _ if inside == Inside::Construct => construct(rest),
            _ if inside == Inside::Cdata => cdata_piece(rest),
            Mode::Markup if rest.starts_with(CDATA) && sink.in_foreign() => {
                Piece::Cdata(CDATA.len())
            }
            Mode::Markup => markup_piece(rest, &mut attributes, limits),
            Mode::RawText(name) => raw_piece(rest, name, &mut attributes, limits),
            Mode::Plaintext => Piece::Raw(text_end(rest, rest.len())),
        };
        let (now, later) = rest.split_at(piece.bytes());
        rest = later;
        let may_pass = mode == Mode::Markup && settled;
        match &piece {
            Piece::LeftOut { is_tag, .. } => {
                if *is_tag {
                    sink.note_left_out_tag();
                }
                // What was open before the tag must not go on behind it. This makes no token.
                if mode == Mode::Markup {
                    queue.push_back(StrTendril::from_slice("</>"));
                    let _ = tokenizer.feed(&queue);
                    settled = true;
                }
                continue;
            }
            Piece::Text(_) if may_pass && !needs_tokenizer(now) => {
                sink.text(now);
                continue;
            }
            Piece::Tag(tag) if may_pass => {
                if let Some(markup) = tag.plain(now, &attributes) {
                    sink.markup(&markup);
                    continue;
                }
            }
            _ => {}
        }
        settled = !matches!(piece, Piece::Text(_) | Piece::Broken(_));
        let constructs_before = sink.constructs();
        queue.push_back(StrTendril::from_slice(now));
        // Never stops for a script: our sink does not ask for it.
        let _ = tokenizer.feed(&queue);
        inside = match piece {
            Piece::Construct(_) if sink.constructs() == constructs_before => Inside::Construct,
            Piece::Cdata(_) => Inside::Cdata,
            _ => Inside::Nothing,
        };
    }
    tokenizer.end();
    tokenizer.sink.into_collector()
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
    /// A comment, doctype or processing instruction: its token has not come.
    Construct,
    Cdata,
}

/// What is handed on at once, by its length.
enum Piece<'a> {
    /// Text between two tokens.
    Text(usize),
    /// Text that begins with a `<` which begins nothing else.
    Broken(usize),
    /// Text where no markup is.
    Raw(usize),
    /// May continue in the next piece: a comment, a doctype, a processing instruction.
    Construct(usize),
    /// A CDATA section, but for its end.
    Cdata(usize),
    Tag(Walked<'a>),
    /// A tag that is too much, or one that never ends and so is none.
    LeftOut {
        bytes: usize,
        is_tag: bool,
    },
}

impl Piece<'_> {
    fn bytes(&self) -> usize {
        match self {
            Piece::Tag(tag) => tag.bytes,
            Piece::Text(bytes)
            | Piece::Broken(bytes)
            | Piece::Raw(bytes)
            | Piece::Construct(bytes)
            | Piece::Cdata(bytes)
            | Piece::LeftOut { bytes, .. } => *bytes,
        }
    }
}

fn construct(rest: &str) -> Piece<'_> {
    let end = memchr::memchr(b'>', rest.as_bytes());
    Piece::Construct(end.map_or(rest.len(), |at| at + 1))
}

/// The next piece of a CDATA section, or its end.
fn cdata_piece(rest: &str) -> Piece<'_> {
    match memchr::memmem::find(rest.as_bytes(), CDATA_END.as_bytes()) {
        Some(0) => Piece::Raw(CDATA_END.len()),
        end => Piece::Cdata(text_end(rest, end.unwrap_or(rest.len()))),
    }
}

/// A tag with its attributes.
fn tag_piece<'a>(
    rest: &'a str,
    attributes: &mut Vec<(&'a str, &'a str)>,
    limits: &PageLimits,
) -> Piece<'a> {
    let tag = walk(rest, attributes, limits.tag_attributes_max);
    let fits = tag.closed
        && tag.bytes <= limits.tag_bytes_max
        && tag.attributes <= limits.tag_attributes_max;
    if fits {
        Piece::Tag(tag)
    } else {
        Piece::LeftOut {
            bytes: tag.bytes,
            is_tag: tag.closed,
        }
    }
}

/// The next piece outside raw text.
fn markup_piece<'a>(
    rest: &'a str,
    attributes: &mut Vec<(&'a str, &'a str)>,
    limits: &PageLimits,
) -> Piece<'a> {
    let bytes = rest.as_bytes();
    match bytes {
        [b'<', letter, ..] | [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
            tag_piece(rest, attributes, limits)
        }
        // The standard drops this one without a token.
        [b'<', b'/', b'>', ..] => Piece::Raw(3),
        [b'<', b'!' | b'?' | b'/', ..] => construct(rest),
        [b'<', ..] => Piece::Broken(text_end(rest, 1 + next_less_than(&bytes[1..]))),
        _ => Piece::Text(text_end(rest, next_less_than(bytes))),
    }
}

/// Whether the tokenizer would make something else of this text than the text: there is a
/// character reference, a line end to be made one, or a character that it replaces.
fn needs_tokenizer(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b'&', b'\r', 0, bytes).is_some()
}

/// The next piece of a script, style, title or the like: up to or at its end tag.
fn raw_piece<'a>(
    rest: &'a str,
    name: &str,
    attributes: &mut Vec<(&'a str, &'a str)>,
    limits: &PageLimits,
) -> Piece<'a> {
    let bytes = rest.as_bytes();
    if is_end_tag(bytes, name) {
        return tag_piece(rest, attributes, limits);
    }
    // At least one byte, so that a `</` which is no end tag is passed.
    let next = memchr::memmem::find(&bytes[1..], b"</").map_or(bytes.len(), |at| at + 1);
    Piece::Raw(text_end(rest, next))
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

    /// The page as the tokenizer alone reads it.
    fn through_the_tokenizer(text: &str, collector: Collector) -> Collector {
        let tokenizer = Tokenizer::new(Sink::new(collector), options());
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from_slice(text));
        let _ = tokenizer.feed(&queue);
        tokenizer.end();
        tokenizer.sink.into_collector()
    }

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
            let new = || Collector::new(&limits, "bot");
            prop_assert_eq!(
                facts(scan(&text, new(), &limits)),
                facts(through_the_tokenizer(&text, new()))
            );
        }
    }
}
