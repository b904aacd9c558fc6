//! `--plot` and `--report`, alike for every question.

use std::path::PathBuf;

use clap::Args;
use turnstone_lab::figure::Figure;
use turnstone_lab::report::{Part, Report};
use turnstone_lab::table::Table;

use crate::files::write_whole;
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

/// What a backtest has to show.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The title of the page.
    pub(crate) title: String,
    /// The question in words.
    pub(crate) question: String,
    /// What was run, in words.
    pub(crate) setting: String,
    /// The main figure first.
    pub(crate) figures: Vec<Figure>,
    pub(crate) table: Table,
}

impl Pictures {
    /// Whether any picture is wanted.
    pub(crate) fn wanted(&self) -> bool {
        self.plot.is_some() || self.report.is_some()
    }

    /// Writes what was asked for.
    pub(crate) fn write(&self, shown: Shown, output: &Output) -> anyhow::Result<()> {
        if let (Some(file), Some(figure)) = (&self.plot, shown.figures.first()) {
            write_whole(file, |out| out.write_all(figure.svg().as_bytes()))?;
            output.note(&format!("figure written to {}", file.display()));
        }
        if let Some(file) = &self.report {
            let mut parts = vec![Part::Text(shown.setting), Part::Table(shown.table)];
            parts.extend(shown.figures.into_iter().map(Part::Figure));
            parts.push(Part::Heading("Run it again".to_owned()));
            parts.push(Part::Command(command_line()));
            let report = Report {
                title: shown.title,
                question: shown.question,
                parts,
            };
            write_whole(file, |out| out.write_all(report.html().as_bytes()))?;
            output.note(&format!("report written to {}", file.display()));
        }
        Ok(())
    }
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
