//! What is due to whom, and what follows from yes and no.
//!
//! One stream is read for all receivers. Each has a queue of events it wants, in the order of the
//! journal; the front of it is sent, and only when it was taken the cursor moves on. The queue holds at
//! most [`QUEUE_MAX`] events. When it is full the rest stays in the journal, and is read again from
//! the cursor once the queue is empty: a receiver that is dead for a month costs a few megabytes.
//!
//! After a no the next try comes after 1 s, 2 s, 4 s … up to an hour.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;

use turnstone_events::{Kind, SiteEvent, Stream};
use turnstone_pagestore::{Position, StoreError};

use crate::cursor::Cursor;
use crate::receiver::{Receiver, To};
use crate::send::{Post, SendError};

/// The most events in a batch.
const BATCH_MAX: usize = 500;
/// The most events that wait in memory for one receiver.
const QUEUE_MAX: usize = 5000;
/// The most entries of a feed.
const FEED_MAX: usize = 1000;
/// How long to wait after the first no; twice as long after each further one.
const RETRY_MS: u64 = 1000;
/// The longest wait between two tries.
const RETRY_MS_MAX: u64 = 3_600_000;

/// Writes notes into the journal, in order. A note need not be on disk when this returns.
pub trait Pen {
    /// Appends a note.
    fn note(&mut self, kind: &str, bytes: &[u8]) -> Result<(), StoreError>;
}

/// Events that are sent at once.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The crawl's own name, with which all ids begin.
    pub crawl: &'a str,
    /// In the order of the journal.
    pub events: &'a [SiteEvent],
    /// How many were left out since the last batch, for they were too old.
    pub skipped: u64,
    /// For a feed: what came before, oldest first.
    pub before: &'a [SiteEvent],
}

/// What is to be said to the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A receiver took so many events.
    Took {
        /// Which.
        receiver: String,
        /// How many.
        events: u64,
    },
    /// It did not.
    Failed {
        /// Which.
        receiver: String,
        /// Why.
        why: String,
        /// When it is tried again, in milliseconds from now.
        again_ms: u64,
    },
    /// Events were left out, for they were too old.
    Skipped {
        /// Which.
        receiver: String,
        /// How many.
        events: u64,
    },
}

/// One receiver and what waits for it.
struct Line {
    receiver: Receiver,
    cursor: Cursor,
    queue: VecDeque<SiteEvent>,
    /// Events that are in the journal and not in the queue: it was full.
    is_behind: bool,
    failures: u32,
    not_before_ms: u64,
    feed: Vec<SiteEvent>,
}

/// Delivers the events of one crawl directory.
pub struct Courier {
    directory: PathBuf,
    stream: Stream,
    lines: Vec<Line>,
    from: Position,
}

impl Courier {
    /// Receivers and how far each is, as [`Cursor::find`] and [`Cursor::first`] say.
    pub fn open(directory: &Path, receivers: Vec<(Receiver, Cursor)>) -> Result<Self, StoreError> {
        let line = |(receiver, cursor)| Line {
            receiver,
            cursor,
            queue: VecDeque::new(),
            is_behind: false,
            failures: 0,
            not_before_ms: 0,
            feed: Vec::new(),
        };
        let lines: Vec<Line> = receivers.into_iter().map(line).collect();
        let from = |line: &Line| match line.receiver.to {
            To::Atom { .. } => Position::FIRST,
            _ => line.cursor.at,
        };
        Ok(Self {
            stream: stream(directory, &lines)?,
            directory: directory.to_owned(),
            from: lines.iter().map(from).min().unwrap_or_default(),
            lines,
        })
    }

    /// Up to where the journal is known to be durable, by its own notes, as far as it was read.
    pub fn durable(&self) -> Position {
        self.stream.durable()
    }

    /// How many events wait for each receiver, at least; to be asked after [`Courier::read`].
    pub fn waiting(&self) -> impl Iterator<Item = (&Receiver, Cursor, usize)> {
        let line = |line: &'_ Line| line.queue.len();
        self.lines
            .iter()
            .map(move |each| (&each.receiver, each.cursor, line(each)))
    }

