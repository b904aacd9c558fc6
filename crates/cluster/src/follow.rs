//! Reading a log on and on, and noticing when its past has changed.
//!
//! Each read begins with the last message already read. If that message is no longer there, or is
//! another, the log has lost a tail and perhaps grown a new one: the follower says so and begins
//! anew. Reading only what is new would be cheaper by one message a read, but a log that lost two
//! messages and gained three would then look like one that gained one.

use crate::bus::{Answer, Message, Request, Stream};
use crate::digest::Digest;

/// Reads one log.
#[derive(Debug)]
pub struct Follower {
    stream: Stream,
    last: Option<(u64, Digest)>,
}

/// What a read brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Followed {
    /// Messages not seen before; none if the end is reached.
    More(Vec<Message>),
    /// What was read is no longer so. Everything is going to be read again.
    Rewritten,
    /// No answer: ask again.
    Nothing,
}

impl Follower {
    /// From the first message on.
    pub fn new(stream: Stream) -> Self {
        Self { stream, last: None }
    }

    /// The sequence of the last message read; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.last.map_or(0, |(sequence, _)| sequence)
    }

    /// Counts a message of our own as read: it was acknowledged at this sequence.
    pub fn advance(&mut self, sequence: u64, digest: Digest) {
        self.last = Some((sequence, digest));
    }

    /// The next read.
    pub fn want(&self) -> Request {
        Request::Read {
            stream: self.stream,
            from: self.sequence().max(1),
        }
    }

    /// Takes the answer to it.
    pub fn answered(&mut self, answer: Answer) -> Followed {
        let Answer::Messages(mut messages) = answer else {
            return Followed::Nothing;
        };
        if let Some(last) = self.last {
            let first = messages.first();
            let known = first.map(|first| (first.sequence, Digest::of(&first.payload)));
            if known != Some(last) {
                self.last = None;
                return Followed::Rewritten;
            }
            messages.remove(0);
        }
        if let Some(last) = messages.last() {
            self.last = Some((last.sequence, Digest::of(&last.payload)));
        }
        Followed::More(messages)
    }
}
