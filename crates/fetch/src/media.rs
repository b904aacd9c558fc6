//! What kind of body this is, by its header and by its first bytes.
//!
//! Servers mislabel: a PDF sent as `text/html` must not be read as a page, and a page without a
//! `Content-Type` still is one. The first bytes have the last word against a text label; the
//! label has it among texts, which all look alike: what is sent as plain text is no page, whatever
//! tags are in it, as in browsers.
//!
//! Cost: the first 1,024 bytes at most.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use crate::html::encoding::charset_of;

/// What a body is to a crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// HTML or XHTML.
    Html,
    /// XML: a sitemap, a feed, or something else.
    Xml,
    /// JSON, perhaps a feed.
    Json,
    /// Plain text, style sheets, scripts.
    Text,
    /// A gzip file, perhaps a packed sitemap.
    Gzip,
    /// PDF.
    Pdf,
    /// A picture.
    Image,
    /// Sound or film.
    AudioVideo,
    /// Anything else that is not text.
    Binary,
}

impl Media {
    /// The word for people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Media::Html => "html",
            Media::Xml => "xml",
            Media::Json => "json",
            Media::Text => "text",
            Media::Gzip => "gzip",
            Media::Pdf => "pdf",
            Media::Image => "image",
            Media::AudioVideo => "audio-video",
            Media::Binary => "binary",
        }
    }
}

/// Which kinds a crawl reads. By default pages, lists and text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaFilter {
    /// The kinds that are read.
    pub wanted: Vec<Media>,
}

impl Default for MediaFilter {
    fn default() -> Self {
        use Media::{Gzip, Html, Json, Text, Xml};
        MediaFilter {
            wanted: vec![Html, Xml, Json, Text, Gzip],
        }
    }
}

impl MediaFilter {
    /// Whether a body passes, and what it is. `Err` names the rule.
    pub fn check(&self, content_type: Option<&str>, body: &[u8]) -> Result<Media, String> {
        let media = media_of(content_type, body);
        if self.wanted.contains(&media) {
            return Ok(media);
        }
        let source = if sniff_binary(body, says_utf_16(content_type)) == Some(media) {
            "its first bytes"
        } else {
            "its Content-Type"
        };
        Err(format!("media type: {} by {source}", media.name()))
    }
}

/// The kind of a body, by its `Content-Type` and its first bytes.
pub fn media_of(content_type: Option<&str>, body: &[u8]) -> Media {
    let labelled = content_type.and_then(by_label);
    if let Some(binary) = sniff_binary(body, says_utf_16(content_type)) {
        return binary;
    }
    match labelled {
        // Lists are sent as plain text by many, and read as what they are.
        Some(Media::Text) if sniff_text(body) == Media::Html => Media::Text,
        // The bytes are text whatever the label claims; trust them over it.
        Some(Media::Html | Media::Xml | Media::Json) => labelled.unwrap_or(Media::Text),
        Some(Media::Image) if content_type.is_some_and(|c| c.contains("svg")) => Media::Image,
        _ => sniff_text(body),
    }
}

/// Whether a body is something other than text, whatever kind its label says it is. Only a charset
/// is believed: text in UTF-16 is full of NUL.
pub fn is_binary(content_type: Option<&str>, body: &[u8]) -> bool {
    sniff_binary(body, says_utf_16(content_type)).is_some()
}

/// Whether the label says that the body is in UTF-16, with or without a mark.
fn says_utf_16(content_type: Option<&str>) -> bool {
    let encoding = content_type
        .and_then(charset_of)
        .and_then(|label| Encoding::for_label(label.as_bytes()));
    encoding.is_some_and(|encoding| encoding == UTF_16LE || encoding == UTF_16BE)
}

fn by_label(content_type: &str) -> Option<Media> {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    Some(match (kind, subtype) {
        ("text", "html") | ("application", "xhtml+xml") => Media::Html,
        ("image", _) => Media::Image,
        ("audio" | "video", _) => Media::AudioVideo,
        (_, "xml") => Media::Xml,
        (_, "json") => Media::Json,
        (_, s) if s.ends_with("+xml") => Media::Xml,
        (_, s) if s.ends_with("+json") => Media::Json,
        ("application", "pdf") => Media::Pdf,
        ("application", "gzip" | "x-gzip") => Media::Gzip,
        ("text", _) | ("application", "javascript" | "x-javascript") => Media::Text,
        _ => Media::Binary,
    })
}

