//! One connection: heads in, answers out, as badly as the answer says.
//!
//! Written by hand on a socket rather than on an HTTP library, because it must be able to send half a
//! head, break off a body and reset; and it is quicker than one. Everything has a limit: the head, the idle
//! time, the time a client may take to read, the body of a request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::answer::{Answer, Delivery};
use super::arrival::Receiver;
use super::mix::{mix, mix_bytes};
use super::request::{HEAD_BYTES_MAX, Head, Request};
use super::shared::Shared;
use super::watch::Arrival;

/// How long a client may take to read an answer.
const WRITE_MS_MAX: u64 = 60_000;
/// The largest body of a request that is read and thrown away.
const REQUEST_BODY_MAX: u64 = 64 << 10;
/// How long we wait for a client to read a refusal before we hang up.
const LINGER_MS: u64 = 500;
/// How long word of a client that hung up may take to reach us, on a machine that is very busy.
const HUNG_UP_GRACE_MS: u64 = 250;
/// An answer up to this size counts as over when its only write begins; of a longer one the end.
const LAST_WRITE_BYTES: usize = 64 << 10;

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    KeepAlive,
    Close,
}

/// Serves a connection until either side closes it.
pub(super) async fn serve(shared: Arc<Shared>, mut stream: TcpStream, address: u32) {
    // Without it small answers would wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let _ = converse(&shared, &mut stream, address).await;
}

async fn converse(shared: &Arc<Shared>, stream: &mut TcpStream, address: u32) -> io::Result<()> {
    let receiver = Receiver::new(shared.judges_time());
    let mut stop = shared.stop.clone();
    let mut buffer = vec![0u8; HEAD_BYTES_MAX];
    let mut filled = 0;
    // When the first byte of the request at hand arrived, and when the last of all.
    let mut arrived_us = None;
    let mut last_us = 0;
    let mut out = Vec::new();
    loop {
        let taken = match Head::parse(&buffer[..filled]) {
            Ok(Some((head, length))) => {
                let arrived_us = arrived_us.take().unwrap_or(last_us);
                let skip = head.body_bytes.filter(|bytes| *bytes <= REQUEST_BODY_MAX);
                let Some(skip) = skip else {
                    return refuse(stream, 413, "no request body is read here").await;
                };
                let after =
                    exchange(shared, stream, &head, (address, arrived_us), &mut out).await?;
                if after == After::Close || *stop.borrow() || shared.is_halted() {
                    return linger(stream).await;
                }
                length as u64 + skip
            }
            Ok(None) if filled == buffer.len() => {
                return refuse(stream, 431, "the head is larger than 16 KiB").await;
            }
            Ok(None) => {
                let read = receiver.read(stream, &mut buffer[filled..]);
                let idle = Duration::from_millis(shared.idle_ms);
                let (bytes, lag_us) = tokio::select! {
                    read = timeout(idle, read) => match read {
                        Ok(read) => read?,
                        Err(_) => return Ok(()),
                    },
                    _ = stop.changed() => return Ok(()),
                };
                if bytes == 0 {
                    return Ok(());
                }
                filled += bytes;
                last_us = shared.now_us().saturating_sub(lag_us);
                arrived_us.get_or_insert(last_us);
                continue;
            }
            Err(what) => return refuse(stream, 400, what).await,
        };
        let mut left = taken;
        while left > filled as u64 {
            left -= filled as u64;
            let idle = Duration::from_millis(shared.idle_ms);
            (filled, _) = timeout(idle, receiver.read(stream, &mut buffer)).await??;
            if filled == 0 {
                return Ok(());
            }
        }
        buffer.copy_within(left as usize..filled, 0);
        filled -= left as usize;
        // What is left of the last read is the next request, sent without waiting.
        arrived_us = (filled > 0).then_some(last_us);
    }
}

/// Answers one request.
async fn exchange(
    shared: &Arc<Shared>,
    stream: &mut TcpStream,
    head: &Head<'_>,
    (address, arrived_us): (u32, u64),
    out: &mut Vec<u8>,
) -> io::Result<After> {
    let Some(host) = shared.host_of(head.authority, address) else {
        refuse(stream, 421, "no host of this name is served here").await?;
        return Ok(After::Close);
    };
    let mut request = Request {
        method: head.method,
        host: host as usize,
        name: &shared.responder.web.hosts[host as usize],
        path: head.path,
        attempt: 0,
        origins: &shared.origins,
        head,
    };
    let counted = shared
        .counts_attempts
        .then(|| mix(&[u64::from(host), mix_bytes(head.path.bytes())]));
    let begun = shared.watch().begin(Arrival {
        arrived_us,
        host,
        address,
        method: head.method,
        path: head.path,
        agent: request.header("user-agent").unwrap_or(""),
        counted,
    });
    let mut open = Open {
        shared,
        host: Some(host),
    };
    shared.accuse(begun.violations);
    if let Some(suspicion) = begun.suspicion {
        // This request may itself be the one that was given up, read after the one that followed it.
        if !has_gone_after(stream, HUNG_UP_GRACE_MS).await {
            let violation = shared.watch().confirm(&begun.requested, suspicion);
            shared.accuse(violation);
        }
    }
    request.attempt = begun.requested.attempt;
    let answer = shared.responder.answer(&request, shared.moment());
    shared.watch().answered(begun.requested, &answer);
    if shared.is_halted() {
        return Ok(After::Close);
    }
    let close = !head.keep_alive;
    let delivering = deliver(&answer, request.is_head(), close, stream, out, &mut open);
    delivering.await
}

