//! What an import was asked to do, written down so that it can go on after a kill.
//!
//! The plan lies in `DIR/store/import` as long as the import is under way. What was imported whole
//! is noted in the journal, source by source, and not read again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use turnstone_ledger::telling;
use turnstone_pagestore::Store;

use super::source::Source;
use super::url_list::read_date;
use super::wrong;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// Everything to be imported.
    pub(super) sources: Vec<Source>,
    /// Whether links to all hosts are kept.
    pub(super) everywhere: bool,
    /// Which dates.
    pub(super) window: Window,
    /// The date of what has none.
    pub(super) date_ms: Option<u64>,
}

/// From a date on, up to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Window {
    since_ms: Option<u64>,
    until_ms: Option<u64>,
}

impl Window {
    /// Reads `--since` and `--until`.
    pub(super) fn read(since: Option<&str>, until: Option<&str>) -> anyhow::Result<Self> {
        let since_ms = since.map(|text| date("--since", text)).transpose()?;
        let until_ms = until.map(|text| date("--until", text)).transpose()?;
        if let (Some(since), Some(until)) = (since_ms, until_ms)
            && since >= until
        {
            return Err(wrong("--until", "must be after --since"));
        }
        Ok(Self { since_ms, until_ms })
    }

    /// Whether a date is within.
    pub(super) fn has(&self, at: u64) -> bool {
        self.since_ms.is_none_or(|since| at >= since) && self.until_ms.is_none_or(|end| at < end)
    }
}

/// Reads the date of an option.
pub(super) fn date(option: &str, text: &str) -> anyhow::Result<u64> {
    read_date(text).ok_or_else(|| wrong(option, format!("'{text}' is not a date like 2019-03-10")))
}

/// An import under way.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// What was asked.
    pub(super) asked: Asked,
    /// The sources that were not imported before.
    pub(super) sources: Vec<Source>,
    /// Where the journal ended when it began: no other import began there.
    pub(super) begun_at: u64,
    /// Where it keeps what it has read.
    #[serde(skip)]
    pub(super) folder: PathBuf,
}

impl Plan {
    /// Goes on with the import that is under way, or begins one; none if all was imported before.
    pub(super) fn begin(store: &mut Store, asked: Asked) -> anyhow::Result<Option<Self>> {
        let folder = store.directory().join("store/import");
        if let Some(under_way) = read(&folder)? {
            if under_way.asked != asked {
                let what = format!(
                    "{}: an import of {} is not finished; give the same sources and options again, \
                     or remove {} to leave it as it is",
                    store.directory().display(),
                    under_way.first(),
                    folder.display()
                );
                return Err(wrong("SOURCE", what));
            }
            return Ok(Some(Self {
                folder,
                ..under_way
            }));
        }
        let mut sources = Vec::new();
        for source in &asked.sources {
            if !is_imported(store, source)? {
                sources.push(source.clone());
            }
        }
        if sources.is_empty() {
            return Ok(None);
        }
        if folder.exists() {
            super::spool::remove(&folder)?;
        }
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let plan = Self {
            asked,
            sources,
            begun_at: store.end().0,
            folder,
        };
        let text = serde_json::to_vec(&plan)?;
        crate::files::write_whole(&plan.folder.join(FILE), |out| out.write_all(&text))?;
        Ok(Some(plan))
    }

    /// The date of a source that has none of its own.
    pub(super) fn date_of(&self, source: &Source) -> anyhow::Result<u64> {
        self.asked.date_ms.map_or_else(|| source.modified_ms(), Ok)
    }

    /// Notes that every source was imported.
    pub(super) fn finish(&self, store: &mut Store) -> anyhow::Result<()> {
        for source in &self.sources {
            let note = json!({"bytes": source.bytes, "kind": source.kind});
            let bytes = serde_json::to_vec(&note)?;
            telling::note(store, store.index().latest(), &note_kind(source), &bytes);
        }
        store.write()?;
        Ok(store.syncer().sync()?)
    }

    /// Whether anything was read that would have to be read again.
    pub(super) fn has_read(&self) -> bool {
        super::spool::has_runs(&self.folder)
    }

    fn first(&self) -> String {
        let first = self.sources.first();
        first.map_or_else(String::new, |source| source.path.display().to_string())
    }
}

const FILE: &str = "plan.json";

fn read(folder: &Path) -> anyhow::Result<Option<Plan>> {
    let path = folder.join(FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let read = serde_json::from_slice(&text);
    Ok(Some(read.with_context(|| {
        format!("{}: remove the folder to begin anew", path.display())
    })?))
}

fn note_kind(source: &Source) -> String {
    format!("import {}", source.path.display())
}

/// Whether a source was imported, as long as it is now.
fn is_imported(store: &Store, source: &Source) -> anyhow::Result<bool> {
    let Some(note) = store.note(&note_kind(source))? else {
        return Ok(false);
    };
    let note: serde_json::Value = serde_json::from_slice(&note)?;
    Ok(note["bytes"] == source.bytes)
}

/// A crawl directory's own files are no source: a crawl that goes on would cut them to what its
/// journal knows.
pub(super) fn refuse_inside(directory: &Path, sources: &[Source]) -> anyhow::Result<()> {
    let Ok(directory) = fs::canonicalize(directory) else {
        return Ok(());
    };
    match sources
        .iter()
        .find(|source| source.path.starts_with(&directory))
    {
        None => Ok(()),
        Some(source) => Err(wrong(
            "SOURCE",
            format!(
                "{} lies within the crawl directory; import into another one",
                source.path.display()
            ),
        )),
    }
}

/// Removes a crawl directory that was made in vain: only what an import makes.
pub(super) fn unmake(directory: &Path) {
    // Whatever cannot be removed is left: an empty crawl is no harm.
    let _ = fs::remove_dir_all(directory.join("store"));
    let _ = fs::remove_dir(directory);
}
