//! Links as a crawler sees them: where they lead, and where they stand.

use url::Url;

/// Where a link stands in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each is the element, and attribute where it has several, of its name"
)]
pub enum LinkKind {
    Anchor,
    Area,
    Frame,
    Iframe,
    Link,
    /// A `<link>` to a feed or a sitemap.
    List,
    LinkSrcset,
    Refresh,
    Image,
    ImageSrcset,
    Source,
    SourceSrcset,
    InputImage,
    Video,
    VideoPoster,
    Audio,
    Track,
    Embed,
    Object,
}

impl LinkKind {
    /// Element and attribute: `("a", "href")`.
    pub fn tag_and_attribute(self) -> (&'static str, &'static str) {
        match self {
            LinkKind::Anchor => ("a", "href"),
            LinkKind::Area => ("area", "href"),
            LinkKind::Frame => ("frame", "src"),
            LinkKind::Iframe => ("iframe", "src"),
            LinkKind::Link | LinkKind::List => ("link", "href"),
            LinkKind::LinkSrcset => ("link", "imagesrcset"),
            LinkKind::Refresh => ("meta", "content"),
            LinkKind::Image => ("img", "src"),
            LinkKind::ImageSrcset => ("img", "srcset"),
            LinkKind::Source => ("source", "src"),
            LinkKind::SourceSrcset => ("source", "srcset"),
            LinkKind::InputImage => ("input", "src"),
            LinkKind::Video => ("video", "src"),
            LinkKind::VideoPoster => ("video", "poster"),
            LinkKind::Audio => ("audio", "src"),
            LinkKind::Track => ("track", "src"),
            LinkKind::Embed => ("embed", "src"),
            LinkKind::Object => ("object", "data"),
        }
    }

    /// Leads to another page, as opposed to a part of this one.
    pub fn is_page(self) -> bool {
        use LinkKind::{Anchor, Area, Frame, Iframe, Refresh};
        matches!(self, Anchor | Area | Frame | Iframe | Refresh)
    }
}

/// Which links are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinksWanted {
    /// Every kind.
    All,
    /// Those that lead to pages ([`LinkKind::is_page`]), those to feeds and sitemaps, and every
    /// `<link>`; no pictures, no films. A page of a million pictures then takes no room.
    Pages,
    /// None at all.
    None,
}

impl LinksWanted {
    /// Whether links of this kind are read.
    pub fn has(self, kind: LinkKind) -> bool {
        match self {
            LinksWanted::All => true,
            LinksWanted::Pages => kind.is_page() || matches!(kind, LinkKind::Link | LinkKind::List),
            LinksWanted::None => false,
        }
    }
}

/// One link, resolved, without its fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it leads: http or https.
    pub url: Url,
    /// Where it stands.
    pub kind: LinkKind,
    /// The `rel` words, lower case, one space between.
    pub rel: String,
}

impl Link {
    /// Whether `rel` holds this word.
    pub fn has_rel(&self, word: &str) -> bool {
        self.rel.split(' ').any(|w| w == word)
    }
}

/// A `<meta http-equiv=refresh>` that leads somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// After how many seconds.
    pub seconds: u64,
    /// Where to.
    pub url: Url,
}
