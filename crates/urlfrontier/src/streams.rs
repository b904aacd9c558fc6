//! The streams in which URLs are put: read ahead, taken in together, acknowledged in order.
//!
//! Whatever has arrived is taken in at once, up to [`TOGETHER`] items, and [`AHEAD`] such groups may be waiting for
//! the disk; then nothing more is read, and the client feels HTTP/2's flow control. Acknowledgements go out while
//! the stream is open: a client may keep one for the life of its crawl.

use std::pin::Pin;

use futures_util::{FutureExt as _, Stream, stream};
use tokio::sync::{mpsc, oneshot};
use tonic::{Code, Response, Status, Streaming};

use crate::owner::{Answer, Owner, ended};
use crate::puts::{self, Put};
use crate::wire::turnstone::PageBatch;
use crate::wire::urlfrontier::ack_message;
use crate::wire::urlfrontier::{AckMessage, BatchAck, DiscoveredBatch, UrlItem, url_item};

/// The most items that are taken in together.
const TOGETHER: usize = 256;
/// How many groups may wait for their acknowledgements: with those being gathered, 1,024 items.
const AHEAD: usize = 3;
/// How many batches may: they are large.
const BATCHES_AHEAD: usize = 16;

/// What is sent to a client.
pub(crate) type Sent<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// What waits for the disk.
struct Waiting<H> {
    /// What the client called its items, in order.
    heads: H,
    statuses: oneshot::Receiver<Result<Vec<ack_message::Status>, Status>>,
}

/// A stream of single items.
pub(crate) fn items(owner: Owner, mut asked: Streaming<UrlItem>) -> Response<Sent<AckMessage>> {
    let (sender, waiting) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        loop {
            let mut items = Vec::new();
            let mut end = match asked.message().await {
                Ok(Some(item)) => {
                    items.push(item);
                    None
                }
                Ok(None) => Some(None),
                Err(status) => Some(Some(clear(&status))),
            };
            while end.is_none() && items.len() < TOGETHER {
                match asked.message().now_or_never() {
                    Some(Ok(Some(item))) => items.push(item),
                    Some(Ok(None)) => end = Some(None),
                    Some(Err(status)) => end = Some(Some(clear(&status))),
                    None => break,
                }
            }
            if !items.is_empty() {
                let ids = items.iter().map(id).collect::<Vec<String>>();
                let puts = items.into_iter().map(Put::item).collect();
                if !hand_over(&owner, &sender, ids, puts).await {
                    return;
                }
            }
            match end {
                None => {}
                Some(None) => return,
                Some(Some(status)) => {
                    let _ = sender.send(Err(status)).await;
                    return;
                }
            }
        }
    });
    let acks = stream::unfold(
        (waiting, Vec::new().into_iter()),
        |(mut waiting, mut ready)| async {
            loop {
                if let Some(ack) = ready.next() {
                    return Some((Ok(ack), (waiting, ready)));
                }
                let Waiting { heads, statuses } = match waiting.recv().await? {
                    Ok(group) => group,
                    Err(status) => return Some((Err(status), (waiting, ready))),
                };
                let heads: Vec<String> = heads;
                // What cannot be kept may be sent again.
                let statuses = statuses.await.unwrap_or_else(|_| Err(ended()));
                let failed = || vec![ack_message::Status::Fail; heads.len()];
                let statuses = statuses.unwrap_or_else(|_| failed());
                let acks = heads
                    .into_iter()
                    .zip(statuses)
                    .map(|(id, status)| AckMessage {
                        id,
                        status: status.into(),
                    });
                ready = acks.collect::<Vec<_>>().into_iter();
            }
        },
    );
    Response::new(Box::pin(acks))
}

/// A batch of something to put.
pub(crate) trait Batch: Send + 'static {
    /// Its name, and what it holds.
    fn parts(self) -> (String, Vec<Put>);
}

impl Batch for DiscoveredBatch {
    fn parts(self) -> (String, Vec<Put>) {
        let puts = self.items.into_iter().map(Put::discovered);
        (self.id, puts.collect())
    }
}

impl Batch for PageBatch {
    fn parts(self) -> (String, Vec<Put>) {
        let puts = self.pages.into_iter().map(Put::page);
        (self.id, puts.collect())
    }
}

/// A stream of batches.
pub(crate) fn batches<B: Batch>(owner: Owner, mut asked: Streaming<B>) -> Response<Sent<BatchAck>> {
    let (sender, waiting) = mpsc::channel(BATCHES_AHEAD - 1);
    tokio::spawn(async move {
        loop {
            match asked.message().await {
                Ok(Some(batch)) => {
                    let (id, puts) = batch.parts();
                    let head = (id, puts.len());
                    if !hand_over(&owner, &sender, head, puts).await {
                        return;
                    }
                }
                Ok(None) => return,
                Err(status) => {
                    let _ = sender.send(Err(clear(&status))).await;
                    return;
                }
            }
        }
    });
    let acks = stream::unfold(waiting, |mut waiting| async {
        let Waiting { heads, statuses } = match waiting.recv().await? {
            Ok(group) => group,
            Err(status) => return Some((Err(status), waiting)),
        };
        let (id, count): (String, usize) = heads;
        let statuses = statuses.await.unwrap_or_else(|_| Err(ended()));
        let statuses = statuses.unwrap_or_else(|_| vec![ack_message::Status::Fail; count]);
        let statuses = statuses.into_iter().map(i32::from).collect();
        Some((Ok(BatchAck { id, statuses }), waiting))
    });
    Response::new(Box::pin(acks))
}

/// Gives a group to the owner. Returns whether somebody still waits for its acknowledgement.
async fn hand_over<H>(
    owner: &Owner,
    sender: &mpsc::Sender<Result<Waiting<H>, Status>>,
    heads: H,
    puts: Vec<Put>,
) -> bool {
    let job = move |crawls: &mut crate::crawls::Crawls| Ok(puts::take(crawls, &puts));
    let group = match owner.submit(Answer::Durable, job).await {
        Ok(statuses) => Ok(Waiting { heads, statuses }),
        Err(status) => Err(status),
    };
    let goes_on = group.is_ok();
    sender.send(group).await.is_ok() && goes_on
}

/// What an item is called: its ID, or else its URL.
fn id(item: &UrlItem) -> String {
    if !item.id.is_empty() {
        return item.id.clone();
    }
    let info = match &item.item {
        Some(url_item::Item::Discovered(discovered)) => discovered.info.as_ref(),
        Some(url_item::Item::Known(known)) => known.info.as_ref(),
        None => None,
    };
    info.map(|info| info.url.clone()).unwrap_or_default()
}

/// An error of the stream, with what it means for the client.
fn clear(status: &Status) -> Status {
    let taken = "what was acknowledged is kept, and nothing behind it was taken";
    match status.code() {
        Code::OutOfRange => Status::resource_exhausted(format!(
            "{}: send smaller batches; {taken}",
            status.message()
        )),
        Code::Internal => Status::invalid_argument(format!(
            "not a message of this call: {}; {taken}",
            status.message()
        )),
        _ => status.clone(),
    }
}
