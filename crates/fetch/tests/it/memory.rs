//! How much memory a piece of work takes at its peak: an allocator that counts, per thread.
//!
//! Used for decoders (see `decoding`) and, here, for whole fetches from servers that send
//! without end; client and server share the thread, so both are counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use turnstone_fetch::{Client, Limits, Request};

use crate::http1::endless;
use crate::server::{After, Server, config, limits, summary};

struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: isize) {
    // At the end of a thread the cells may be gone; then nobody asks any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` and returns the most bytes this thread held at once beyond what it held before.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    PEAK.set(before);
    let result = work();
    (result, usize::try_from(PEAK.get() - before).unwrap_or(0))
}

#[test]
fn endless_servers_take_bounded_memory() {
    let check = |start: &'static [u8], more: &'static [u8], want: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (result, peak) = peak_of(|| {
            runtime.block_on(async {
                let server = endless(start, more).await;
                let limits = Limits {
                    body_bytes_max: 1 << 20,
                    ..limits()
                };
                Client::new(config(limits))
                    .unwrap()
                    .fetch(Request::get(server.url()))
                    .await
            })
        });
        assert_eq!(summary(&result), want);
        // Twice the body, for it grows by doubling, buffers, and the tables of roots and names.
        assert!(peak < 4 << 20, "{want}: {peak} bytes at the peak");
    };
    let cut = "200 1048576 bytes, cut: length (body-limit)";
    check(b"HTTP/1.1 200 OK\r\n\r\n", &[b'x'; 10_000], cut);
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(chunked, b"a\r\n0123456789\r\n", cut);
    let huge = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n";
    check(huge, &[b'x'; 10_000], cut);
    check(b"HTTP/1.1 200 OK\r\n", b"Name: value\r\n", "header-limit");
    check(
        b"HTTP/1.1 200 OK\r\nName: ",
        &[b'x'; 10_000],
        "header-limit",
    );
    check(b"", b"HTTP/1.1 100 Continue\r\n\r\n", "header-limit");
}

const LONG: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
const LONG_BYTES: usize = 1 << 20;

fn room_for_one() -> Limits {
    Limits {
        body_bytes_max: LONG_BYTES,
        long_bodies_bytes_max: LONG_BYTES,
        ..limits()
    }
}

/// Twenty long bodies take turns, and short ones do not wait for them.
#[test]
fn long_bodies_take_bounded_memory_together() {
    const BODIES: usize = 20;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (results, peak) = peak_of(|| {
        runtime.block_on(async {
            let client = Client::new(config(room_for_one())).unwrap();
            let mut fetches = tokio::task::JoinSet::new();
            for _ in 0..BODIES {
                let (client, server) = (client.clone(), endless(LONG, &[b'x'; 10_000]).await);
                fetches.spawn(async move {
                    let result = client.fetch(Request::get(server.url())).await;
                    summary(&result)
                });
            }
            fetches.join_all().await
        })
    });
    let cut = "200 1048576 bytes, cut: length (body-limit)";
    assert_eq!(results, vec![cut; BODIES]);
    // One body, which grows by doubling, and what the others hold until it is their turn.
    assert!(peak < BODIES / 2 * LONG_BYTES, "{peak} bytes at the peak");
}

/// Whoever waits for room is not called slow, and short bodies do not wait.
#[tokio::test]
async fn waiting_for_room_is_nobodys_fault() {
    let (window, total) = (Duration::from_millis(50), Duration::from_millis(200));
    let limits = Limits {
        throughput_window: window,
        total_time: total,
        ..room_for_one()
    };
    let client = Client::new(config(limits)).unwrap();
    let server = endless(LONG, &[b'x'; 10_000]).await;
    let first = client.fetch(Request::get(server.url())).await.unwrap();
    assert!(first.room.is_some());
    let waits = tokio::spawn({
        let (client, url) = (client.clone(), server.url());
        async move { summary(&client.fetch(Request::get(url)).await) }
    });
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let other = Server::reply(page, After::Hold).await;
    let short = client.fetch(Request::get(other.url())).await;
    assert_eq!(summary(&short), "200 2 bytes");
    assert!(short.unwrap().room.is_none());
    tokio::time::sleep(2 * total).await;
    assert!(!waits.is_finished());
    drop(first);
    let cut = "200 1048576 bytes, cut: length (body-limit)";
    assert_eq!(waits.await.unwrap(), cut);
}

/// Room is taken for what a body declares, or for a page of some length, not for the longest.
#[tokio::test]
async fn bodies_that_fit_together_do_not_wait() {
    const BYTES: usize = 700 << 10;
    let limits = Limits {
        body_bytes_max: 4 << 20,
        long_bodies_bytes_max: 4 << 20,
        ..limits()
    };
    let client = Client::new(config(limits)).unwrap();
    let mut held = Vec::new();
    for length in [format!("Content-Length: {BYTES}\r\n"), String::new()] {
        let body = "x".repeat(BYTES);
        let page = format!("HTTP/1.1 200 OK\r\n{length}\r\n{body}");
        let server = Server::reply(page.as_str(), After::Close).await;
        for _ in 0..2 {
            let response = client.fetch(Request::get(server.url())).await.unwrap();
            assert_eq!(response.body.len(), BYTES);
            held.push(response.room.expect("it is long"));
        }
    }
}
