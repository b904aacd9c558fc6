//! `--split`: an order shared out among crawlers, page i to crawler i mod p.

use std::path::Path;

use anyhow::Context as _;
use turnstone_frontier::PageId;
use turnstone_lab::web::OldWeb;

use crate::files::write_whole;
use crate::output::Output;

/// The most crawlers an order is split among.
pub(super) const CRAWLERS_MAX: i64 = 10_000;

/// Writes a file for each crawler: its pages in order, one a line, by address where known.
pub(super) fn write(
    order: &[PageId],
    web: &OldWeb,
    crawlers: u32,
    folder: &Path,
    output: &Output,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    for crawler in 0..crawlers as usize {
        let file = folder.join(format!("crawler-{crawler}.urls"));
        write_whole(&file, |out| {
            for page in order.iter().skip(crawler).step_by(crawlers as usize) {
                writeln!(out, "{}", web.web.name(*page))?;
            }
            Ok(())
        })?;
    }
    output.note(&format!(
        "order split among {crawlers} files crawler-N.urls in {}",
        folder.display()
    ));
    Ok(())
}
