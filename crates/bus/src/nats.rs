//! The bus itself: every request a task, every answer exactly once.
//!
//! A request that the server refused is refused; anything else that went wrong is a doubt, because a
//! request whose answer is missing may still be carried out. Nothing is tried again here: the
//! machines above know when that is safe.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use async_nats::jetstream::{Context, object_store};
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use turnstone_cluster::bus::{Answer, Bus, MESSAGE_BYTES_MAX, Message, Request};

use crate::connect::Options;
use crate::direct;
use crate::error::ConnectError;
use crate::names::Names;
use crate::place::Founding;

/// After this nobody knows.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// For blobs, which are large.
const BLOB_PATIENCE: Duration = Duration::from_secs(600);
/// The largest blob that is read into memory: a segment, compressed, and room to spare.
const BLOB_BYTES_MAX: u64 = 512 << 20;

/// A bus on NATS.
#[derive(Debug)]
pub struct NatsBus<Ticket> {
    servers: Arc<Servers>,
    runtime: Handle,
    sender: mpsc::UnboundedSender<(Ticket, Answer)>,
    receiver: mpsc::UnboundedReceiver<(Ticket, Answer)>,
}

/// What a task needs.
pub(crate) struct Servers {
    pub(crate) context: Context,
    pub(crate) names: Names,
    pub(crate) blobs: object_store::ObjectStore,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Servers")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl<Ticket: Send + 'static> NatsBus<Ticket> {
    /// Founds a crawl, or comes back to the one this founder founded.
    pub async fn found(options: &Options, founding: Founding) -> Result<Self, ConnectError> {
        let servers = crate::place::found(options, founding).await?;
        Ok(Self::on(servers))
    }

    /// Joins a crawl; returns how it was founded.
    pub async fn join(options: &Options) -> Result<(Self, Founding), ConnectError> {
        let (servers, founding) = crate::place::join(options).await?;
        Ok((Self::on(servers), founding))
    }

    fn on(servers: Servers) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            servers: Arc::new(servers),
            runtime: Handle::current(),
            sender,
            receiver,
        }
    }

    /// Waits for the next answer.
    pub async fn answered(&mut self) -> (Ticket, Answer) {
        self.receiver.recv().await.expect("this bus holds a sender")
    }
}

impl<Ticket: Send + 'static> Bus<Ticket> for NatsBus<Ticket> {
    fn ask(&mut self, ticket: Ticket, request: Request) {
        // Bounded: each machine has one request under way.
        let (servers, sender) = (Arc::clone(&self.servers), self.sender.clone());
        self.runtime.spawn(async move {
            let answer = servers.execute(request).await;
            // Nobody listens any more: the node has ended.
            let _ = sender.send((ticket, answer));
        });
    }

    fn answer(&mut self) -> Option<(Ticket, Answer)> {
        self.receiver.try_recv().ok()
    }
}

impl Servers {
    async fn execute(&self, request: Request) -> Answer {
        let patience = match request {
            Request::Put { .. } | Request::Get { .. } => BLOB_PATIENCE,
            _ => PATIENCE,
        };
        let done = tokio::time::timeout(patience, self.carry_out(request)).await;
        done.unwrap_or(Answer::Doubt)
    }

    async fn carry_out(&self, request: Request) -> Answer {
        match request {
            Request::Append {
                stream,
                subject,
                expect,
                payload,
            } => {
                let subject = self.names.subject(stream, subject);
                match self.publish(subject, expect, payload).await {
                    Ok(sequence) => Answer::Appended { sequence },
                    Err(answer) => answer,
                }
            }
            Request::Swap { key, expect, value } => {
                match self.publish(self.names.key(key), expect, value).await {
                    Ok(revision) => Answer::Swapped { revision },
                    Err(answer) => answer,
                }
            }
            Request::Read { stream, from } => {
                let name = self.names.stream(stream);
                let found = direct::from_sequence(&self.context, &name, from, PATIENCE).await;
                found
                    .and_then(messages)
                    .map_or(Answer::Doubt, Answer::Messages)
            }
            Request::Last { stream, subject } => {
                let name = self.names.stream(stream);
                match self.last(&name, &self.names.subject(stream, subject)).await {
                    Ok(last) => Answer::Last(last.map(|(sequence, payload)| Message {
                        sequence,
                        subject,
                        payload,
                    })),
                    Err(()) => Answer::Doubt,
                }
            }
            Request::Load { key } => {
                match self.last(&self.names.keys(), &self.names.key(key)).await {
                    Ok(last) => {
                        let found = last.map(|(revision, value)| (key, revision, value));
                        Answer::Values(found.into_iter().collect())
                    }
                    Err(()) => Answer::Doubt,
                }
            }
            Request::List { keys } => {
                let (name, subjects) = (self.names.keys(), self.names.keys_of(keys));
                let found = direct::last_of_each(&self.context, &name, &subjects, PATIENCE).await;
                found.map_or(Answer::Doubt, |found| {
                    let known = found.into_iter().filter_map(|found| {
                        Some((
                            self.names.key_of(&found.subject)?,
                            found.sequence,
                            found.payload,
                        ))
                    });
                    Answer::Values(known.collect())
                })
            }
            Request::Put { name, bytes } => self.put(&name, &bytes).await,
            Request::Get { name } => self.get(&name).await,
        }
    }

    /// Publishes at the expected end of a subject.
    async fn publish(&self, subject: String, expect: u64, payload: Vec<u8>) -> Result<u64, Answer> {
        assert!(
            payload.len() <= MESSAGE_BYTES_MAX,
            "a message of {} bytes",
            payload.len()
        );
        let message = PublishMessage::build()
            .payload(payload.into())
            .expected_last_subject_sequence(expect);
        let sent = self
            .context
            .send_publish(subject, message)
            .await
            .map_err(|_| Answer::Doubt)?;
        match sent.await {
            Ok(acknowledged) => Ok(acknowledged.sequence),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                Err(Answer::Refused)
            }
            Err(_) => Err(Answer::Doubt),
        }
    }

    /// The last message of a subject, from the leader.
    pub(crate) async fn last(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<(u64, Vec<u8>)>, ()> {
        let stream = self
            .context
            .get_stream_no_info(stream)
            .await
            .map_err(|_| ())?;
        match stream.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some((message.sequence, message.payload.to_vec()))),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(_) => Err(()),
        }
    }

    async fn put(&self, name: &str, mut bytes: &[u8]) -> Answer {
        match self.blobs.put(name, &mut bytes).await {
            Ok(_) => Answer::Kept,
            Err(_) => Answer::Doubt,
        }
    }

    async fn get(&self, name: &str) -> Answer {
        match self.blobs.get(name).await {
            Ok(object) => {
                let mut bytes = Vec::new();
                match object.take(BLOB_BYTES_MAX).read_to_end(&mut bytes).await {
                    Ok(_) => Answer::Blob(Some(bytes)),
                    Err(_) => Answer::Doubt,
                }
            }
            Err(error) if error.kind() == object_store::GetErrorKind::NotFound => {
                Answer::Blob(None)
            }
            Err(_) => Answer::Doubt,
        }
    }
}

fn messages(found: Vec<direct::Got>) -> Option<Vec<Message>> {
    found
        .into_iter()
        .map(|found| {
            let (_, subject) = found.subject.rsplit_once('.')?;
            Some(Message {
                sequence: found.sequence,
                subject: subject.parse().ok()?,
                payload: found.payload,
            })
        })
        .collect()
}
