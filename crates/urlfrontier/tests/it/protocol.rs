//! The rules of the protocol, one after the other: what is put, what is lent, what is told.

use std::time::{SystemTime, UNIX_EPOCH};

use turnstone_urlfrontier::wire::turnstone::{Page, PageBatch};
use turnstone_urlfrontier::wire::urlfrontier::ack_message::Status;
use turnstone_urlfrontier::wire::urlfrontier::*;

use crate::stand::{Client, Stand, discovered, info, known, settings};

fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn urls(lent: &[UrlInfo]) -> Vec<&str> {
    lent.iter().map(|info| info.url.as_str()).collect()
}

/// A second later, in the clock of the server: hosts rest in whole seconds.
async fn next_second() {
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
}

async fn get_all(client: &mut Client) -> Vec<String> {
    let mut all: Vec<String> = client
        .get(0, 0)
        .await
        .into_iter()
        .map(|info| info.url)
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn what_is_put_is_acknowledged_by_the_rules() {
    let (_stand, mut client) = Stand::start(settings()).await;
    let named = |id: &str, mut item: UrlItem| {
        item.id = id.to_owned();
        item
    };
    let acks = client
        .put(vec![
            named("new", discovered(info("", "", "http://a.example/1"))),
            named("again", discovered(info("", "", "http://a.example/1"))),
            discovered(info("", "a.example", "http://a.example/1")),
            named(
                "other queue",
                discovered(info("", "q_1", "http://a.example/1")),
            ),
            named(
                "other crawl",
                discovered(info("c_2", "", "http://a.example/1")),
            ),
            named("no key", discovered(info("", "", ""))),
            named(
                "long key",
                discovered(info("", &"k".repeat(256), "http://a.example/2")),
            ),
            named("neither", UrlItem::default()),
            named(
                "done before it was known",
                known(info("", "", "http://a.example/3"), 0),
            ),
            named("done", discovered(info("", "", "http://a.example/3"))),
            named("known", known(info("", "", "http://a.example/4"), 7)),
            named(
                "long URL",
                discovered(info(
                    "",
                    "",
                    &format!("http://a.example/{}", "x".repeat(70_000)),
                )),
            ),
        ])
        .await;
    let expected = [
        ("new", Status::Ok),
        ("again", Status::Skipped),
        ("http://a.example/1", Status::Skipped),
        ("other queue", Status::Ok),
        ("other crawl", Status::Ok),
        ("no key", Status::Skipped),
        ("long key", Status::Skipped),
        ("neither", Status::Skipped),
        ("done before it was known", Status::Ok),
        ("done", Status::Skipped),
        ("known", Status::Ok),
        ("long URL", Status::Skipped),
    ];
    let acks: Vec<(&str, Status)> = acks
        .iter()
        .map(|(id, status)| (id.as_str(), *status))
        .collect();
    assert_eq!(acks, expected);
    assert_eq!(client.stats("", "a.example").await, (2, 1, 0));
    assert_eq!(client.stats("DEFAULT", "").await, (3, 1, 0));
    assert_eq!(client.stats("c_2", "").await, (1, 0, 0));
    assert_eq!(client.stats("nobody", "").await, (0, 0, 0));

    let batch = DiscoveredBatch {
        id: "b".to_owned(),
        items: [
            "http://b.example/1",
            "http://b.example/1",
            "",
            "http://a.example/3",
        ]
        .map(|url| info("", "", url))
        .into(),
    };
    let empty = DiscoveredBatch {
        id: "probe".to_owned(),
        items: Vec::new(),
    };
    let sent = tokio_stream::iter([batch, empty]);
    let mut acks = client
        .calls
        .put_discovered(sent)
        .await
        .unwrap()
        .into_inner();
    let ack = acks.message().await.unwrap().unwrap();
    let statuses = [
        Status::Ok,
        Status::Skipped,
        Status::Skipped,
        Status::Skipped,
    ];
    assert_eq!(
        (ack.id.as_str(), ack.statuses),
        ("b", statuses.map(i32::from).to_vec())
    );
    let ack = acks.message().await.unwrap().unwrap();
    assert_eq!((ack.id.as_str(), ack.statuses.len()), ("probe", 0));
    assert!(acks.message().await.unwrap().is_none());
}

#[tokio::test]
async fn acknowledgements_come_while_the_stream_is_open() {
    let (_stand, mut client) = Stand::start(settings()).await;
    let (sender, items) = tokio::sync::mpsc::channel(8);
    let items = tokio_stream::wrappers::ReceiverStream::new(items);
    let mut acks = client.calls.put_ur_ls(items).await.unwrap().into_inner();
    for number in 0..3 {
        let url = format!("http://a.example/{number}");
        sender.send(discovered(info("", "", &url))).await.unwrap();
        assert_eq!(acks.message().await.unwrap().unwrap().id, url);
    }
    drop(sender);
    assert!(acks.message().await.unwrap().is_none());
    // Far ahead of the acknowledgements nothing locks up.
    let many: Vec<UrlItem> = (0..20_000)
        .map(|number| discovered(info("", "", &format!("http://b.example/{number}"))))
        .collect();
    assert_eq!(client.put(many).await.len(), 20_000);
    assert_eq!(client.stats("", "b.example").await.0, 20_000);
}

#[tokio::test]
async fn urls_are_lent_oldest_first_and_come_back() {
    let (_stand, mut client) = Stand::start(settings()).await;
    let mut first = info("", "h.example", "http://h.example/seven");
    let list = |values: &[&str]| StringList {
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    first.metadata.insert("depth".into(), list(&["1"]));
    client
        .put(vec![
            known(first.clone(), 7),
            known(info("", "h.example", "http://h.example/one"), 1),
            known(
                info("", "h.example", "http://h.example/later"),
                now_s() + 1000,
            ),
            known(info("", "g.example", "http://g.example/nine"), 9),
        ])
        .await;
    // Due pages only, at most one of a queue.
    let lent = client.get(1, 0).await;
    assert_eq!(
        urls(&lent),
        ["http://h.example/one", "http://g.example/nine"]
    );
    assert_eq!(lent[0].key, "h.example");
    assert_eq!(lent[0].crawl_id, "DEFAULT");
    // The queues rest now, and one of h.example is lent: that many are enough for this caller.
    assert!(client.get(1, 0).await.is_empty());
    next_second().await;
    assert!(client.get(1, 0).await.is_empty(), "one is lent already");
    let lent = client.get(2, 0).await;
    assert_eq!(urls(&lent), ["http://h.example/seven"]);
    assert_eq!(lent[0].metadata, first.metadata);
    assert_eq!(client.stats("", "h.example").await, (3, 0, 2));

    // What is told ends the loan; what is done is never lent again.
    client
        .put(vec![
            known(first, 0),
            known(info("", "h.example", "http://h.example/one"), 3),
        ])
        .await;
    assert_eq!(client.stats("", "h.example").await, (2, 1, 0));
    next_second().await;
    assert_eq!(urls(&client.get(5, 1).await), ["http://h.example/one"]);
}

#[tokio::test]
async fn a_loan_ends_by_itself() {
    let (_stand, mut client) = Stand::start(settings()).await;
    client
        .put_one(discovered(info("", "", "http://a.example/")))
        .await;
    let short = GetParams {
        delay_requestable: 2,
        ..GetParams::default()
    };
    assert_eq!(client.get_of(short.clone()).await.len(), 1);
    next_second().await;
    assert!(client.get_of(short.clone()).await.is_empty(), "it is lent");
    next_second().await;
    let mut tries = 0;
    while client.get_of(short.clone()).await.is_empty() {
        tries += 1;
        assert!(tries < 50, "the loan has not ended");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(client.stats("", "").await, (1, 0, 1));
}

#[tokio::test]
async fn concurrent_calls_lend_no_page_twice() {
    let (_stand, mut client) = Stand::start(settings()).await;
    let items = (0..2000).map(|number| {
        discovered(info(
            "",
            &format!("q{}", number % 50),
            &format!("http://x/{number}"),
        ))
    });
    client.put(items.collect()).await;
    let calls = (0..8).map(|_| {
        let mut client = client.clone();
        tokio::spawn(async move {
            let mut all = Vec::new();
            for _ in 0..25 {
                all.extend(client.get(7, 3).await);
            }
            all
        })
    });
    let mut all = Vec::new();
    let mut queues = std::collections::BTreeMap::new();
    for call in calls.collect::<Vec<_>>() {
        for lent in call.await.unwrap() {
            *queues.entry(lent.key).or_insert(0) += 1;
            all.push(lent.url);
        }
    }
    let lent = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), lent, "a page was lent twice");
    assert!(lent >= 50 * 7, "{lent}");
    let most = queues.values().max().copied().unwrap_or(0);
    assert!(
        most < 40,
        "a queue was lent from more often than once a second: {most}"
    );
}

#[tokio::test]
async fn queues_rest_are_blocked_and_have_limits() {
    let (_stand, mut client) = Stand::start(settings()).await;
    for queue in ["a", "b"] {
        for number in 0..4 {
            let url = format!("http://{queue}/{number}");
            client.put_one(discovered(info("", queue, &url))).await;
        }
    }
    let block = |key: &str, time| BlockQueueParams {
        key: key.to_owned(),
        time,
        ..BlockQueueParams::default()
    };
    client
        .calls
        .block_queue_until(block("a", now_s() + 1000))
        .await
        .unwrap();
    client
        .calls
        .block_queue_until(block("nobody", 5))
        .await
        .unwrap();
    assert_eq!(client.get(1, 0).await[0].key, "b");
    let list = |include_inactive| Pagination {
        include_inactive,
        ..Pagination::default()
    };
    let active = client
        .calls
        .list_queues(list(false))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (active.values, active.size, active.crawl_id.as_str()),
        (vec!["b".to_owned()], 1, "DEFAULT")
    );
    let all = client
        .calls
        .list_queues(list(true))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(all.values, ["a", "b"]);
    client.calls.block_queue_until(block("a", 0)).await.unwrap();
    // A rest of its own, kept to the second: after one it has not rested yet.
    let delay = QueueDelayParams {
        key: "a".to_owned(),
        delay_requestable: 1,
        ..QueueDelayParams::default()
    };
    client.calls.set_delay(delay).await.unwrap();
    let of = |key: &str| GetParams {
        key: key.to_owned(),
        max_urls_per_queue: 9,
        item: Some(get_params::Item::CrawlId(String::new())),
        ..GetParams::default()
    };
    let began = std::time::Instant::now();
    let mut one = of("a");
    one.max_urls_per_queue = 1;
    assert_eq!(client.get_of(one).await.len(), 1);
    let mut two = of("a");
    two.max_urls_per_queue = 2;
    while client.get_of(two.clone()).await.is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(began.elapsed().as_secs() < 20);
    }
    assert!(began.elapsed().as_millis() >= 1000, "{:?}", began.elapsed());
    // A limit on what is completed.
    let limit = |key: &str, limit| CrawlLimitParams {
        key: key.to_owned(),
        limit,
        ..CrawlLimitParams::default()
    };
    assert_eq!(
        client
            .calls
            .set_crawl_limit(limit("nobody", 1))
            .await
            .unwrap_err()
            .code(),
        tonic::Code::NotFound
    );
    client.calls.set_crawl_limit(limit("b", 1)).await.unwrap();
    client.put_one(known(info("", "b", "http://b/0"), 0)).await;
    next_second().await;
    assert!(client.get_of(of("b")).await.is_empty());
    client.calls.set_crawl_limit(limit("b", 0)).await.unwrap();
    assert_eq!(client.get_of(of("b")).await.len(), 3);
    // A key without its crawl is nothing, and neither is anything while the server is not active.
    next_second().await;
    let mut loose = of("a");
    loose.item = None;
    assert!(client.get_of(loose).await.is_empty());
    let active = |state| Active {
        state,
        local: false,
    };
    client.calls.set_active(active(false)).await.unwrap();
    assert!(
        !client
            .calls
            .get_active(Local::default())
            .await
            .unwrap()
            .into_inner()
            .state
    );
    assert!(get_all(&mut client).await.is_empty());
    client.calls.set_active(active(true)).await.unwrap();
    client
        .calls
        .set_log_level(LogLevelParams::default())
        .await
        .unwrap();
    let nodes = client
        .calls
        .list_nodes(Empty {})
        .await
        .unwrap()
        .into_inner()
        .values;
    assert_eq!(nodes.len(), 1);
}

