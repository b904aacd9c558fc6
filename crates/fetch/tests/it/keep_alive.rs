//! Connections used again, and row T21: the one that closes just then.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use turnstone_fetch::{Client, Kept, Limits, Request};

use crate::server::{Server, client, config, limits, read_request, summary};

const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers every request with a page, the first `pages` of a connection only.
async fn answer(mut stream: TcpStream, pages: usize) {
    for _ in 0..pages {
        if read_request(&mut stream).await.is_empty() || stream.write_all(PAGE).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_kept_connection_serves_again() {
    let server = Server::start(|stream, _| answer(stream, 100)).await;
    let client = client();
    for round in 0..5 {
        let response = client.fetch(Request::get(server.url())).await.unwrap();
        assert_eq!((response.reused, response.requests_sent), (round > 0, 1));
        assert_eq!(response.timings.connect.is_none(), round > 0);
        assert!(response.head_bytes.starts_with(b"HTTP/1.1 200 OK\r\n"));
        assert!(response.request_bytes.starts_with(b"GET /page"));
    }
    assert_eq!(server.connections(), 1);
    client.close_idle();
    assert!(
        !client
            .fetch(Request::get(server.url()))
            .await
            .unwrap()
            .reused
    );
}

#[tokio::test]
async fn t21_closed_exactly_at_reuse() {
    // The first connection takes a second request and closes without a word.
    let server = Server::start(|mut stream, number| async move {
        answer_one(&mut stream).await;
        if number == 0 {
            read_request(&mut stream).await;
        } else {
            answer(stream, 1).await;
        }
    })
    .await;
    let client = client();
    client.fetch(Request::get(server.url())).await.unwrap();
    let response = client.fetch(Request::get(server.url())).await.unwrap();
    assert_eq!(
        (
            response.requests_sent,
            response.reused,
            server.connections()
        ),
        (2, false, 2)
    );
    assert_eq!(response.body, b"ok");
}

#[tokio::test]
async fn t21_not_sent_twice_where_that_is_not_wanted() {
    let server = Server::start(|mut stream, number| async move {
        answer_one(&mut stream).await;
        if number == 0 {
            read_request(&mut stream).await;
        } else {
            answer(stream, 1).await;
        }
    })
    .await;
    let client = client();
    let fetch = async |kept| {
        let mut request = Request::get(server.url());
        request.kept = kept;
        client.fetch(request).await
    };
    assert_eq!(summary(&fetch(Kept::AskOnce).await), "200 2 bytes");
    let result = fetch(Kept::AskOnce).await;
    assert_eq!(summary(&result), "stale-connection");
    assert_eq!(
        (result.unwrap_err().requests_sent, server.connections()),
        (1, 1)
    );
    assert_eq!(summary(&fetch(Kept::AskOnce).await), "200 2 bytes");
    // The second connection would serve once more.
    let response = fetch(Kept::Avoid).await.unwrap();
    assert_eq!((response.reused, server.connections()), (false, 3));
}

async fn answer_one(stream: &mut TcpStream) {
    read_request(stream).await;
    stream.write_all(PAGE).await.unwrap();
}

#[tokio::test]
async fn t21_one_retry_and_no_more() {
    let server = Server::start(|mut stream, number| async move {
        if number == 0 {
            answer_one(&mut stream).await;
        }
        read_request(&mut stream).await;
    })
    .await;
    let client = client();
    client.fetch(Request::get(server.url())).await.unwrap();
    let result = client.fetch(Request::get(server.url())).await;
    assert_eq!(summary(&result), "disconnect");
    assert_eq!(
        (result.unwrap_err().requests_sent, server.connections()),
        (2, 2)
    );
}

#[tokio::test]
async fn t21_no_retry_on_a_fresh_connection_nor_after_half_an_answer() {
    let server = Server::start(|mut stream, _| async move {
        read_request(&mut stream).await;
    })
    .await;
    let result = client().fetch(Request::get(server.url())).await;
    assert_eq!(summary(&result), "disconnect");
    assert_eq!(
        (result.unwrap_err().requests_sent, server.connections()),
        (1, 1)
    );

    let server = Server::start(|mut stream, _| async move {
        answer_one(&mut stream).await;
        read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 2").await;
    })
    .await;
    let client = client();
    client.fetch(Request::get(server.url())).await.unwrap();
    let result = client.fetch(Request::get(server.url())).await;
    assert_eq!(summary(&result), "disconnect");
    assert_eq!(
        (result.unwrap_err().requests_sent, server.connections()),
        (1, 1)
    );
}

#[tokio::test]
async fn connections_that_must_not_be_kept_are_not() {
    for reply in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n",
    ] {
        let server = Server::reply(reply, crate::server::After::Close).await;
        let client = client();
        for _ in 0..2 {
            assert!(
                !client
                    .fetch(Request::get(server.url()))
                    .await
                    .unwrap()
                    .reused
            );
        }
        assert_eq!(server.connections(), 2, "{reply}");
    }
}

#[tokio::test]
async fn idle_connections_are_bounded_in_number_and_time() {
    let check = async |limits: Limits, reused: bool| {
        let server = Server::start(|stream, _| answer(stream, 100)).await;
        let client = Client::new(config(limits)).unwrap();
        client.fetch(Request::get(server.url())).await.unwrap();
        let other = Server::start(|stream, _| answer(stream, 100)).await;
        client.fetch(Request::get(other.url())).await.unwrap();
        assert_eq!(
            client
                .fetch(Request::get(server.url()))
                .await
                .unwrap()
                .reused,
            reused
        );
    };
    check(limits(), true).await;
    check(
        Limits {
            idle_connections_max: 2,
            ..limits()
        },
        true,
    )
    .await;
    check(
        Limits {
            idle_connections_max: 1,
            ..limits()
        },
        false,
    )
    .await; // the older one went
    check(
        Limits {
            idle_connections_max: 0,
            ..limits()
        },
        false,
    )
    .await;
    check(
        Limits {
            idle_connections_per_host_max: 0,
            ..limits()
        },
        false,
    )
    .await;
    check(
        Limits {
            idle_time: Duration::ZERO,
            ..limits()
        },
        false,
    )
    .await;
}

#[tokio::test]
async fn many_fetches_at_once_share_what_fits() {
    let server = Server::start(|stream, _| answer(stream, 100)).await;
    let client = Client::new(config(Limits {
        fetches_open_max: 4,
        ..limits()
    }))
    .unwrap();
    let mut fetches = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (client, url) = (client.clone(), server.url());
        fetches.spawn(async move { client.fetch(Request::get(url)).await });
    }
    for result in fetches.join_all().await {
        assert_eq!(summary(&result), "200 2 bytes");
    }
    assert!(
        server.connections() < 40,
        "{} connections",
        server.connections()
    );
}
