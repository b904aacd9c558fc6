//! Rows T1 to T18, T22 and T23 over HTTP/1.1: one server reply, one expected outcome.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use turnstone_fetch::{
    Client, ErrorClass, Limits, Method, Note, Protocol, Redirect, Request, Url, Validators,
};

use crate::server::{After, Server, client, config, drain, get, limits, read_request, summary};

/// What comes of a fetch whose server sends `reply` and then does `after`.
async fn check(reply: impl Into<Vec<u8>>, after: After, want: &str) {
    let server = Server::reply(reply, after).await;
    let result = get(&server).await;
    assert_eq!(summary(&result), want, "{result:?}");
}

/// A server that sends `start`, then `more` for as long as anyone listens.
pub(crate) async fn endless(start: &'static [u8], more: &'static [u8]) -> Server {
    Server::start(move |mut stream, _| async move {
        read_request(&mut stream).await;
        let mut sent = stream.write_all(start).await;
        while sent.is_ok() {
            sent = stream.write_all(more).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_plain_page_with_all_its_bytes() {
    let reply = b"HTTP/1.1 200 Fine\r\ncOnTent-Length:  5\r\nX-Odd: \xe9\r\n\r\nhello";
    let server = Server::reply(&reply[..], After::Hold).await;
    let response = get(&server).await.unwrap();
    assert_eq!(response.body, b"hello");
    assert_eq!(response.head_bytes, &reply[..reply.len() - 5]);
    assert_eq!(response.protocol, Protocol::Http11);
    assert_eq!(response.remote, server.address);
    assert_eq!((response.requests_sent, response.reused), (1, false));
    assert!(response.timings.connect.is_some() && response.timings.dns.is_none());
    assert!(response.timings.first_byte <= response.timings.total);
    let version = env!("CARGO_PKG_VERSION");
    let want = format!(
        "GET /page?q=1 HTTP/1.1\r\nUser-Agent: turnstone/{version}\r\n\
         Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\nHost: {}\r\n\r\n",
        server.address
    );
    assert_eq!(String::from_utf8(response.request_bytes).unwrap(), want);
}

#[tokio::test]
async fn the_request_bytes_are_those_the_server_saw() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut stream, _| {
        let tell = tell.clone();
        async move {
            tell.send(read_request(&mut stream).await).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
        }
    })
    .await;
    let mut request = Request::get(server.url());
    request.url.set_username("user").unwrap();
    request.url.set_password(Some("secret")).unwrap();
    let response = client().fetch(request).await.unwrap();
    let seen = told.recv().await.unwrap();
    assert_eq!(response.request_bytes, seen);
    assert!(!String::from_utf8(seen).unwrap().contains("secret"));
}

#[tokio::test]
async fn chunks_are_joined_and_head_has_no_body() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n";
    let server = Server::reply(chunked, After::Hold).await;
    assert_eq!(get(&server).await.unwrap().body, b"abcde");
    let server = Server::reply(
        "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
        After::Hold,
    )
    .await;
    let request = Request {
        method: Method::Head,
        ..Request::get(server.url())
    };
    let result = client().fetch(request).await;
    assert_eq!(summary(&result), "200 0 bytes");
    assert!(
        result
            .unwrap()
            .request_bytes
            .starts_with(b"HEAD /page?q=1 ")
    );
}

#[tokio::test]
async fn http_1_0_ends_with_the_connection() {
    check("HTTP/1.0 200 OK\r\n\r\nabc", After::Close, "200 3 bytes").await;
}

#[tokio::test]
async fn t1_half_a_head_then_silence() {
    for reply in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n",
    ] {
        check(reply, After::Hold, "timeout-first-byte").await;
        check(reply, After::Close, "disconnect").await;
    }
}

#[tokio::test]
async fn t1_the_connection_slot_is_freed() {
    let server = Server::reply("", After::Hold).await;
    let one = Client::new(config(Limits {
        fetches_open_max: 1,
        ..limits()
    }))
    .unwrap();
    for _ in 0..2 {
        let result = one.fetch(Request::get(server.url())).await;
        assert_eq!(summary(&result), "timeout-first-byte");
    }
}

