//! Reading plain markup without a tokenizer: most of every page.
//!
//! Between two tokens a page is text, a tag, or a comment, and where each ends can be found by
//! looking for a few bytes, many at once. Here is the part of the standard's tokenizer that pages
//! use: text with character references, tags with or without quotes and capitals, comments and
//! doctypes, scripts and styles up to their end tags. What is left to html5ever's tokenizer: NUL in
//! text, scripts that hold a comment (it may hide their end), CDATA, raw text and tags that never
//! end, tags beyond a limit.
//!
//! Invariant: [`read_plain`] stops between two tokens, before the first thing that it leaves. What it
//! read, the tokenizer reads alike.
//! Cost: linear.

use std::ops::Range;

use super::collect::Collector;
use super::elements::{Element, RawText, element_at};
use super::page::PageLimits;
use super::references::{Place, read_reference};
use super::scan::CDATA;
use super::tag::{Attributes, Tag, is_space, name_end, walk};

/// A page on its way through.
pub(super) struct Plain<'a> {
    text: &'a str,
    /// There is a NUL somewhere.
    has_nul: bool,
    attributes_max: usize,
    tag_bytes_max: usize,
    attributes: Vec<(&'a str, &'a str)>,
}

/// What stands at some place.
enum Step {
    /// Read up to here.
    To(usize),
    /// Not ours to read.
    Odd,
}

