//! Requests that share a turn are written a delay apart, whatever their connections take.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use turnstone_fetch::{Request, Spacing, Turn};

use crate::server::{Server, client, read_request, summary};

const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const DELAY: Duration = Duration::from_millis(30);

#[tokio::test]
async fn requests_that_share_a_turn_are_a_delay_apart() {
    let server = Server::start(|mut stream, _| async move {
        while !read_request(&mut stream).await.is_empty() {
            if stream.write_all(PAGE).await.is_err() {
                return;
            }
        }
    })
    .await;
    let (client, turn) = (client(), Turn::default());
    let mut fetches = JoinSet::new();
    for _ in 0..6 {
        let mut request = Request::get(server.url());
        request.spacing = Some(Spacing {
            turn: turn.clone(),
            delay: DELAY,
        });
        let client = client.clone();
        fetches.spawn(async move { client.fetch(request).await });
    }
    let mut sent = Vec::new();
    for result in fetches.join_all().await {
        assert_eq!(summary(&result), "200 2 bytes");
        sent.push(result.unwrap().sent_at);
    }
    sent.sort();
    for pair in sent.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= DELAY, "{gap:?}");
    }
}

/// One that is given up while it waits, or after it was written, holds up nobody.
#[tokio::test]
async fn a_turn_that_is_given_up_is_passed_on() {
    let silent = Server::start(|mut stream, _| async move {
        read_request(&mut stream).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    })
    .await;
    let server = Server::reply(PAGE, crate::server::After::Close).await;
    let (client, turn) = (client(), Turn::default());
    let request = |url| {
        let mut request = Request::get(url);
        request.spacing = Some(Spacing {
            turn: turn.clone(),
            delay: DELAY,
        });
        request
    };
    for _ in 0..3 {
        let given_up = client.fetch(request(silent.url()));
        assert!(tokio::time::timeout(DELAY / 2, given_up).await.is_err());
    }
    let result = client.fetch(request(server.url())).await;
    assert_eq!(summary(&result), "200 2 bytes");
}
