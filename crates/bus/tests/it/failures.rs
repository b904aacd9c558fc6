//! A leader that dies, and an answer that is lost: the protocol's own writer over real servers.

use std::time::{Duration, Instant};

use turnstone_bus::{ConnectError, NatsBus};
use turnstone_cluster::bus::{Answer, Bus as _, Request, Stream};
use turnstone_cluster::chain::Ends;
use turnstone_cluster::writer::{News, Writer};
use turnstone_cluster::{NodeId, Shard};

use crate::nats_server::Servers;
use crate::proxy::Proxy;
use crate::{FOUNDING, ask, options};

const SHARD: Shard = Shard(0);

/// Publishes a journal of this length, 100 bytes a chunk; calls back with how much is durable.
async fn publish(bus: &mut NatsBus<u32>, journal: &[u8], mut durable_is: impl FnMut(u64)) {
    let mut writer = Writer::new(SHARD, (1, NodeId(1))).with_chunk_max(100);
    let end = Instant::now() + Duration::from_secs(50);
    let mut durable = 0;
    while durable < journal.len() as u64 {
        assert!(Instant::now() < end, "stuck at {durable}");
        let read = |from: u64, most: usize| {
            let rest = &journal[from as usize..];
            (rest[..rest.len().min(most)].to_vec(), Ends::Whole)
        };
        let request = writer
            .want_read()
            .or_else(|| writer.want_append(read))
            .expect("work is left");
        let answer = ask(bus, request).await;
        if answer == Answer::Doubt {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut news = Vec::new();
        writer.answered(answer, &mut news);
        for news in news {
            match news {
                News::Durable(position) => {
                    durable = position;
                    durable_is(position);
                }
                News::Bytes { position, bytes } => {
                    let at = position as usize;
                    assert_eq!(&journal[at..at + bytes.len()], bytes);
                }
                News::End => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// What a reader that knows nothing makes of the log.
async fn read_all(bus: &mut NatsBus<u32>) -> Vec<u8> {
    let mut reader = Writer::new(SHARD, (u64::MAX, NodeId(9)));
    let mut journal = Vec::new();
    while let Some(request) = reader.want_read() {
        let mut news = Vec::new();
        reader.answered(ask(bus, request).await, &mut news);
        for news in news {
            if let News::Bytes { bytes, .. } = news {
                journal.extend_from_slice(&bytes);
            }
        }
    }
    journal
}

/// A cluster of servers needs a moment to elect before it can be used.
async fn found(servers: &Servers) -> NatsBus<u32> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        match NatsBus::found(&options(servers.addresses()), FOUNDING).await {
            Ok(bus) => return bus,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_of_a_stream_is_killed() {
    let mut servers = Servers::three();
    let mut bus = found(&servers).await;
    let journal: Vec<u8> = (0..30_000u32).map(|number| (number / 7) as u8).collect();
    publish(&mut bus, &journal[..10_000], |_| ()).await;
    let client = async_nats::connect(servers.addresses()).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    let info = jetstream
        .get_stream("TS-test-J-0")
        .await
        .unwrap()
        .cached_info()
        .clone();
    assert_eq!(info.config.num_replicas, 3);
    let leader = info.cluster.unwrap().leader.unwrap();
    let number = leader.trim_start_matches('n').parse().unwrap();
    servers.kill(number);
    let (killed, mut pause) = (Instant::now(), None);
    publish(&mut bus, &journal, |durable| {
        if durable > 10_000 {
            pause.get_or_insert_with(|| killed.elapsed());
        }
    })
    .await;
    assert_eq!(read_all(&mut bus).await, journal);
    let pause = pause.expect("more became durable");
    println!("no acknowledgement for {pause:?}");
    assert!(
        pause < Duration::from_secs(18),
        "longer than a lease: {pause:?}"
    );
    let info = jetstream
        .get_stream("TS-test-J-0")
        .await
        .unwrap()
        .cached_info()
        .clone();
    let next = info.cluster.unwrap().leader.unwrap();
    assert_ne!(next, leader, "another server leads now");
    servers.begin(number);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_lost() {
    let servers = Servers::one("");
    let proxy = Proxy::to(servers.port(0)).await;
    let through = options(vec![format!("nats://127.0.0.1:{}", proxy.port)]);
    let mut bus: NatsBus<u32> = NatsBus::found(&through, FOUNDING).await.unwrap();
    let stream = Stream::Journal(SHARD);
    let append = |payload: &[u8]| Request::Append {
        stream,
        subject: 0,
        expect: 0,
        payload: payload.to_vec(),
    };
    proxy.swallow_answers(true);
    assert_eq!(ask(&mut bus, append(b"first")).await, Answer::Doubt);
    proxy.swallow_answers(false);
    // It was carried out; the client connects again by itself.
    let end = Instant::now() + Duration::from_secs(20);
    let last = loop {
        match ask(&mut bus, Request::Last { stream, subject: 0 }).await {
            Answer::Last(last) => break last,
            answer => assert!(Instant::now() < end, "{answer:?}"),
        }
    };
    assert_eq!(last.unwrap().payload, b"first");
    assert_eq!(ask(&mut bus, append(b"first")).await, Answer::Refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_answers_lost_and_still_one_history() {
    let servers = Servers::one("");
    let proxy = Proxy::to(servers.port(0)).await;
    let through = options(vec![format!("nats://127.0.0.1:{}", proxy.port)]);
    let mut bus: NatsBus<u32> = NatsBus::found(&through, FOUNDING).await.unwrap();
    let journal: Vec<u8> = (0..5_000u32).map(|number| number as u8).collect();
    let mut cuts = 0;
    publish(&mut bus, &journal, |durable| {
        if durable / 2_000 > cuts {
            cuts += 1;
            proxy.swallow_answers(true);
            let deaf = proxy.deafness();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(700)).await;
                deaf.store(false, std::sync::atomic::Ordering::SeqCst);
            });
        }
    })
    .await;
    assert_eq!(cuts, 2);
    let mut direct: NatsBus<u32> = NatsBus::found(&options(servers.addresses()), FOUNDING)
        .await
        .unwrap();
    assert_eq!(read_all(&mut direct).await, journal);
    drop(bus.answer());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_three_servers_are_too_few() {
    let mut servers = Servers::three();
    servers.kill(1);
    servers.kill(2);
    let error = NatsBus::<u32>::found(&options(servers.addresses()), FOUNDING).await;
    let error = error.expect_err("no quorum");
    let named = matches!(
        error,
        ConnectError::TooFewServers { .. } | ConnectError::NoJetStream { .. }
    );
    assert!(named, "{error}");
}