impl<'a> Plain<'a> {
    pub(super) fn new(text: &'a str, limits: &PageLimits) -> Plain<'a> {
        Plain {
            text,
            has_nul: memchr::memchr(0, text.as_bytes()).is_some(),
            attributes_max: limits.tag_attributes_max,
            tag_bytes_max: limits.tag_bytes_max,
            attributes: Vec::new(),
        }
    }

    /// Reads from here to the end, or to the first thing that the tokenizer must read. Returns
    /// where that is.
    pub(super) fn read_plain(&mut self, from: usize, collector: &mut Collector) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            let step = match bytes[at] {
                b'<' => self.markup(at, collector),
                _ => self.run_of_text(at, collector),
            };
            match step {
                Step::To(end) => at = end,
                Step::Odd => return at,
            }
        }
        at
    }

    /// Text up to the next `<` or the end of the page.
    fn run_of_text(&self, from: usize, collector: &mut Collector) -> Step {
        let bytes = self.text.as_bytes();
        let rest = &bytes[from..];
        let special = memchr::memchr2(b'<', b'&', rest);
        let end = from + special.unwrap_or(rest.len());
        if self.has_nul && memchr::memchr(0, &bytes[from..end]).is_some() {
            return Step::Odd;
        }
        if end > from {
            collector.characters(&self.text[from..end]);
        }
        if bytes.get(end) != Some(&b'&') {
            return Step::To(end);
        }
        let reference = read_reference(&bytes[end..], Place::Text);
        collector.character(reference.first);
        if let Some(second) = reference.second {
            collector.character(second);
        }
        Step::To(end + reference.bytes)
    }

    /// Whatever begins with this `<`.
    fn markup(&mut self, at: usize, collector: &mut Collector) -> Step {
        let bytes = self.text.as_bytes();
        match bytes[at + 1..] {
            [letter, ..] if letter.is_ascii_alphabetic() => self.start_tag(at, collector),
            [b'/', letter, ..] if letter.is_ascii_alphabetic() => self.end_tag(at, collector),
            // The standard drops this one without a token.
            [b'/', b'>', ..] => Step::To(at + 3),
            [b'/'] => Step::Odd,
            [b'!', b'-', b'-', ..] => Step::To(self.comment_end(at + 4)),
            [b'!', ..] if collector.in_foreign() && self.text[at..].starts_with(CDATA) => Step::Odd,
            // Doctypes, processing instructions and other comments end at the first `>`.
            [b'!' | b'?' | b'/', ..] => {
                let end = memchr::memchr(b'>', &bytes[at..]);
                Step::To(end.map_or(bytes.len(), |end| at + end + 1))
            }
            _ => {
                collector.character('<');
                Step::To(at + 1)
            }
        }
    }

    /// Where the comment ends whose text begins here.
    fn comment_end(&self, from: usize) -> usize {
        let bytes = self.text.as_bytes();
        match bytes[from..] {
            [b'>', ..] => return from + 1,
            [b'-', b'>', ..] => return from + 2,
            _ => {}
        }
        let mut at = from;
        while let Some(found) = memchr::memmem::find(&bytes[at..], b"--") {
            at += found;
            match bytes[at + 2..] {
                [b'>', ..] => return at + 3,
                [b'!', b'>', ..] => return at + 4,
                _ => at += 1,
            }
        }
        bytes.len()
    }

    fn start_tag(&mut self, at: usize, collector: &mut Collector) -> Step {
        let text = self.text;
        let end = name_end(text.as_bytes(), at + 1);
        let element = element_at(text.as_bytes(), at + 1..end);
        let wanted = element.has_links() || collector.wants_attributes();
        let walked = if wanted {
            let noted = &mut self.attributes;
            noted.clear();
            walk(text, end, |name, value| noted.push((name, value)))
        } else {
            walk(text, end, |_, _| {})
        };
        if !self.fits(at, walked.end, walked.attributes, walked.closed) {
            return Step::Odd;
        }
        let noted: &[_] = if wanted { &self.attributes } else { &[] };
        let tag = Tag {
            element,
            name: &text[at + 1..end],
            attributes: Attributes::Spelt(noted),
            self_closing: walked.self_closing,
        };
        let raw = element.raw_text().filter(|_| !collector.in_foreign());
        let Some(raw) = raw else {
            let _ = collector.start_tag(tag);
            return Step::To(walked.end);
        };
        if raw == RawText::Plain {
            return Step::Odd;
        }
        let Some((content, end)) = self.raw_content(element, walked.end) else {
            return Step::Odd;
        };
        let _ = collector.start_tag(tag);
        match element {
            Element::Title => title(&text[content], collector),
            Element::Xmp => collector.characters(&text[content]),
            _ => {}
        }
        collector.end_tag(element, element.raw_name());
        Step::To(end)
    }

    /// The text of an element that holds raw text, and where its end tag ends. None if the page
    /// does not spell out what is meant, or has no end of it.
    fn raw_content(&self, element: Element, from: usize) -> Option<(Range<usize>, usize)> {
        let bytes = self.text.as_bytes();
        let name = element.raw_name().as_bytes();
        let mut at = from;
        loop {
            at += memchr::memchr(b'<', &bytes[at..])?;
            if is_end_tag(&bytes[at..], name) {
                break;
            }
            if element == Element::Script && bytes[at..].starts_with(b"<!--") {
                return None;
            }
            at += 1;
        }
        let content = from..at;
        let is_spelt = match element {
            Element::Title => memchr::memchr2(b'\r', 0, &bytes[content.clone()]).is_none(),
            Element::Xmp => memchr::memchr(0, &bytes[content.clone()]).is_none(),
            _ => true,
        };
        let walked = walk(self.text, at + 2 + name.len(), |_, _| {});
        let fits = self.fits(at, walked.end, walked.attributes, walked.closed);
        (is_spelt && fits).then_some((content, walked.end))
    }

    fn end_tag(&self, at: usize, collector: &mut Collector) -> Step {
        let text = self.text;
        let end = name_end(text.as_bytes(), at + 2);
        let walked = walk(text, end, |_, _| {});
        if !self.fits(at, walked.end, walked.attributes, walked.closed) {
            return Step::Odd;
        }
        collector.end_tag(element_at(text.as_bytes(), at + 2..end), &text[at + 2..end]);
        Step::To(walked.end)
    }

    fn fits(&self, start: usize, end: usize, attributes: usize, closed: bool) -> bool {
        closed && attributes <= self.attributes_max && end - start <= self.tag_bytes_max
    }
}

/// The text of a title, which has references and no markup.
fn title(content: &str, collector: &mut Collector) {
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        collector.characters(&rest[..at]);
        let reference = read_reference(&rest.as_bytes()[at..], Place::Text);
        collector.character(reference.first);
        if let Some(second) = reference.second {
            collector.character(second);
        }
        rest = &rest[at + reference.bytes..];
    }
    collector.characters(rest);
}

/// Whether this is the end tag of an element that holds raw text.
pub(super) fn is_end_tag(bytes: &[u8], name: &[u8]) -> bool {
    bytes.starts_with(b"</")
        && bytes
            .get(2..2 + name.len())
            .is_some_and(|n| n.eq_ignore_ascii_case(name))
        && bytes
            .get(2 + name.len())
            .is_none_or(|b| is_space(*b) || matches!(b, b'/' | b'>'))
}
