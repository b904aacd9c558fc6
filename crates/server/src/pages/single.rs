//! The pages of one thing: a URL, a diff, all events, all hosts.

use maud::{Markup, html};

use super::{Page, crawl};
use crate::answers::{Compared, Told};
use crate::picture::Picture;
use crate::words::{query, shown, stranger};
use turnstone_events::{DiffLine, Side, plain};

/// Why a URL is stored, waits or was refused.
pub(crate) fn why(name: &str, url: &str, told: &Result<Told, String>) -> String {
    let body = html! {
        h1 { "Why " (stranger(url)) }
        form.search action=(format!("/c/{name}/why")) role="search" {
            label for="url" { "Another URL " }
            input #url name="url" type="text" inputmode="url" required maxlength="20000";
            button { "Tell me" }
        }
        @match told {
            Ok(told) => {
                pre.told { bdi { @for line in told.text.lines() { (shown_line(line)) "\n" } } }
                @if told.json["known"] == true {
                    p { a href=(format!("/c/{name}/diff?url={}", query(url))) { "What changed in its last copy" } }
                }
            }
            Err(why) => p.said role="alert" { (shown(why)) },
        }
    };
    page(name, "Why", body)
}

/// A line of an answer for people: strangers' text is in it.
fn shown_line(line: &str) -> Markup {
    html! { (plain(&line.chars().take(2000).collect::<String>())) }
}

/// What differs between two copies.
pub(crate) fn diff(name: &str, url: &str, compared: &Result<Compared, String>) -> String {
    let body = html! {
        h1 { "What changed at " (stranger(url)) }
        @match compared {
            Ok(compared) => (side_by_side(compared)),
            Err(why) => p.said role="alert" { (shown(why)) },
        }
        p { a href=(format!("/c/{name}/why?url={}", query(url))) { "Everything known of this URL" } }
    };
    page(name, "Diff", body)
}

fn side_by_side(compared: &Compared) -> Markup {
    let [old, new] = &compared.moments;
    html! {
        p.hint { (compared.notes.join("; ")) }
        @if compared.hunks.is_empty() && compared.titles[0] == compared.titles[1] {
            p { "The visible text is the same." }
        }
        div.wide role="region" aria-label="Lines that differ" tabindex="0" {
            table.diff {
                thead { tr { th scope="col" { "in which copy" } th scope="col" { "line" } } }
                tbody {
                    @if compared.titles[0] != compared.titles[1] {
                        tr.old { th scope="row" { "title of " (old) } td { del { (stranger(&compared.titles[0])) } } }
                        tr.new { th scope="row" { "title of " (new) } td { ins { (stranger(&compared.titles[1])) } } }
                    }
                    @for hunk in &compared.hunks {
                        @for line in hunk { (diff_line(line, [old, new])) }
                        tr.between { td {} td { "…" } }
                    }
                }
            }
        }
    }
}

fn diff_line(line: &DiffLine, [old, new]: [&String; 2]) -> Markup {
    let (class, label) = match line.side {
        Side::Both => ("both", "both"),
        Side::Old => ("old", old.as_str()),
        Side::New => ("new", new.as_str()),
    };
    html! {
        tr class=(class) {
            th scope="row" { (label) }
            td { bdi { @for piece in &line.pieces {
                @match (piece.differs, line.side) {
                    (true, Side::Old) => del { (plain(&piece.text)) },
                    (true, Side::New) => ins { (plain(&piece.text)) },
                    _ => (plain(&piece.text)),
                }
            } } }
        }
    }
}

/// The last events, of one kind if there is one.
pub(crate) fn events(picture: &Picture, kind: Option<&str>) -> String {
    let name = &picture.name;
    let wanted: Vec<_> = picture
        .events
        .iter()
        .filter(|event| kind.is_none_or(|kind| event["kind"] == kind))
        .cloned()
        .collect();
    let body = html! {
        h1 { "Events of " (name) }
        p { "The last " (crate::watch::EVENTS_MAX) " are kept here; "
            code { "turnstone events" } " prints all, " code { "turnstone deliver" } " brings them." }
        nav.kinds aria-label="Kinds of events" {
            a href=(format!("/c/{name}/events")) aria-current=[kind.is_none().then_some("true")] { "all" }
            @for (of, count) in &picture.event_counts {
                " " a href=(format!("/c/{name}/events?kind={of}"))
                    aria-current=[(kind == Some(*of)).then_some("true")] { (of) " (" (super::number(*count)) ")" }
            }
        }
        (crawl::events(name, &wanted))
    };
    page(name, "Events", body)
}

/// The most troubled hosts.
pub(crate) fn hosts(picture: &Picture) -> String {
    let body = html! {
        h1 { "Hosts of " (picture.name) }
        p { "The " (crate::watch::HOSTS_MAX) " with most trouble, then those with most pages that wait." }
        (crawl::hosts(&picture.hosts))
    };
    page(&picture.name, "Hosts", body)
}

fn page(name: &str, title: &str, body: Markup) -> String {
    Page {
        title: &format!("{title} · {name}"),
        crawl: Some(name),
        live: None,
        body,
    }
    .html()
}
