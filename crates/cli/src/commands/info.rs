//! `turnstone info WEB`

use std::path::PathBuf;

use crate::table::Table;
use clap::Args;
use serde_json::json;
use turnstone_lab::history;
use turnstone_lab::info::{Degrees, GraphInfo, HistoryInfo};
use turnstone_lab::number::whole;
use turnstone_lab::web::{self, WebKind};

use crate::exit::Exit;
use crate::output::Output;
use crate::progress::Progress;

/// Tell what a recorded web holds: pages, links, hosts, degrees, snapshots.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// A recorded web: NAME[.graph], NAME.tsv[.zst|.gz], NAME.jsonl.zst, a folder of
    /// histories, or a crawl directory
    web: PathBuf,
}

impl Info {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let progress = Progress::busy("reading");
        let name = self.web.display().to_string();
        match web::recognise(&self.web)? {
            WebKind::Bv(_) => graph(&self, output, progress, "BV graph")?,
            WebKind::Edges(_) => graph(&self, output, progress, "edge list")?,
            WebKind::CrawlDirectory(_) => graph(&self, output, progress, "crawl directory")?,
            WebKind::History(file) => {
                let info = HistoryInfo::of(&history::read(&file)?);
                drop(progress);
                let json = json!({"web": name, "kind": "history", "history": info});
                output.result(&json, || one_history(&info))?;
            }
            WebKind::Histories(files) => {
                let infos: Vec<HistoryInfo> = files
                    .iter()
                    .map(|file| Ok(HistoryInfo::of(&history::read(file)?)))
                    .collect::<anyhow::Result<_>>()?;
                drop(progress);
                let json = json!({"web": name, "kind": "histories", "histories": infos});
                output.result(&json, || many_histories(&infos))?;
            }
        }
        Ok(Exit::Done)
    }
}

fn graph(command: &Info, output: &Output, progress: Progress, kind: &str) -> anyhow::Result<()> {
    let web = web::open_graph(&command.web)?;
    let info = GraphInfo::of(&web);
    drop(progress);
    let json = json!({"web": command.web.display().to_string(), "kind": kind, "graph": info});
    output.result(&json, || {
        let mut facts = Table::new(&["", "#"]);
        facts.row(["pages".to_owned(), whole(info.pages)]);
        facts.row(["links".to_owned(), whole(info.links)]);
        facts.row([
            "hosts".to_owned(),
            info.hosts.map_or_else(|| "not known".to_owned(), whole),
        ]);
        facts.row(["dangling (no links)".to_owned(), whole(info.dangling)]);
        facts.row(["self-links".to_owned(), whole(info.self_links)]);
        facts.row(["not linked by others".to_owned(), whole(info.unlinked)]);
        let mut degrees = Table::new(&["degree", "#mean", "#median", "#90 %", "#99 %", "#largest"]);
        degrees.row(degree_row("in", &info.indegree));
        degrees.row(degree_row("out", &info.outdegree));
        let mut buckets = Table::new(&["#degree", "#pages by in-degree", "#pages by out-degree"]);
        for bucket in 0..info
            .indegree
            .buckets
            .len()
            .max(info.outdegree.buckets.len())
        {
            let count =
                |degrees: &Degrees| whole(degrees.buckets.get(bucket).copied().unwrap_or(0));
            buckets.row([
                Degrees::bucket_name(bucket),
                count(&info.indegree),
                count(&info.outdegree),
            ]);
        }
        format!(
            "{kind}\n{}\n{}\n{}",
            facts.text().trim_start(),
            degrees.text(),
            buckets.text()
        )
    })
}

fn degree_row(name: &str, degrees: &Degrees) -> [String; 6] {
    [
        name.to_owned(),
        format!("{:.2}", degrees.mean),
        whole(degrees.median.into()),
        whole(degrees.p90.into()),
        whole(degrees.p99.into()),
        whole(degrees.max.into()),
    ]
}

fn one_history(info: &HistoryInfo) -> String {
    let mut table = Table::new(&[
        "#snapshot",
        "date",
        "#pages",
        "#new",
        "#changed",
        "#changed text",
        "#returned",
        "#gone",
    ]);
    for snapshot in &info.snapshots {
        table.row([
            snapshot.snapshot.to_string(),
            snapshot.date.clone(),
            whole(snapshot.pages),
            whole(snapshot.new),
            whole(snapshot.changed),
            whole(snapshot.changed_text),
            whole(snapshot.returned),
            whole(snapshot.gone),
        ]);
    }
    format!(
        "history of {} ({})\n{} pages ever seen, {} versions, {} links over all versions\n\n{}",
        info.site,
        info.origin,
        whole(info.pages),
        whole(info.versions),
        whole(info.links),
        table.text()
    )
}

fn many_histories(infos: &[HistoryInfo]) -> String {
    let mut table = Table::new(&[
        "site",
        "#pages",
        "#versions",
        "#snapshots",
        "first",
        "last",
        "#new",
        "#changed",
        "#gone",
    ]);
    for info in infos {
        let later = || info.snapshots.iter().skip(1);
        let date = |snapshot: Option<&turnstone_lab::info::SnapshotInfo>| {
            snapshot.map_or_else(String::new, |snapshot| snapshot.date.clone())
        };
        table.row([
            info.site.clone(),
            whole(info.pages),
            whole(info.versions),
            whole(info.snapshots.len() as u64),
            date(info.snapshots.first()),
            date(info.snapshots.last()),
            whole(later().map(|snapshot| snapshot.new).sum()),
            whole(later().map(|snapshot| snapshot.changed).sum()),
            whole(later().map(|snapshot| snapshot.gone).sum()),
        ]);
    }
    let pages = infos.iter().map(|info| info.pages).sum();
    format!(
        "{} histories, {} pages ever seen\n\n{}",
        infos.len(),
        whole(pages),
        table.text()
    )
}
