//! Reading many messages with one request.
//!
//! JetStream answers a batched direct get (2.11 and later) with the messages themselves and an end
//! mark; any replica may answer, so what comes may be a moment old, which the protocol bears. A
//! consumer for each read was rejected: it is state on the servers, made and dropped every second.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::{Client, HeaderMap, Message, StatusCode};
use futures_util::StreamExt as _;

/// The most messages and bytes of one answer.
const BATCH: usize = 256;
const BYTES: usize = 4 << 20;

/// A message as a direct get brings it.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) sequence: u64,
    pub(crate) subject: String,
    pub(crate) payload: Vec<u8>,
}

/// Messages of a stream from a sequence on.
pub(crate) async fn from_sequence(
    context: &Context,
    stream: &str,
    from: u64,
    patience: Duration,
) -> Option<Vec<Got>> {
    let ask = serde_json::json!({
        "seq": from, "next_by_subj": ">", "batch": BATCH, "max_bytes": BYTES,
    });
    gather(&context.client(), stream, &ask, patience).await
}

/// The last message of every subject that matches.
pub(crate) async fn last_of_each(
    context: &Context,
    stream: &str,
    subjects: &str,
    patience: Duration,
) -> Option<Vec<Got>> {
    let ask = serde_json::json!({ "multi_last": [subjects], "batch": 1024 });
    gather(&context.client(), stream, &ask, patience).await
}

/// `None` unless the end mark came: half an answer is no answer.
async fn gather(
    client: &Client,
    stream: &str,
    ask: &serde_json::Value,
    patience: Duration,
) -> Option<Vec<Got>> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.ok()?;
    let subject = format!("$JS.API.DIRECT.GET.{stream}");
    let body = serde_json::to_vec(ask).ok()?;
    client
        .publish_with_reply(subject, inbox, body.into())
        .await
        .ok()?;
    let all = async {
        let mut found = Vec::new();
        while let Some(message) = answers.next().await {
            match message.status {
                None => found.push(read(message)?),
                // The end of the batch; or nothing is there at all.
                Some(status) if status == StatusCode::from_u16(204).ok()? => return Some(found),
                Some(StatusCode::NOT_FOUND) => return Some(found),
                Some(_) => return None,
            }
        }
        None
    };
    tokio::time::timeout(patience, all).await.ok().flatten()
}

fn read(message: Message) -> Option<Got> {
    let headers = message.headers.as_ref()?;
    let text =
        |headers: &HeaderMap, name: &str| headers.get(name).map(|value| value.as_str().to_owned());
    Some(Got {
        sequence: text(headers, "Nats-Sequence")?.parse().ok()?,
        subject: text(headers, "Nats-Subject")?,
        payload: message.payload.to_vec(),
    })
}
