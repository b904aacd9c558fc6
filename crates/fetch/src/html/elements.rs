//! What is known of elements by their names, and of tags by their attributes.
//!
//! Names are looked up once, by eight bytes at a time and a hash that has no two of them in one
//! place: a page has more tags than anything else.

use std::ops::Range;

use html5ever::tokenizer::states::RawKind;

use super::tag::Attributes;

/// What an element means to the reader of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Anchor,
    Area,
    Audio,
    Base,
    Desc,
    Embed,
    ForeignObject,
    Frame,
    Iframe,
    Image,
    Input,
    Link,
    Math,
    Meta,
    Noembed,
    Noframes,
    Object,
    Plaintext,
    Script,
    Source,
    Style,
    Svg,
    Textarea,
    Title,
    Track,
    Video,
    Xmp,
    /// Another that does not end a word.
    Inline,
    /// Another that does.
    Other,
}

use Element::{Inline, Other};

const NAMES: [(&str, Element); 58] = [
    ("a", Element::Anchor),
    ("area", Element::Area),
    ("audio", Element::Audio),
    ("base", Element::Base),
    ("desc", Element::Desc),
    ("embed", Element::Embed),
    ("frame", Element::Frame),
    ("iframe", Element::Iframe),
    ("img", Element::Image),
    ("image", Element::Image),
    ("input", Element::Input),
    ("link", Element::Link),
    ("math", Element::Math),
    ("meta", Element::Meta),
    ("noembed", Element::Noembed),
    ("noframes", Element::Noframes),
    ("object", Element::Object),
    ("script", Element::Script),
    ("source", Element::Source),
    ("style", Element::Style),
    ("svg", Element::Svg),
    ("textarea", Element::Textarea),
    ("title", Element::Title),
    ("track", Element::Track),
    ("video", Element::Video),
    ("xmp", Element::Xmp),
    ("abbr", Inline),
    ("acronym", Inline),
    ("b", Inline),
    ("bdi", Inline),
    ("bdo", Inline),
    ("big", Inline),
    ("cite", Inline),
    ("code", Inline),
    ("data", Inline),
    ("del", Inline),
    ("dfn", Inline),
    ("em", Inline),
    ("font", Inline),
    ("i", Inline),
    ("ins", Inline),
    ("kbd", Inline),
    ("mark", Inline),
    ("nobr", Inline),
    ("q", Inline),
    ("s", Inline),
    ("samp", Inline),
    ("small", Inline),
    ("span", Inline),
    ("strike", Inline),
    ("strong", Inline),
    ("sub", Inline),
    ("sup", Inline),
    ("time", Inline),
    ("tt", Inline),
    ("u", Inline),
    ("var", Inline),
    ("wbr", Inline),
];

const PLACES_BITS: u32 = 9;
/// The names by their hash; an empty place holds what no name is.
static PLACES: [(u64, Element); 1 << PLACES_BITS] = places();
const MULTIPLIER: u64 = multiplier();

/// Eight bytes of a name.
const fn word(name: &[u8]) -> u64 {
    let (mut word, mut at) = (0, 0);
    while at < name.len() {
        word |= (name[at] as u64) << (8 * at);
        at += 1;
    }
    word
}

const fn place(word: u64, multiplier: u64) -> usize {
    (word.wrapping_mul(multiplier) >> (64 - PLACES_BITS)) as usize
}

/// The first odd number that has no two names in one place.
const fn multiplier() -> u64 {
    let mut multiplier: u64 = 0x9E37_79B9_7F4A_7C15;
    loop {
        let mut taken = [false; 1 << PLACES_BITS];
        let mut at = 0;
        while at < NAMES.len() {
            let place = place(word(NAMES[at].0.as_bytes()), multiplier);
            if taken[place] {
                break;
            }
            taken[place] = true;
            at += 1;
        }
        if at == NAMES.len() {
            return multiplier;
        }
        multiplier = multiplier
            .wrapping_mul(0xD134_2543_DE82_EF95)
            .wrapping_add(2);
    }
}

const fn places() -> [(u64, Element); 1 << PLACES_BITS] {
    let mut places = [(0, Other); 1 << PLACES_BITS];
    let mut at = 0;
    while at < NAMES.len() {
        let word = word(NAMES[at].0.as_bytes());
        places[place(word, MULTIPLIER)] = (word, NAMES[at].1);
        at += 1;
    }
    places
}

/// The element of a name, in letters of any size.
pub(super) fn element_of(name: &str) -> Element {
    element_at(name.as_bytes(), 0..name.len())
}

/// The element whose name stands in this part of a page.
#[inline]
pub(super) fn element_at(page: &[u8], name: Range<usize>) -> Element {
    let bytes = name.len();
    // Short names are filled up with NUL, so none may end with one.
    if bytes == 0 || page[name.end - 1] == 0 {
        return Other;
    }
    if bytes > 8 {
        return match &page[name] {
            name if name.eq_ignore_ascii_case(b"foreignobject") => Element::ForeignObject,
            name if name.eq_ignore_ascii_case(b"plaintext") => Element::Plaintext,
            _ => Other,
        };
    }
    let eight = match page[name.start..].first_chunk::<8>() {
        Some(eight) => u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * bytes),
        None => word(&page[name]),
    };
    let word = in_small_letters(eight);
    let (known, element) = PLACES[place(word, MULTIPLIER)];
    if known == word { element } else { Other }
}

