//! The tables of a crawl: pages, links, events, captures, decisions, text.
//!
//! The name of the file says how it is written, so that no file ever holds something else than its name
//! says: a name that ends in another way is refused, unless `--format` is given.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::json;
use turnstone_fetch::preferences::{Sayings, Use};
use turnstone_lab::number::whole;
use turnstone_pagestore::{Store, shard_folders};
use turnstone_tables::{Form, Keep, PARTS_MAX, Table};

use super::FromTo;
use super::place::Place;
use crate::commands::crawl::config::Config;
use crate::commands::live;
use crate::exit::Usage;
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
    /// Leave out pages whose publisher said no to one of these uses when they were fetched: train-ai,
    /// ai-input, search, tdm, archive; for pages and captures
    #[arg(long, value_name = "USE,…", value_delimiter = ',')]
    respect: Vec<Use>,
    /// Write N Parquet files into the folder FILE, what of one host is in one of them: for tables of many millions
    /// of rows, and tools that read in parallel
    #[arg(long, value_name = "N", conflicts_with = "format")]
    parts: Option<usize>,
    /// Private networks in which the server of a store may be: all, or such as 10.0.0.0/8,127.0.0.1
    #[arg(long, value_name = "CIDR,…", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    allow_private: Option<String>,
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
        if let Some(parts) = self.parts {
            self.check_parts(parts)?;
        }
        // A crawl that is not there is told as such, not as a file that cannot be written.
        let directory = self.paths.looked_at()?;
        if shard_folders(&directory).is_empty() {
            drop(Store::look(&directory)?);
        }
        if !self.respect.is_empty() && !table.has_preferences() {
            let what = format!(
                "{} know nothing of what publishers said; pages and captures do",
                table.name()
            );
            return Err(Usage::of("--respect", what).into());
        }
        let config = Config::read(&directory)?.unwrap_or_default();
        let agent = live::agent(&config)?;
        let keep = |said: &str| {
            let said = Sayings::read(said);
            let no = |of: &Use| said.forbids(*of, &agent).is_some();
            !self.respect.iter().any(no)
        };
        if let Some(parts) = self.parts {
            return self.write_parts((table, &keep), (&directory, parts), output);
        }
        let form = form(&self.paths.output, self.format)?;
        let progress = Progress::busy("writing");
        let mut rows = 0;
        let place = Place::of(&self.paths.output, self.allow_private.as_deref())?;
        place.write(|out| {
            rows = table.write_where(&directory, form, &keep, out)?;
            Ok(())
        })?;
        drop(progress);
        let file = place.name();
        let name = table.name();
        let json = json!({"output": file, (name): rows});
        output.result(&json, || {
            format!("{} {name} written to {file}\n", whole(rows))
        })
    }
}

impl Rows {
    /// A folder of files is a new one.
    fn check_parts(&self, parts: usize) -> anyhow::Result<()> {
        let folder = &self.paths.output;
        let refuse = |what: String| Err(Usage::of("--parts", what).into());
        if !(1..=PARTS_MAX).contains(&parts) {
            return refuse(format!("{parts} is not from 1 to {PARTS_MAX}"));
        }
        if folder.exists() {
            let what = format!("{}: it is there; name a new folder", folder.display());
            return Err(Usage::of("--output", what).into());
        }
        Ok(())
    }

    /// Writes a folder of files, whole or not at all.
    fn write_parts(
        &self,
        (table, keep): (Table, Keep<'_>),
        (directory, parts): (&Path, usize),
        output: &Output,
    ) -> anyhow::Result<()> {
        let folder = &self.paths.output;
        let beside = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let cannot = || format!("{}: cannot be written", folder.display());
        let half = tempfile::tempdir_in(beside).with_context(cannot)?;
        let name = table.name();
        let files: Result<Vec<_>, _> = (0..parts)
            .map(|part| File::create(half.path().join(format!("{name}-{part:03}.parquet"))))
            .collect();
        let outs = files.with_context(cannot)?.into_iter().map(BufWriter::new);
        let progress = Progress::busy("writing");
        let rows = table.write_parts(directory, keep, outs.collect())?;
        drop(progress);
        crate::files::make_folder_readable(half.path()).with_context(cannot)?;
        std::fs::rename(half.keep(), folder).with_context(cannot)?;
        let json = json!({"output": folder.display().to_string(), (name): rows});
        output.result(&json, || {
            format!(
                "{} {name} written to {parts} files in {}\n",
                whole(rows),
                folder.display()
            )
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
