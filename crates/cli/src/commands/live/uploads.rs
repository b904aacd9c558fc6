//! Bringing closed WARC files to a store beside a crawl, in a thread of its own: a store that is slow or dead holds
//! nothing up.
//!
//! The thread looks for closed files that no note says to lie in the store; only when there is one does it look at
//! the journal. What the end of the crawl leaves is brought by `upload::rest`.
//!
//! Cost: a look at a folder every two seconds; at each closed file one look at the whole journal.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use turnstone_pagestore::shard_folders;
use turnstone_pagestore::warc::Uploaded;

use super::deliveries::locked;
use crate::commands::crawl::config::UploadConfig;
use crate::commands::upload::{LOOK_EVERY, Plan};
use crate::exit::Usage;

/// How long the thread sleeps before it looks whether it is to end.
const NAP: Duration = Duration::from_millis(50);
/// How long a store that failed is left alone.
const REST: Duration = Duration::from_secs(60);

/// Uploads under way. They end when this is dropped, after the file on its way.
pub(super) struct Uploads {
    thread: Option<JoinHandle<()>>,
    over: Arc<AtomicBool>,
}

impl Uploads {
    /// Begins, if a configuration names a store.
    pub(super) fn start(
        directory: &Path,
        config: &UploadConfig,
        asides: &Arc<Mutex<Vec<String>>>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(plan) = Plan::of(config).map_err(|error: Usage| error)? else {
            return Ok(None);
        };
        let over = Arc::new(AtomicBool::new(false));
        let (directory, told, asides) = (directory.to_owned(), over.clone(), asides.clone());
        let thread = std::thread::Builder::new()
            .name("uploads".to_owned())
            .spawn(move || watch(&plan, &directory, &told, &asides))?;
        let thread = Some(thread);
        Ok(Some(Self { thread, over }))
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // What it panicked about was said already.
            let _ = thread.join();
        }
    }
}

fn watch(plan: &Plan, directory: &Path, over: &AtomicBool, asides: &Mutex<Vec<String>>) {
    let mut next = Instant::now() + LOOK_EVERY;
    while !over.load(Ordering::SeqCst) {
        std::thread::sleep(NAP);
        if Instant::now() < next {
            continue;
        }
        next = Instant::now() + LOOK_EVERY;
        if !has_new(directory) {
            continue;
        }
        if let Err(error) = plan.carry_out(directory, |_| ()) {
            locked(asides).push(format!("not uploaded: {error:#}; tried again in a minute"));
            next = Instant::now() + REST;
        }
    }
}

/// Whether a closed file has no note.
fn has_new(directory: &Path) -> bool {
    let mut folders: Vec<PathBuf> = shard_folders(directory);
    folders.push(directory.to_owned());
    folders.iter().any(|folder| {
        let files = fs::read_dir(folder.join("warc")).into_iter().flatten();
        files.filter_map(Result::ok).any(|entry| {
            let path = entry.path();
            path.extension() == Some(OsStr::new("gz")) && !Uploaded::path(&path).exists()
        })
    })
}