/// Makes capital letters of ASCII small, eight at a time. In seven bits a sum shows in the highest
/// bit, and in no other byte, whether a bound was reached.
fn in_small_letters(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = word & (EACH * 0x7F);
    let reaches = |bound: u8| low + EACH * u64::from(0x80 - bound);
    let capital = reaches(b'A') & !reaches(b'Z' + 1) & !word & (EACH * 0x80);
    word | capital >> 2
}

impl Element {
    /// Whether it does not end a word.
    pub(super) fn is_inline(self) -> bool {
        matches!(self, Element::Anchor | Inline)
    }

    /// Whether its attributes matter.
    pub(super) fn has_links(self) -> bool {
        use Element::{
            Anchor, Area, Audio, Base, Embed, Frame, Iframe, Image, Input, Link, Meta, Object,
            Source, Track, Video,
        };
        matches!(
            self,
            Anchor
                | Area
                | Audio
                | Base
                | Embed
                | Frame
                | Iframe
                | Image
                | Input
                | Link
                | Meta
                | Object
                | Source
                | Track
                | Video
        )
    }

    /// How its text is read if that is no markup.
    pub(super) fn raw_text(self) -> Option<RawText> {
        use RawText::{Plain, Until};
        Some(match self {
            Element::Title | Element::Textarea => Until(RawKind::Rcdata),
            Element::Style
            | Element::Xmp
            | Element::Iframe
            | Element::Noembed
            | Element::Noframes => Until(RawKind::Rawtext),
            Element::Script => Until(RawKind::ScriptData),
            Element::Plaintext => Plain,
            _ => return None,
        })
    }

    /// The name of an element that holds raw text.
    pub(super) fn raw_name(self) -> &'static str {
        match self {
            Element::Title => "title",
            Element::Textarea => "textarea",
            Element::Style => "style",
            Element::Xmp => "xmp",
            Element::Iframe => "iframe",
            Element::Noembed => "noembed",
            Element::Noframes => "noframes",
            Element::Script => "script",
            _ => "plaintext",
        }
    }
}

/// How raw text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawText {
    /// Up to the end tag.
    Until(RawKind),
    /// Up to the end of the page.
    Plain,
}

/// The `rel` words in lower case, one space between.
pub(super) fn rel_of(attributes: Attributes<'_>) -> String {
    const BYTES_MAX: usize = 256;
    let Some(rel) = attributes.get("rel") else {
        return String::new();
    };
    let mut out = String::new();
    for word in rel.split_ascii_whitespace() {
        if out.len() + word.len() > BYTES_MAX {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word.to_ascii_lowercase());
    }
    out
}

/// Whether a `<link>` names a feed or a sitemap of the site.
pub(super) fn names_a_list(attributes: Attributes<'_>) -> bool {
    const FEEDS: [&str; 4] = [
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
    ];
    let rel = rel_of(attributes);
    let has = |word: &str| rel.split(' ').any(|other| other == word);
    let kind = attributes.get("type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_feed = FEEDS.iter().any(|feed| kind.eq_ignore_ascii_case(feed));
    has("sitemap") || has("alternate") && is_feed
}

/// HTML elements that end an SVG or MathML island when they appear in it.
pub(super) fn leaves_foreign(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "b" | "big"
            | "blockquote"
            | "body"
            | "br"
            | "center"
            | "code"
            | "dd"
            | "div"
            | "dl"
            | "dt"
            | "em"
            | "embed"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "hr"
            | "i"
            | "img"
            | "li"
            | "listing"
            | "menu"
            | "meta"
            | "nobr"
            | "ol"
            | "p"
            | "pre"
            | "ruby"
            | "s"
            | "small"
            | "span"
            | "strong"
            | "strike"
            | "sub"
            | "sup"
            | "table"
            | "tt"
            | "u"
            | "ul"
            | "var"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        let is_name = |other: &str| NAMES.iter().any(|(name, _)| *name == other);
        for (name, element) in NAMES {
            assert_eq!(element_of(name), element, "{name}");
            assert_eq!(element_of(&name.to_uppercase()), element, "{name}");
            let page = format!("<{name}><more of the page>");
            assert_eq!(element_at(page.as_bytes(), 1..1 + name.len()), element);
            for other in [format!("{name}x"), format!("x{name}"), format!("{name}\0")] {
                assert_eq!(element_of(&other) == Other, !is_name(&other), "{other}");
            }
            // What differs from a name in the bit that tells small letters from others.
            let odd: String = name.bytes().map(|byte| char::from(byte ^ 0x60)).collect();
            assert_eq!(element_of(&odd), Other, "{odd}");
        }
        assert_eq!(element_of(""), Other);
        assert_eq!(element_of("foreignObject"), Element::ForeignObject);
        assert_eq!(element_of("plaintext"), Element::Plaintext);
    }
}
