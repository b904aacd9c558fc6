//! One crawl: how it goes, what it waits for, what happened last, and what may be ordered.

use maud::{Markup, html};
use serde_json::Value;
use turnstone_lab::number::{at_least, percent, plural, short, whole};

use super::{Page, cover_bar, number, state_mark, table, warnings};
use crate::chart::{Line, chart};
use crate::hosts::HostRow;
use crate::orders::Settings;
use crate::pages::forms;
use crate::picture::{Picture, Spending};
use crate::words::{bytes, query, shown, stranger};

/// Events and hosts that the page shows; more have pages of their own.
const FEW: usize = 12;

/// The page. `orders` are the form token and what is in force, where orders are taken; `said` is what came of
/// the last one.
pub(crate) fn page(
    picture: &Picture,
    orders: Option<(&str, &Settings)>,
    said: Option<&str>,
) -> String {
    let name = &picture.name;
    let body = html! {
        @if let Some(said) = said { p.said role="alert" { (shown(said)) } }
        form.search action=(format!("/c/{name}/why")) role="search" {
            label for="url" { "Why this URL? " }
            input #url name="url" type="text" inputmode="url" required maxlength="20000"
                placeholder="https://example.org/";
            button { "Tell me" }
        }
        div #live { (live(picture)) }
        section aria-labelledby="orders" {
            h2 #orders { "Orders" }
            @match orders {
                Some((token, settings)) => (forms::orders(name, token, settings)),
                None => p { "This server only looks: orders are taken by the process that runs the crawl, \
                    where it was started with --listen." },
            }
        }
    };
    Page {
        title: name,
        crawl: Some(name),
        live: Some(format!("/c/{name}/live")),
        body,
    }
    .html()
}

/// The part that changes.
pub(crate) fn live(picture: &Picture) -> Markup {
    html! {
        h1 { (picture.name) " " (state_mark(picture.state)) }
        p { (shown(&picture.question)) " by " code { (shown(&picture.policy)) } " · " (picture.directory)
            @if let Some(holder) = &picture.holder { " · " (shown(holder)) }
            @if let Some(why) = &picture.stopped_by { " · stopped by " (shown(why)) } }
        (warnings(picture))
        dl.facts { @for (term, fact) in facts(picture) { div { dt { (term) } dd { (fact) } } } }
        @if let Some(cover) = &picture.coverage {
            section aria-labelledby="coverage" {
                h2 #coverage { "Coverage" }
                p { (cover_bar(cover)) }
                @if let Some(certified) = cover.certified {
                    p { (at_least(certified)) " certified by a sample, which is no proof" }
                }
                (coverage_chart(picture))
            }
        }
        (requests_chart(picture))
        (budgets(picture))
        @if let Some(slice) = &picture.slice { (slice_table(slice)) }
        section aria-labelledby="hosts" {
            h2 #hosts { "Hosts" }
            (host_line(picture))
            (hosts(&picture.hosts[..picture.hosts.len().min(FEW)]))
            @if picture.hosts.len() > FEW { p { a href=(format!("/c/{}/hosts", picture.name)) { "More hosts" } } }
        }
        section aria-labelledby="events" {
            h2 #events { "Latest events" }
            (events(&picture.name, &picture.events[..picture.events.len().min(FEW)]))
            @if picture.events.len() > FEW { p { a href=(format!("/c/{}/events", picture.name)) { "More events" } } }
        }
        (answers(picture))
        @if !picture.orders.is_empty() {
            section aria-labelledby="given" {
                h2 #given { "Orders given" }
                ul { @for row in &picture.orders {
                    li { time { (row.time) } " " code { (shown(&row.order.to_string())) } }
                } }
            }
        }
        @if !picture.scope.is_empty() {
            section aria-labelledby="scope" {
                h2 #scope { "Scope" }
                p { (plural(picture.seeds, "seed")) }
                ul { @for rule in picture.scope.iter().take(50) { li { (stranger(rule)) } } }
            }
        }
    }
}

fn facts(picture: &Picture) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("pages stored", whole(picture.pages)),
        ("pages known", whole(picture.known)),
        (
            "pages a second",
            format!("{:.1}", picture.rate.pages_per_second),
        ),
        ("requests", whole(picture.requests)),
        (
            "requests a second",
            format!("{:.1}", picture.rate.requests_per_second),
        ),
        ("received", bytes(picture.bytes)),
        (
            "received a second",
            bytes(picture.rate.bytes_per_second as u64),
        ),
        ("under way", whole(picture.open)),
    ];
    if let Some(queued) = picture.queued {
        facts.push(("queued", whole(queued)));
    }
    for state in ["waiting", "gone", "refused", "moved", "out-of-scope"] {
        if let Some(count) = picture.states.get(state).filter(|count| **count > 0) {
            facts.push((state, whole(*count)));
        }
    }
    facts
}

fn coverage_chart(picture: &Picture) -> Markup {
    let line = |share: fn(&crate::course::Point) -> Option<f64>| {
        let points = picture.course.iter();
        points
            .filter_map(|point| Some((point.time_ms, share(point)?)))
            .collect::<Vec<_>>()
    };
    let lines = [
        Line {
            name: "proven",
            class: "a",
            points: line(|point| point.proven),
        },
        Line {
            name: "can still be proven",
            class: "b",
            points: line(|point| point.possible),
        },
    ];
    chart(
        "Proven and possible coverage over time",
        &lines,
        1.0,
        percent,
    )
}

