//! What a stored page says: main text, title, language, dates, and what its publisher permits.
//!
//! | module | what it knows |
//! |---|---|
//! | [`stored`] | the answer of a stored copy, out of the WARC files, without its codings |
//! | `main_text` | which part of a page is its content |
//! | `nesting` | which pages are nested too deeply to be taken apart |
//! | `about` | what the head of a page says of it: dates, languages, canonical URL |
//! | [`preferences`] | what the publisher says about use: robots tags, TDMRep, `Content-Usage` |
//! | `language` | in which language a text is |
//! | [`groups`] | which pages say nearly the same |
//!
//! The method is that of Mozilla's reader view (`dom_smoothie`, a port of Readability.js), with one step
//! before it: where a page names its content (`<main>`, `<article>`), it is looked for in there. Measured in
//! `docs/results/text.md`. A page on which it finds nothing has its whole visible text.
//!
//! Bodies are from strangers: every step has a limit, and a page that goes beyond one has its visible text, as
//! the crawler itself reads it, and says so ([`Method`]).
//!
//! Not here: tables, the terminal, the network.

mod about;
pub mod groups;
mod language;
mod main_text;
mod nesting;
pub mod preferences;
pub mod stored;

use turnstone_fetch::Url;
use turnstone_fetch::html::encoding::{charset_of, detect};
use turnstone_fetch::html::{PageInput, PageLimits, read_page};
use turnstone_fetch::media::{Media, media_of};

use crate::about::About;
pub use crate::language::Language;
pub use crate::main_text::HTML_BYTES_MAX;
use crate::preferences::Preferences;
use crate::stored::Answer;

/// How the text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// It is the part that is the content.
    Main,
    /// It is everything that is visible: no part stood out, or the page was beyond a limit.
    Visible,
    /// The page is plain text.
    Plain,
}

impl Method {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Visible => "visible",
            Self::Plain => "plain",
        }
    }
}

/// What a page says.
#[derive(Clone, Debug)]
pub struct PageText {
    /// How the text was found.
    pub method: Method,
    /// The text, a line for each block; without the title where it stands by itself.
    pub text: String,
    /// The title, without the name of the site where that is clear.
    pub title: String,
    /// Who wrote it, as the page says.
    pub author: String,
    /// The language of the text; nothing where it is too short to tell.
    pub language: Option<Language>,
    /// The language that the page says it is in, as written.
    pub declared_language: String,
    /// When it was published, in milliseconds of 1970, as the page says.
    pub published_ms: Option<u64>,
    /// When it was changed, as the page or the server says.
    pub modified_ms: Option<u64>,
    /// The URL that the page calls its own.
    pub canonical: Option<Url>,
    /// What its publisher says about use.
    pub preferences: Preferences,
}

/// Reads a stored answer; nothing if it is neither HTML nor plain text.
pub fn read(url: &Url, answer: &Answer) -> Option<PageText> {
    let content_type = answer.header("content-type");
    let body = answer.body();
    let media = media_of(content_type, body);
    if !matches!(media, Media::Html | Media::Text) {
        return None;
    }
    let domain = url.host_str().and_then(|host| host.rsplit('.').next());
    let charset = content_type.and_then(charset_of);
    let (encoding, _) = detect(body, charset, domain);
    let (text, ..) = encoding.decode(body);
    let mut preferences = Preferences::of_headers(&answer.headers);
    if media == Media::Text {
        return Some(PageText {
            method: Method::Plain,
            title: String::new(),
            author: String::new(),
            language: language::of(&text),
            declared_language: String::new(),
            published_ms: None,
            modified_ms: about::last_modified(&answer.headers),
            canonical: None,
            preferences,
            text: text.into_owned(),
        });
    }
    let about = About::read(&text);
    preferences.add_metas(&about.wishes);
    let input = PageInput {
        url,
        content_type,
        body,
        agent: "turnstone",
    };
    let limits = PageLimits {
        lines: true,
        ..PageLimits::default()
    };
    let page = read_page(input, &limits);
    let main = main_text::find(&text);
    let (method, found, title) = match main {
        Some(main) => (Method::Main, main.text, main.title),
        None => (Method::Visible, page.text, String::new()),
    };
    let title = match title.is_empty() {
        true => page.title.unwrap_or_default(),
        false => title,
    };
    Some(PageText {
        method,
        language: language::of(&found),
        text: found,
        title,
        author: about.author,
        declared_language: about.language,
        published_ms: about.published_ms,
        modified_ms: about
            .modified_ms
            .or_else(|| about::last_modified(&answer.headers)),
        canonical: page.canonical,
        preferences,
    })
}
