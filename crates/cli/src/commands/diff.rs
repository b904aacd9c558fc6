//! `turnstone diff DIR URL`

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use turnstone_events::{DiffLine, diff, diff_json, diff_rows, diff_text, markup, plain};
use turnstone_pagestore::Facts;

use super::copies::{Copies, moment};
use crate::exit::{Exit, Usage};
use crate::files::write_whole;
use crate::moment::utc;
use crate::output::Output;

/// What a diff of visible text does not show.
const IGNORED: &str = "markup, addresses of links and pictures, scripts, styles and white space";

/// Show what differs between two stored copies of a page, by words within lines
///
/// Compares visible text. Without --at: the last copy, and the last one before it whose text differs.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The page
    #[arg(value_name = "URL")]
    url: String,
    /// The copy that was current at this moment, as 2026-11-18T08:30:00Z. Once: compare it with the last
    /// copy; twice: compare the two
    #[arg(long, value_name = "TIME")]
    at: Vec<String>,
    /// Write the two copies side by side as a page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Diff {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        if self.at.len() > 2 {
            return Err(Usage::of("--at", "give it twice at most").into());
        }
        let moments = self.at.iter().map(|text| moment(text));
        let moments = moments.collect::<anyhow::Result<Vec<u64>>>()?;
        let copies = Copies::of(&self.directory, &self.url)?;
        let new = copies.at(moments.get(1).copied())?;
        let old = match moments.first() {
            Some(moment) => copies.at(Some(*moment))?,
            None => before(&copies, new)?,
        };
        let compared = compare(&copies, old, new)?;
        let moments = [utc(old.wall_ms), utc(new.wall_ms)];
        let document = document(&copies, &moments, &compared);
        let Compared {
            titles: [old_title, new_title],
            hunks,
            notes,
        } = compared;
        let retitled = old_title != new_title;
        if let Some(file) = &self.html {
            let rows = diff_rows(&hunks);
            let (url, notes) = (markup(&plain(copies.url.as_str())), notes.join("; "));
            let page = format!(
                "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{url}</title>\
                 <style>:root{{color-scheme:light dark}}body{{font:15px sans-serif}}table{{width:100%;\
                 table-layout:fixed;border-collapse:collapse}}td{{vertical-align:top;padding:2px 6px;\
                 overflow-wrap:anywhere}}.old{{background:#f002}}.new{{background:#0a02}}.between{{\
                 opacity:.5}}</style></head><body><h1>{url}</h1><p>{notes}</p><table><tr><th>{}</th>\
                 <th>{}</th></tr><tr><td><bdi>{}</bdi></td><td><bdi>{}</bdi></td></tr>\n{rows}</table>\
                 </body></html>\n",
                utc(old.wall_ms),
                utc(new.wall_ms),
                markup(&plain(&old_title)),
                markup(&plain(&new_title)),
            );
            write_whole(file, |out| out.write_all(page.as_bytes()))?;
        }
        output.result(&document, || {
            let mut text = format!(
                "{}\n-{}\n+{}\n({})\n\n",
                plain(copies.url.as_str()),
                utc(old.wall_ms),
                utc(new.wall_ms),
                notes.join("; ")
            );
            if retitled {
                text += &format!("-title: {}\n", plain(&old_title));
                text += &format!("+title: {}\n", plain(&new_title));
            }
            if hunks.is_empty() && !retitled {
                text += "the visible text is the same\n";
            }
            text + &diff_text(&hunks)
        })?;
        Ok(Exit::Done)
    }
}

/// The copy that was current at a moment (the last one without), held against the one before it.
pub(crate) fn last(
    directory: &Path,
    url: &str,
    at_ms: Option<u64>,
) -> anyhow::Result<turnstone_server::Compared> {
    let copies = Copies::of(directory, url)?;
    let new = copies.at(at_ms)?;
    let old = before(&copies, new)?;
    let moments = [utc(old.wall_ms), utc(new.wall_ms)];
    let compared = compare(&copies, old, new)?;
    Ok(turnstone_server::Compared {
        json: document(&copies, &moments, &compared),
        moments,
        titles: compared.titles,
        hunks: compared.hunks,
        notes: compared.notes,
    })
}

/// What differs, for machines.
fn document(copies: &Copies, moments: &[String; 2], compared: &Compared) -> Value {
    let Compared {
        titles: [old_title, new_title],
        hunks,
        notes,
    } = compared;
    json!({
        "url": copies.url.as_str(),
        "old": {"time": moments[0], "title": old_title},
        "new": {"time": moments[1], "title": new_title},
        "differs": old_title != new_title || !hunks.is_empty(),
        "hunks": diff_json(hunks),
        "notes": notes,
    })
}

/// Two copies, compared.
pub(crate) struct Compared {
    /// The old one's and the new one's.
    pub(crate) titles: [String; 2],
    pub(crate) hunks: Vec<Vec<DiffLine>>,
    /// What was ignored.
    pub(crate) notes: Vec<String>,
}

/// What differs between two copies of a page.
pub(crate) fn compare(copies: &Copies, old: &Facts, new: &Facts) -> anyhow::Result<Compared> {
    let old = copies.counted(&copies.read(old)?)?;
    let new = copies.counted(&copies.read(new)?)?;
    let mut notes = vec![format!("ignored: {IGNORED}")];
    let by_rules = [old.ignored, new.ignored];
    let elements = by_rules
        .iter()
        .map(|count| count.elements)
        .max()
        .unwrap_or(0);
    let texts = by_rules.iter().map(|count| count.texts).max().unwrap_or(0);
    if elements + texts > 0 {
        let of = |count: u64, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        notes.push(format!(
            "ignored by rules of turnstone.toml: {} and {}",
            of(elements, "element", "elements"),
            of(texts, "piece of text", "pieces of text")
        ));
    }
    if old.cut || new.cut {
        notes.push("only the first MiB of text was compared".to_owned());
    }
    Ok(Compared {
        hunks: diff(&lined(&old.text), &lined(&new.text)),
        titles: [old.title, new.title],
        notes,
    })
}

/// Text that ends its last line, so that a line added behind it does not change it.
fn lined(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

/// The last copy before another whose text differs; the one right before it if none does.
pub(crate) fn before<'a>(copies: &'a Copies, new: &Facts) -> anyhow::Result<&'a Facts> {
    let older = || {
        copies
            .all
            .iter()
            .rev()
            .filter(|copy| copy.wall_ms < new.wall_ms)
    };
    let found = older().find(|copy| copy.text_hash != new.text_hash);
    let found = found.or_else(|| older().next());
    found.ok_or_else(|| anyhow::anyhow!("{}: only one copy is stored", plain(copies.url.as_str())))
}