#[tokio::test]
async fn urls_are_listed_counted_and_forgotten() {
    let (stand, mut client) = Stand::start(settings()).await;
    for number in 0..30 {
        let queue = format!("q{}", number % 3);
        let url = format!("http://Host/{number}");
        client.put_one(discovered(info("c", &queue, &url))).await;
    }
    client
        .put_one(known(info("c", "q0", "http://Host/0"), 0))
        .await;
    client
        .put_one(known(info("c", "q1", "http://Host/1"), 77))
        .await;
    let of = |key: &str| ListUrlParams {
        key: key.to_owned(),
        crawl_id: "c".to_owned(),
        size: i32::MAX as u32,
        ..ListUrlParams::default()
    };
    let listed = client.list(of("q1")).await;
    assert_eq!(listed.len(), 10);
    let Some(url_item::Item::Known(first)) = &listed[0].item else {
        panic!("every item is a known one");
    };
    assert_eq!(first.refetchable_from_date, 77);
    assert_eq!(first.info.as_ref().unwrap().key, "q1");
    assert!(listed[0].creation_date + 60 > now_s() && listed[0].creation_date <= now_s());
    let mut some = of("");
    (some.start, some.size) = (4, 5);
    (some.filter, some.ignore_case) = (Some("HOST/2".to_owned()), Some(true));
    let some: Vec<UrlItem> = client.list(some).await;
    assert_eq!(some.len(), 5, "of 2 and 20 to 29 those from the fifth on");
    let count = |key: &str, filter: Option<&str>| CountUrlParams {
        key: key.to_owned(),
        crawl_id: "c".to_owned(),
        filter: filter.map(str::to_owned),
        ..CountUrlParams::default()
    };
    for (key, filter, expected) in [
        ("", None, 30),
        ("q2", None, 10),
        ("", Some("/2"), 11),
        ("", Some("host"), 0),
        ("nobody", None, 0),
    ] {
        let counted = client
            .calls
            .count_ur_ls(count(key, filter))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(counted.value, expected, "{key} {filter:?}");
    }
    let status = |url: &str, key: &str| UrlStatusRequest {
        url: url.to_owned(),
        key: key.to_owned(),
        crawl_id: "c".to_owned(),
    };
    let done = client
        .calls
        .get_url_status(status("http://Host/0", "q0"))
        .await
        .unwrap()
        .into_inner();
    assert!(
        matches!(done.item, Some(url_item::Item::Known(known)) if known.refetchable_from_date == 0)
    );
    for (url, key, code) in [
        ("http://Host/0", "", tonic::Code::NotFound),
        ("", "", tonic::Code::InvalidArgument),
    ] {
        let refused = client
            .calls
            .get_url_status(status(url, key))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), code);
    }

    // Forgotten URLs can be discovered anew; a queue stays until it is deleted itself.
    let queue = QueueWithinCrawlParams {
        key: "q0".to_owned(),
        crawl_id: "c".to_owned(),
        local: false,
    };
    assert_eq!(
        client
            .calls
            .delete_queue(queue.clone())
            .await
            .unwrap()
            .into_inner()
            .value,
        10
    );
    assert_eq!(
        client
            .calls
            .delete_queue(queue)
            .await
            .unwrap()
            .into_inner()
            .value,
        0
    );
    assert_eq!(
        client
            .put_one(discovered(info("c", "q0", "http://Host/0")))
            .await,
        Status::Ok
    );
    assert_eq!(client.stats("c", "").await, (21, 0, 0));
    let purge = |days| PurgeUrlParams {
        crawl_id: "c".to_owned(),
        days,
        ..PurgeUrlParams::default()
    };
    assert_eq!(
        client
            .calls
            .purge_ur_ls(purge(1))
            .await
            .unwrap()
            .into_inner()
            .value,
        0
    );
    next_second().await;
    assert_eq!(
        client
            .calls
            .purge_ur_ls(purge(0))
            .await
            .unwrap()
            .into_inner()
            .value,
        21
    );
    let queues = Pagination {
        crawl_id: "c".to_owned(),
        include_inactive: true,
        ..Pagination::default()
    };
    let queues = client
        .calls
        .list_queues(queues)
        .await
        .unwrap()
        .into_inner()
        .values;
    assert_eq!(queues, ["q0", "q1", "q2"]);
    assert_eq!(
        client
            .put_one(discovered(info("c", "q1", "http://Host/1")))
            .await,
        Status::Ok
    );
    let crawls = client
        .calls
        .list_crawls(Local::default())
        .await
        .unwrap()
        .into_inner()
        .values;
    assert_eq!(crawls, ["c"]);
    let delete = DeleteCrawlMessage {
        value: "c".to_owned(),
        local: false,
    };
    assert_eq!(
        client
            .calls
            .delete_crawl(delete.clone())
            .await
            .unwrap()
            .into_inner()
            .value,
        1
    );
    assert_eq!(
        client
            .calls
            .delete_crawl(delete)
            .await
            .unwrap()
            .into_inner()
            .value,
        0
    );
    assert!(
        std::fs::read_dir(stand.folder.path().join("crawls"))
            .unwrap()
            .next()
            .is_none()
    );
    assert_eq!(
        client
            .put_one(discovered(info("c", "q1", "http://Host/1")))
            .await,
        Status::Ok
    );
}

