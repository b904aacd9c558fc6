//! What the tokens of a page add up to.
//!
//! Links are kept as written until the end of the page (`raw_links`). The collector also plays the small part of the tree builder
//! that matters to a tokenizer: which elements hold raw text, and whether we are inside SVG or
//! MathML, where they do not.
//!
//! Cost: constant per token besides the text itself; the only stack is that of SVG and MathML
//! islands, [`ISLANDS_MAX`] deep at most.

use std::borrow::Cow;

use html5ever::tokenizer::TokenSinkResult;

use super::elements::{Element, RawText, leaves_foreign, names_a_list, rel_of};
use super::fingerprint::WordStream;
use super::ignored::{Filter, IgnoredCount};
use super::link::LinkKind;
use super::page::PageLimits;
use super::raw_links::{RawLinks, Written};
use super::refresh::parse_refresh;
use super::srcset::parse_srcset;
use super::tag::{Attributes, Tag};
use crate::preferences::Sayings;
use crate::robots::tags::PageWishes;

/// How many nested SVG and MathML islands are told apart.
const ISLANDS_MAX: usize = 64;

/// How the next bytes are to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Markup,
    /// Inside this element.
    RawText(Element),
    Plaintext,
}

/// Where SVG or MathML begins, and where HTML begins again inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Island {
    Foreign,
    Html,
}

/// Everything collected from one page.
pub(super) struct Collector {
    limits: PageLimits,
    agent: String,
    pub(super) links: RawLinks,
    pub(super) tags_left_out: u64,
    pub(super) base: Option<String>,
    pub(super) title: Option<String>,
    title_done: bool,
    pub(super) text: String,
    pub(super) text_cut: bool,
    pub(super) words: WordStream,
    pub(super) wishes: PageWishes,
    pub(super) sayings: Sayings,
    pub(super) password_field: bool,
    mode: Mode,
    islands: Vec<Island>,
    /// What does not count, if anything does not.
    filter: Option<Box<Filter>>,
}

impl Collector {
    pub(super) fn new(limits: &PageLimits, agent: &str, filter: Option<Box<Filter>>) -> Collector {
        Collector {
            limits: limits.clone(),
            agent: agent.to_owned(),
            links: RawLinks::new(limits),
            tags_left_out: 0,
            base: None,
            title: None,
            title_done: false,
            text: String::new(),
            text_cut: false,
            words: WordStream::default(),
            wishes: PageWishes::default(),
            sayings: Sayings::default(),
            password_field: false,
            mode: Mode::Markup,
            islands: Vec::new(),
            filter,
        }
    }

    /// The page is read. Returns how much of it did not count.
    pub(super) fn end(&mut self) -> IgnoredCount {
        self.filtered();
        self.filter
            .as_ref()
            .map_or_else(IgnoredCount::default, |filter| filter.count)
    }

    /// Whether we are inside SVG or MathML.
    pub(super) fn in_foreign(&self) -> bool {
        self.islands.last() == Some(&Island::Foreign)
    }

