//! What the tokens of a page add up to: the sink behind the tokenizer.
//!
//! Links are kept as written until the end of the page (`raw_links`). The sink also plays the small part of the tree builder
//! that matters to a tokenizer: which elements hold raw text, and whether we are inside SVG or
//! MathML, where they do not.
//!
//! Cost: constant per token besides the text itself; the only stack is that of SVG and MathML
//! islands, [`ISLANDS_MAX`] deep at most.

use std::cell::{Cell, RefCell};

use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult};

use super::elements::{RawText, is_inline, leaves_foreign, names_a_list, opens_raw_text, rel_of};
use super::fingerprint::WordStream;
use super::link::LinkKind;
use super::page::PageLimits;
use super::raw_links::{RawLinks, Written};
use super::refresh::parse_refresh;
use super::srcset::parse_srcset;
use super::tag::{Attributes, Markup, Tag};
use crate::robots::tags::PageWishes;

/// How many nested SVG and MathML islands are told apart.
const ISLANDS_MAX: usize = 64;

/// How the next bytes are to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Markup,
    /// Inside the element of this name.
    RawText(&'static str),
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
    pub(super) password_field: bool,
    mode: Mode,
    islands: Vec<Island>,
}

impl Collector {
    pub(super) fn new(limits: &PageLimits, agent: &str) -> Collector {
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
            password_field: false,
            mode: Mode::Markup,
            islands: Vec::new(),
        }
    }

    fn in_foreign(&self) -> bool {
        self.islands.last() == Some(&Island::Foreign)
    }

    fn start_tag(&mut self, tag: Tag<'_>) -> TokenSinkResult<()> {
        let name = tag.name;
        if !is_inline(name) {
            self.break_words();
        }
        if self.in_foreign() && leaves_foreign(name) {
            self.islands.clear();
        }
        let is_foreign = self.in_foreign();
        self.enter_island(name, tag.self_closing);
        self.collect_links(name, tag.attributes);
        if is_foreign {
            return TokenSinkResult::Continue;
        }
        let Some((open, raw)) = opens_raw_text(name) else {
            return TokenSinkResult::Continue;
        };
        let RawText::Until(raw) = raw else {
            self.mode = Mode::Plaintext;
            return TokenSinkResult::Plaintext;
        };
        if open == "title" && self.title.is_none() {
            self.title = Some(String::new());
        }
        self.mode = Mode::RawText(open);
        TokenSinkResult::RawData(raw)
    }

    fn end_tag(&mut self, name: &str) {
        if !is_inline(name) {
            self.break_words();
        }
        if matches!(self.mode, Mode::RawText(open) if open == name) {
            self.mode = Mode::Markup;
            self.title_done |= name == "title";
        }
        match name {
            "svg" | "math" => {
                let outermost = self.islands.iter().rposition(|i| *i == Island::Foreign);
                self.islands.truncate(outermost.unwrap_or(0));
            }
            "foreignobject" | "desc" | "title" if self.islands.last() == Some(&Island::Html) => {
                self.islands.pop();
            }
            _ => {}
        }
    }

    fn enter_island(&mut self, name: &str, self_closing: bool) {
        let island = match name {
            "svg" | "math" => Island::Foreign,
            "foreignobject" | "desc" | "title" if self.in_foreign() => Island::Html,
            _ => return,
        };
        if !self_closing && self.islands.len() < ISLANDS_MAX {
            self.islands.push(island);
        }
    }

    fn collect_links(&mut self, name: &str, attributes: Attributes<'_>) {
        match name {
            "a" => self.simple(LinkKind::Anchor, attributes, "href"),
            "area" => self.simple(LinkKind::Area, attributes, "href"),
            "frame" => self.simple(LinkKind::Frame, attributes, "src"),
            "iframe" => self.simple(LinkKind::Iframe, attributes, "src"),
            "link" => {
                let kind = if names_a_list(attributes) {
                    LinkKind::List
                } else {
                    LinkKind::Link
                };
                self.simple(kind, attributes, "href");
                self.srcset(LinkKind::LinkSrcset, attributes, "imagesrcset");
            }
            "img" | "image" if !self.in_foreign() => {
                self.simple(LinkKind::Image, attributes, "src");
                self.srcset(LinkKind::ImageSrcset, attributes, "srcset");
            }
            "source" => {
                self.simple(LinkKind::Source, attributes, "src");
                self.srcset(LinkKind::SourceSrcset, attributes, "srcset");
            }
            "input" => match attributes.get("type").unwrap_or("") {
                kind if kind.eq_ignore_ascii_case("image") => {
                    self.simple(LinkKind::InputImage, attributes, "src");
                }
                kind => self.password_field |= kind.eq_ignore_ascii_case("password"),
            },
            "video" => {
                self.simple(LinkKind::Video, attributes, "src");
                self.simple(LinkKind::VideoPoster, attributes, "poster");
            }
            "audio" => self.simple(LinkKind::Audio, attributes, "src"),
            "track" => self.simple(LinkKind::Track, attributes, "src"),
            "embed" => self.simple(LinkKind::Embed, attributes, "src"),
            "object" => self.simple(LinkKind::Object, attributes, "data"),
            "base" if self.base.is_none() => self.base = attributes.get("href").map(str::to_owned),
            "meta" => self.meta(attributes),
            _ => {}
        }
    }

    fn meta(&mut self, attributes: Attributes<'_>) {
        let content = attributes.get("content").unwrap_or("");
        if let Some(name) = attributes.get("name") {
            self.wishes.add_meta(name, content, &self.agent);
        }
        if attributes
            .get("http-equiv")
            .is_some_and(|h| h.trim_ascii().eq_ignore_ascii_case("refresh"))
            && let Some((seconds, Some(target))) = parse_refresh(content)
        {
            self.push(LinkKind::Refresh, target, "", seconds);
        }
    }

    fn simple(&mut self, kind: LinkKind, attributes: Attributes<'_>, attr: &str) {
        if let Some(href) = attributes.get(attr) {
            self.push(kind, href, &rel_of(attributes), 0);
        }
    }

    fn srcset(&mut self, kind: LinkKind, attributes: Attributes<'_>, attr: &str) {
        if let Some(value) = attributes.get(attr) {
            for candidate in parse_srcset(value) {
                self.push(kind, candidate.url, &rel_of(attributes), 0);
            }
        }
    }

    fn push(&mut self, kind: LinkKind, href: &str, rel: &str, seconds: u64) {
        if self.limits.links.has(kind) {
            self.links.push(Written { kind, href, rel }, seconds);
        }
    }

    fn characters(&mut self, text: &str) {
        match self.mode {
            Mode::RawText("title") => {
                if !self.title_done
                    && let Some(title) = &mut self.title
                    && title.len() < self.limits.title_bytes_max
                {
                    push_cut(title, text, self.limits.title_bytes_max);
                }
            }
            Mode::RawText(name) if name != "xmp" => {}
            Mode::Markup | Mode::RawText(_) | Mode::Plaintext => {
                self.words.push(text);
                self.keep_text(text);
            }
        }
    }

    /// Keeps visible text with runs of space folded into one.
    fn keep_text(&mut self, text: &str) {
        if self.text.len() >= self.limits.text_bytes_max {
            self.text_cut |= !text.trim().is_empty();
            return;
        }
        for (i, word) in text.split(char::is_whitespace).enumerate() {
            if i > 0 && !self.text.is_empty() && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
        if self.text.len() > self.limits.text_bytes_max {
            truncate(&mut self.text, self.limits.text_bytes_max);
            self.text_cut = true;
        }
    }

    fn break_words(&mut self) {
        self.words.end_word();
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
}

/// The tokenizer hands tokens to `&self`, so the collector sits in a cell.
pub(super) struct Sink {
    collector: RefCell<Collector>,
    constructs: Cell<u64>,
}

impl Sink {
    pub(super) fn new(collector: Collector) -> Sink {
        Sink {
            collector: RefCell::new(collector),
            constructs: Cell::new(0),
        }
    }

    pub(super) fn into_collector(self) -> Collector {
        self.collector.into_inner()
    }

    pub(super) fn mode(&self) -> Mode {
        self.collector.borrow().mode
    }

    /// How many comments and doctypes came so far.
    pub(super) fn constructs(&self) -> u64 {
        self.constructs.get()
    }

    /// Whether we are inside SVG or MathML.
    pub(super) fn in_foreign(&self) -> bool {
        self.collector.borrow().in_foreign()
    }

    /// Takes a tag that came past the tokenizer, and leads to no raw text.
    pub(super) fn markup(&self, markup: &Markup<'_>) {
        let mut collector = self.collector.borrow_mut();
        match *markup {
            Markup::Start(tag) => {
                let _ = collector.start_tag(tag);
            }
            Markup::End(name) => collector.end_tag(name),
        }
    }

    /// Takes text that came past the tokenizer.
    pub(super) fn text(&self, text: &str) {
        self.collector.borrow_mut().characters(text);
    }

    pub(super) fn note_left_out_tag(&self) {
        self.collector.borrow_mut().tags_left_out += 1;
    }
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut collector = self.collector.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                let attributes: Vec<_> = tag
                    .attrs
                    .iter()
                    .map(|attribute| (&*attribute.name.local, &*attribute.value))
                    .collect();
                return collector.start_tag(Tag {
                    name: &tag.name,
                    attributes: Attributes(&attributes),
                    self_closing: tag.self_closing,
                });
            }
            Token::TagToken(tag) => collector.end_tag(&tag.name),
            Token::CharacterTokens(text) => collector.characters(&text),
            Token::DoctypeToken(_) | Token::CommentToken(_) => {
                self.constructs.set(self.constructs.get() + 1);
            }
            Token::NullCharacterToken | Token::EOFToken | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.in_foreign()
    }
}

fn push_cut(out: &mut String, text: &str, bytes_max: usize) {
    out.push_str(text);
    truncate(out, bytes_max);
}

fn truncate(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        let mut end = bytes_max;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
}
