//! One page, read: the types a crawler sees, and the way from bytes to them.

use url::Url;

use super::collect::Collector;
use super::cuts::Cuts;
use super::encoding::{EncodingSource, charset_of, detect};
use super::fingerprint::Fingerprint;
use super::ignored::{Ignored, IgnoredCount};
use super::link::{Link, LinkKind, LinksWanted, Refresh};
use super::resolve::{Ground, Resolved, base_url, resolve_all};
use super::scan::{scan, scan_by_tokenizer};
use crate::media;
use crate::preferences::Sayings;
use crate::robots::tags::PageWishes;
use crate::urls::{UrlLimits, host_of};

/// Room for the links of a page, unless somebody says otherwise: half a million of the usual
/// length and more.
pub const LINKS_BYTES_MAX: usize = 128 << 20;

/// What is read of a page at most. What a limit cuts is noted in [`Cuts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLimits {
    /// Bytes of the body.
    pub bytes_max: usize,
    /// Which links are read.
    pub links: LinksWanted,
    /// Memory that the links may take, each with its text and [`LINK_BYTES`]; the first ones win.
    ///
    /// [`LINK_BYTES`]: super::LINK_BYTES
    pub links_bytes_max: usize,
    /// Bytes of visible text kept. Fingerprints cover all of it.
    pub text_bytes_max: usize,
    /// Whether the text has a line for each block of the page, rather than one in all.
    pub lines: bool,
    /// Whether the text is fingerprinted.
    pub fingerprint: bool,
    /// Bytes of the title.
    pub title_bytes_max: usize,
    /// Bytes of one tag. Pictures inside attributes make long ones.
    pub tag_bytes_max: usize,
    /// Attributes of one tag.
    pub tag_attributes_max: usize,
    /// Limits on each link.
    pub urls: UrlLimits,
    /// What does not count, neither for the fingerprint nor in the text.
    pub ignored: Ignored,
}

impl Default for PageLimits {
    fn default() -> Self {
        PageLimits {
            bytes_max: 10 << 20,
            links: LinksWanted::All,
            links_bytes_max: LINKS_BYTES_MAX,
            text_bytes_max: 1 << 20,
            lines: false,
            fingerprint: true,
            title_bytes_max: 1024,
            tag_bytes_max: 4 << 20,
            tag_attributes_max: 256,
            urls: UrlLimits::default(),
            ignored: Ignored::default(),
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
    /// Links in the order of the page, each once: two are the same if URL, kind and `rel` are.
    pub links: Vec<Link>,
    /// The page's own idea of its address: the first `rel=canonical`.
    pub canonical: Option<Url>,
    /// The first refresh that leads somewhere.
    pub refresh: Option<Refresh>,
    /// What `<meta name=robots>` asks of us.
    pub wishes: PageWishes,
    /// What `<meta>` elements say of how the page may be used.
    pub sayings: Sayings,
    /// The page asks for a password.
    pub password_field: bool,
    /// What limits cut.
    pub cuts: Cuts,
    /// How much of it does not count.
    pub ignored: IgnoredCount,
}

/// Reads a page. Never fails: what makes no sense is skipped, what is too much is cut and noted.
pub fn read_page(input: PageInput<'_>, limits: &PageLimits) -> Page {
    read_by(input, limits, |text, collector| {
        scan(text, collector, limits)
    })
}

/// Reads a page by html5ever's tokenizer alone: the slow truth that [`read_page`] is held against.
/// It minds no limit on tags.
pub fn read_page_by_tokenizer(input: PageInput<'_>, limits: &PageLimits) -> Page {
    read_by(input, limits, scan_by_tokenizer)
}

fn read_by(
    input: PageInput<'_>,
    limits: &PageLimits,
    scan: impl FnOnce(&str, Collector) -> Collector,
) -> Page {
    let body = &input.body[..input.body.len().min(limits.bytes_max)];
    let charset = input.content_type.and_then(charset_of);
    let domain = host_of(input.url).rsplit('.').next();
    let (encoding, encoding_source) = detect(body, charset, domain);
    let binary = media::is_binary(input.content_type, body)
        && encoding_source != EncodingSource::ByteOrderMark;
    let text = if binary {
        "".into()
    } else {
        encoding.decode_with_bom_removal(body).0
    };
    let filter = limits.ignored.of(input.url);
    let mut found = scan(&text, Collector::new(limits, input.agent, filter));
    let ignored = found.end();

    let base = base_url(input.url, found.base.as_deref());
    let mut cuts = Cuts {
        bytes: input.body.len() - body.len(),
        tags: found.tags_left_out,
        text: found.text_cut,
        ..Cuts::default()
    };
    let ground = Ground {
        base: &base,
        encoding,
    };
    let Resolved { links, refresh } = resolve_all(&found.links, &ground, limits, &mut cuts);
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
        sayings: found.sayings,
        password_field: found.password_field,
        cuts,
        ignored,
    }
}
