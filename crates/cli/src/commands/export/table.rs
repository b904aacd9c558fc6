//! The tables of a crawl: pages, links, events, captures.
//!
//! The name of the file says how it is written, so that no file ever holds something else than its name
//! says: a name that ends in another way is refused, unless `--format` is given.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::json;
use turnstone_lab::number::whole;
use turnstone_pagestore::{Store, shard_folders};
use turnstone_tables::{Form, Table};

use super::FromTo;
use crate::exit::Usage;
use crate::files::write_whole;
use crate::output::Output;
use crate::progress::Progress;

/// Write a table
#[derive(Debug, Args)]
pub(crate) struct Rows {
    #[command(flatten)]
    paths: FromTo,
    /// How to write it [default: as FILE ends, in .parquet, .jsonl or .csv; jsonl if it has no ending]
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Apache Parquet
    Parquet,
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values with a head line (RFC 4180)
    Csv,
}

impl Rows {
    pub(super) fn run(self, table: Table, output: &Output) -> anyhow::Result<()> {
        let form = form(&self.paths.output, self.format)?;
        // A crawl that is not there is told as such, not as a file that cannot be written.
        let directory = self.paths.looked_at()?;
        if shard_folders(&directory).is_empty() {
            drop(Store::look(&directory)?);
        }
        let progress = Progress::busy("writing");
        let mut rows = 0;
        write_whole(&self.paths.output, |out| {
            let written = table.write(&directory, form, out);
            rows = written.map_err(std::io::Error::other)?;
            Ok(())
        })?;
        drop(progress);
        let file = self.paths.output.display().to_string();
        let name = table.name();
        let json = json!({"output": file, (name): rows});
        output.result(&json, || {
            format!("{} {name} written to {file}\n", whole(rows))
        })
    }
}

/// How a file is written: as its name says, or as was asked where the name says nothing.
fn form(path: &Path, asked: Option<Format>) -> Result<Form, Usage> {
    let asked = asked.map(|format| match format {
        Format::Parquet => Form::Parquet,
        Format::Jsonl => Form::JsonLines,
        Format::Csv => Form::Csv,
    });
    let refuse = |what: String| Err(Usage::of("--output", what));
    match (Form::of(path), asked) {
        (Some(named), Some(asked)) if named != asked => refuse(format!(
            "{}: --format {1} would write something else than the name says; end it in .{1}",
            path.display(),
            asked.extension()
        )),
        (Some(form), _) | (None, Some(form)) => Ok(form),
        (None, None) if path.extension().is_none() => Ok(Form::JsonLines),
        (None, None) => refuse(format!(
            "{}: the name must end in .parquet, .jsonl or .csv, for that is what can be written; \
             --format writes one of them under any other name",
            path.display()
        )),
    }
}
