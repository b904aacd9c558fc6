//! A recorded page as bytes: HTML with its links and a text of its size, or a feed or sitemap.
//!
//! The bytes hang on the version alone, so that pages that shared a version are exact duplicates
//! here too. What is recorded holds exactly: the links, in their order, one `<a href>` (or
//! `<link href>`, `<loc>`) each and no others; the number of words, the first of which is the hash of the
//! text, so that equal text is equal and different text differs, whatever the links. For that, links
//! wrap the words of the text in turn, and are empty when there are more links than words. The size
//! is reached by a comment, unless text and links are longer.
//!
//! Cost: one copy a phrase of eight words and some writes a link; no allocation beyond the body.

use std::io::Write as _;

use super::words::{PHRASE_WORDS, Text};

/// The largest body, whatever the record says.
const BODY_BYTES_MAX: usize = 16 << 20;
/// Phrases in a paragraph.
const PARAGRAPH_PHRASES: usize = 8;
/// What the end of a page needs.
const TAIL_BYTES: usize = 24;

/// How long a text is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Length {
    /// As many words, and the page filled up to as many bytes.
    Words {
        /// Words of visible text.
        words: u32,
        /// Bytes of the page.
        bytes: u32,
    },
    /// As many words as fill the page.
    Bytes(u32),
}

/// What a body is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    /// Hash of the bytes: a page that changed differs at least here.
    pub(super) raw: u64,
    /// Hash of the visible text.
    pub(super) text: u64,
    pub(super) length: Length,
}

/// What kind of document it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    /// An Atom feed.
    Feed,
    Sitemap,
    /// A sitemap that lists sitemaps.
    SitemapIndex,
}

impl Form {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Feed => "application/atom+xml; charset=utf-8",
            Self::Sitemap | Self::SitemapIndex => "application/xml; charset=utf-8",
        }
    }
}

/// Writes the links of a page, one at a time, into the body: `href(i, out)` writes the i-th address.
pub(super) struct Links<'a> {
    pub(super) count: usize,
    pub(super) href: &'a dyn Fn(usize, &mut Vec<u8>),
}

/// The body of a page.
pub(super) fn body(form: Form, content: Content, links: &Links<'_>) -> Vec<u8> {
    let bytes = match content.length {
        Length::Words { bytes, .. } | Length::Bytes(bytes) => bytes as usize,
    };
    let mut out = Vec::with_capacity(bytes.min(BODY_BYTES_MAX) + 512 + links.count * 16);
    match form {
        Form::Html => html(content, links, &mut out),
        Form::Feed => feed(content, links, &mut out),
        Form::Sitemap => sitemap(["urlset", "url"], content, links, &mut out),
        Form::SitemapIndex => sitemap(["sitemapindex", "sitemap"], content, links, &mut out),
    }
    out
}

/// How many bytes are wanted, of what a body may have.
fn wanted(content: Content) -> usize {
    let bytes = match content.length {
        Length::Words { bytes, .. } | Length::Bytes(bytes) => bytes as usize,
    };
    bytes.min(BODY_BYTES_MAX)
}