#[tokio::test]
async fn pages_come_with_their_links_at_once() {
    let (stand, mut client) = Stand::start(settings()).await;
    client
        .put_one(discovered(info("", "", "http://a.example/")))
        .await;
    assert_eq!(client.get(1, 1).await.len(), 1);
    let page = |url: &str, status, links: &[&str]| Page {
        info: Some(info("", "", url)),
        status,
        links: links.iter().map(|link| (*link).to_owned()).collect(),
        digest: b"d".to_vec(),
        title: "A".to_owned(),
        ..Page::default()
    };
    let links = [
        "http://a.example/1",
        "http://b.example/2",
        "http://a.example/1",
        "not a host:",
    ];
    let batch = PageBatch {
        id: "p".to_owned(),
        pages: vec![
            page("http://a.example/", 200, &links),
            page("http://a.example/gone", 404, &[]),
            page("", 200, &[]),
        ],
    };
    let mut acks = client
        .pages
        .put_pages(tokio_stream::iter([batch]))
        .await
        .unwrap()
        .into_inner();
    let ack = acks.message().await.unwrap().unwrap();
    let statuses = [Status::Ok, Status::Ok, Status::Skipped].map(i32::from);
    assert_eq!((ack.id.as_str(), ack.statuses), ("p", statuses.to_vec()));
    // Both are done, and the links are there: to be lent like whatever else was discovered.
    assert_eq!(client.stats("", "a.example").await, (1, 2, 0));
    assert_eq!(client.stats("", "b.example").await, (1, 0, 0));
    // By words in metadata, too.
    let mut told = info("", "", "http://b.example/2");
    let list = |values: &[&str]| StringList {
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    told.metadata
        .insert("turnstone.status".into(), list(&["200"]));
    told.metadata
        .insert("turnstone.links".into(), list(&["http://c.example/3"]));
    told.metadata.insert("mine".into(), list(&["kept"]));
    client.put_one(known(told, 5)).await;
    assert_eq!(client.stats("", "c.example").await, (1, 0, 0));
    next_second().await;
    let lent = client.get(5, 0).await;
    let again = lent
        .iter()
        .find(|info| info.url == "http://b.example/2")
        .unwrap();
    let kept: Vec<&str> = again.metadata.keys().map(String::as_str).collect();
    assert_eq!(kept, ["mine", "turnstone.status"]);
    let folder = stand.folder.path().join("crawls").join("DEFAULT");
    let store = turnstone_pagestore::Store::look(&folder).unwrap();
    assert_eq!(store.index().stored_count(), 2);
    assert_eq!(store.index().count(turnstone_pagestore::PageState::Gone), 1);
}
