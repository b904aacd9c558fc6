//! A crawl's place on the servers: its streams, and the one key that says whose they are.
//!
//! The founder writes `founding` once: the format, an identity drawn at random, and how the crawl
//! is cut. Whoever joins reads it; another identity under the same name is another crawl. Three
//! copies of everything where the servers form a cluster, one where there is a single server.
//!
//! The clock is compared by writing a message and reading the time its leader gave it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RetentionPolicy, StorageType,
};
use async_nats::jetstream::{self, Context, object_store};
use turnstone_cluster::bus::{MESSAGE_BYTES_MAX, Stream};
use turnstone_cluster::shard::{SHARDS_MAX, Shard};
use turnstone_cluster::wire::{Cursor, Malformed, Put as _};

use crate::connect::{Options, connect};
use crate::error::ConnectError;
use crate::names::Names;
use crate::nats::{PATIENCE, Servers};

/// The format of everything on the servers.
const FORMAT: u32 = 1;
/// How often a clock is compared that others compare at the same moment.
const CLOCK_TRIES: u32 = 20;
/// How far clocks may differ.
const SKEW_MS_MAX: i64 = 1_000;

/// How a crawl was founded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Founding {
    /// Drawn at random by the founder.
    pub identity: [u8; 16],
    /// How many shards it has.
    pub shards: u32,
    /// How many lanes.
    pub lanes: u32,
}

impl Founding {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_number(u64::from(FORMAT));
        out.extend_from_slice(&self.identity);
        out.put_number(u64::from(self.shards));
        out.put_number(u64::from(self.lanes));
        out
    }

    fn decode(bytes: &[u8], name: &str) -> Result<Self, ConnectError> {
        let read = || -> Result<(u32, Option<Self>), Malformed> {
            let mut from = Cursor::new(bytes);
            let format = from.small()?;
            if format > FORMAT {
                return Ok((format, None));
            }
            let founding = Self {
                identity: from.array()?,
                shards: from.small()?,
                lanes: from.small()?,
            };
            from.end()?;
            if founding.shards > SHARDS_MAX || founding.lanes > founding.shards {
                return Err(Malformed("more shards than there can be"));
            }
            Ok((format, Some(founding)))
        };
        match read() {
            Ok((_, Some(founding))) => Ok(founding),
            Ok((found, None)) => Err(ConnectError::Newer {
                name: name.to_owned(),
                found,
                known: FORMAT,
            }),
            Err(error) => Err(ConnectError::server(format!(
                "the founding of crawl {name}"
            ))(&error)),
        }
    }
}

/// Founds a crawl, or comes back to it.
pub(crate) async fn found(options: &Options, founding: Founding) -> Result<Servers, ConnectError> {
    let names = Names::new(&options.crawl)?;
    let (client, info) = connect(options).await?;
    let context = jetstream::new(client);
    let copies = if info.cluster.is_some() { 3 } else { 1 };
    make_keys(&context, &names, copies).await?;
    compare_clocks(&context, &names, options.clock_offset_ms).await?;
    let subject = names.key_named("founding");
    let message = PublishMessage::build()
        .payload(founding.encode().into())
        .expected_last_subject_sequence(0);
    let said = ConnectError::server(format!("founding crawl {}", names.crawl()));
    let sent = match context.send_publish(subject, message).await {
        Ok(sent) => sent.await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(_) => {}
        Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
            if read_founding(&context, &names).await? != Some(founding) {
                let name = names.crawl().to_owned();
                return Err(ConnectError::NameTaken { name });
            }
        }
        Err(error) => return Err(said(&error)),
    }
    let journals = (0..founding.shards).map(|shard| Stream::Journal(Shard(shard)));
    for stream in journals.chain((0..founding.lanes).map(Stream::Lane)) {
        let subjects = names.subjects(stream);
        make_stream(&context, config(names.stream(stream), subjects, copies)).await?;
    }
    let blobs = make_blobs(&context, &names, copies).await?;
    Ok(Servers {
        context,
        names,
        blobs,
    })
}

/// Joins a crawl.
pub(crate) async fn join(options: &Options) -> Result<(Servers, Founding), ConnectError> {
    let names = Names::new(&options.crawl)?;
    let (client, _) = connect(options).await?;
    let context = jetstream::new(client);
    let nobody = || ConnectError::NoSuchCrawl {
        name: names.crawl().to_owned(),
    };
    let founding = read_founding(&context, &names).await?.ok_or_else(nobody)?;
    compare_clocks(&context, &names, options.clock_offset_ms).await?;
    let blobs = context
        .get_object_store(names.blobs())
        .await
        .map_err(|_| nobody())?;
    Ok((
        Servers {
            context,
            names,
            blobs,
        },
        founding,
    ))
}