fn requests_chart(picture: &Picture) -> Markup {
    let line = |count: fn(&crate::course::Point) -> u64| {
        let points = picture.course.iter();
        points
            .map(|point| (point.time_ms, count(point) as f64))
            .collect::<Vec<_>>()
    };
    let lines = [
        Line {
            name: "requests",
            class: "b",
            points: line(|point| point.requests),
        },
        Line {
            name: "pages",
            class: "a",
            points: line(|point| point.fetches),
        },
    ];
    let top = picture
        .course
        .last()
        .map_or(0.0, |point| point.requests.max(point.fetches) as f64);
    html! {
        section aria-labelledby="course" {
            h2 #course { "Course" }
            (chart("Requests and pages fetched over time", &lines, top, |count| whole(count as u64)))
        }
    }
}

fn budgets(picture: &Picture) -> Markup {
    let shown: Vec<&Spending> = picture
        .budgets
        .iter()
        .filter(|spending| spending.limit.is_some())
        .filter(|spending| picture.state.is_live() || spending.what != "seconds")
        .collect();
    html! {
        section aria-labelledby="budgets" {
            h2 #budgets { "Budgets" }
            @if shown.is_empty() { p { "No budget: it ends at its goal, or when nothing is left." } }
            @else { ul.plain { @for spending in shown {
                @let limit = spending.limit.unwrap_or(1).max(1);
                li {
                    label { (spending.what) " " meter min="0" max=(limit) value=(spending.spent.min(limit)) {} }
                    " " (whole(spending.spent)) " of " (whole(limit))
                }
            } } }
        }
    }
}

fn slice_table(slice: &Value) -> Markup {
    let count = |value: &Value, key: &str| value[key].as_u64().unwrap_or(0);
    let share = |arm: &Value, key: &str| percent(arm[key].as_f64().unwrap_or(0.0));
    let row = |arm: &Value| {
        vec![
            html! { (arm["arm"].as_str().unwrap_or_default()) },
            number(count(arm, "candidates")),
            number(count(arm, "planned")),
            html! { (share(arm, "share")) },
            html! { (share(arm, "floor")) },
            number(count(arm, "spent")),
            html! { (short(arm["gain_per_request"].as_f64().unwrap_or(0.0))) },
            html! { (arm["why"].as_str().unwrap_or_default()) },
        ]
    };
    html! {
        section aria-labelledby="slice" {
            h2 #slice { "Slice " (count(slice, "round")) }
            p { (whole(count(slice, "requests")))
                @if count(slice, "budget") < u64::MAX { " of " (whole(count(slice, "budget"))) }
                " requests: " (whole(count(slice, "new"))) " new, " (whole(count(slice, "changed"))) " changed, "
                (whole(count(slice, "unchanged"))) " unchanged, " (whole(count(slice, "gone"))) " gone" }
            @if let Some(arms) = slice["split"].as_array() {
                (table("How the budget is divided, and why",
                    &["requests for", "#could ask", "#planned", "#share", "#floor", "#spent", "#gain each", "why"],
                    arms.iter().map(row).collect()))
            }
        }
    }
}

fn host_line(picture: &Picture) -> Markup {
    let counts = &picture.host_counts;
    html! {
        p { (plural(counts.known, "host")) " known, " (whole(counts.waiting)) " with pages that wait, "
            (whole(counts.held)) " held, " (whole(counts.slow)) " slow, " (whole(counts.failing)) " failing" }
    }
}

/// Hosts as a table.
pub(crate) fn hosts(rows: &[HostRow]) -> Markup {
    let row = |row: &HostRow| {
        vec![
            stranger(&row.host),
            html! { span class=(format!("state {}", row.condition.name())) { (row.condition.name()) } },
            stranger(&row.why),
            number(row.waiting),
            number(row.stored),
            number(row.failed),
            html! { (whole(row.milliseconds)) " ms" },
        ]
    };
    html! {
        @if rows.is_empty() { p { "No host has pages that wait." } }
        @else {
            (table("Hosts", &["host", "is", "why", "#waiting", "#stored", "#failed", "#an answer takes"],
                rows.iter().map(row).collect()))
        }
    }
}

/// Events as a list, each with a link to what is known of its page.
pub(crate) fn events(name: &str, events: &[Value]) -> Markup {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    html! {
        @if events.is_empty() { p { "Nothing happened yet." } }
        ol.events { @for event in events {
            @let (kind, url) = (text(event, "kind"), text(event, "url"));
            li {
                span class=(format!("kind {kind}")) { (kind) } " "
                a href=(format!("/c/{name}/why?url={}", query(&url))) { (stranger(&url)) }
                @if !text(event, "title").is_empty() { " " (stranger(&text(event, "title"))) }
                @if !text(event, "moved_to").is_empty() { " leads to " (stranger(&text(event, "moved_to"))) }
                " " time { (text(event, "time").get(..19).unwrap_or_default()) "Z" }
                @if kind == "changed" || kind == "back" {
                    " " a href=(format!("/c/{name}/diff?url={}&at={}", query(&url), query(&text(event, "time"))))
                        { "diff" span.hide { " of " (shown(&url)) } }
                }
            }
        } }
    }
}

fn answers(picture: &Picture) -> Markup {
    let answered = picture.answers.iter().filter(|(_, count)| **count > 0);
    let answered: Vec<Vec<Markup>> = answered
        .map(|(status, count)| vec![html! { (status) }, number(*count)])
        .collect();
    let mut classes: Vec<(&String, &u64)> = picture.classes.iter().collect();
    classes.sort_by_key(|(class, count)| (u64::MAX - **count, *class));
    let classes = classes
        .into_iter()
        .map(|(class, count)| vec![stranger(class), number(*count)]);
    html! {
        section aria-labelledby="answers" {
            h2 #answers { "Answers" }
            div.beside {
                (table("Answers by status", &["status", "#answers"], answered))
                (table("What came of pages", &["what came", "#pages"], classes.take(20).collect()))
            }
        }
    }
}