#[tokio::test]
async fn t2_slow_drip() {
    let server = Server::start(|mut stream, _| async move {
        read_request(&mut stream).await;
        let mut sent = stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\nab")
            .await;
        while sent.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            sent = stream.write_all(b"x").await;
        }
    })
    .await;
    let response = get(&server).await.unwrap();
    let truncation = response.truncation.unwrap();
    assert_eq!(
        (truncation.mark.as_str(), truncation.cause),
        ("time", ErrorClass::TooSlow)
    );
    assert!(response.body.starts_with(b"ab") && response.body.len() < 100);
    // Silence in the middle of a body is the slowest drip.
    let start = "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\nab";
    check(start, After::Hold, "200 2 bytes, cut: time (too-slow)").await;
}

#[tokio::test]
async fn t2_fast_enough_but_too_long_in_all() {
    let server = Server::start(|mut stream, _| async move {
        read_request(&mut stream).await;
        let mut sent = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").await;
        while sent.is_ok() {
            sent = stream.write_all(&[b'x'; 50]).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let mut limits = limits();
    limits.total_time = Duration::from_millis(700);
    let response = Client::new(config(limits))
        .unwrap()
        .fetch(Request::get(server.url()))
        .await
        .unwrap();
    let truncation = response.truncation.unwrap();
    assert_eq!(
        (truncation.mark.as_str(), truncation.cause),
        ("time", ErrorClass::TimeoutTotal)
    );
}

#[tokio::test]
async fn t3_endless_chunked_body() {
    let start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = endless(start, b"5\r\nabcde\r\n").await;
    let result = get(&server).await;
    assert_eq!(
        summary(&result),
        "200 100000 bytes, cut: length (body-limit)"
    );
    assert!(result.unwrap().body.starts_with(b"abcdeabcde"));
}

#[tokio::test]
async fn t3_endless_body_without_a_length_and_a_limit_for_one_request() {
    let server = endless(b"HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 1000]).await;
    let request = Request {
        body_bytes_max: Some(10),
        ..Request::get(server.url())
    };
    let result = client().fetch(request).await;
    assert_eq!(summary(&result), "200 10 bytes, cut: length (body-limit)");
}

#[tokio::test]
async fn t3_a_body_of_just_the_limit_is_whole() {
    let mut reply = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_vec();
    reply.resize(reply.len() + 100_000, b'x');
    check(reply, After::Hold, "200 100000 bytes").await;
}

#[tokio::test]
async fn t4_length_larger_than_body() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    check(
        reply,
        After::Close,
        "200 3 bytes, cut: disconnect (disconnect)",
    )
    .await;
    let reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    check(
        reply,
        After::Close,
        "200 3 bytes, cut: disconnect (disconnect)",
    )
    .await;
    // A declared length sets no memory aside beyond a bound, however large it is.
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc";
    check(
        reply,
        After::Close,
        "200 3 bytes, cut: disconnect (disconnect)",
    )
    .await;
}

#[tokio::test]
async fn t5_length_smaller_than_body() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\nsmuggled";
    let server = Server::reply(reply, After::Hold).await;
    let client = client();
    for _ in 0..2 {
        let response = client.fetch(Request::get(server.url())).await.unwrap();
        assert_eq!(
            (response.body.as_slice(), response.reused),
            (&b"abc"[..], false)
        );
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn t6_length_and_chunks() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3\r\nabc\r\n0\r\n\r\n";
    let server = Server::reply(reply, After::Hold).await;
    let client = client();
    for _ in 0..2 {
        let result = client.fetch(Request::get(server.url())).await;
        assert_eq!(summary(&result), "200 3 bytes, LengthAndChunks");
        assert!(!result.unwrap().reused);
    }
}

#[tokio::test]
async fn t6_two_lengths() {
    for lengths in [
        "3\r\nContent-Length: 4",
        "3, 4",
        "+3",
        "-3",
        "3a",
        "99999999999999999999999",
    ] {
        let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {lengths}\r\n\r\nabcd");
        check(reply, After::Hold, "protocol").await;
    }
}

#[tokio::test]
async fn t7_bad_chunk_sizes() {
    for chunks in [
        "xyz\r\nabc\r\n",
        "ffffffffffffffffff\r\nabc",
        "-1\r\n",
        "3\nabc\n0\n\n",
        "3\r\nabcd\r\n",
    ] {
        let reply = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        check(reply, After::Hold, "protocol").await;
    }
}

#[tokio::test]
async fn t7_huge_chunk_size_allocates_nothing() {
    let reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc";
    check(
        reply,
        After::Close,
        "200 3 bytes, cut: disconnect (disconnect)",
    )
    .await;
}

#[tokio::test]
async fn t7_a_flood_of_overhead_is_no_body() {
    let start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = endless(
        start,
        b"1;this-extension-is-much-longer-than-the-chunk-it-is-for\r\nx\r\n",
    )
    .await;
    assert_eq!(summary(&get(&server).await), "protocol");
}

#[tokio::test]
async fn t10_too_many_headers() {
    let lines = |count: usize| "A: b\r\n".repeat(count);
    let reply = |count: usize| {
        format!(
            "HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n",
            lines(count - 1)
        )
    };
    check(reply(256), After::Hold, "200 0 bytes").await;
    check(reply(257), After::Hold, "header-limit").await;
    let server = endless(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n").await;
    assert_eq!(summary(&get(&server).await), "header-limit");
}

#[tokio::test]
async fn t10_one_huge_header() {
    let reply = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    check(reply, After::Hold, "header-limit").await;
    let server = endless(b"HTTP/1.1 200 ", b"OK").await;
    assert_eq!(summary(&get(&server).await), "header-limit");
}

#[tokio::test]
async fn t10_bad_bytes_in_headers() {
    for line in [
        "A: b\0c",
        "A: b\nB: c",
        "A b: c",
        ": x",
        "A: b\rc",
        "\u{1}: x",
    ] {
        let reply = format!("HTTP/1.1 200 OK\r\n{line}\r\nContent-Length: 0\r\n\r\n");
        check(reply, After::Hold, "protocol").await;
    }
    check(
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        After::Hold,
        "protocol",
    )
    .await;
}

#[tokio::test]
async fn t11_informational_heads() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n";
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let server = Server::reply(format!("{}{page}", hints.repeat(16)), After::Hold).await;
    let response = get(&server).await.unwrap();
    assert_eq!(response.head_bytes, &page.as_bytes()[..page.len() - 1]);
    check(
        format!("{}{page}", hints.repeat(17)),
        After::Hold,
        "header-limit",
    )
    .await;
    let server = endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(summary(&get(&server).await), "header-limit");
    let switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    check(switch, After::Hold, "protocol").await;
}

#[tokio::test]
async fn t12_not_http() {
    for reply in [
        "ICY 200 OK\r\n\r\n",
        "<html>old</html>\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/3.7 200 OK\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
    ] {
        check(reply, After::Close, "protocol").await;
    }
}

#[tokio::test]
async fn t13_redirects_come_back_as_they_are() {
    let reply = "HTTP/1.1 301 Moved\r\nLocation: ../next?a#b\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n";
    let server = Server::reply(reply, After::Hold).await;
    let response = get(&server).await.unwrap();
    assert_eq!((response.status, server.connections()), (301, 1));
    let Redirect::To { url, .. } = Redirect::of(301, &response.headers, &server.url()) else {
        panic!("no redirect")
    };
    assert_eq!(url.as_str(), format!("http://{}/next?a#b", server.address));
}

#[tokio::test]
async fn t17_not_modified() {
    let reply = "HTTP/1.1 304 Not Modified\r\nETag: \"new\"\r\nContent-Length: 10\r\n\r\n";
    check(reply, After::Hold, "304 0 bytes, NotModifiedUnasked").await;
    let server = Server::reply(reply, After::Hold).await;
    let validators =
        Validators::from_stored(Some(b"W/\"old\""), Some(b"Sun, 06 Nov 1994 08:49:37 GMT"));
    let request = Request {
        validators,
        ..Request::get(server.url())
    };
    let result = client().fetch(request).await;
    assert_eq!(summary(&result), "304 0 bytes");
    let response = result.unwrap();
    let asked = String::from_utf8(response.request_bytes).unwrap();
    assert!(
        asked.contains("\r\nIf-None-Match: W/\"old\"\r\n"),
        "{asked}"
    );
    assert!(!asked.contains("If-Modified-Since"), "{asked}");
    assert_eq!(
        Validators::of(&response.headers).unwrap().etag(),
        Some(&b"\"new\""[..])
    );
}

#[tokio::test]
async fn t18_odd_entity_tags_are_dropped() {
    for tag in [
        "abc",
        "\"a\"b\"",
        "'a'",
        &format!("\"{}\"", "x".repeat(8192)),
    ] {
        let reply = format!("HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Length: 0\r\n\r\n");
        let server = Server::reply(reply, After::Hold).await;
        assert_eq!(
            Validators::of(&get(&server).await.unwrap().headers),
            None,
            "{tag}"
        );
    }
}

#[tokio::test]
async fn t22_odd_statuses() {
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        After::Hold,
        "200 0 bytes",
    )
    .await;
    check(
        "HTTP/1.1 204 No Content\r\n\r\n",
        After::Hold,
        "204 0 bytes",
    )
    .await;
    let partial = "HTTP/1.1 206 Partial\r\nContent-Length: 1\r\n\r\nx";
    check(partial, After::Hold, "206 1 bytes, PartialUnasked").await;
    check(
        "HTTP/1.1 999 No\r\nContent-Length: 2\r\n\r\nno",
        After::Hold,
        "999 2 bytes",
    )
    .await;
}

#[tokio::test]
async fn t23_cookies_are_neither_kept_nor_sent() {
    let reply = "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Domain=com\r\nContent-Length: 0\r\n\r\n";
    let server = Server::reply(reply, After::Close).await;
    let client = client();
    for _ in 0..2 {
        let response = client.fetch(Request::get(server.url())).await.unwrap();
        let asked = String::from_utf8(response.request_bytes)
            .unwrap()
            .to_lowercase();
        assert!(!asked.contains("cookie"), "{asked}");
        assert_eq!(response.notes, [] as [Note; 0]);
    }
}

#[tokio::test]
async fn u3_urls_we_do_not_ask_for() {
    let check = async |url: &str, want: ErrorClass| {
        let error = client()
            .fetch(Request::get(Url::parse(url).unwrap()))
            .await
            .unwrap_err();
        assert_eq!((error.class, error.requests_sent), (want, 0), "{error}");
        assert!(error.to_string().len() < 1000, "{error}");
        error.to_string()
    };
    let long = format!("http://user:secret@127.0.0.1/{}", "x".repeat(8192));
    let text = check(&long, ErrorClass::UrlTooLong).await;
    assert!(!text.contains("secret"), "{text}");
    for url in [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "data:,x",
    ] {
        check(url, ErrorClass::UrlRefused).await;
    }
}

#[tokio::test]
async fn absurd_limits_neither_panic_nor_hang() {
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let server = Server::reply(page, After::Hold).await;
    let (long, most) = (Duration::MAX, usize::MAX);
    let endless = Limits {
        url_bytes_max: most,
        dns_time: long,
        dns_open_max: most,
        dns_addresses_max: most,
        connect_time: long,
        connect_tries_max: most,
        tls_time: long,
        first_byte_time: long,
        total_time: long,
        throughput_bytes_per_s_min: u64::MAX,
        throughput_window: long,
        header_bytes_max: most,
        header_count_max: most,
        informational_max: most,
        body_bytes_max: most,
        long_bodies_bytes_max: most,
        decoded_bytes_max: most,
        decoded_ratio_max: most,
        decoded_free_bytes: most,
        codings_max: most,
        fetches_open_max: most,
        idle_connections_max: most,
        idle_connections_per_host_max: most,
        idle_time: long,
    };
    let result = Client::new(config(endless))
        .unwrap()
        .fetch(Request::get(server.url()))
        .await;
    assert_eq!(summary(&result), "200 2 bytes");
    let none = |change: fn(&mut Limits)| {
        let mut limits = Limits {
            fetches_open_max: 0,
            dns_open_max: 0,
            ..limits()
        };
        change(&mut limits);
        let client = Client::new(config(limits)).unwrap();
        let url = server.url();
        async move { summary(&client.fetch(Request::get(url)).await) }
    };
    assert_eq!(
        none(|limits| limits.throughput_window = Duration::ZERO).await,
        "200 2 bytes"
    );
    // Timers tick in milliseconds, in which a page may already have come.
    none(|limits| limits.first_byte_time = Duration::ZERO).await;
    none(|limits| limits.total_time = Duration::ZERO).await;
    assert_eq!(
        none(|limits| limits.header_bytes_max = 0).await,
        "header-limit"
    );
    assert_eq!(
        none(|limits| limits.header_count_max = 0).await,
        "header-limit"
    );
    let cut = "200 0 bytes, cut: length (body-limit)";
    assert_eq!(none(|limits| limits.body_bytes_max = 0).await, cut);
    assert_eq!(
        none(|limits| limits.url_bytes_max = 0).await,
        "url-too-long"
    );
}

#[tokio::test]
async fn nobody_listens() {
    let server = Server::start(|mut stream, _| async move { drain(&mut stream).await }).await;
    let url = server.url();
    drop(server);
    tokio::task::yield_now().await;
    let error = client().fetch(Request::get(url)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::ConnectRefused, "{error}");
}
