//! Every limit of a fetch, in one place, each with its default.
//!
//! A stranger at the other end may be slow, endless, or lying; whatever it does, a fetch ends
//! within these bounds of time and memory. Nothing here is silent: a limit that bites shows up
//! as an [`ErrorClass`](crate::ErrorClass) or as a [`Truncation`](crate::Truncation).
//!
//! Invariant: one fetch holds at most `body_bytes_max` + `header_bytes_max` of received bytes,
//! plus `WIRE_SLACK_BYTES` on the way to us, and ends after at most `total_time`.

use std::time::Duration;

use tokio::sync::Semaphore;

/// Bytes a peer may send beyond what a body explains (heads, frames, chunk sizes, read-ahead)
/// before we call it a flood. A body earns [`WIRE_OVERHEAD_FACTOR`] times its size on top.
pub const WIRE_SLACK_BYTES: u64 = 1 << 20;

/// Wire bytes allowed per body byte; a body sent in chunks of one byte needs 6.
pub const WIRE_OVERHEAD_FACTOR: u64 = 8;

/// All limits of a [`Client`](crate::Client); `Limits::default()` is what a public crawl uses.
///
/// A client brings them within what it can keep: times to a year at most, at least one fetch and
/// one look-up at a time, heads of at most 512 KiB and 10 000 lines. [`Client::limits`] tells
/// what is in force.
///
/// [`Client::limits`]: crate::Client::limits
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Longest URL we ask for, in bytes.
    pub url_bytes_max: usize,

    /// Longest wait for the addresses of a host.
    pub dns_time: Duration,
    /// Look-ups under way at once; further ones wait their turn within their own `dns_time`.
    pub dns_open_max: usize,
    /// Addresses of one host that we look at; the rest of the answer is dropped.
    pub dns_addresses_max: usize,

    /// Longest wait for a TCP connection, over all addresses tried.
    pub connect_time: Duration,
    /// Addresses of one host that are tried, one after the other.
    pub connect_tries_max: usize,
    /// Longest wait for a TLS handshake.
    pub tls_time: Duration,
    /// Longest wait from the request to the end of the response head.
    pub first_byte_time: Duration,
    /// Longest time for the whole fetch, look-up and connection included.
    pub total_time: Duration,
    /// Body bytes per second that a peer must manage in every `throughput_window`.
    pub throughput_bytes_per_s_min: u64,
    /// How long a peer may stay below the minimum throughput.
    pub throughput_window: Duration,

    /// Longest response head, status line to empty line, informational (1xx) heads included.
    pub header_bytes_max: usize,
    /// Most header lines in a response head.
    pub header_count_max: usize,
    /// Most informational (1xx) heads before the real one.
    pub informational_max: usize,
    /// Longest body as received; longer ones are cut and marked.
    pub body_bytes_max: usize,
    /// Bytes that all bodies longer than 256 KiB may take together, each counted as long as it may
    /// become; further ones wait, and their clocks stand still.
    pub long_bodies_bytes_max: usize,

    /// Longest body after decoding.
    pub decoded_bytes_max: usize,
    /// Highest ratio of decoded to received bytes, once `decoded_free_bytes` are exceeded.
    pub decoded_ratio_max: usize,
    /// Decoded bytes that are not held against the ratio: small pages may repeat themselves.
    pub decoded_free_bytes: usize,
    /// Most codings on top of each other (`Content-Encoding: gzip, br` has two).
    pub codings_max: usize,

    /// Fetches under way at once in one client; further ones wait before their clock starts.
    pub fetches_open_max: usize,
    /// Idle connections kept for reuse.
    pub idle_connections_max: usize,
    /// Idle connections kept for one scheme, host and port.
    pub idle_connections_per_host_max: usize,
    /// How long an idle connection is kept.
    pub idle_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            url_bytes_max: 8 << 10,
            dns_time: Duration::from_secs(10),
            dns_open_max: 64,
            dns_addresses_max: 64,
            connect_time: Duration::from_secs(10),
            connect_tries_max: 3,
            tls_time: Duration::from_secs(10),
            first_byte_time: Duration::from_secs(30),
            total_time: Duration::from_secs(300),
            throughput_bytes_per_s_min: 1 << 10,
            throughput_window: Duration::from_secs(20),
            header_bytes_max: 64 << 10,
            header_count_max: 256,
            informational_max: 16,
            body_bytes_max: 10 << 20,
            long_bodies_bytes_max: 128 << 20,
            decoded_bytes_max: 32 << 20,
            decoded_ratio_max: 250,
            decoded_free_bytes: 1 << 20,
            codings_max: 2,
            fetches_open_max: 512,
            idle_connections_max: 256,
            idle_connections_per_host_max: 2,
            idle_time: Duration::from_secs(30),
        }
    }
}

/// Longest time that is told from "for ever"; clocks cannot be set much further ahead.
const TIME_MAX: Duration = Duration::from_secs(365 * 24 * 3600);
/// Longest head: half of what may pass on the wire before a body must explain it.
const HEADER_BYTES_MAX: usize = 512 << 10;
/// Most header lines: memory for each is set aside before they are read.
const HEADER_COUNT_MAX: usize = 10_000;

impl Limits {
    /// The limits within what a client can keep.
    pub(crate) fn within_reason(mut self) -> Self {
        for time in [
            &mut self.dns_time,
            &mut self.connect_time,
            &mut self.tls_time,
            &mut self.first_byte_time,
            &mut self.total_time,
            &mut self.throughput_window,
            &mut self.idle_time,
        ] {
            *time = (*time).min(TIME_MAX);
        }
        // A window without length would never come to its end.
        self.throughput_window = self.throughput_window.max(Duration::from_millis(1));
        self.header_bytes_max = self.header_bytes_max.min(HEADER_BYTES_MAX);
        self.header_count_max = self.header_count_max.min(HEADER_COUNT_MAX);
        self.dns_open_max = self.dns_open_max.clamp(1, Semaphore::MAX_PERMITS);
        self.fetches_open_max = self.fetches_open_max.clamp(1, Semaphore::MAX_PERMITS);
        self
    }
}
