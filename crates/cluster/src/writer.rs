//! Publishing a journal: read the chain to its end, then append to it, and repair what breaks.
//!
//! One chunk is under way at a time. It expects the sequence of the last message, and its
//! acknowledgement must bear the next one: else something got in between, and the end of the log is
//! read before anything is believed. After a lost answer the same reading tells whether the chunk
//! is there: then it is the last valid one, and the journal goes on behind it. If the log lost a tail,
//! the valid end is before what was acknowledged, and the bytes are published again from the tape. If a higher epoch is
//! found, somebody else writes this journal now, and this writer is done.
//!
//! Cost: a read of the last message for each doubt; a read of the whole log if its past changed.

use crate::bus::{Answer, Request, Stream};
use crate::chain::{CHUNK_BYTES_MAX, Chunk, Ends, Tip, Void};
use crate::follow::{Followed, Follower};
use crate::shard::{NodeId, Shard};

/// A valid chunk that was read, or news of the log.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// The journal has these bytes at this position: whole entries.
    Bytes {
        /// Where they begin.
        position: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The end of the log is reached.
    End,
    /// A chunk was acknowledged: the journal is durable up to here.
    Durable(u64),
    /// A higher epoch, or another node of ours, writes here.
    Deposed,
    /// A newer release writes here.
    Newer,
}

/// Publishes the journal of one shard.
#[derive(Debug)]
pub struct Writer {
    shard: Shard,
    claim: (u64, NodeId),
    follower: Follower,
    tip: Tip,
    mode: Mode,
    /// The chunk whose fate is open.
    flying: Option<Flying>,
    /// Chunks of an entry whose end was not read yet.
    parts: Vec<u8>,
    asked: bool,
    chunk_max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    /// The message it was to follow.
    expect: u64,
    /// The end of the log with it.
    after: Tip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Reads to the end.
    Reading,
    /// Knows the end.
    AtEnd,
    /// Waits for the answer to an append.
    Appending,
    /// Another's journal.
    Deposed,
}

impl Writer {
    /// For a journal that nothing is known of yet.
    pub fn new(shard: Shard, claim: (u64, NodeId)) -> Self {
        Self {
            shard,
            claim,
            follower: Follower::new(Stream::Journal(shard)),
            tip: Tip::default(),
            mode: Mode::Reading,
            flying: None,
            parts: Vec::new(),
            asked: false,
            chunk_max: CHUNK_BYTES_MAX,
        }
    }

    /// With smaller chunks, so that tests cut entries in two.
    pub fn with_chunk_max(mut self, bytes: usize) -> Self {
        self.chunk_max = bytes.min(CHUNK_BYTES_MAX);
        self
    }

    /// Where the valid chunks end.
    pub fn tip(&self) -> &Tip {
        &self.tip
    }

    /// Whether the log is ours: a chunk of our epoch is its last valid one.
    pub fn sealed(&self) -> bool {
        self.tip.claim == self.claim
    }

    /// Reads on, whatever was known.
    pub fn reread(&mut self) {
        if self.mode == Mode::AtEnd {
            self.mode = Mode::Reading;
        }
    }

    /// The next read, unless the end is reached or an answer is awaited.
    pub fn want_read(&mut self) -> Option<Request> {
        if self.mode != Mode::Reading || self.asked {
            return None;
        }
        self.asked = true;
        Some(self.follower.want())
    }

    /// Appends what stands behind the valid end. `read` lends the journal's bytes from a position
    /// on, at most so many.
    pub fn want_append(
        &mut self,
        read: impl FnOnce(u64, usize) -> (Vec<u8>, Ends),
    ) -> Option<Request> {
        if self.mode != Mode::AtEnd {
            return None;
        }
        let (epoch, node) = self.claim;
        let position = self.tip.next(epoch);
        let (bytes, ends) = read(position, self.chunk_max);
        if bytes.is_empty() {
            return None;
        }
        let chunk = Chunk {
            epoch,
            node,
            position,
            previous: self.tip.digest,
            ends,
            bytes: &bytes,
        };
        let payload = chunk.encode();
        let mut after = self.tip;
        after.take(&payload).expect("our chunk follows the tip");
        let expect = self.follower.sequence();
        self.flying = Some(Flying { expect, after });
        self.mode = Mode::Appending;
        Some(Request::Append {
            stream: Stream::Journal(self.shard),
            subject: self.shard.0,
            expect,
            payload,
        })
    }

    /// Takes an answer.
    pub fn answered(&mut self, answer: Answer, news: &mut Vec<News>) {
        match self.mode {
            Mode::Appending => self.appended(&answer, news),
            Mode::Reading => {
                self.asked = false;
                self.read(answer, news);
            }
            Mode::AtEnd | Mode::Deposed => {}
        }
    }

    fn appended(&mut self, answer: &Answer, news: &mut Vec<News>) {
        let flying = self.flying.take().expect("a chunk is under way");
        match answer {
            Answer::Appended { sequence } if *sequence == flying.expect + 1 => {
                self.follower.advance(*sequence, flying.after.digest);
                self.tip = flying.after;
                self.parts.clear();
                self.mode = Mode::AtEnd;
                news.push(News::Durable(self.tip.whole));
            }
            // Refused, no answer, or a place that says that somebody got in between.
            _ => self.mode = Mode::Reading,
        }
    }

    fn read(&mut self, answer: Answer, news: &mut Vec<News>) {
        let messages = match self.follower.answered(answer) {
            Followed::Nothing => return,
            Followed::Rewritten => {
                self.tip = Tip::default();
                self.parts.clear();
                return;
            }
            Followed::More(messages) => messages,
        };
        for message in &messages {
            // A void chunk is passed over; the next append only has to expect its sequence.
            let before = self.tip;
            let chunk = match self.tip.take(&message.payload) {
                Ok(chunk) => chunk,
                Err(Void::Newer) => {
                    self.mode = Mode::Deposed;
                    news.push(News::Newer);
                    return;
                }
                Err(_) => continue,
            };
            if chunk.position == before.whole {
                self.parts.clear();
            }
            self.parts.extend_from_slice(chunk.bytes);
            if chunk.ends == Ends::Whole {
                let bytes = std::mem::take(&mut self.parts);
                let position = self.tip.whole - bytes.len() as u64;
                news.push(News::Bytes { position, bytes });
            }
        }
        if !messages.is_empty() {
            return;
        }
        let (epoch, _) = self.tip.claim;
        if epoch > self.claim.0 || (epoch == self.claim.0 && !self.sealed()) {
            self.mode = Mode::Deposed;
            news.push(News::Deposed);
        } else {
            self.mode = Mode::AtEnd;
            news.push(News::End);
            if self.sealed() {
                news.push(News::Durable(self.tip.whole));
            }
        }
    }
}
