//! One page, read: the types a crawler sees, and the way from bytes to them.

use encoding_rs::Encoding;
use url::Url;

use super::collect::{Collector, RawLink};
use super::encoding::{EncodingSource, charset_of, detect};
use super::fingerprint::Fingerprint;
use super::scan::scan;
use crate::media;
use crate::robots::tags::PageWishes;
use crate::urls::{UrlLimits, host_of, read_standard, resolve_in};

/// What is read of a page at most. What a limit cuts is noted in [`Cuts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLimits {
    /// Bytes of the body.
    pub bytes_max: usize,
    /// Links kept; the first ones win.
    pub links_max: usize,
    /// Bytes of visible text kept. Fingerprints cover all of it.
    pub text_bytes_max: usize,
    /// Bytes of the title.
    pub title_bytes_max: usize,
    /// Bytes of one tag. Pictures inside attributes make long ones.
    pub tag_bytes_max: usize,
    /// Attributes of one tag.
    pub tag_attributes_max: usize,
    /// Limits on each link.
    pub urls: UrlLimits,
}

impl Default for PageLimits {
    fn default() -> Self {
        PageLimits {
            bytes_max: 10 << 20,
            links_max: 10_000,
            text_bytes_max: 1 << 20,
            title_bytes_max: 1024,
            tag_bytes_max: 4 << 20,
            tag_attributes_max: 256,
            urls: UrlLimits::default(),
        }
    }
}

/// A fetched body and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct PageInput<'a> {
    /// The URL the body came from, after redirects.
    pub url: &'a Url,
    /// The `Content-Type` header, if any.
    pub content_type: Option<&'a str>,
    /// The decoded (no longer compressed) body.
    pub body: &'a [u8],
    /// Our product token, for `<meta name=…>` aimed at us.
    pub agent: &'a str,
}

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

/// What limits cut or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Bytes of body not read.
    pub bytes: usize,
    /// Links beyond the limit.
    pub links: u64,
    /// Addresses that are no usable URL (too long, wrong scheme, bad host).
    pub links_refused: u64,
    /// Tags too long, with too many attributes, or never closed.
    pub tags: u64,
    /// The kept text is not all.
    pub text: bool,
}

/// A page, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The encoding's name in the Encoding Standard.
    pub encoding: &'static str,
    /// What decided the encoding.
    pub encoding_source: EncodingSource,
    /// The body is no text at all, whatever its label says: nothing was read.
    pub binary: bool,
    /// The first title, spaces folded.
    pub title: Option<String>,
    /// Visible text, spaces folded.
    pub text: String,
    /// Word count, SimHash and hash of all visible text.
    pub fingerprint: Fingerprint,
    /// What links are relative to.
    pub base: Url,
    /// Links in the order of the page, repetitions included.
    pub links: Vec<Link>,
    /// The page's own idea of its address: the first `rel=canonical`.
    pub canonical: Option<Url>,
    /// The first refresh that leads somewhere.
    pub refresh: Option<Refresh>,
    /// What `<meta name=robots>` asks of us.
    pub wishes: PageWishes,
    /// The page asks for a password.
    pub password_field: bool,
    /// What limits cut.
    pub cuts: Cuts,
}

/// Reads a page. Never fails: what makes no sense is skipped, what is too much is cut and noted.
pub fn read_page(input: PageInput<'_>, limits: &PageLimits) -> Page {
    let body = &input.body[..input.body.len().min(limits.bytes_max)];
    let charset = input.content_type.and_then(charset_of);
    let domain = host_of(input.url).rsplit('.').next();
    let (encoding, encoding_source) = detect(body, charset, domain);
    let binary = media::is_binary(body) && encoding_source != EncodingSource::ByteOrderMark;
    let text = if binary {
        "".into()
    } else {
        encoding.decode_with_bom_removal(body).0
    };
    let mut found = scan(&text, Collector::new(limits, input.agent), limits);

    let base = base_url(input.url, found.base.as_deref());
    let raw = std::mem::take(&mut found.links);
    let mut cuts = Cuts {
        bytes: input.body.len() - body.len(),
        links: found.links_dropped,
        links_refused: found.urls_too_long,
        tags: found.tags_left_out,
        text: found.text_cut,
    };
    let Resolved { links, refresh } = resolve_all(raw, &base, encoding, limits, &mut cuts);
    let canonical = links
        .iter()
        .find(|l| l.kind == LinkKind::Link && l.has_rel("canonical"));
    Page {
        encoding: encoding.name(),
        encoding_source,
        binary,
        title: found
            .title
            .map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")),
        text: found.text.trim_end().to_owned(),
        fingerprint: found.words.finish(),
        canonical: canonical.map(|l| l.url.clone()),
        base,
        links,
        refresh,
        wishes: found.wishes,
        password_field: found.password_field,
        cuts,
    }
}

/// The first `<base>` that names an address, unless it is of a kind that cannot be one.
fn base_url(page: &Url, base: Option<&str>) -> Url {
    match base.map(|href| read_standard(Some(page), href)) {
        Some(Ok(url)) if !matches!(url.scheme(), "data" | "javascript") => url,
        _ => page.clone(),
    }
}

struct Resolved {
    links: Vec<Link>,
    refresh: Option<Refresh>,
}

fn resolve_all(
    raw: Vec<RawLink>,
    base: &Url,
    encoding: &'static Encoding,
    limits: &PageLimits,
    cuts: &mut Cuts,
) -> Resolved {
    let mut out = Resolved {
        links: Vec::with_capacity(raw.len()),
        refresh: None,
    };
    for link in raw {
        let Ok(mut url) = resolve_in(base, &link.href, encoding, &limits.urls) else {
            cuts.links_refused += 1;
            continue;
        };
        url.set_fragment(None);
        if link.kind == LinkKind::Refresh && out.refresh.is_none() {
            out.refresh = Some(Refresh {
                seconds: link.seconds,
                url: url.clone(),
            });
        }
        out.links.push(Link {
            url,
            kind: link.kind,
            rel: link.rel,
        });
    }
    out
}
