//! Reports: one self-contained page with words, figures and tables.
//!
//! No script, no font, nothing fetched: the page can be mailed and opened in ten years. Every text
//! is escaped by the template.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use turnstone_lab::number::whole;

use crate::figure::{Figure, Palette};
use crate::table::Table;

/// One part of a report.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A picture with its caption.
    Figure(Figure),
    /// A table.
    Table(Table),
    /// A command to run, or its output.
    Command(String),
}

/// A page.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// Its title.
    pub(crate) title: String,
    /// The question it answers, in words.
    pub(crate) question: String,
    /// What follows.
    pub(crate) parts: Vec<Part>,
}

/// Longer tables are folded behind their first rows.
const FOLDED: usize = 15;
const FIRST: usize = 10;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:68rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere;\
color:#222;background:#fff}h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2rem}\
p,figure,pre{max-width:56rem}.q{font-size:1.1rem;color:#555;margin-top:0}figure{margin:1.5rem 0}figcaption{color:#555;font-size:.92rem}\
svg{width:100%;height:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0}\
th,td{padding:.25rem .7rem;text-align:left;border-bottom:1px solid #ddd}.n{text-align:right}td.n{white-space:nowrap}td{overflow-wrap:anywhere}td:not(.n){min-width:7rem}a{color:#0060a0}\
summary{cursor:pointer;color:#555}pre{white-space:pre-wrap;overflow-wrap:anywhere}\
pre{background:#f5f5f2;padding:.7rem 1rem;overflow:auto;border-radius:6px}.w{overflow-x:auto}\
footer{margin-top:3rem;color:#777;font-size:.9rem}\
@media(max-width:640px){thead{display:none}tr{display:block;border-bottom:1px solid #ddd;padding:.3rem 0}\
td{display:flex;justify-content:space-between;gap:1rem;border:0;padding:.1rem 0}td.n{white-space:normal}\
td::before{content:attr(data-t);color:#777;flex:none;max-width:45%}table{width:100%}}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.q,figcaption,footer{color:#aaa}\
a{color:#7ab8f0}summary{color:#aaa}th,td{border-color:#3a3a3a}pre{background:#242424}}";

impl Report {
    /// The page as one HTML document.
    pub(crate) fn html(&self) -> String {
        let figures = self.parts.iter().filter_map(|part| match part {
            Part::Figure(figure) => Some(figure),
            _ => None,
        });
        let palette = Palette::of(figures);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { (self.title) }
                    p.q { (self.question) }
                    @for part in &self.parts { (render(part, &palette)) }
                    footer { "Made by Turnstone " (env!("CARGO_PKG_VERSION")) "." }
                }
            }
        };
        page.into_string()
    }
}

fn render(part: &Part, palette: &Palette) -> Markup {
    match part {
        Part::Heading(text) => html! { h2 { (text) } },
        Part::Text(text) => html! { p { (text) } },
        Part::Command(text) => html! { pre { (text) } },
        Part::Figure(figure) => html! {
            figure {
                (PreEscaped(figure.svg_in(palette)))
                @if !figure.caption.is_empty() { figcaption { (figure.caption) } }
            }
        },
        Part::Table(table) if table.rows().len() > FOLDED => {
            let more = table.rows().len() - FIRST;
            html! {
                (rows(table, 0..FIRST))
                details {
                    summary { (whole(more as u64)) " more" }
                    (rows(table, FIRST..table.rows().len()))
                }
            }
        }
        Part::Table(table) => rows(table, 0..table.rows().len()),
    }
}

/// Some rows of a table.
fn rows(table: &Table, range: std::ops::Range<usize>) -> Markup {
    html! {
        div.w { table {
            thead { tr {
                @for column in table.columns() { th.n[column.numbers] { (column.title) } }
            } }
            tbody { @for row in &table.rows()[range] { tr {
                @for (cell, column) in row.iter().zip(table.columns()) {
                    td.n[column.numbers] data-t=(column.title) { span { (linked(cell)) } }
                }
            } } }
        } }
    }
}

/// A cell; a link where it is a URL of the web and whole.
fn linked(cell: &str) -> Markup {
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| cell.starts_with(scheme));
    let is_whole = !cell.contains(|c: char| c.is_whitespace() || c.is_control() || c == '…');
    if is_url && is_whole {
        html! { a href=(cell) rel="nofollow noopener noreferrer" { (cell) } }
    } else {
        html! { (cell) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_nothing_is_fetched() {
        let mut table = Table::new(&["page", "#rank"]);
        table.row(["<b>".to_owned(), "1".to_owned()]);
        let parts = vec![
            Part::Text("<script>alert(1)</script>".to_owned()),
            Part::Table(table),
        ];
        let html = Report {
            title: "t".to_owned(),
            question: "q".to_owned(),
            parts,
        }
        .html();
        assert!(html.contains("&lt;script&gt;") && html.contains("&lt;b&gt;"));
        assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="));
        assert_eq!(
            linked("https://a.example/?q=\"x\"").into_string(),
            "<a href=\"https://a.example/?q=&quot;x&quot;\" rel=\"nofollow noopener noreferrer\">https://a.example/?q=&quot;x&quot;</a>"
        );
        for no_link in [
            "javascript:alert(1)",
            "http://cut.example/…",
            "https://a.example/ and more",
        ] {
            assert!(!linked(no_link).into_string().contains("<a"));
        }
    }
}
