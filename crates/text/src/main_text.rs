//! Which part of a page is its content.
//!
//! Readability scores blocks by their text, commas and links, and takes the best with its like siblings. It was
//! made for pages that say nothing about themselves. Many do now: so what a page itself calls navigation, aside
//! or footer is taken out before, and where it has exactly one `<main>`, or one `<article>`, the content is looked
//! for in there. Without that step short pages and lists lose to a column of teasers.
//!
//! Cost: about 0.2 ms a page of 10 kB. Limits: [`HTML_BYTES_MAX`], [`DEPTH_MAX`], [`ELEMENTS_MAX`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};

use crate::nesting::is_deeper;

/// The longest page that is taken apart.
pub const HTML_BYTES_MAX: usize = 8 << 20;
/// How deeply its elements may be nested.
const DEPTH_MAX: usize = 1000;
/// How many elements it may have.
const ELEMENTS_MAX: usize = 200_000;

/// What a page calls no content of it.
const NOT_CONTENT: &str = "nav, aside, footer, dialog, [role=navigation], [role=complementary], \
                           [role=contentinfo], [role=search], [role=dialog], [hidden]";
/// What it calls its content, in the order of trust.
const CONTENT: [&str; 2] = ["main, [role=main]", "article"];

/// The content of a page.
pub(crate) struct Main {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// The content; nothing where no part stands out, or the page is beyond a limit.
pub(crate) fn find(html: &str) -> Option<Main> {
    if html.len() > HTML_BYTES_MAX || is_deeper(html, DEPTH_MAX) {
        return None;
    }
    // A stranger's page that makes the parser panic costs its main text, not the whole export.
    catch_unwind(AssertUnwindSafe(|| look(html))).ok().flatten()
}

fn look(html: &str) -> Option<Main> {
    let document = Document::from(html);
    let config = Config {
        max_elements_to_parse: ELEMENTS_MAX,
        // Pages of one sentence have text too.
        char_threshold: 0,
        text_mode: TextMode::Formatted,
        ..Config::default()
    };
    document.select(NOT_CONTENT).remove();
    for name in CONTENT {
        let named = document.select(name);
        if named.length() == 1 {
            let inner = named.html();
            document.select("body").set_html(inner);
            break;
        }
    }
    let mut readability = Readability::with_document(document, None, Some(config)).ok()?;
    let article = readability.parse().ok()?;
    let text = tidy(&article.text_content);
    (!text.is_empty()).then_some(Main {
        title: article.title.trim().to_owned(),
        text,
    })
}

/// One line for each block, none empty.
fn tidy(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}