fn html(content: Content, links: &Links<'_>, out: &mut Vec<u8>) {
    put(
        out,
        format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\
             <meta name=\"version\" content=\"{:016x}\"></head>\n<body><p>{:016x}",
            title(content.text),
            content.raw,
            content.text
        ),
    );
    let until = wanted(content).saturating_sub(TAIL_BYTES);
    let mut text = Text::of(content.text);
    let mut linked = 0;
    let mut phrases = 0;
    let mut words_left = match content.length {
        Length::Words { words, .. } => words.saturating_sub(1) as usize,
        Length::Bytes(_) => usize::MAX,
    };
    while words_left > 0 && out.len() < BODY_BYTES_MAX {
        let filled = matches!(content.length, Length::Bytes(_)) && out.len() >= until;
        if filled {
            break;
        }
        let phrase = text.phrase();
        if linked == links.count && words_left >= PHRASE_WORDS {
            out.push(b' ');
            out.extend_from_slice(phrase.as_bytes());
            words_left -= PHRASE_WORDS;
        } else {
            for word in phrase.split(' ').take(words_left) {
                out.push(b' ');
                if linked < links.count {
                    anchor(links, linked, word, out);
                    linked += 1;
                } else {
                    out.extend_from_slice(word.as_bytes());
                }
            }
            words_left = words_left.saturating_sub(PHRASE_WORDS);
        }
        phrases += 1;
        if phrases % PARAGRAPH_PHRASES == 0 {
            out.extend_from_slice(b"</p>\n<p>");
        }
    }
    (linked..links.count).for_each(|link| anchor(links, link, "", out));
    out.extend_from_slice(b"</p>");
    pad(out, until);
    out.extend_from_slice(b"</body></html>\n");
}

fn anchor(links: &Links<'_>, link: usize, word: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<a href=\"");
    (links.href)(link, out);
    out.extend_from_slice(b"\">");
    out.extend_from_slice(word.as_bytes());
    out.extend_from_slice(b"</a>");
}

fn feed(content: Content, links: &Links<'_>, out: &mut Vec<u8>) {
    xml_head(content, out);
    put(
        out,
        format_args!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>{}</title>\
             <id>urn:hash:{:016x}</id>\n<subtitle>{:016x}",
            title(content.text),
            content.text,
            content.text
        ),
    );
    let mut text = Text::of(content.text);
    let mut words_left = match content.length {
        Length::Words { words, .. } => words.saturating_sub(1) as usize,
        Length::Bytes(_) => 0,
    };
    while words_left > 0 && out.len() < BODY_BYTES_MAX {
        for word in text.phrase().split(' ').take(words_left) {
            out.push(b' ');
            out.extend_from_slice(word.as_bytes());
        }
        words_left = words_left.saturating_sub(PHRASE_WORDS);
    }
    out.extend_from_slice(b"</subtitle>\n");
    for link in 0..links.count {
        out.extend_from_slice(b"<entry><link href=\"");
        (links.href)(link, out);
        out.extend_from_slice(b"\"/></entry>\n");
    }
    pad(out, wanted(content).saturating_sub(TAIL_BYTES));
    out.extend_from_slice(b"</feed>\n");
}

fn sitemap(names: [&str; 2], content: Content, links: &Links<'_>, out: &mut Vec<u8>) {
    let [whole, each] = names;
    xml_head(content, out);
    let space = "http://www.sitemaps.org/schemas/sitemap/0.9";
    put(out, format_args!("<{whole} xmlns=\"{space}\">\n"));
    for link in 0..links.count {
        put(out, format_args!("<{each}><loc>"));
        (links.href)(link, out);
        put(out, format_args!("</loc></{each}>\n"));
    }
    pad(out, wanted(content).saturating_sub(TAIL_BYTES));
    put(out, format_args!("</{whole}>\n"));
}

fn xml_head(content: Content, out: &mut Vec<u8>) {
    let Content { raw, text, .. } = content;
    put(
        out,
        format_args!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!-- {raw:016x} {text:016x} -->\n"
        ),
    );
}

/// The first words of the text.
fn title(text: u64) -> &'static str {
    let phrase = Text::of(text).phrase();
    let end = phrase
        .match_indices(' ')
        .nth(3)
        .map_or(phrase.len(), |(at, _)| at);
    &phrase[..end]
}

/// A comment that fills the page up to a size.
fn pad(out: &mut Vec<u8>, until: usize) {
    const AROUND: usize = 8;
    let Some(missing) = until
        .checked_sub(out.len() + AROUND)
        .filter(|missing| *missing > 0)
    else {
        return;
    };
    out.extend_from_slice(b"<!-- ");
    out.resize(out.len() + missing, b'.');
    out.extend_from_slice(b"-->");
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text)
        .expect("writing to memory does not fail");
}
