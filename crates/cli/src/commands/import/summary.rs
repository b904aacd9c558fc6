//! What an import says when it ends.

use std::path::{Path, PathBuf};

use crate::table::Table;
use serde_json::{Value, json};
use turnstone_crawl::old_crawl::Taken;
use turnstone_lab::number::{duration, plural, whole};
use turnstone_pagestore::Store;
use turnstone_pagestore::warc::warc_date;

use super::plan::Plan;
use super::skipped::Skipped;
use crate::output::Output;

/// How many of what was skipped are shown to people.
const SHOWN_MAX: usize = 10;

/// What is to be told of an import.
pub(super) struct Told<'a> {
    pub(super) plan: &'a Plan,
    pub(super) taken: Taken,
    pub(super) skipped: Skipped,
    pub(super) passed_over: u64,
    pub(super) hosts: u64,
    pub(super) whole: bool,
    pub(super) seconds: f64,
}

/// How an import ended.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    directory: PathBuf,
    sources: Vec<Value>,
    known_sources: usize,
    pages: u64,
    stored: u64,
    hosts: u64,
    first_ms: u64,
    taken: Taken,
    skipped: Skipped,
    passed_over: u64,
    whole: bool,
    seconds: f64,
}

impl Summary {
    /// Of an import that is done, or stopped.
    pub(super) fn of(store: &Store, told: Told<'_>) -> Self {
        let Told {
            plan,
            taken,
            skipped,
            passed_over,
            hosts,
            whole,
            seconds,
        } = told;
        let sources = plan.sources.iter().map(|source| {
            let path = source.path.display().to_string();
            json!({"path": path, "kind": source.kind, "bytes": source.bytes})
        });
        Self {
            sources: sources.collect(),
            known_sources: plan.asked.sources.len() - plan.sources.len(),
            hosts,
            taken,
            skipped,
            passed_over,
            whole,
            seconds,
            ..Self::nothing_new(store.directory(), store)
        }
    }

    /// Where everything had been imported before.
    pub(super) fn nothing_new(directory: &Path, store: &Store) -> Self {
        let sessions = store.index().sessions();
        Self {
            directory: directory.to_owned(),
            pages: store.index().page_count() as u64,
            stored: store.index().copied_count(),
            hosts: store.index().host_count() as u64,
            first_ms: sessions.first().map_or(0, |first| first.wall_ms),
            whole: true,
            ..Self::default()
        }
    }

    /// Whether all of the sources was imported.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Prints it.
    pub(super) fn print(&self, output: &Output) -> anyhow::Result<()> {
        output.result(&self.json(), || self.text())
    }

    /// It as JSON.
    pub(crate) fn json(&self) -> Value {
        let taken = &self.taken;
        json!({
            "directory": self.directory.display().to_string(),
            "sources": self.sources,
            "sources_known": self.known_sources,
            "complete": self.whole,
            "seconds": self.seconds,
            "known": self.pages,
            "pages": self.stored,
            "hosts": self.hosts,
            "first": warc_date(self.first_ms),
            "fetches": taken.outcomes(),
            "fetched": {"new": taken.new, "changed": taken.changed, "unchanged": taken.unchanged},
            "moved": taken.moved,
            "gone": taken.gone,
            "refused": taken.refused,
            "unknown": taken.unknown,
            "links": taken.links,
            "left_out": {
                "known": taken.known,
                "older": taken.older,
                "undue": taken.undue,
                "no_page": self.passed_over,
            },
            "skipped": {"count": self.skipped.count, "first": self.skipped.listed},
        })
    }

    fn text(&self) -> String {
        let shown = self.directory.display();
        if self.sources.is_empty() {
            return format!("{shown}: nothing new; every source was imported before\n");
        }
        let count = self.sources.len() as u64;
        let mut out = format!(
            "{shown}: {} fetches of {} pages on {} from {} in {}\n",
            whole(self.taken.outcomes()),
            whole(self.stored),
            plural(self.hosts, "host"),
            plural(count, "source"),
            duration(self.seconds),
        );
        out += &format!(
            "{} pages known, {} links; the first fetch was on {}\n",
            whole(self.pages),
            whole(self.taken.links),
            &warc_date(self.first_ms)[..10],
        );
        out += "\n";
        out += &self.table().text();
        if self.taken.older > 0 {
            out += "\nFetches older than what was known of their page were left out: import crawls \
                    together, or the older one first.\n";
        }
        if self.skipped.count > 0 {
            out += &format!(
                "\n{} that could not be read",
                plural(self.skipped.count, "place")
            );
            let listed = self.skipped.listed.len().min(SHOWN_MAX);
            if (listed as u64) < self.skipped.count {
                out += &format!("; the first {listed} (--json lists more)");
            }
            out += ":\n";
            for skip in self.skipped.listed.iter().take(SHOWN_MAX) {
                out += &format!("  {skip}\n");
            }
        }
        out
    }

    fn table(&self) -> Table {
        let taken = &self.taken;
        let mut table = Table::new(&["outcome of fetches", "count"]);
        for (what, count) in [
            ("new", taken.new),
            ("changed", taken.changed),
            ("unchanged", taken.unchanged),
            ("moved", taken.moved),
            ("gone", taken.gone),
            ("refused", taken.refused),
            ("no verdict", taken.unknown),
            ("left out: known already", taken.known),
            ("left out: older than known", taken.older),
            ("left out: not in the dates asked for", taken.undue),
            ("left out: no fetch of a page", self.passed_over),
        ] {
            if count > 0 {
                table.row([what.to_owned(), whole(count)]);
            }
        }
        table
    }
}
