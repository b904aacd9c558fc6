//! The thread that makes things durable, so that the owner never waits for a disk.
//!
//! One request at a time: sync the WARC files, then the journal that speaks of them, then say up
//! to where. What was appended meanwhile goes with the next: a group commit.

use std::sync::mpsc;
use std::thread;

use tokio::sync::mpsc as async_mpsc;
use turnstone_pagestore::warc;
use turnstone_pagestore::{Position, StoreError, Syncer};

/// What is to be made durable.
pub(crate) struct Batch {
    pub(crate) archive: Option<warc::Syncer>,
    pub(crate) journal: Syncer,
    pub(crate) until: Position,
    /// How many fetches the journal has until there.
    pub(crate) fetches: u64,
}

/// What is durable now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Durable {
    pub(crate) until: Position,
    pub(crate) fetches: u64,
}

/// Why it could not be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SyncError {
    #[error(transparent)]
    Journal(#[from] StoreError),
    #[error(transparent)]
    Archive(#[from] warc::WriteError),
}

/// The owner's end of the thread.
pub(crate) struct Keeper {
    batches: Option<mpsc::Sender<Batch>>,
    done: async_mpsc::UnboundedReceiver<Result<Durable, SyncError>>,
    busy: bool,
    thread: Option<thread::JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn start() -> std::io::Result<Self> {
        let (batches, work) = mpsc::channel::<Batch>();
        let (told, done) = async_mpsc::unbounded_channel();
        let thread = thread::Builder::new()
            .name("keeper".into())
            .spawn(move || {
                for batch in work {
                    if told.send(sync(batch)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            batches: Some(batches),
            done,
            busy: false,
            thread: Some(thread),
        })
    }

    /// Whether a batch is being made durable.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    pub(crate) fn sync(&mut self, batch: Batch) {
        if let Some(batches) = &self.batches {
            // The thread lives as long as this does.
            self.busy = batches.send(batch).is_ok();
        }
    }

    /// Waits for the batch under way; for ever if there is none.
    pub(crate) async fn done(&mut self) -> Result<Durable, SyncError> {
        match self.done.recv().await {
            Some(result) => {
                self.busy = false;
                result
            }
            None => std::future::pending().await,
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // It ends when its channel does; what it panicked about was said already.
            let _ = thread.join();
        }
    }
}

fn sync(batch: Batch) -> Result<Durable, SyncError> {
    if let Some(archive) = batch.archive {
        archive.sync()?;
    }
    batch.journal.sync()?;
    Ok(Durable {
        until: batch.until,
        fetches: batch.fetches,
    })
}
