//! What is known of elements by their names, and of tags by their attributes.

use html5ever::tokenizer::states::RawKind;

use super::tag::Attributes;

/// The `rel` words in lower case, one space between.
pub(super) fn rel_of(attributes: Attributes<'_>) -> String {
    const BYTES_MAX: usize = 256;
    let Some(rel) = attributes.get("rel") else {
        return String::new();
    };
    let mut out = String::new();
    for word in rel.split_ascii_whitespace() {
        if out.len() + word.len() > BYTES_MAX {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word.to_ascii_lowercase());
    }
    out
}

/// Whether a `<link>` names a feed or a sitemap of the site.
pub(super) fn names_a_list(attributes: Attributes<'_>) -> bool {
    const FEEDS: [&str; 4] = [
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
    ];
    let rel = rel_of(attributes);
    let has = |word: &str| rel.split(' ').any(|other| other == word);
    let kind = attributes.get("type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_feed = FEEDS.iter().any(|feed| kind.eq_ignore_ascii_case(feed));
    has("sitemap") || has("alternate") && is_feed
}

/// How the text of an element is read whose content is no markup, and its name for keeps.
pub(super) fn opens_raw_text(name: &str) -> Option<(&'static str, RawText)> {
    use RawText::{Plain, Until};
    Some(match name {
        "title" => ("title", Until(RawKind::Rcdata)),
        "textarea" => ("textarea", Until(RawKind::Rcdata)),
        "style" => ("style", Until(RawKind::Rawtext)),
        "xmp" => ("xmp", Until(RawKind::Rawtext)),
        "iframe" => ("iframe", Until(RawKind::Rawtext)),
        "noembed" => ("noembed", Until(RawKind::Rawtext)),
        "noframes" => ("noframes", Until(RawKind::Rawtext)),
        "script" => ("script", Until(RawKind::ScriptData)),
        "plaintext" => ("plaintext", Plain),
        _ => return None,
    })
}

/// How raw text is read.
#[derive(Clone, Copy)]
pub(super) enum RawText {
    /// Up to the end tag.
    Until(RawKind),
    /// Up to the end of the page.
    Plain,
}

/// Elements that do not end a word.
pub(super) fn is_inline(name: &str) -> bool {
    matches!(
        name,
        "a" | "abbr"
            | "acronym"
            | "b"
            | "bdi"
            | "bdo"
            | "big"
            | "cite"
            | "code"
            | "data"
            | "del"
            | "dfn"
            | "em"
            | "font"
            | "i"
            | "ins"
            | "kbd"
            | "mark"
            | "nobr"
            | "q"
            | "s"
            | "samp"
            | "small"
            | "span"
            | "strike"
            | "strong"
            | "sub"
            | "sup"
            | "time"
            | "tt"
            | "u"
            | "var"
            | "wbr"
    )
}

/// HTML elements that end an SVG or MathML island when they appear in it.
pub(super) fn leaves_foreign(name: &str) -> bool {
    matches!(
        name,
        "b" | "big"
            | "blockquote"
            | "body"
            | "br"
            | "center"
            | "code"
            | "dd"
            | "div"
            | "dl"
            | "dt"
            | "em"
            | "embed"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "hr"
            | "i"
            | "img"
            | "li"
            | "listing"
            | "menu"
            | "meta"
            | "nobr"
            | "ol"
            | "p"
            | "pre"
            | "ruby"
            | "s"
            | "small"
            | "span"
            | "strong"
            | "strike"
            | "sub"
            | "sup"
            | "table"
            | "tt"
            | "u"
            | "ul"
            | "var"
    )
}