    /// Reads what was added to the journal.
    pub fn read(&mut self) -> Result<(), StoreError> {
        let lines = &mut self.lines;
        self.stream.pull(self.from, |event| {
            for line in lines.iter_mut() {
                line.take_in(&event);
            }
            Ok(())
        })
    }

    /// Sends what is due, of events that end before `durable`, to all receivers at the same time. Says what
    /// came of it. Returns once nothing is due any more, so a receiver waits for the others' limits of time
    /// at most.
    pub fn send(
        &mut self,
        now_ms: u64,
        durable: Position,
        post: &dyn Post,
        pen: &mut dyn Pen,
    ) -> Result<Vec<Said>, StoreError> {
        let mut said = Vec::new();
        let due = |line: &Line| line.is_due(now_ms);
        let mut open: Vec<usize> = (0..self.lines.len())
            .filter(|index| due(&self.lines[*index]))
            .collect();
        while !open.is_empty() {
            for index in &open {
                self.make_ready(*index, (now_ms, durable), pen, &mut said)?;
            }
            let name = self.stream.name().to_owned();
            let send = |line: &mut Line| {
                let count = line.ready(durable);
                line.queue.make_contiguous();
                (count > 0).then(|| send_front(line, &name, count, post))
            };
            let (send, is_open) = (&send, |index: usize| open.contains(&index));
            let taken: Vec<Option<Result<(), SendError>>> = std::thread::scope(|scope| {
                let lines = self.lines.iter_mut().enumerate();
                let sending: Vec<_> = lines
                    .map(|(index, line)| is_open(index).then(|| scope.spawn(move || send(line))))
                    .collect();
                let join = |thread: Option<ScopedJoinHandle<'_, _>>| {
                    thread.and_then(|thread| match thread.join() {
                        Ok(result) => result,
                        Err(panic) => std::panic::resume_unwind(panic),
                    })
                };
                sending.into_iter().map(join).collect()
            });
            let mut again = Vec::new();
            for (index, result) in taken.into_iter().enumerate() {
                let line = &mut self.lines[index];
                match result {
                    None => {}
                    Some(Err(error)) => said.push(line.failed(now_ms, &error)),
                    Some(Ok(())) => {
                        said.push(line.took(now_ms, durable, pen)?);
                        again.push(index);
                    }
                }
            }
            open = again;
        }
        Ok(said)
    }

    /// How far each receiver is.
    pub fn cursors(&self) -> impl Iterator<Item = (&Receiver, Cursor)> {
        self.lines.iter().map(|line| (&line.receiver, line.cursor))
    }

    /// Leaves out what is too old, and reads on where a queue ran empty.
    fn make_ready(
        &mut self,
        index: usize,
        (now_ms, durable): (u64, Position),
        pen: &mut dyn Pen,
        said: &mut Vec<Said>,
    ) -> Result<(), StoreError> {
        loop {
            self.lines[index].leave_out(now_ms, durable, pen, said)?;
            let line = &self.lines[index];
            if !(line.queue.is_empty() && line.is_behind) {
                return Ok(());
            }
            self.refill(index)?;
        }
    }

    /// Fills a queue from the journal again.
    fn refill(&mut self, index: usize) -> Result<(), StoreError> {
        let line = &mut self.lines[index];
        line.is_behind = false;
        let (from, until) = (line.cursor.at, self.stream.at());
        let mut again = stream(&self.directory, std::slice::from_ref(line))?;
        again.pull(from, |event| {
            // What comes later is read by the stream of all.
            if event.at < until {
                line.take_in(&event);
            }
            Ok(())
        })
    }
}

fn stream(directory: &Path, lines: &[Line]) -> Result<Stream, StoreError> {
    let stream = Stream::open(directory)?;
    let wants_alive = |line: &Line| line.receiver.filter.kinds.contains(&Kind::Alive);
    Ok(if lines.iter().any(wants_alive) {
        stream.with_alive()
    } else {
        stream
    })
}