    /// Whether the attributes of every tag are looked at, not only of those with links.
    pub(super) fn wants_attributes(&self) -> bool {
        self.filter
            .as_ref()
            .is_some_and(|filter| filter.has_selectors())
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Takes a start tag, and says how a tokenizer goes on behind it.
    pub(super) fn start_tag(&mut self, tag: Tag<'_>) -> TokenSinkResult<()> {
        let element = tag.element;
        if !element.is_inline() {
            self.break_words();
        }
        if self.in_foreign() && leaves_foreign(tag.name) {
            self.islands.clear();
        }
        let is_foreign = self.in_foreign();
        if let Some(filter) = &mut self.filter {
            // Elsewhere the slash of `<div/>` means nothing.
            let has_end = is_foreign || matches!(element, Element::Svg | Element::Math);
            filter.start(&tag, has_end && tag.self_closing);
        }
        self.enter_island(element, tag.self_closing);
        if element.has_links() {
            self.collect_links(element, tag.attributes);
        }
        let Some(raw) = element.raw_text().filter(|_| !is_foreign) else {
            return TokenSinkResult::Continue;
        };
        let RawText::Until(raw) = raw else {
            self.mode = Mode::Plaintext;
            return TokenSinkResult::Plaintext;
        };
        if element == Element::Title && self.title.is_none() {
            self.title = Some(String::new());
        }
        self.mode = Mode::RawText(element);
        TokenSinkResult::RawData(raw)
    }

    /// Takes an end tag; its name is in letters of any size.
    pub(super) fn end_tag(&mut self, element: Element, name: &str) {
        if !element.is_inline() {
            self.break_words();
        }
        if let Some(filter) = &mut self.filter {
            filter.end(name);
        }
        if self.mode == Mode::RawText(element) {
            self.mode = Mode::Markup;
            self.title_done |= element == Element::Title;
        }
        match element {
            Element::Svg | Element::Math => {
                let outermost = self.islands.iter().rposition(|i| *i == Island::Foreign);
                self.islands.truncate(outermost.unwrap_or(0));
            }
            Element::ForeignObject | Element::Desc | Element::Title
                if self.islands.last() == Some(&Island::Html) =>
            {
                self.islands.pop();
            }
            _ => {}
        }
    }

    fn enter_island(&mut self, element: Element, self_closing: bool) {
        let island = match element {
            Element::Svg | Element::Math => Island::Foreign,
            Element::ForeignObject | Element::Desc | Element::Title if self.in_foreign() => {
                Island::Html
            }
            _ => return,
        };
        if !self_closing && self.islands.len() < ISLANDS_MAX {
            self.islands.push(island);
        }
    }

    fn collect_links(&mut self, element: Element, attributes: Attributes<'_>) {
        match element {
            Element::Anchor => self.simple(LinkKind::Anchor, attributes, "href"),
            Element::Area => self.simple(LinkKind::Area, attributes, "href"),
            Element::Frame => self.simple(LinkKind::Frame, attributes, "src"),
            Element::Iframe => self.simple(LinkKind::Iframe, attributes, "src"),
            Element::Link => {
                let kind = if names_a_list(attributes) {
                    LinkKind::List
                } else {
                    LinkKind::Link
                };
                self.simple(kind, attributes, "href");
                self.srcset(LinkKind::LinkSrcset, attributes, "imagesrcset");
            }
            Element::Image if !self.in_foreign() => {
                self.simple(LinkKind::Image, attributes, "src");
                self.srcset(LinkKind::ImageSrcset, attributes, "srcset");
            }
            Element::Source => {
                self.simple(LinkKind::Source, attributes, "src");
                self.srcset(LinkKind::SourceSrcset, attributes, "srcset");
            }
            Element::Input => {
                let kind = attributes.get("type").unwrap_or_default();
                if kind.eq_ignore_ascii_case("image") {
                    self.simple(LinkKind::InputImage, attributes, "src");
                }
                self.password_field |= kind.eq_ignore_ascii_case("password");
            }
            Element::Video => {
                self.simple(LinkKind::Video, attributes, "src");
                self.simple(LinkKind::VideoPoster, attributes, "poster");
            }
            Element::Audio => self.simple(LinkKind::Audio, attributes, "src"),
            Element::Track => self.simple(LinkKind::Track, attributes, "src"),
            Element::Embed => self.simple(LinkKind::Embed, attributes, "src"),
            Element::Object => self.simple(LinkKind::Object, attributes, "data"),
            Element::Base if self.base.is_none() => {
                self.base = attributes.get("href").map(Cow::into_owned);
            }
            Element::Meta => self.meta(attributes),
            _ => {}
        }
    }

    fn meta(&mut self, attributes: Attributes<'_>) {
        let content = attributes.get("content").unwrap_or_default();
        if let Some(name) = attributes.get("name") {
            self.wishes.add_meta(&name, &content, &self.agent);
            self.sayings.add_meta(&name, &content);
        }
        if attributes
            .get("http-equiv")
            .is_some_and(|h| h.trim_ascii().eq_ignore_ascii_case("refresh"))
            && let Some((seconds, Some(target))) = parse_refresh(&content)
        {
            self.push(LinkKind::Refresh, target, "", seconds);
        }
    }

    fn simple(&mut self, kind: LinkKind, attributes: Attributes<'_>, attribute: &str) {
        if self.limits.links.has(kind)
            && let Some(href) = attributes.get(attribute)
        {
            self.push(kind, &href, &rel_of(attributes), 0);
        }
    }

    fn srcset(&mut self, kind: LinkKind, attributes: Attributes<'_>, attribute: &str) {
        if self.limits.links.has(kind)
            && let Some(value) = attributes.get(attribute)
        {
            let rel = rel_of(attributes);
            for candidate in parse_srcset(&value) {
                self.push(kind, candidate.url, &rel, 0);
            }
        }
    }

    fn push(&mut self, kind: LinkKind, href: &str, rel: &str, seconds: u64) {
        if self.limits.links.has(kind) {
            self.links.push(Written { kind, href, rel }, seconds);
        }
    }

    /// Takes a piece of text.
    pub(super) fn characters(&mut self, text: &str) {
        match self.mode {
            Mode::RawText(Element::Title) => {
                if !self.title_done
                    && let Some(title) = &mut self.title
                {
                    self.title_done = push_cut(title, text, self.limits.title_bytes_max);
                }
            }
            Mode::Markup | Mode::RawText(Element::Xmp) | Mode::Plaintext => {
                if let Some(filter) = &mut self.filter {
                    if filter.is_inside() {
                        return;
                    }
                    if filter.keep(text) {
                        if filter.is_full() {
                            self.filtered();
                        }
                        return;
                    }
                }
                self.count_text(text);
            }
            Mode::RawText(_) => {}
        }
    }

    /// Takes in text that counts.
    fn count_text(&mut self, text: &str) {
        if self.limits.fingerprint {
            self.words.push(text);
        }
        self.keep_text(text);
    }

    /// A block of text is whole: what is left of it counts.
    fn filtered(&mut self) {
        if let Some(text) = self.filter.as_mut().and_then(|filter| filter.take()) {
            self.count_text(&text);
        }
    }

    /// Takes one character.
    pub(super) fn character(&mut self, character: char) {
        self.characters(character.encode_utf8(&mut [0; 4]));
    }

    /// Keeps visible text with runs of space folded into one.
    fn keep_text(&mut self, text: &str) {
        if self.text_cut {
            return;
        }
        if self.text.len() >= self.limits.text_bytes_max {
            self.text_cut = !text.trim().is_empty();
            return;
        }
        for (i, word) in text.split(char::is_whitespace).enumerate() {
            if i > 0 && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
        self.text_cut = truncate(&mut self.text, self.limits.text_bytes_max);
    }

    fn break_words(&mut self) {
        self.filtered();
        self.words.end_word();
        if self.limits.lines {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
        } else if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
}

/// Adds text as far as there is room. Returns whether there was too little.
fn push_cut(out: &mut String, text: &str, bytes_max: usize) -> bool {
    out.push_str(text);
    truncate(out, bytes_max)
}

fn truncate(text: &mut String, bytes_max: usize) -> bool {
    let is_too_long = text.len() > bytes_max;
    if is_too_long {
        let mut end = bytes_max;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    is_too_long
}
