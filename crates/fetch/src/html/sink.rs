//! The sink behind html5ever's tokenizer: hands its tokens to the collector.

use std::cell::{Cell, RefCell};

use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult};

use super::collect::Collector;
use super::elements::element_of;
use super::tag::{Attributes, Tag};

/// The tokenizer hands tokens to `&self`, so the collector sits in a cell.
pub(super) struct Sink<'a> {
    collector: &'a RefCell<Collector>,
    constructs: Cell<u64>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(collector: &'a RefCell<Collector>) -> Sink<'a> {
        Sink {
            collector,
            constructs: Cell::new(0),
        }
    }

    /// How many comments and doctypes came so far.
    pub(super) fn constructs(&self) -> u64 {
        self.constructs.get()
    }
}

impl TokenSink for Sink<'_> {
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
                let attributes = Attributes::Meant(&attributes);
                return collector.start_tag(Tag::new(&tag.name, attributes, tag.self_closing));
            }
            Token::TagToken(tag) => collector.end_tag(element_of(&tag.name), &tag.name),
            Token::CharacterTokens(text) => collector.characters(&text),
            Token::DoctypeToken(_) | Token::CommentToken(_) => {
                self.constructs.set(self.constructs.get() + 1);
            }
            Token::NullCharacterToken | Token::EOFToken | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.collector.borrow().in_foreign()
    }
}