/// Sends the first events of a queue that is in one piece.
fn send_front(line: &Line, crawl: &str, count: usize, post: &dyn Post) -> Result<(), SendError> {
    let room = FEED_MAX.saturating_sub(count);
    let batch = Batch {
        crawl,
        events: &line.queue.as_slices().0[..count],
        skipped: line.cursor.skipped,
        before: &line.feed[line.feed.len().saturating_sub(room)..],
    };
    post.send(&line.receiver, &batch)
}

impl Line {
    fn take_in(&mut self, event: &SiteEvent) {
        if !self.receiver.filter.wants(event) {
            return;
        }
        if event.at < self.cursor.at {
            if let To::Atom { .. } = self.receiver.to {
                self.remember(std::slice::from_ref(event));
            }
        } else if self.queue.len() >= QUEUE_MAX {
            self.is_behind = true;
        } else if !self.is_behind {
            self.queue.push_back(event.clone());
        }
    }

    fn remember(&mut self, events: &[SiteEvent]) {
        self.feed.extend_from_slice(events);
        if self.feed.len() > 2 * FEED_MAX {
            self.feed.drain(..self.feed.len() - FEED_MAX);
        }
    }

    fn is_due(&self, now_ms: u64) -> bool {
        let since_ms = now_ms.saturating_sub(self.cursor.sent_ms);
        now_ms >= self.not_before_ms && since_ms >= self.receiver.when.period_ms()
    }

    /// How many events the next batch has.
    fn ready(&self, durable: Position) -> usize {
        let is_durable = |event: &&SiteEvent| event.next <= durable;
        let batch = self.queue.iter().take(BATCH_MAX);
        batch.take_while(is_durable).count()
    }

    fn failed(&mut self, now_ms: u64, error: &SendError) -> Said {
        let again_ms = (RETRY_MS << self.failures.min(20)).min(RETRY_MS_MAX);
        self.failures = self.failures.saturating_add(1);
        self.not_before_ms = now_ms.saturating_add(again_ms);
        Said::Failed {
            receiver: self.receiver.name.clone(),
            why: error.to_string(),
            again_ms,
        }
    }

    /// The batch was taken: the cursor moves on. A digest is over when all of it was taken, so that what
    /// is left of one that failed half way need not wait for the next.
    fn took(
        &mut self,
        now_ms: u64,
        durable: Position,
        pen: &mut dyn Pen,
    ) -> Result<Said, StoreError> {
        let count = self.ready(durable);
        let sent: Vec<SiteEvent> = self.queue.drain(..count).collect();
        self.failures = 0;
        if let Some(last) = sent.last() {
            self.cursor.at = last.next;
        }
        self.cursor.skipped = 0;
        if self.ready(durable) == 0 && !self.is_behind {
            self.cursor.sent_ms = now_ms;
        }
        let receiver = self.receiver.name.clone();
        pen.note(&Cursor::kind(&receiver), &self.cursor.to_bytes())?;
        if let To::Atom { .. } = self.receiver.to {
            self.remember(&sent);
        }
        let events = count as u64;
        Ok(Said::Took { receiver, events })
    }

    /// Leaves out what became too old while it waited.
    fn leave_out(
        &mut self,
        now_ms: u64,
        durable: Position,
        pen: &mut dyn Pen,
        said: &mut Vec<Said>,
    ) -> Result<(), StoreError> {
        let limit_ms = self.receiver.catch_up_ms;
        let mut count = 0;
        while let Some(event) = self.queue.front()
            && event.next <= durable
            && now_ms.saturating_sub(event.when_ms) > limit_ms
        {
            self.cursor.at = event.next;
            self.cursor.skipped += 1;
            self.queue.pop_front();
            count += 1;
        }
        if count > 0 {
            let receiver = self.receiver.name.clone();
            pen.note(&Cursor::kind(&receiver), &self.cursor.to_bytes())?;
            said.push(Said::Skipped {
                receiver,
                events: count,
            });
        }
        Ok(())
    }
}