async fn read_founding(context: &Context, names: &Names) -> Result<Option<Founding>, ConnectError> {
    let said = ConnectError::server(format!("reading the founding of crawl {}", names.crawl()));
    let Ok(stream) = context.get_stream(names.keys()).await else {
        return Ok(None);
    };
    match stream
        .get_last_raw_message_by_subject(&names.key_named("founding"))
        .await
    {
        Ok(message) => Founding::decode(&message.payload, names.crawl()).map(Some),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(said(&error)),
    }
}

fn config(name: String, subjects: String, copies: usize) -> Config {
    Config {
        name,
        subjects: vec![subjects],
        storage: StorageType::File,
        num_replicas: copies,
        retention: RetentionPolicy::Limits,
        // Full is full: nothing old is dropped to make room.
        discard: DiscardPolicy::New,
        deny_delete: true,
        allow_direct: true,
        max_message_size: i32::try_from(MESSAGE_BYTES_MAX).expect("a megabyte"),
        // Numbers and fingerprints find what comes twice; the servers need not remember it.
        duplicate_window: Duration::from_millis(100),
        metadata: HashMap::from([("turnstone-format".to_owned(), FORMAT.to_string())]),
        ..Config::default()
    }
}

async fn make_keys(context: &Context, names: &Names, copies: usize) -> Result<(), ConnectError> {
    let keys = Config {
        max_messages_per_subject: 1,
        discard: DiscardPolicy::Old,
        ..config(names.keys(), names.key_named(">"), copies)
    };
    make_stream(context, keys).await
}

/// Makes a stream, or checks that it is as it should be.
async fn make_stream(context: &Context, wanted: Config) -> Result<(), ConnectError> {
    let (name, copies) = (wanted.name.clone(), wanted.num_replicas);
    match context.get_or_create_stream(wanted).await {
        Ok(stream) => {
            let found = stream.cached_info().config.num_replicas;
            if found == copies {
                Ok(())
            } else {
                Err(ConnectError::Copies {
                    stream: name,
                    found,
                    wanted: copies,
                })
            }
        }
        Err(error) if copies > 1 => Err(ConnectError::TooFewServers {
            detail: error.to_string(),
        }),
        Err(error) => Err(ConnectError::server(format!("making stream {name}"))(
            &error,
        )),
    }
}

async fn make_blobs(
    context: &Context,
    names: &Names,
    copies: usize,
) -> Result<object_store::ObjectStore, ConnectError> {
    if let Ok(blobs) = context.get_object_store(names.blobs()).await {
        return Ok(blobs);
    }
    let config = object_store::Config {
        bucket: names.blobs(),
        storage: StorageType::File,
        num_replicas: copies,
        ..object_store::Config::default()
    };
    let made = context.create_object_store(config).await;
    made.map_err(|error| ConnectError::server("making the object store")(&error))
}

/// Refuses if this machine's clock is too far from the servers'.
async fn compare_clocks(
    context: &Context,
    names: &Names,
    offset_ms: i64,
) -> Result<(), ConnectError> {
    let said = |error: &dyn std::fmt::Display| ConnectError::server("comparing clocks")(error);
    let subject = names.key_named("clock");
    let now = || {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis())
            .unwrap_or(i64::MAX)
            .saturating_add(offset_ms)
    };
    let stream = context
        .get_stream_no_info(names.keys())
        .await
        .map_err(|error| said(&error))?;
    let mut tries = 0;
    let (before, after, message) = loop {
        let before = now();
        let sent = context
            .publish(subject.clone(), Vec::new().into())
            .await
            .map_err(|error| said(&error))?;
        let sequence = sent.await.map_err(|error| said(&error))?.sequence;
        let after = now();
        let message = tokio::time::timeout(PATIENCE, stream.get_raw_message(sequence)).await;
        tries += 1;
        match message.map_err(|error| said(&error))? {
            Ok(message) => break (before, after, message),
            // Another node that joins at this moment wrote over it.
            Err(_) if tries < CLOCK_TRIES => {}
            Err(error) => return Err(said(&error)),
        }
    };
    let theirs = i64::try_from(message.time.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
    // Somewhere between sending and hearing: only what is outside is certain.
    let ahead_ms = if theirs < before {
        before - theirs
    } else {
        (after - theirs).min(0)
    };
    if ahead_ms.abs() > SKEW_MS_MAX {
        return Err(ConnectError::Skew { ahead_ms });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_founding_is_named() {
        let founding = Founding {
            identity: [7; 16],
            shards: 16,
            lanes: 16,
        };
        let mut bytes = founding.encode();
        assert_eq!(Founding::decode(&bytes, "web").unwrap(), founding);
        for cut in 0..bytes.len() {
            assert!(Founding::decode(&bytes[..cut], "web").is_err());
        }
        bytes[0] += 1;
        let error = Founding::decode(&bytes, "web").unwrap_err();
        assert!(matches!(
            error,
            ConnectError::Newer {
                found: 2,
                known: 1,
                ..
            }
        ));
    }
}
