//! What was not seen of a page, counted: so that nobody takes a part for the whole.
//!
//! Two kinds of absence are told apart. A *cut* is ours or an accident: a limit bit, or the body
//! broke off, and a link may be missing that is there. A *refusal* is what the address deserves:
//! `mailto:`, a host that cannot be; no limit would bring a page out of it. Repetitions are
//! neither: a link counts once.
//!
//! [`Cuts::unseen_links`] turns cuts into one number for those who keep books. It is an upper
//! bound, from what a link takes at the least in bytes, so a small cut gives a small number.

use crate::shortfall::Shortfall;

/// The least that a link to a page takes in a body: `<a href=x>`. Only one link can do with less:
/// `<a href>`, to the page itself.
pub const LINK_BYTES_MIN: u64 = 10;

/// What limits cut or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cuts {
    /// What is missing of the body, if anything. [`read_page`] cannot know: who fetched the body
    /// writes here what [`Response::shortfall`] says.
    ///
    /// [`read_page`]: super::read_page
    /// [`Response::shortfall`]: crate::Response::shortfall
    pub body: Option<Shortfall>,
    /// Bytes of body not read.
    pub bytes: usize,
    /// Distinct links that were seen and dropped for want of room: exact where dropped links could
    /// still be told apart, else at most so many.
    pub links: u64,
    /// Distinct addresses of the web dropped because they are longer than the limit or have more
    /// query parameters.
    pub urls_too_long: u64,
    /// Tags left out because they are too long or have too many attributes. A tag that never ends
    /// is none by the standard, and not counted.
    pub tags: u64,
    /// Distinct addresses that are no pages of the web (another scheme, no URL, no usable host).
    /// No limit cut these.
    pub links_refused: u64,
    /// The kept text is not all.
    pub text: bool,
}

/// How many links to pages a reading may have missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// None: every link of the page was seen.
    None,
    /// At most so many.
    AtMost(u64),
    /// Any number: the rest of the page is of unknown length.
    Unbounded,
}

impl Cuts {
    /// How many distinct links to other pages ([`LinkKind::is_page`], [`LinkKind::List`]) may be in
    /// the page and are not in [`Page::links`].
    ///
    /// Not counted is what a `<base>` in an unseen rest would do to the links that were seen.
    ///
    /// [`LinkKind::is_page`]: super::LinkKind::is_page
    /// [`LinkKind::List`]: super::LinkKind::List
    /// [`Page::links`]: super::Page::links
    pub fn unseen_links(&self) -> Unseen {
        let Some(missing) = self.body.map_or(Some(0), |body| body.bytes) else {
            return Unseen::Unbounded;
        };
        let rest = missing.saturating_add(self.bytes as u64);
        let counted = [self.links, self.urls_too_long, self.tags, links_in(rest)];
        match counted.into_iter().fold(0, u64::saturating_add) {
            0 => Unseen::None,
            at_most => Unseen::AtMost(at_most),
        }
    }
}

/// The most distinct links that so many bytes at the end of a body can hold. One more may have
/// begun before them, and one may be the short form.
fn links_in(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        _ => bytes / LINK_BYTES_MIN + 2,
    }
}
