//! The page table of a crawl: what is known of each page, a line each.
//!
//! A line tells of the last outcome; of a page refused when it was found, the refusal.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use turnstone_frontier::{Chance, PageId};
use turnstone_lab::crawled;
use turnstone_lab::number::whole;
use turnstone_pagestore::{Facts, Settled, Store, warc};

use super::FromTo;
use crate::files::write_whole;
use crate::moment::utc;
use crate::output::Output;
use crate::progress::Progress;

/// The columns, in order.
const COLUMNS: [&str; 32] = [
    "page",
    "url",
    "host",
    "state",
    "stored",
    "seed",
    "depth",
    "class",
    "detail",
    "status",
    "time",
    "milliseconds",
    "requests",
    "attempts",
    "bytes",
    "mime",
    "title",
    "words",
    "digest",
    "text_hash",
    "simhash",
    "novel",
    "etag",
    "last_modified",
    "links",
    "redirects",
    "moved_to",
    "duplicate_of",
    "warc_file",
    "warc_offset",
    "warc_length",
    "chance",
];

/// Write the page table
#[derive(Debug, Args)]
pub(crate) struct Pages {
    #[command(flatten)]
    paths: FromTo,
    /// How to write it [default: csv if FILE ends in .csv, else jsonl]
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values with a head line (RFC 4180)
    Csv,
}

impl Pages {
    pub(super) fn run(self, output: &Output) -> anyhow::Result<()> {
        let store = Store::look(&self.paths.directory)?;
        let progress = Progress::busy("writing");
        let csv = self
            .paths
            .output
            .extension()
            .is_some_and(|ext| ext == "csv");
        let format = match self.format {
            Some(format) => format,
            None if csv => Format::Csv,
            None => Format::Jsonl,
        };
        write_whole(&self.paths.output, |out| table(&store, format, out))?;
        drop(progress);
        let name = self.paths.output.display().to_string();
        let pages = store.index().known_count();
        let json = json!({"output": name, "pages": pages});
        output.result(&json, || {
            format!("{} pages written to {name}\n", whole(pages))
        })
    }
}

fn table(store: &Store, format: Format, out: &mut dyn Write) -> io::Result<()> {
    if format == Format::Csv {
        writeln!(out, "{}\r", COLUMNS.join(","))?;
    }
    for page in crawled::pages(store) {
        let row = row(store, page).map_err(io::Error::other)?;
        match format {
            Format::Jsonl => {
                serde_json::to_writer(&mut *out, &row)?;
                out.write_all(b"\n")?;
            }
            Format::Csv => {
                let cells = COLUMNS.iter().map(|column| cell(&row[*column]));
                writeln!(out, "{}\r", cells.collect::<Vec<_>>().join(","))?;
            }
        }
    }
    Ok(())
}

/// What is known of a page; what is not known is null.
fn row(store: &Store, page: PageId) -> anyhow::Result<Map<String, Value>> {
    let index = store.index();
    let outcome = store.outcome(page)?;
    let moved_to = match outcome.as_ref().map(|outcome| outcome.settled) {
        Some(Settled::Moved(to)) => Some(store.url(to)?),
        _ => None,
    };
    let facts = match outcome {
        Some(outcome) => outcome.facts,
        None => store
            .refusal(page)?
            .map(|(class, detail)| Facts::refused(&class, detail))
            .unwrap_or_default(),
    };
    let mut links = Vec::new();
    crawled::links_of(store, page, &mut links)?;
    links.retain(|link| !index.is_outside(*link));
    let duplicate_of = facts
        .duplicate_of
        .map(|other| store.url(other))
        .transpose()?;
    let text = |text: &str| (!text.is_empty()).then(|| json!(text));
    let count = |number: u64| (number > 0).then(|| json!(number));
    let hash = |hash: u64| (hash > 0).then(|| json!(format!("{hash:016x}")));
    let bytes = |bytes: &[u8]| text(&String::from_utf8_lossy(bytes));
    let files = warc::Settings::new("crawl", [0; 16]);
    let capture = facts.capture;
    let values = [
        Some(json!(page.0)),
        Some(json!(store.url(page)?)),
        Some(json!(index.host_name(index.host(page)))),
        Some(json!(index.state(page).name())),
        Some(json!(index.is_stored(page))),
        Some(json!(index.seeds().binary_search(&page).is_ok())),
        Some(json!(index.depth(page))),
        text(&facts.class),
        text(&facts.detail),
        count(facts.status.into()),
        (facts.wall_ms > 0).then(|| json!(utc(facts.wall_ms))),
        (facts.requests > 0).then(|| json!(facts.milliseconds)),
        Some(json!(facts.requests)),
        Some(json!(facts.attempts)),
        (facts.status > 0).then(|| json!(facts.body_bytes)),
        text(&facts.mime),
        text(&facts.title),
        count(facts.words.into()),
        facts
            .digest
            .map(|digest| json!(format!("sha1:{}", hex(&digest)))),
        hash(facts.text_hash),
        hash(facts.simhash),
        index.is_stored(page).then(|| json!(facts.novel)),
        bytes(&facts.etag),
        bytes(&facts.last_modified),
        Some(json!(links.len())),
        count(facts.redirects.into()),
        moved_to.map(|url| json!(url)),
        duplicate_of.map(|url| json!(url)),
        capture.map(|at| json!(files.file_name(at.file))),
        capture.map(|at| json!(at.offset)),
        capture.map(|at| json!(at.length)),
        (facts.requests > 0).then(|| json!(Chance::from_units(facts.chance).number())),
    ];
    let named = COLUMNS.iter().zip(values);
    Ok(named
        .map(|(name, value)| ((*name).to_owned(), value.unwrap_or(Value::Null)))
        .collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A cell of CSV: quoted where it must be.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(cell(&json!("plain")), "plain");
        assert_eq!(cell(&json!("a, \"b\"\n")), "\"a, \"\"b\"\"\n\"");
        assert_eq!(cell(&json!(7)), "7");
        assert_eq!(cell(&Value::Null), "");
    }
}
