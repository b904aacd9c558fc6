//! All crawls at a glance.

use std::sync::Arc;

use maud::{Markup, html};
use turnstone_lab::number::{plural, whole};

use super::{Page, cover_bar, state_mark};
use crate::picture::Picture;
use crate::words::{bytes, shown};

/// The page.
pub(crate) fn page(pictures: &[Arc<Picture>]) -> String {
    let body = html! {
        h1 { "Crawls" }
        form.search action="/why" role="search" {
            label for="url" { "Why this URL? " }
            input #url name="url" type="text" inputmode="url" required maxlength="20000"
                placeholder="https://example.org/";
            @if pictures.len() > 1 {
                label for="crawl" { " in " }
                select #crawl name="crawl" {
                    @for picture in pictures { option { (picture.name) } }
                }
            } @else if let Some(picture) = pictures.first() {
                input type="hidden" name="crawl" value=(picture.name);
            }
            button { "Tell me" }
        }
        div #live { (live(pictures)) }
    };
    Page {
        title: "Crawls",
        crawl: None,
        live: Some("/live".to_owned()),
        body,
    }
    .html()
}

/// The part that changes.
pub(crate) fn live(pictures: &[Arc<Picture>]) -> Markup {
    html! {
        ul.cards { @for picture in pictures { li { (card(picture)) } } }
        @if pictures.is_empty() { p { "No crawl is shown here." } }
    }
}

fn card(picture: &Picture) -> Markup {
    html! {
        article {
            h2 { a href=(format!("/c/{}", picture.name)) { (picture.name) } " " (state_mark(picture.state)) }
            p { (shown(&picture.question)) " · " (whole(picture.pages)) " stored of "
                (plural(picture.known, "known page")) " · " (plural(picture.requests, "request"))
                " · " (bytes(picture.bytes)) }
            @if picture.state.is_live() {
                p { (format!("{:.1} pages/s, {}/s", picture.rate.pages_per_second,
                    bytes(picture.rate.bytes_per_second as u64))) " · " (plural(picture.open, "request")) " under way" }
            } @else if let Some(why) = &picture.stopped_by { p { "stopped by " (shown(why)) } }
            @if let Some(cover) = &picture.coverage { p { (cover_bar(cover)) } }
            @if !picture.warnings.is_empty() {
                p.warn { (plural(picture.warnings.len() as u64, "warning")) }
            }
        }
    }
}
