//! The pages: HTML that works without JavaScript, for a keyboard, a screen reader, a phone and the dark.
//!
//! What changes by itself stands in one element, `live`, which the script replaces by what the server sends;
//! without a script the page loads itself again now and then. Everything that somebody types into stands
//! outside of it. No page links to the crawled web: its URLs are text, and links lead to what we know of them.

pub(crate) mod crawl;
pub(crate) mod forms;
pub(crate) mod overview;
pub(crate) mod single;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use turnstone_lab::number::{at_least, at_most, whole};

use crate::picture::{Cover, Picture, State};

/// What a page is made of.
pub(crate) struct Page<'a> {
    /// What it is called.
    pub(crate) title: &'a str,
    /// The crawl that it is about, by its name here.
    pub(crate) crawl: Option<&'a str>,
    /// Where the live part comes from, if there is one.
    pub(crate) live: Option<String>,
    pub(crate) body: Markup,
}

impl Page<'_> {
    pub(crate) fn html(self) -> String {
        let live = self.live;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Turnstone" }
                    link rel="stylesheet" href="/static/style.css";
                    link rel="icon" type="image/svg+xml" href="/static/icon.svg";
                    @if live.is_some() {
                        script src="/static/live.js" defer {}
                        noscript { meta http-equiv="refresh" content="10"; }
                    }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header {
                        nav aria-label="Pages" {
                            a href="/" { "Turnstone" }
                            @if let Some(name) = self.crawl {
                                a href=(format!("/c/{name}")) { (name) }
                                a href=(format!("/c/{name}/events")) { "Events" }
                                a href=(format!("/c/{name}/hosts")) { "Hosts" }
                                a href=(format!("/c/{name}/report")) { "Report" }
                            }
                        }
                        p #said role="status" {}
                    }
                    main #main data-live=[live] { (self.body) }
                    footer { "Turnstone " (env!("CARGO_PKG_VERSION")) " · "
                        a href="/metrics" { "metrics" } " · " a href="/api/v1/crawls" { "JSON" } }
                }
            }
        };
        page.into_string()
    }
}

/// A page that only says something.
pub(crate) fn said(title: &str, text: &str) -> String {
    Page {
        title,
        crawl: None,
        live: None,
        body: html! { h1 { (title) } p { (text) } p { a href="/" { "All crawls" } } },
    }
    .html()
}

/// A state as a word that also has a colour.
fn state_mark(state: State) -> Markup {
    html! { span class=(format!("state {}", state.name())) { (state.name()) } }
}

/// What is proven, as a bar with words.
fn cover_bar(cover: &Cover) -> Markup {
    let most = cover.possible.or(cover.provable);
    let proven = at_least(cover.proven);
    let said = match (cover.possible, cover.provable) {
        (Some(most), _) => format!("{proven} proven, at most {} stored", at_most(most)),
        (None, Some(most)) => format!("{proven} proven, {} can still be proven", at_most(most)),
        (None, None) => format!("{proven} proven"),
    };
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=(said) {
            rect.back x="0" y="0" width="100" height="6" {}
            @if let Some(most) = most {
                rect.most x="0" y="0" height="6" width=(format!("{:.2}", most.clamp(0.0, 1.0) * 100.0)) {}
            }
            rect.sure x="0" y="0" height="6" width=(format!("{:.2}", cover.proven.clamp(0.0, 1.0) * 100.0)) {}
        }
        span.words { (said) }
    }
}

/// Warnings, if there are.
fn warnings(picture: &Picture) -> Markup {
    html! {
        @if !picture.warnings.is_empty() {
            section aria-labelledby="warnings" {
                h2 #warnings { "Warnings" }
                ul.warn { @for warning in &picture.warnings { li { (crate::words::stranger(warning)) } } }
            }
        }
    }
}

/// A table that scrolls by itself where it is wider than the screen.
fn table(label: &str, head: &[&str], rows: Vec<Vec<Markup>>) -> Markup {
    html! {
        div.wide role="region" aria-label=(label) tabindex="0" {
            table {
                thead { tr { @for title in head {
                    @if let Some(title) = title.strip_prefix('#') { th.n scope="col" { (title) } }
                    @else { th scope="col" { (title) } }
                } } }
                tbody { @for row in rows { tr { @for (cell, title) in row.into_iter().zip(head) {
                    @if title.starts_with('#') { td.n { (cell) } } @else { td { (cell) } }
                } } } }
            }
        }
    }
}

fn number(number: u64) -> Markup {
    PreEscaped(whole(number))
}
