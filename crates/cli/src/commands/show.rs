//! `turnstone show DIR URL`

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use turnstone_events::plain;
use turnstone_pagestore::warc::Digest;

use super::copies::{Copies, moment};
use crate::exit::{Exit, Usage};
use crate::moment::utc;
use crate::output::Output;

/// Print a stored copy of a page out of the WARC files
///
/// A copy whose body was stored before, or that a server called unchanged, is shown with that body. Without
/// --text, --headers or --raw: when it was fetched, and its visible text.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The page
    #[arg(value_name = "URL")]
    url: String,
    /// The copy that was current at this moment, as 2026-11-18T08:30:00Z [default: the last]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Only the visible text, a line for each block of the page
    #[arg(long, conflicts_with_all = ["headers", "raw"])]
    text: bool,
    /// The head of the answer that brought the body
    #[arg(long, conflicts_with = "raw")]
    headers: bool,
    /// The body, byte for byte as it is stored; content codings are not undone. Not with --json
    #[arg(long)]
    raw: bool,
}

impl Show {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let at = self.at.as_deref().map(moment).transpose()?;
        let copies = Copies::of(&self.directory, &self.url)?;
        let copy = copies.at(at)?;
        let stored = copies.read(copy)?;
        if self.raw {
            if !output.is_text() {
                return Err(Usage::of("--raw", "prints bytes, which are no JSON").into());
            }
            return match io::stdout().write_all(&stored.body) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
                _ => Ok(Exit::Done),
            };
        }
        let lines = |text: &str| {
            text.lines()
                .map(|line| plain(line) + "\n")
                .collect::<String>()
        };
        let head = String::from_utf8_lossy(&stored.head);
        if self.headers {
            let document = json!({
                "url": copies.url.as_str(),
                "time": utc(copy.wall_ms),
                "status": copy.status,
                "headers": headers(&head),
            });
            output.result(&document, || lines(&head))?;
            return Ok(Exit::Done);
        }
        let visible = copies.visible(&stored)?;
        if self.text {
            let document = json!({
                "url": copies.url.as_str(),
                "time": utc(copy.wall_ms),
                "text": visible.text,
            });
            output.result(&document, || lines(&visible.text))?;
            return Ok(Exit::Done);
        }
        let document = json!({
            "url": copies.url.as_str(),
            "time": utc(copy.wall_ms),
            "body_time": utc(stored.wall_ms),
            "status": copy.status,
            "digest": copy.digest.map(|digest| Digest(digest).to_string()),
            "copies": copies.all.len(),
            "title": visible.title,
            "text": visible.text,
        });
        output.result(&document, || {
            let mut text = format!(
                "{}\nfetched {}",
                plain(copies.url.as_str()),
                utc(copy.wall_ms)
            );
            if stored.wall_ms != copy.wall_ms {
                text += &format!(", its body stored {}", utc(stored.wall_ms));
            }
            text += &format!("\ntitle   {}\n\n", plain(&visible.title));
            text + &lines(&visible.text)
        })?;
        Ok(Exit::Done)
    }
}

/// The fields of a head in their order, each as name and value.
fn headers(head: &str) -> Vec<(&str, &str)> {
    let fields = head.lines().skip(1);
    let fields = fields.filter_map(|line| line.split_once(':'));
    fields
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect()
}
