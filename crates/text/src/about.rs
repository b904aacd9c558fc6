//! What the head of a page says of it: who wrote it, when, in which language.
//!
//! Only the head is parsed, and of that no more than [`HEAD_BYTES_MAX`]: so the cost is bounded whatever the rest
//! of the page is like. Dates are taken as written, in UTC where they name no zone; one that is before 1990 or
//! cannot be read is none.

use dom_query::Document;
use http::HeaderMap;
use jiff::civil;

/// How much of a page may be its head.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// The names of `<meta>` that say when a page was published, in the order of trust.
const PUBLISHED: [&str; 9] = [
    "article:published_time",
    "datepublished",
    "dcterms.created",
    "dcterms.issued",
    "dc.date.issued",
    "dc.date",
    "dcterms.date",
    "date",
    "pubdate",
];
/// Those that say when it was changed.
const MODIFIED: [&str; 5] = [
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "last-modified",
];
/// Those that say who wrote it.
const AUTHOR: [&str; 4] = ["author", "article:author", "dc.creator", "dcterms.creator"];
/// 1990-01-01: no page of the web is older.
const FIRST_MS: i64 = 631_152_000_000;

/// What the head says.
#[derive(Debug, Default)]
pub(crate) struct About {
    pub(crate) author: String,
    pub(crate) language: String,
    pub(crate) published_ms: Option<u64>,
    pub(crate) modified_ms: Option<u64>,
    /// Every `<meta>`: its name in lower case, and its content.
    pub(crate) wishes: Vec<(String, String)>,
}

impl About {
    pub(crate) fn read(html: &str) -> Self {
        let document = Document::from(head(html));
        let mut metas = Vec::new();
        for meta in document.select("meta[content]").iter() {
            let name = ["name", "property", "itemprop", "http-equiv"];
            let name = name.into_iter().find_map(|name| meta.attr(name));
            if let (Some(name), Some(content)) = (name, meta.attr("content")) {
                let name = name.trim().to_ascii_lowercase();
                metas.push((name, content.trim().to_owned()));
            }
        }
        let first = |names: &[&str]| {
            let find = |name: &&str| {
                metas
                    .iter()
                    .find(|(it, text)| it == name && !text.is_empty())
            };
            names.iter().find_map(find).map(|(_, text)| text.as_str())
        };
        let dated = |names: &[&str]| {
            let found = |name: &&str| metas.iter().find(|(it, _)| it == name);
            let texts = names.iter().filter_map(found);
            texts.map(|(_, text)| moment(text)).find_map(|ms| ms)
        };
        Self {
            author: first(&AUTHOR).unwrap_or_default().to_owned(),
            language: document
                .select("html[lang]")
                .attr("lang")
                .map(|lang| lang.trim().to_owned())
                .unwrap_or_default(),
            published_ms: dated(&PUBLISHED).or_else(|| in_json(html, "datePublished")),
            modified_ms: dated(&MODIFIED).or_else(|| in_json(html, "dateModified")),
            wishes: metas,
        }
    }
}

/// When the server says that the page was changed.
pub(crate) fn last_modified(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get("last-modified")?.to_str().ok()?;
    moment(value)
}

/// The page up to where its head ends.
fn head(html: &str) -> &str {
    let mut end = html.len().min(HEAD_BYTES_MAX);
    while !html.is_char_boundary(end) {
        end -= 1;
    }
    let start = &html[..end];
    let body = memchr::memchr_iter(b'<', start.as_bytes()).find(|at| {
        let name = start.as_bytes().get(at + 1..at + 5);
        name.is_some_and(|name| name.eq_ignore_ascii_case(b"body"))
    });
    &start[..body.unwrap_or(end)]
}

/// A date that data for search engines (JSON-LD) tells.
fn in_json(html: &str, name: &str) -> Option<u64> {
    let at = memchr::memmem::find(html.as_bytes(), format!("\"{name}\"").as_bytes())?;
    let rest = html.get(at + name.len() + 2..)?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    moment(value.strip_prefix('"')?.split('"').next()?)
}

/// A date in one of the forms that pages write, in milliseconds of 1970.
fn moment(text: &str) -> Option<u64> {
    let text = text.trim();
    let stamp = text
        .parse::<jiff::Timestamp>()
        .ok()
        .or_else(|| Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp()))
        .or_else(|| {
            let at = text.parse::<civil::DateTime>().ok()?;
            Some(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
        })?;
    let ms = stamp.as_millisecond();
    u64::try_from(ms).ok().filter(|_| ms >= FIRST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_pages_write_them() {
        for (text, expect) in [
            ("2024-05-01T12:30:00Z", Some(1_714_566_600_000)),
            ("2024-05-01T14:30:00+02:00", Some(1_714_566_600_000)),
            ("2024-05-01T12:30:00", Some(1_714_566_600_000)),
            ("2024-05-01 12:30:00", Some(1_714_566_600_000)),
            ("2024-05-01", Some(1_714_521_600_000)),
            ("Wed, 01 May 2024 12:30:00 GMT", Some(1_714_566_600_000)),
            ("yesterday", None),
            ("0001-01-01", None),
            ("", None),
        ] {
            assert_eq!(moment(text), expect, "{text}");
        }
    }

    #[test]
    fn the_head_says_when_and_who() {
        let about = About::read(
            "<html lang=de><head><meta name=DC.Creator content=' A. Author '><meta \
             property=article:modified_time content=2024-05-01><title>x</title></head><body><meta name=author \
             content=nobody><script>{\"datePublished\": \"2023-01-02\"}</script>",
        );
        assert_eq!(
            (about.author.as_str(), about.language.as_str()),
            ("A. Author", "de")
        );
        assert_eq!(about.modified_ms, Some(1_714_521_600_000));
        assert_eq!(about.published_ms, Some(1_672_617_600_000));
    }
}
