//! Row T20: HTTP/2, spoken by a peer of hand-written frames (RFC 9113) under TLS.
//!
//! | part of the row | here |
//! |---|---|
//! | GOAWAY mid-body | the body still comes whole, or is marked as cut; the connection is not used again |
//! | SETTINGS flood, also PING, PRIORITY, unknown frames | the tape ends the connection with class protocol |
//! | RST flood, empty DATA flood | `h2` ends the connection itself, before the tape would; class protocol |
//! | huge HPACK | class header-limit: by the tape where the block is large, by us where it unfolds to too much, by `h2` where it unfolds to far too much |
//! | window 0 forever | it is the peer's window, and our requests have no body: nothing stalls |

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use turnstone_fetch::{ErrorClass, Limits, Protocol, Request};

use crate::server::{Server, limits, summary};
use crate::tls::{good_acceptor, site, trusting};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const UNKNOWN: u8 = 0xfa;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200` from the static table.
const OK: &[u8] = &[0x88];
/// `:status: 103`, a literal with an indexed name.
const HINTS: &[u8] = b"\x08\x03103";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head, payload.to_vec()].concat()
}

/// A literal header line without indexing.
fn header(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        // A length in the prefix of seven bits (RFC 7541, 5.1).
        let mut bytes = Vec::new();
        let mut rest = text.len();
        if rest < 127 {
            bytes.push(u8::try_from(rest).unwrap());
        } else {
            bytes.push(127);
            rest -= 127;
            while rest >= 128 {
                bytes.push(u8::try_from(rest % 128).unwrap() | 128);
                rest /= 128;
            }
            bytes.push(u8::try_from(rest).unwrap());
        }
        bytes.extend(text.bytes());
        bytes
    };
    [vec![0], text(name), text(value)].concat()
}

/// The peer's side of a connection, past the client's preface.
struct Peer {
    reader: ReadHalf<TlsStream<TcpStream>>,
    writer: WriteHalf<TlsStream<TcpStream>>,
}

impl Peer {
    /// Waits for the next request; `false` if the client is gone.
    async fn request(&mut self) -> bool {
        loop {
            let mut head = [0; 9];
            if self.reader.read_exact(&mut head).await.is_err() {
                return false;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            if self.reader.read_exact(&mut payload).await.is_err() {
                return false;
            }
            if head[3] == HEADERS {
                return true;
            }
        }
    }

    /// Sends, unless the client is gone.
    async fn send(&mut self, bytes: &[u8]) -> bool {
        self.writer.write_all(bytes).await.is_ok() && self.writer.flush().await.is_ok()
    }
}

/// A server that gives every request of every connection the frames that `frames` makes for it;
/// after them it closes, or sends `flood` until the client leaves.
async fn serve<F>(frames: F, flood: Option<Vec<u8>>) -> Server
where
    F: Fn(usize, u32) -> Option<Vec<u8>> + Clone + Send + Sync + 'static,
{
    let acceptor = good_acceptor(&["h2", "http/1.1"]);
    Server::start(move |stream, connection| {
        let (acceptor, frames, flood) = (acceptor.clone(), frames.clone(), flood.clone());
        async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let (mut reader, writer) = split(stream);
            let mut preface = [0; 24];
            reader.read_exact(&mut preface).await.unwrap();
            assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
            let mut peer = Peer { reader, writer };
            peer.send(&[frame(SETTINGS, 0, 0, &[]), frame(SETTINGS, ACK, 0, &[])].concat())
                .await;
            let mut stream_id = 1;
            while peer.request().await {
                let Some(frames) = frames(connection, stream_id) else {
                    break;
                };
                peer.send(&frames).await;
                while flood.is_some() && peer.send(flood.as_deref().unwrap_or_default()).await {}
                stream_id += 2;
            }
        }
    })
    .await
}

/// Frames for the first request of a connection; the connection closes at the second.
fn once(frames: Vec<u8>) -> impl Fn(usize, u32) -> Option<Vec<u8>> + Clone + Send + Sync {
    move |_, stream| (stream == 1).then(|| frames.clone())
}

fn page(stream: u32, body: &[u8]) -> Vec<u8> {
    [
        frame(HEADERS, END_HEADERS, stream, OK),
        frame(DATA, END_STREAM, stream, body),
    ]
    .concat()
}

async fn check(frames: Vec<u8>, want: &str) {
    let server = serve(once(frames), None).await;
    let result = trusting(limits()).fetch(Request::get(site(&server))).await;
    assert_eq!(summary(&result), want, "{result:?}");
}

/// With time enough that it is not the clock that ends a flood.
async fn check_flood(start: Vec<u8>, flood: Vec<u8>, want: &str) {
    let server = serve(once(start), Some(flood)).await;
    let limits = Limits {
        first_byte_time: Duration::from_secs(20),
        throughput_window: Duration::from_secs(20),
        total_time: Duration::from_secs(20),
        ..limits()
    };
    let result = trusting(limits).fetch(Request::get(site(&server))).await;
    assert_eq!(summary(&result), want, "{result:?}");
}

#[tokio::test]
async fn a_page_over_http_2_and_another_on_the_same_connection() {
    let head = [OK, &header("x-a", "b")].concat();
    let server = serve(
        move |_, stream| {
            let head = frame(HEADERS, END_HEADERS, stream, &head);
            Some([head, frame(DATA, END_STREAM, stream, b"hello")].concat())
        },
        None,
    )
    .await;
    let client = trusting(limits());
    for round in 0..3 {
        let response = client.fetch(Request::get(site(&server))).await.unwrap();
        assert_eq!(
            (response.body.as_slice(), response.protocol),
            (&b"hello"[..], Protocol::Http2)
        );
        assert_eq!(response.head_bytes, b"HTTP/1.1 200 OK\r\nx-a: b\r\n\r\n");
        let asked = String::from_utf8(response.request_bytes).unwrap();
        let host = format!(
            "GET /page HTTP/1.1\r\nhost: {}\r\n",
            &site(&server)[url::Position::BeforeHost..url::Position::AfterPort]
        );
        assert!(asked.starts_with(&host), "{asked}");
        assert_eq!((response.reused, response.requests_sent), (round > 0, 1));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn t20_goaway_mid_body() {
    let goaway = frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]);
    let start = [
        frame(HEADERS, END_HEADERS, 1, OK),
        frame(DATA, 0, 1, b"abc"),
        goaway,
    ]
    .concat();
    let whole = [start.clone(), frame(DATA, END_STREAM, 1, b"def")].concat();
    let server = serve(once(whole), None).await;
    let client = trusting(limits());
    for _ in 0..2 {
        let response = client.fetch(Request::get(site(&server))).await.unwrap();
        assert_eq!(
            (response.body.as_slice(), response.reused),
            (&b"abcdef"[..], false)
        );
    }
    assert_eq!(server.connections(), 2);
    // The rest never comes.
    check(start, "200 3 bytes, cut: time (too-slow)").await;
}

#[tokio::test]
async fn t20_reset_mid_body_and_before_the_head() {
    for code in [2, 8] {
        let reset = frame(RST_STREAM, 0, 1, &[0, 0, 0, code]);
        let start = [
            frame(HEADERS, END_HEADERS, 1, OK),
            frame(DATA, 0, 1, b"abc"),
        ]
        .concat();
        check(
            [start, reset.clone()].concat(),
            "200 3 bytes, cut: disconnect (disconnect)",
        )
        .await;
        check(reset, "disconnect").await;
    }
    let protocol_error = frame(RST_STREAM, 0, 1, &[0, 0, 0, 1]);
    check(protocol_error, "protocol").await;
}

#[tokio::test]
async fn t20_a_stream_refused_at_reuse_is_tried_once_more() {
    let refused = |stream| frame(RST_STREAM, 0, stream, &[0, 0, 0, 7]);
    let server = serve(
        move |_, stream| {
            Some(if stream == 1 {
                page(1, b"ok")
            } else {
                refused(stream)
            })
        },
        None,
    )
    .await;
    let client = trusting(limits());
    client.fetch(Request::get(site(&server))).await.unwrap();
    let response = client.fetch(Request::get(site(&server))).await.unwrap();
    assert_eq!(
        (
            response.requests_sent,
            response.reused,
            server.connections()
        ),
        (2, false, 2)
    );
}

#[tokio::test]
async fn t20_floods_of_frames_that_h2_lets_pass() {
    let page = frame(HEADERS, END_HEADERS, 1, OK);
    let settings = frame(SETTINGS, 0, 0, &[]);
    check_flood(page.clone(), settings.repeat(1000), "protocol").await;
    for flood in [
        settings,
        frame(PING, 0, 0, &[0; 8]),
        frame(PRIORITY, 0, 3, &[0; 5]),
        frame(UNKNOWN, 0, 1, &[0; 100]),
    ] {
        check_flood(Vec::new(), flood.repeat(1000), "protocol").await;
    }
}

#[tokio::test]
async fn t20_floods_of_frames_that_h2_ends() {
    let page = frame(HEADERS, END_HEADERS, 1, OK);
    let resets: Vec<u8> = (0..100_u32)
        .flat_map(|n| frame(RST_STREAM, 0, 2 * n + 3, &[0; 4]))
        .collect();
    check_flood(page.clone(), resets, "protocol").await;
    // Of one stream again and again.
    let reset = frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]).repeat(1000);
    let cut = "200 0 bytes, cut: disconnect (disconnect)";
    check_flood(page.clone(), reset, cut).await;
    let empty = frame(DATA, 0, 1, &[]).repeat(1000);
    check_flood(page, empty, "protocol").await;
}

#[tokio::test]
async fn t20_huge_header_lists() {
    let many: Vec<u8> = (0..300)
        .flat_map(|n| header(&format!("x-{n}"), "v"))
        .collect();
    let head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &[OK, &many].concat());
    check(head, "header-limit").await;
    // A line of 16 000 bytes and another: beyond the limit of 16 KiB, in two frames.
    let long = header("x", &"v".repeat(16_000));
    let first = frame(HEADERS, END_STREAM, 1, &[OK, &long].concat());
    let second = frame(CONTINUATION, END_HEADERS, 1, &long);
    check([first.clone(), second.clone()].concat(), "header-limit").await;
    // So long that what it unfolds to would be ended by `h2` without a name for it.
    let more = frame(CONTINUATION, 0, 1, &long).repeat(8);
    check([first, more, second].concat(), "header-limit").await;
    // Never a whole one: frames full, nearly empty, empty.
    let start = frame(HEADERS, END_STREAM, 1, OK);
    for block in [
        header("y", &"v".repeat(10_000)),
        header("y", "v"),
        Vec::new(),
    ] {
        let flood = frame(CONTINUATION, 0, 1, &block);
        check_flood(start.clone(), flood, "header-limit").await;
    }
}

#[tokio::test]
async fn t20_a_header_table_bomb() {
    // One long line put into the table, then referred to by one byte each.
    let mut line = header("x", &"v".repeat(3000));
    line[0] = 0x40;
    let bomb = |times| {
        let head = [OK, &line, &vec![0xbe; times]].concat();
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)
    };
    check(bomb(4), "200 0 bytes").await;
    check(bomb(5), "header-limit").await; // unfolds to more than 16 KiB, and is judged by us
    check(bomb(10_000), "header-limit").await; // to 30 MB, and is not unfolded
}

#[tokio::test]
async fn t12_a_malformed_head_is_no_large_one() {
    // A connection has no header lines in HTTP/2 (RFC 9113, 8.2.2).
    let head = [OK, &header("connection", "close")].concat();
    let head = frame(HEADERS, END_HEADERS | END_STREAM, 1, &head);
    check(head, "protocol").await;
}

#[tokio::test]
async fn t20_window_0_forever() {
    // INITIAL_WINDOW_SIZE 0: the peer will take no body from us, and we send none.
    let none = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    check([none, page(1, b"ok")].concat(), "200 2 bytes").await;
    // A peer that stays silent after the head, for whatever reason.
    check(
        frame(HEADERS, END_HEADERS, 1, OK),
        "200 0 bytes, cut: time (too-slow)",
    )
    .await;
}

#[tokio::test]
async fn t11_informational_heads_over_http_2() {
    let hints = frame(HEADERS, END_HEADERS, 1, HINTS);
    check([hints.repeat(16), page(1, b"ok")].concat(), "200 2 bytes").await;
    check([hints.repeat(17), page(1, b"ok")].concat(), "header-limit").await;
    check_flood(Vec::new(), hints, "header-limit").await;
}

#[tokio::test]
async fn t1_t3_t4_over_http_2() {
    check(Vec::new(), "timeout-first-byte").await;
    let data = frame(DATA, 0, 1, &[b'x'; 10_000]);
    let want = "200 100000 bytes, cut: length (body-limit)";
    // Within the windows we give, beyond the body we take.
    check(
        [frame(HEADERS, END_HEADERS, 1, OK), data.repeat(12)].concat(),
        want,
    )
    .await;
    let length = [OK, &header("content-length", "9")].concat();
    let short = [
        frame(HEADERS, END_HEADERS, 1, &length),
        frame(DATA, END_STREAM, 1, b"abc"),
    ];
    check(short.concat(), "protocol").await;
}

#[tokio::test]
async fn t12_not_http_2() {
    let error = {
        let server = serve(once(b"HTTP/1.1 200 OK\r\n\r\n".repeat(2000)), None).await;
        trusting(limits())
            .fetch(Request::get(site(&server)))
            .await
            .unwrap_err()
    };
    assert_eq!(error.class, ErrorClass::Protocol, "{error}");
}
