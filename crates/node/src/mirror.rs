//! The journals of all shards, read from the bus into a directory: a crawl of a cluster as those see it who only look.
//!
//! Chunks are judged as every reader judges them, so what is written is the one history that counts. What is there
//! from an earlier time is kept where the log still says the same.
//!
//! Cost: the whole logs are read each time.

use std::future::Future;
use std::path::{Path, PathBuf};

use turnstone_cluster::bus::{Answer, Request};
use turnstone_cluster::writer::{News, Writer};
use turnstone_cluster::{NodeId, Shard};
use turnstone_pagestore::{RawJournal, StoreError};

/// How often a log is asked for before nobody is there.
const TRIES: u32 = 6;

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The disk refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The servers do not answer.
    #[error("the journal of shard {shard} cannot be read: the servers do not answer")]
    Silent {
        /// The shard.
        shard: u32,
    },
    /// A newer release wrote it.
    #[error("shard {shard}: the journal was written by a newer release: update this one")]
    Newer {
        /// The shard.
        shard: u32,
    },
}

/// What was read of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirrored {
    /// How long its journal is.
    pub bytes: u64,
    /// How many chunks its log has, void ones too.
    pub chunks: u64,
    /// Its last epoch.
    pub epoch: u64,
}

/// Reads the journal of one shard into its folder.
pub async fn mirror<A, F>(
    directory: &Path,
    shard: Shard,
    mut ask: A,
) -> Result<Mirrored, MirrorError>
where
    A: FnMut(Request) -> F,
    F: Future<Output = Answer>,
{
    let folder: PathBuf = directory.join("shards").join(shard.0.to_string());
    let mut raw = RawJournal::open(&folder)?;
    // A reader: it wants nothing but to read.
    let mut reader = Writer::new(shard, (u64::MAX, NodeId(0)));
    let mut read = Mirrored::default();
    let mut tries = 0;
    while let Some(request) = reader.want_read() {
        let answer = ask(request).await;
        match &answer {
            Answer::Messages(messages) => {
                tries = 0;
                let last = messages.last().map_or(0, |message| message.sequence);
                read.chunks = read.chunks.max(last);
            }
            _ => {
                tries += 1;
                if tries == TRIES {
                    return Err(MirrorError::Silent { shard: shard.0 });
                }
            }
        }
        let mut news = Vec::new();
        reader.answered(answer, &mut news);
        for news in news {
            match news {
                News::Bytes { position, bytes } => {
                    let end = position + bytes.len() as u64;
                    if raw.range(position, end)? != bytes {
                        raw.cut(position)?;
                        raw.append(&bytes)?;
                    }
                    read.bytes = end;
                }
                News::Newer => return Err(MirrorError::Newer { shard: shard.0 }),
                News::End | News::Durable(_) | News::Deposed => {}
            }
        }
    }
    raw.cut(read.bytes)?;
    read.epoch = reader.tip().claim.0;
    Ok(read)
}
