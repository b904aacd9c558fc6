//! Receiving a body: piece by piece, within its length, its time and its minimum speed.
//!
//! One loop serves both protocols. It never fails for want of bytes alone: a body that is cut,
//! by us or by the peer, comes back as far as it came, with a mark. Only a body that breaks the
//! protocol is an error, for its bytes cannot be trusted.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

use crate::error::{ErrorClass, Fault};
use crate::limits::Limits;
use crate::message::{Truncation, TruncationMark};
use crate::room::{Room, Rooms, SHORT_BODY_BYTES, room_for};
use crate::wire::SharedTape;

/// The bounds of one body.
pub(crate) struct BodyBounds {
    pub(crate) bytes_max: usize,
    pub(crate) total_end: Instant,
    window: Duration,
    window_bytes_min: u64,
    rooms: Rooms,
}

impl BodyBounds {
    pub(crate) fn new(limits: &Limits, bytes_max: usize, total_end: Instant, rooms: Rooms) -> Self {
        let window_ms = u64::try_from(limits.throughput_window.as_millis()).unwrap_or(u64::MAX);
        let window_bytes = limits.throughput_bytes_per_s_min.saturating_mul(window_ms) / 1000;
        Self {
            bytes_max,
            total_end,
            window: limits.throughput_window,
            window_bytes_min: window_bytes,
            rooms,
        }
    }
}

/// A body as far as it came.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    pub(crate) truncation: Option<Truncation>,
    /// Taken by a long body.
    pub(crate) room: Option<Room>,
}

/// A piece, the end (`None`), or what went wrong.
pub(crate) type Piece = Option<Result<Bytes, Fault>>;

/// Collects the pieces that `poll_piece` brings.
pub(crate) async fn collect(
    mut poll_piece: impl FnMut(&mut Context<'_>) -> Poll<Piece>,
    declared: Option<u64>,
    bounds: &BodyBounds,
    tape: &SharedTape,
) -> Result<Body, Fault> {
    let declared = declared.unwrap_or(0).min(bounds.bytes_max as u64);
    let declared = usize::try_from(declared).unwrap_or(0);
    // Memory is set aside at once for a short body; beyond that a body must come.
    let mut bytes = Vec::with_capacity(declared.min(SHORT_BODY_BYTES));
    let (mut room, mut room_bytes) = (None, SHORT_BODY_BYTES);
    let mut total_end = bounds.total_end;
    let mut window_end = Instant::now() + bounds.window;
    let mut window_start_len = 0;
    let mut alarm = pin!(sleep_until(window_end.min(total_end)));
    let truncation = loop {
        let event = poll_fn(|cx| match poll_piece(cx) {
            Poll::Ready(piece) => Poll::Ready(Some(piece)),
            Poll::Pending => alarm.as_mut().poll(cx).map(|()| None),
        });
        match event.await {
            Some(None) => break None,
            Some(Some(Ok(piece))) => {
                tape.lock().deliver(piece.len());
                let needed = bytes.len() + piece.len();
                if needed > room_bytes && room_bytes < bounds.bytes_max {
                    let began = Instant::now();
                    drop(room.take());
                    room_bytes = room_for(needed, declared, bounds.bytes_max);
                    room = Some(bounds.rooms.take(room_bytes).await);
                    // That took our time, not the peer's.
                    total_end += began.elapsed();
                    window_end += began.elapsed();
                    alarm.as_mut().reset(window_end.min(total_end));
                    bytes.reserve_exact(declared.saturating_sub(bytes.len()));
                }
                let left = bounds.bytes_max - bytes.len();
                bytes.extend_from_slice(&piece[..piece.len().min(left)]);
                if piece.len() > left {
                    break Some((TruncationMark::Length, ErrorClass::BodyLimit));
                }
            }
            Some(Some(Err(fault))) if fault.class == ErrorClass::Disconnect => {
                break Some((TruncationMark::Disconnect, ErrorClass::Disconnect));
            }
            Some(Some(Err(fault))) => return Err(fault),
            None if Instant::now() >= total_end => {
                break Some((TruncationMark::Time, ErrorClass::TimeoutTotal));
            }
            None if ((bytes.len() - window_start_len) as u64) < bounds.window_bytes_min => {
                break Some((TruncationMark::Time, ErrorClass::TooSlow));
            }
            None => {
                window_start_len = bytes.len();
                window_end += bounds.window;
                alarm.as_mut().reset(window_end.min(total_end));
            }
        }
    };
    let truncation = truncation.map(|(mark, cause)| Truncation { mark, cause });
    Ok(Body {
        bytes,
        truncation,
        room,
    })
}
