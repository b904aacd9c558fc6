//! Every request, on one server.

use turnstone_bus::NatsBus;
use turnstone_cluster::bus::{Answer, Bus as _, Key, Keys, Message, Request, Stream};
use turnstone_cluster::{NodeId, Shard};

use crate::nats_server::Servers;
use crate::{FOUNDING, ask, options};

const J: Stream = Stream::Journal(Shard(0));

fn append(stream: Stream, subject: u32, expect: u64, payload: &[u8]) -> Request {
    Request::Append {
        stream,
        subject,
        expect,
        payload: payload.to_vec(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_keys_and_blobs() {
    let servers = Servers::one("");
    let mut bus: NatsBus<u32> = NatsBus::found(&options(servers.addresses()), FOUNDING)
        .await
        .unwrap();
    logs(&mut bus).await;
    keys(&mut bus).await;
    blobs(&mut bus).await;
    let (mut other, founding) = NatsBus::join(&options(servers.addresses())).await.unwrap();
    assert_eq!(founding, FOUNDING);
    let Answer::Messages(found) = ask(&mut other, Request::Read { stream: J, from: 1 }).await
    else {
        panic!("no messages")
    };
    assert_eq!(found.len(), 2);
}

async fn logs(bus: &mut NatsBus<u32>) {
    assert_eq!(
        ask(bus, Request::Read { stream: J, from: 1 }).await,
        Answer::Messages(vec![])
    );
    assert_eq!(
        ask(
            bus,
            Request::Last {
                stream: J,
                subject: 0
            }
        )
        .await,
        Answer::Last(None)
    );
    let large = vec![9; 512 << 10];
    assert_eq!(
        ask(bus, append(J, 0, 0, b"one")).await,
        Answer::Appended { sequence: 1 }
    );
    assert_eq!(ask(bus, append(J, 0, 0, b"other")).await, Answer::Refused);
    assert_eq!(
        ask(bus, append(J, 0, 1, &large)).await,
        Answer::Appended { sequence: 2 }
    );
    assert_eq!(ask(bus, append(J, 0, 1, b"late")).await, Answer::Refused);
    assert_eq!(ask(bus, append(J, 0, 9, b"early")).await, Answer::Refused);
    let message = |sequence, subject, payload: &[u8]| Message {
        sequence,
        subject,
        payload: payload.to_vec(),
    };
    let both = vec![message(1, 0, b"one"), message(2, 0, &large)];
    assert_eq!(
        ask(bus, Request::Read { stream: J, from: 1 }).await,
        Answer::Messages(both.clone())
    );
    assert_eq!(
        ask(bus, Request::Read { stream: J, from: 2 }).await,
        Answer::Messages(both[1..].to_vec())
    );
    assert_eq!(
        ask(bus, Request::Read { stream: J, from: 3 }).await,
        Answer::Messages(vec![])
    );
    // A lane: each subject has its own end, the sequence is the log's.
    let lane = Stream::Lane(0);
    assert_eq!(
        ask(bus, append(lane, 0, 0, b"a")).await,
        Answer::Appended { sequence: 1 }
    );
    assert_eq!(
        ask(bus, append(lane, 1, 0, b"b")).await,
        Answer::Appended { sequence: 2 }
    );
    assert_eq!(
        ask(bus, append(lane, 0, 1, b"c")).await,
        Answer::Appended { sequence: 3 }
    );
    assert_eq!(
        ask(
            bus,
            Request::Last {
                stream: lane,
                subject: 1
            }
        )
        .await,
        Answer::Last(Some(message(2, 1, b"b")))
    );
    let Answer::Messages(all) = ask(
        bus,
        Request::Read {
            stream: lane,
            from: 1,
        },
    )
    .await
    else {
        panic!("no messages")
    };
    assert_eq!(
        all.iter().map(|one| one.subject).collect::<Vec<_>>(),
        [0, 1, 0]
    );
    many(bus).await;
}

/// More than one read brings: it says how far it got by what it brings.
async fn many(bus: &mut NatsBus<u32>) {
    let stream = Stream::Journal(Shard(1));
    for number in 0..300u64 {
        let answer = ask(bus, append(stream, 1, number, &number.to_le_bytes())).await;
        assert_eq!(
            answer,
            Answer::Appended {
                sequence: number + 1
            }
        );
    }
    let (mut from, mut read) = (1, 0);
    while let Answer::Messages(found) = ask(bus, Request::Read { stream, from }).await {
        let Some(last) = found.last() else { break };
        from = last.sequence + 1;
        read += found.len();
    }
    assert_eq!(read, 300);
}

async fn keys(bus: &mut NatsBus<u32>) {
    let key = Key::Lease(Shard(3));
    let swap = |key, expect, value: &[u8]| Request::Swap {
        key,
        expect,
        value: value.to_vec(),
    };
    assert_eq!(
        ask(bus, Request::Load { key }).await,
        Answer::Values(vec![])
    );
    assert_eq!(
        ask(bus, Request::List { keys: Keys::Leases }).await,
        Answer::Values(vec![])
    );
    let Answer::Swapped { revision } = ask(bus, swap(key, 0, b"mine")).await else {
        panic!("not swapped")
    };
    assert_eq!(ask(bus, swap(key, 0, b"yours")).await, Answer::Refused);
    assert!(matches!(
        ask(bus, swap(Key::Node(NodeId(9)), 0, b"n")).await,
        Answer::Swapped { .. }
    ));
    assert!(matches!(
        ask(bus, swap(Key::Lease(Shard(4)), 0, b"4")).await,
        Answer::Swapped { .. }
    ));
    assert_eq!(
        ask(bus, swap(key, revision + 1, b"yours")).await,
        Answer::Refused
    );
    let Answer::Swapped { revision } = ask(bus, swap(key, revision, b"again")).await else {
        panic!("not swapped")
    };
    let found = (key, revision, b"again".to_vec());
    assert_eq!(
        ask(bus, Request::Load { key }).await,
        Answer::Values(vec![found.clone()])
    );
    let Answer::Values(mut all) = ask(bus, Request::List { keys: Keys::Leases }).await else {
        panic!("no list")
    };
    all.sort();
    assert_eq!(all.len(), 2, "leases only: {all:?}");
    assert_eq!(all[0], found);
}

async fn blobs(bus: &mut NatsBus<u32>) {
    let name = "segment-1".to_owned();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|number| number as u8).collect();
    assert_eq!(
        ask(bus, Request::Get { name: name.clone() }).await,
        Answer::Blob(None)
    );
    let put = Request::Put {
        name: name.clone(),
        bytes: bytes.clone(),
    };
    assert_eq!(ask(bus, put).await, Answer::Kept);
    assert_eq!(
        ask(bus, Request::Get { name }).await,
        Answer::Blob(Some(bytes))
    );
    assert_eq!(bus.answer(), None);
}
