//! A bus in memory that does what it is asked, at once. For tests, and under the faulty one.

use std::collections::{BTreeMap, VecDeque};

use crate::bus::{Answer, Bus, Key, Message, Request, Stream};

/// The most messages one read brings.
const READ_MAX: usize = 64;

/// A revision and what the key then held.
type Value = (u64, Vec<u8>);

/// Logs, keys and blobs.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    streams: BTreeMap<Stream, Vec<Message>>,
    /// Every key with its revision and value, and those it had before.
    keys: BTreeMap<Key, (Value, Option<Value>)>,
    revisions: u64,
    blobs: BTreeMap<String, Vec<u8>>,
}

/// How a request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As it should be.
    Right,
    /// Reads see what was so a moment ago.
    Stale,
    /// An append is let in although it expects another end.
    Race,
}

impl Memory {
    /// The messages of a log.
    pub fn stream(&self, stream: Stream) -> &[Message] {
        self.streams.get(&stream).map_or(&[], Vec::as_slice)
    }

    /// The value of a key.
    pub fn value(&self, key: Key) -> Option<&[u8]> {
        self.keys.get(&key).map(|((_, value), _)| value.as_slice())
    }

    /// Loses the last messages of a log, as if they had never been acknowledged.
    pub fn lose_tail(&mut self, stream: Stream, messages: usize) {
        if let Some(log) = self.streams.get_mut(&stream) {
            log.truncate(log.len().saturating_sub(messages));
        }
    }

    /// Carries out a request.
    pub fn execute(&mut self, request: &Request, way: Way) -> Answer {
        let behind = usize::from(way == Way::Stale);
        match request {
            Request::Append {
                stream,
                subject,
                expect,
                payload,
            } => self.append(*stream, *subject, *expect, payload, way),
            Request::Read { stream, from } => {
                let log = self.stream(*stream);
                let from = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
                let until = log
                    .len()
                    .saturating_sub(behind)
                    .min(from.saturating_add(READ_MAX));
                Answer::Messages(log.get(from..until).unwrap_or(&[]).to_vec())
            }
            Request::Last { stream, subject } => {
                let mut found = self.stream(*stream).iter().rev();
                Answer::Last(
                    found
                        .by_ref()
                        .filter(|m| m.subject == *subject)
                        .nth(behind)
                        .cloned(),
                )
            }
            Request::Load { key } => Answer::Values(self.seen(*key, way).into_iter().collect()),
            Request::List { keys } => {
                let all = self.keys.keys().filter(|key| keys.has(**key));
                Answer::Values(all.filter_map(|key| self.seen(*key, way)).collect())
            }
            Request::Swap { key, expect, value } => {
                let before = self.keys.get(key).map(|(now, _)| now.clone());
                if before.as_ref().map_or(0, |(revision, _)| *revision) != *expect {
                    return Answer::Refused;
                }
                self.revisions += 1;
                let now = (self.revisions, value.clone());
                self.keys.insert(*key, (now, before));
                Answer::Swapped {
                    revision: self.revisions,
                }
            }
            Request::Put { name, bytes } => {
                self.blobs.insert(name.clone(), bytes.clone());
                Answer::Kept
            }
            Request::Get { name } => Answer::Blob(self.blobs.get(name).cloned()),
        }
    }

    fn append(
        &mut self,
        stream: Stream,
        subject: u32,
        expect: u64,
        payload: &[u8],
        way: Way,
    ) -> Answer {
        let log = self.streams.entry(stream).or_default();
        let last = log.iter().rev().find(|message| message.subject == subject);
        let last = last.map_or(0, |message| message.sequence);
        if last != expect && way != Way::Race {
            return Answer::Refused;
        }
        let sequence = log.len() as u64 + 1;
        log.push(Message {
            sequence,
            subject,
            payload: payload.to_vec(),
        });
        Answer::Appended { sequence }
    }

    fn seen(&self, key: Key, way: Way) -> Option<(Key, u64, Vec<u8>)> {
        let (now, before) = self.keys.get(&key)?;
        let seen = match (way, before) {
            (Way::Stale, Some(before)) => before,
            _ => now,
        };
        Some((key, seen.0, seen.1.clone()))
    }
}

/// The bus that carries out every request when it is asked.
#[derive(Debug)]
pub struct MemoryBus<Ticket> {
    /// What it holds.
    pub memory: Memory,
    answers: VecDeque<(Ticket, Answer)>,
}

impl<Ticket> Default for MemoryBus<Ticket> {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            answers: VecDeque::new(),
        }
    }
}

impl<Ticket> Bus<Ticket> for MemoryBus<Ticket> {
    fn ask(&mut self, ticket: Ticket, request: Request) {
        let answer = self.memory.execute(&request, Way::Right);
        self.answers.push_back((ticket, answer));
    }

    fn answer(&mut self) -> Option<(Ticket, Answer)> {
        self.answers.pop_front()
    }
}
