//! The forms that give orders.

use maud::{Markup, html};

use crate::orders::Settings;

/// All of them. Buttons for what is not possible now are there too: what is shown may be a second old.
pub(crate) fn orders(name: &str, token: &str, settings: &Settings) -> Markup {
    let action = format!("/c/{name}/orders");
    let scope = &settings.scope;
    let budgets = &settings.budgets;
    let figure = |number: Option<u64>| number.map(|number| number.to_string());
    html! {
        form.inline method="post" action=(action) {
            (hidden(token))
            button name="order" value="pause" { "Pause" }
            button name="order" value="resume" { "Resume" }
            button name="order" value="stop" { "Stop" }
        }
        details {
            summary { "Budgets" }
            form method="post" action=(action) {
                (hidden(token))
                p.hint { "The crawl stops at whichever comes first; an empty field is no limit." }
                (field("pages", "Pages stored", "number", figure(budgets.pages)))
                (field("requests", "Requests", "number", figure(budgets.requests)))
                (field("bytes", "Bytes received", "number", figure(budgets.bytes)))
                (field("time", "Time, such as 90s or 2h", "text", budgets.time.clone()))
                button name="order" value="budgets" { "Set budgets" }
            }
        }
        @if let Some(why) = &settings.fixed { p.hint { (why) } }
        @else {
            details {
                summary { "Seeds" }
                form method="post" action=(action) {
                    (hidden(token))
                    (lines("add", "URLs to start from too, one a line", &[]))
                    button name="order" value="seeds" { "Add seeds" }
                }
            }
            details {
                summary { "Scope" }
                form method="post" action=(action) {
                    (hidden(token))
                    p.hint { "One a line. With no host, site, URL or expression the scope is the hosts of the seeds." }
                    (lines("hosts", "Hosts", &scope.hosts))
                    (lines("sites", "Domains with all their hosts", &scope.sites))
                    (lines("prefixes", "Below these URLs", &scope.prefixes))
                    (lines("include", "Let in what matches these regular expressions", &scope.include))
                    (lines("exclude", "Keep out what matches these", &scope.exclude))
                    (field("depth", "The most links from a seed", "number", scope.depth.map(|depth| depth.to_string())))
                    p { label { input type="checkbox" name="everywhere" value="yes" checked[scope.everywhere];
                        " Follow links to any host" } }
                    button name="order" value="scope" { "Set scope" }
                }
            }
        }
    }
}

fn hidden(token: &str) -> Markup {
    html! { input type="hidden" name="token" value=(token); }
}

fn field(name: &str, label: &str, kind: &str, value: Option<String>) -> Markup {
    html! { p { label { (label) " " input name=(name) type=(kind) min="0" value=[value] maxlength="40"; } } }
}

fn lines(name: &str, label: &str, values: &[String]) -> Markup {
    html! { p { label { (label) br; textarea name=(name) rows="3" maxlength="40000" spellcheck="false" {
        (values.join("\n"))
    } } } }
}