/// A request that is open. Unless told that its answer is out, it takes it that the client hung up.
struct Open<'a> {
    shared: &'a Shared,
    host: Option<u32>,
}

impl Open<'_> {
    fn end(&mut self, hung_up: bool) {
        if let Some(host) = self.host.take() {
            self.shared.watch().end(host, hung_up);
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.end(true);
    }
}

async fn deliver(
    answer: &Answer,
    is_head: bool,
    close: bool,
    stream: &mut TcpStream,
    out: &mut Vec<u8>,
    open: &mut Open<'_>,
) -> io::Result<After> {
    let body = if answer.has_body(is_head) {
        answer.body.as_slice()
    } else {
        &[]
    };
    out.clear();
    answer.write_head(close, out);
    let head_bytes = out.len();
    match answer.delivery {
        Delivery::Whole => {}
        Delivery::Late { wait_ms } => {
            if has_gone_after(stream, wait_ms).await {
                return Ok(After::Close);
            }
        }
        Delivery::Reset => {
            open.end(false);
            stream.set_zero_linger()?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Delivery::HalfHead { hold_ms } => {
            stream.write_all(&out[..head_bytes / 2]).await?;
            if !has_gone_after(stream, hold_ms).await {
                open.end(false);
            }
            return Ok(After::Close);
        }
        Delivery::Drip { bytes, every_ms } => {
            stream.write_all(out).await?;
            for (index, piece) in body.chunks(bytes.max(1)).enumerate() {
                if has_gone_after(stream, every_ms).await {
                    return Ok(After::Close);
                }
                if (index + 1) * bytes.max(1) >= body.len() {
                    open.end(false);
                }
                stream.write_all(piece).await?;
            }
            open.end(false);
            return Ok(if close {
                After::Close
            } else {
                After::KeepAlive
            });
        }
        Delivery::Truncate { bytes } => {
            out.extend_from_slice(&body[..bytes.min(body.len())]);
            write(stream, out, open).await?;
            return Ok(After::Close);
        }
        Delivery::Raw => {
            write(stream, &answer.body, open).await?;
            return Ok(After::Close);
        }
    }
    out.extend_from_slice(body);
    write(stream, out, open).await?;
    Ok(if close {
        After::Close
    } else {
        After::KeepAlive
    })
}

/// Sends the last of an answer. The request is over before its last bytes are out: a client that
/// has them may ask again at once.
async fn write(stream: &mut TcpStream, bytes: &[u8], open: &mut Open<'_>) -> io::Result<()> {
    let split = bytes.len().saturating_sub(LAST_WRITE_BYTES);
    let writing = async {
        stream.write_all(&bytes[..split]).await?;
        open.end(false);
        stream.write_all(&bytes[split..]).await
    };
    timeout(Duration::from_millis(WRITE_MS_MAX), writing).await?
}

/// Waits, and tells whether the client hung up meanwhile.
async fn has_gone_after(stream: &TcpStream, wait_ms: u64) -> bool {
    let wait = Duration::from_millis(wait_ms);
    let start = tokio::time::Instant::now();
    match timeout(wait, stream.peek(&mut [0])).await {
        Err(_) => false,
        Ok(Ok(0) | Err(_)) => true,
        // It has sent its next request already, so it is still there.
        Ok(Ok(_)) => {
            tokio::time::sleep_until(start + wait).await;
            false
        }
    }
}

/// Says what is wrong and hangs up.
async fn refuse(stream: &mut TcpStream, status: u16, what: &str) -> io::Result<()> {
    let mut out = Vec::new();
    let answer = Answer {
        status,
        ..Answer::text(format!("{what}\n"))
    };
    answer.write_head(true, &mut out);
    out.extend_from_slice(&answer.body);
    timeout(Duration::from_millis(LINGER_MS), stream.write_all(&out)).await??;
    linger(stream).await
}

/// Closes without taking the last answer back: unread input would turn the close into a reset.
async fn linger(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut scrap = [0u8; 4096];
    let drain = async {
        while tokio::io::AsyncReadExt::read(stream, &mut scrap).await? > 0 {}
        Ok(())
    };
    timeout(Duration::from_millis(LINGER_MS), drain)
        .await
        .unwrap_or(Ok(()))
}
