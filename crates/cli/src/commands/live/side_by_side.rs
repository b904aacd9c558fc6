//! The shards of a crawl, driven side by side: one view, one pair of signals, one end.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;
use tokio::task::JoinSet;
use turnstone_crawl::{Crawl, Parts, Progress, StopLevel, Summary};
use turnstone_frontier::Policy;

use super::uploads::Uploads;
use super::{Watch, signals, view};
use crate::commands::crawl::config::UploadConfig;

/// How often what is seen of the shards is added up.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Runs all shards of a crawl, shows them as one, and ends them together.
pub(crate) async fn drive_shards<P: Policy + 'static>(
    parts: Vec<Parts<P>>,
    directory: &Path,
    upload: &UploadConfig,
) -> anyhow::Result<Summary> {
    let (stop, told) = watch::channel(StopLevel::Run);
    let (mut crawls, mut seen) = (Vec::new(), Vec::new());
    for parts in parts {
        let (crawl, progress) = Crawl::new(parts)?;
        crawls.push(crawl);
        seen.push(progress);
    }
    turnstone_crawl::join(&mut crawls)?;
    let (shown, progress) = watch::channel(Progress::default());
    let signals = tokio::spawn(signals(stop.clone(), None, crate::caller::caller()));
    let adder = tokio::spawn(add_up(seen, shown));
    let watch = Watch::default();
    let uploads = Uploads::start(directory, upload, &watch.asides)?;
    let view = tokio::spawn(view::show(progress, directory.to_owned(), watch));
    let mut owners = JoinSet::new();
    for crawl in crawls {
        owners.spawn(crawl.run(told.clone()));
    }
    let (mut ended, mut failed) = (Vec::new(), None);
    while let Some(owner) = owners.join_next().await {
        match owner.unwrap_or_else(|lost| std::panic::resume_unwind(lost.into_panic())) {
            Ok(summary) => ended.push(summary),
            Err(error) => {
                // The others cannot go on without it.
                failed.get_or_insert(error);
                stop.send_if_modified(|level| {
                    let before = *level;
                    *level = before.max(StopLevel::Finish);
                    *level != before
                });
            }
        }
    }
    signals.abort();
    drop(uploads);
    // Both end with the channels of the shards.
    let _ = adder.await;
    let _ = view.await;
    match failed {
        Some(error) => Err(error.into()),
        None => Summary::of_shards(ended).context("a crawl of no shards"),
    }
}

/// Shows the sum of what is seen of the shards, until all have ended.
async fn add_up(seen: Vec<watch::Receiver<Progress>>, shown: watch::Sender<Progress>) {
    loop {
        let is_over = seen.iter().all(|shard| shard.has_changed().is_err());
        let all = seen.iter().map(|shard| shard.borrow().clone());
        shown.send_replace(Progress::of_shards(all));
        if is_over {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