/// First bytes that no text begins with.
const SIGNATURES: [(&[u8], Media); 20] = [
    (b"%PDF-", Media::Pdf),
    (b"\x1F\x8B", Media::Gzip),
    (b"\xFF\xD8\xFF", Media::Image),
    (b"\x89PNG\r\n\x1A\n", Media::Image),
    (b"GIF87a", Media::Image),
    (b"GIF89a", Media::Image),
    (b"BM", Media::Image),
    (b"II*\0", Media::Image),
    (b"MM\0*", Media::Image),
    (b"\0\0\x01\0", Media::Image),
    (b"OggS", Media::AudioVideo),
    (b"ID3", Media::AudioVideo),
    (b"fLaC", Media::AudioVideo),
    (b"\x1A\x45\xDF\xA3", Media::AudioVideo),
    (b"PK\x03\x04", Media::Binary),
    (b"Rar!\x1A\x07", Media::Binary),
    (b"7z\xBC\xAF\x27\x1C", Media::Binary),
    (b"\x7FELF", Media::Binary),
    (b"wOFF", Media::Binary),
    (b"wOF2", Media::Binary),
];

fn sniff_binary(body: &[u8], says_utf_16: bool) -> Option<Media> {
    let head = &body[..body.len().min(1024)];
    // Two-letter signatures also begin words: they need a byte that no text has.
    let odd = odd_bytes(head);
    let has_binary_bytes = odd > 0 || head.contains(&0x0B);
    for (signature, media) in SIGNATURES {
        if head.starts_with(signature)
            && (has_binary_bytes || signature.len() > 3 || media == Media::Pdf)
        {
            return Some(media);
        }
    }
    if head.starts_with(b"RIFF") && head.len() >= 12 {
        return Some(if &head[8..12] == b"WEBP" {
            Media::Image
        } else {
            Media::AudioVideo
        });
    }
    if head.get(4..8) == Some(b"ftyp") {
        return Some(Media::AudioVideo);
    }
    let has_mark = head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]);
    let is_utf16 = has_mark || says_utf_16;
    // A stray NUL or two happens in pages; one in sixteen bytes does not.
    (!is_utf16 && odd > 3 && odd * 16 > head.len()).then_some(Media::Binary)
}

/// How many control characters there are that no text has. Counted in bytes, many at once.
fn odd_bytes(head: &[u8]) -> usize {
    let is_odd =
        |byte: u8| byte <= 8 || (0x0E..=0x1A).contains(&byte) || (0x1C..=0x1F).contains(&byte);
    let of_few = |few: &[u8]| {
        few.iter()
            .fold(0, |odd: u8, byte| odd + u8::from(is_odd(*byte)))
    };
    head.chunks(128).map(|few| usize::from(of_few(few))).sum()
}

fn sniff_text(body: &[u8]) -> Media {
    let head = &body[..body.len().min(1024)];
    let start = head
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(head)
        .trim_ascii_start();
    let begins = |tag: &str| {
        start
            .get(..tag.len())
            .is_some_and(|s| s.eq_ignore_ascii_case(tag.as_bytes()))
    };
    let html = [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<title",
        "<script",
        "<div",
        "<p>",
        "<a ",
        "<h1",
        "<table",
        "<meta",
        "<!--",
    ];
    if html.iter().any(|tag| begins(tag)) {
        return Media::Html;
    }
    let lists = [
        "<?xml",
        "<urlset",
        "<sitemapindex",
        "<rss",
        "<feed",
        "<rdf:rdf",
    ];
    if lists.iter().any(|tag| begins(tag)) {
        return if memchr::memmem::find(head, b"<html").is_some() {
            Media::Html
        } else {
            Media::Xml
        };
    }
    match start.first() {
        Some(b'{' | b'[') => Media::Json,
        _ => Media::Text,
    }
}
