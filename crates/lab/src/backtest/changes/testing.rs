//! Small made-up sites for tests, written and read like real ones.

use std::io::Write as _;

use serde_json::json;

use super::sites::{Calendar, Compare, Pace, SiteStore};
use crate::web::RecordedSite;

/// A site of pages that all lie together, a snapshot a week.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// By week and page: its content, 0 for absent.
    pub(super) contents: Vec<Vec<u8>>,
}

impl Site {
    /// The lines of its history.
    fn lines(&self, name: &str) -> String {
        let pages = self.contents[0].len();
        let weeks = self.contents.len();
        let dates: Vec<String> = (0..weeks)
            .map(|week| format!("2020-01-{:02}", 1 + 7 * week))
            .collect();
        // Written by hand: the kinds of lines are told apart by their first key.
        let mut lines = vec![format!(
            r#"{{"site":"{name}","origin":"https://{name}/","pages":{pages},"snapshots":{}}}"#,
            json!(dates)
        )];
        lines.extend((0..pages).map(|page| format!(r#"{{"page":{page},"url":"/{page}.html"}}"#)));
        // Version v has content v + 1, in text and in bytes.
        lines.extend((0..255u32).map(|version| {
            let hash = format!("{:016x}", version + 1);
            format!(r#"{{"version":{version},"raw":"{hash}","text":"{hash}","links":[]}}"#)
        }));
        let mut before = vec![0u8; pages];
        for (week, contents) in self.contents.iter().enumerate() {
            let changed = (0..pages).filter(|page| contents[*page] != before[*page]);
            let (gone, set): (Vec<usize>, Vec<usize>) =
                changed.partition(|page| contents[*page] == 0);
            let set: Vec<_> = set
                .into_iter()
                .map(|page| json!([page, contents[page] - 1]))
                .collect();
            let (set, gone) = (json!(set), json!(gone));
            lines.push(format!(
                r#"{{"snapshot":{week},"set":{set},"gone":{gone}}}"#
            ));
            before.clone_from(contents);
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The sites as one store, a cycle a week.
pub(super) fn store(sites: &[Site]) -> SiteStore {
    let calendar = Calendar {
        cycles: sites[0].contents.len() as u32 - 1,
        pace: Pace::Weeks(1),
        compare: Compare::Text,
        grow: false,
    };
    read(sites, calendar)
}

pub(super) fn read(sites: &[Site], calendar: Calendar) -> SiteStore {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (index, site) in sites.iter().enumerate() {
        let path = folder.path().join(format!("{index}.jsonl.zst"));
        let file = std::fs::File::create(&path).unwrap();
        let mut encoder = zstd::Encoder::new(file, 1).unwrap();
        encoder
            .write_all(site.lines(&format!("site{index}.org")).as_bytes())
            .unwrap();
        encoder.finish().unwrap();
        files.push(RecordedSite::File(path));
    }
    SiteStore::read(&files, calendar, &mut |_| {}).unwrap()
}
