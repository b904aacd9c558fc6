//! What is known of elements by their names, and of tags by their attributes.

use html5ever::Attribute;

/// The value of an attribute.
pub(super) fn get<'a>(attrs: &'a [Attribute], name: &str) -> Option<&'a str> {
    attrs
        .iter()
        .find(|a| &*a.name.local == name)
        .map(|a| &*a.value)
}

/// The `rel` words in lower case, one space between.
pub(super) fn rel_of(attrs: &[Attribute]) -> String {
    const BYTES_MAX: usize = 256;
    let Some(rel) = get(attrs, "rel") else {
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
pub(super) fn names_a_list(attrs: &[Attribute]) -> bool {
    const FEEDS: [&str; 4] = [
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
    ];
    let rel = rel_of(attrs);
    let has = |word: &str| rel.split(' ').any(|other| other == word);
    let kind = get(attrs, "type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_feed = FEEDS.iter().any(|feed| kind.eq_ignore_ascii_case(feed));
    has("sitemap") || has("alternate") && is_feed
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
