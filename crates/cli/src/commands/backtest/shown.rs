//! How a report is shown, alike for every question: JSON or text, `--plot` and `--report`.

use std::path::{Path, PathBuf};

use crate::figure::Figure;
use crate::report::{Part, Report};
use crate::table::Table;
use clap::Args;
use serde::Serialize;

use crate::files::write_whole;
use crate::moment::{now_ms, utc};
use crate::output::Output;

/// Where pictures go.
#[derive(Debug, Args)]
pub(crate) struct Pictures {
    /// Write the main figure here
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write a self-contained page with figures, table and the command here
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// What a report has to show.
pub(crate) struct Shown<'a> {
    /// The title of the page.
    pub(crate) title: &'static str,
    /// The question in words.
    pub(crate) question: String,
    /// What was run, in words.
    pub(crate) setting: String,
    pub(crate) table: Table,
    /// What the terminal shows below the table.
    pub(crate) more: String,
    /// The main figure first; drawn only if somebody wants to see them.
    pub(crate) figures: &'a dyn Fn() -> Vec<Figure>,
}

impl Pictures {
    /// Whether any picture is wanted.
    pub(crate) fn wanted(&self) -> bool {
        self.plot.is_some() || self.report.is_some()
    }

    /// Prints a report, and writes the pictures of it that were asked for.
    pub(crate) fn show(
        &self,
        report: &impl Serialize,
        shown: Shown<'_>,
        output: &Output,
    ) -> anyhow::Result<()> {
        output.result(report, || {
            format!("{}\n\n{}{}", shown.setting, shown.table.text(), shown.more)
        })?;
        if !self.wanted() {
            return Ok(());
        }
        let figures = (shown.figures)();
        if let (Some(file), Some(figure)) = (&self.plot, figures.first()) {
            write_whole(file, |out| out.write_all(figure.svg().as_bytes()))?;
            output.note(&format!("figure written to {}", file.display()));
        }
        if let Some(file) = &self.report {
            let mut parts = vec![Part::Text(shown.setting), Part::Table(shown.table)];
            parts.extend(figures.into_iter().map(Part::Figure));
            parts.push(Part::Heading("Run it again".to_owned()));
            parts.push(Part::Command(command_line()));
            parts.push(Part::Text(provenance()));
            let page = Report {
                title: shown.title.to_owned(),
                question: shown.question,
                parts,
            };
            write_whole(file, |out| out.write_all(page.html().as_bytes()))?;
            output.note(&format!("report written to {}", file.display()));
        }
        Ok(())
    }
}

/// When this was, by which release, and on which data: a digest of every file that the command names.
pub(crate) fn provenance() -> String {
    let mut text = format!(
        "Made {} by turnstone {}.",
        utc(now_ms()),
        env!("CARGO_PKG_VERSION")
    );
    for argument in crate::caller::arguments().iter().skip(2) {
        if let Some(digest) = crate::digest::of_web(Path::new(argument)) {
            text += &format!(" Data of {argument}: SHA-256 {digest}.");
        }
    }
    text
}

/// The command as it was given, quoted for a shell.
pub(crate) fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    let quoted = crate::caller::arguments()
        .into_iter()
        .skip(1)
        .map(|argument| {
            if !argument.is_empty() && argument.chars().all(plain) {
                argument
            } else {
                format!("'{}'", argument.replace('\'', r"'\''"))
            }
        });
    std::iter::once("turnstone".to_owned())
        .chain(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}
