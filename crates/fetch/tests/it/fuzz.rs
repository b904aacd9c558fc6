//! Random bytes where a server's should be: nothing panics, every bound holds.

use proptest::prelude::*;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Runtime;
use turnstone_fetch::{Coding, FetchError, Limits, Request, Response, Url, allowed, decode};

use crate::decoding::{ENCODERS, declared};
use crate::server::{After, Server, client, limits, read_request};

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn fetch(runtime: &Runtime, reply: &[u8]) -> Result<Response, FetchError> {
    runtime.block_on(async {
        let server = Server::reply(reply, After::Close).await;
        client().fetch(Request::get(server.url())).await
    })
}

/// What every response must satisfy, given all that the server sent.
fn judge(result: &Result<Response, FetchError>, reply: &[u8]) {
    let Ok(response) = result else { return };
    let head = &response.head_bytes;
    assert!(response.body.len() <= limits().body_bytes_max);
    assert!(head.len() <= limits().header_bytes_max && head.ends_with(b"\r\n\r\n"));
    assert!(
        reply
            .windows(head.len())
            .any(|part| part == head.as_slice())
    );
    assert!(response.headers.len() <= limits().header_count_max);
    let decoded = response.decoded(&limits());
    assert!(decoded.body.len() <= allowed(response.body.len(), &limits()).max(response.body.len()));
}

/// Pieces that make heads nearly right.
fn head_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Just(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
        Just(b"HTTP/1.0 ".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Content-Encoding: gzip\r\n".to_vec()),
        Just(b"Connection: close\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"0\r\n\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b" folded\r\n".to_vec()),
        (0_u64..50).prop_map(|n| format!("Content-Length: {n}\r\n").into_bytes()),
        any::<u64>().prop_map(|n| format!("{n:x}\r\n").into_bytes()),
        "[A-Za-z-]{1,12}: [ -~]{0,20}\r\n".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_reply_ends_within_its_bounds(
        lines in prop::collection::vec(head_line(), 0..12),
        start in any::<bool>(),
    ) {
        let mut reply = if start { b"HTTP/1.1 200 OK\r\n".to_vec() } else { Vec::new() };
        reply.extend(lines.concat());
        judge(&fetch(&runtime(), &reply), &reply);
    }

    #[test]
    fn the_request_line_is_the_url(rest in "[ -~é]{0,40}") {
        runtime().block_on(async {
            let server = Server::reply("HTTP/1.1 204 No Content\r\n\r\n", After::Close).await;
            let text = format!("http://{}/{rest}", server.address);
            let Ok(url) = Url::parse(&text) else { return };
            let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
            let response = client().fetch(Request::get(url.clone())).await.unwrap();
            let line = format!("GET {target} HTTP/1.1\r\n");
            assert!(response.request_bytes.starts_with(line.as_bytes()), "{line}");
        });
    }

    #[test]
    fn header_lines_come_through(
        lines in prop::collection::vec(("[a-z][a-z0-9-]{0,10}", "[!-~]([ -~]{0,20}[!-~])?"), 0..20),
    ) {
        let lines: Vec<_> = lines
            .into_iter()
            .filter(|(name, _)| !matches!(name.as_str(), "content-length" | "transfer-encoding"))
            .collect();
        let text: String = lines.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let reply = format!("HTTP/1.1 204 No Content\r\n{text}\r\n");
        let response = fetch(&runtime(), reply.as_bytes()).unwrap();
        prop_assert_eq!(response.head_bytes, reply.as_bytes());
        for (name, value) in &lines {
            let found = response.headers.get_all(name.as_str()).iter().any(|got| got == value.as_str());
            prop_assert!(found, "{}: {}", name, value);
        }
    }

    #[test]
    fn chunks_are_joined_however_they_are_cut(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..20),
        writes in prop::collection::vec(1_usize..200, 1..10),
    ) {
        let mut reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            reply.extend(format!("{:x};a=\"b\"\r\n", chunk.len()).bytes());
            reply.extend(chunk);
            reply.extend(b"\r\n");
        }
        reply.extend(b"0\r\n\r\n");
        let response = runtime().block_on(async {
            let (reply, writes) = (reply.clone(), writes.clone());
            let server = Server::start(move |mut stream, _| {
                let (reply, writes) = (reply.clone(), writes.clone());
                async move {
                    read_request(&mut stream).await;
                    stream.set_nodelay(true).unwrap();
                    let mut rest = reply.as_slice();
                    for &size in writes.iter().cycle().take_while(|_| !reply.is_empty()) {
                        let (now, later) = rest.split_at(size.min(rest.len()));
                        stream.write_all(now).await.unwrap();
                        tokio::task::yield_now().await;
                        rest = later;
                        if rest.is_empty() { break }
                    }
                    crate::server::drain(&mut stream).await;
                }
            }).await;
            client().fetch(Request::get(server.url())).await
        });
        let response = response.unwrap();
        prop_assert_eq!(response.body, chunks.concat());
        prop_assert_eq!(response.truncation, None);
    }
}

/// Limits of which every one is within reach of a small random input.
fn tight() -> Limits {
    Limits {
        decoded_bytes_max: 5000,
        decoded_ratio_max: 20,
        decoded_free_bytes: 100,
        codings_max: 3,
        ..Limits::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_decode_within_the_bounds(
        body in prop::collection::vec(any::<u8>(), 0..400),
        codings in prop::collection::vec(
            prop::sample::select(vec!["gzip", "deflate", "br", "zstd", "identity", "x"]), 0..5),
        magic in prop::sample::select(vec![
            &b""[..], b"\x1f\x8b\x08\0\0\0\0\0\0\0", b"\x28\xb5\x2f\xfd", b"\x78\x9c"]),
    ) {
        let body = [magic, &body].concat();
        let limits = tight();
        let decoded = decode(&declared(&codings.join(",")), &body, &limits);
        prop_assert!(decoded.body.len() <= allowed(body.len(), &limits).max(body.len()));
    }

    #[test]
    fn what_was_coded_comes_back_and_a_part_of_it_is_a_beginning(
        page in prop::collection::vec(any::<u8>(), 0..2000),
        which in prop::collection::vec(0..ENCODERS.len(), 1..3),
        cut in any::<prop::sample::Index>(),
        flip in any::<prop::sample::Index>(),
    ) {
        let limits = Limits { codings_max: 2, ..Limits::default() };
        let names: Vec<_> = which.iter().map(|&index| ENCODERS[index].0).collect();
        let coded = which.iter().fold(page.clone(), |bytes, &index| ENCODERS[index].1(&bytes));
        let headers = declared(&names.join(", "));
        let whole = decode(&headers, &coded, &limits);
        prop_assert_eq!(&*whole.body, page.as_slice());
        prop_assert_eq!(whole.fault, None);
        if let [index] = which[..] {
            let part = decode(&headers, &coded[..cut.index(coded.len())], &limits);
            let taken_as_is = part.fault.is_some_and(|fault| fault.to_string().contains("is not"));
            prop_assert!(page.starts_with(&part.body) || taken_as_is, "{}", ENCODERS[index].0);
        }
        let mut damaged = coded.clone();
        let at = flip.index(damaged.len());
        damaged[at] ^= 0x10;
        let decoded = decode(&headers, &damaged, &limits);
        prop_assert!(decoded.body.len() <= allowed(damaged.len(), &limits));
    }
}

#[test]
fn codings_have_the_names_of_the_registry() {
    let names =
        [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd].map(|c| c.to_string());
    assert_eq!(names, ["gzip", "deflate", "br", "zstd"]);
}
