//! Content codings undone: gzip, deflate, br and zstd, within bounds.
//!
//! A few bytes can unfold into gigabytes, also through several codings on top of each other. So
//! the bound sits inside the loop: a decoder is only ever given room for one step, and never for
//! more than one byte beyond the limit. The ratio is always taken to the bytes received, however
//! many codings lie between. What decoded before a fault is kept and the fault named.
//!
//! Cost: linear in input and output; decoder windows add 32 KiB (gzip, deflate), up to 16 MiB
//! (br) or 8 MiB (zstd, RFC 9659).
//! Invariant: no coding puts out more than [`allowed`] bytes.

use std::borrow::Cow;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use crate::limits::Limits;
use crate::message::Response;

/// Room given to a decoder for one step.
const STEP_BYTES: usize = 32 << 10;
/// Largest window of a zstd frame on the web, as a power of two (RFC 9659).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// A body without its codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The bytes, as far as they could be had.
    pub body: Cow<'a, [u8]>,
    /// What was wrong; the first fault met.
    pub fault: Option<DecodeFault>,
}

/// What can be wrong with a coded body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeFault {
    /// A coding that we neither asked for nor know; nothing was decoded.
    #[error("unknown content coding {0:?}")]
    Unknown(String),
    /// More codings on top of each other than allowed; nothing was decoded.
    #[error("{0} content codings on top of each other")]
    TooManyCodings(usize),
    /// The body does not begin as its coding does; it was taken as it is.
    #[error("declared as {0}, but is not")]
    NotCoded(Coding),
    /// The coded bytes break off.
    #[error("{0} data ends early")]
    EndsEarly(Coding),
    /// The coded bytes are damaged.
    #[error("{0} data is damaged: {1}")]
    Damaged(Coding, String),
    /// Something follows the coded bytes; it was dropped.
    #[error("{1} bytes after the end of {0} data")]
    TrailingBytes(Coding, usize),
    /// The decoded body is longer than the limit.
    #[error("decodes to more than {0} bytes")]
    TooLarge(usize),
    /// The decoded body is too long for what was received.
    #[error("decodes to more than {ratio_max} times its {received} bytes")]
    Ratio {
        /// Bytes received.
        received: usize,
        /// The limit.
        ratio_max: usize,
    },
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// gzip, also `x-gzip`.
    Gzip,
    /// deflate, with its zlib frame or, as some servers send it, without.
    Deflate,
    /// br
    Brotli,
    /// zstd
    Zstd,
}

impl std::fmt::Display for Coding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        })
    }
}

impl Response {
    /// The body without its content codings.
    pub fn decoded(&self, limits: &Limits) -> Decoded<'_> {
        decode(&self.headers, &self.body, limits)
    }
}

/// Undoes the codings that `headers` declare for `body`.
pub fn decode<'a>(headers: &HeaderMap, body: &'a [u8], limits: &Limits) -> Decoded<'a> {
    let codings = match codings(headers, limits.codings_max) {
        Ok(codings) => codings,
        Err(fault) => {
            return Decoded {
                body: Cow::Borrowed(&[]),
                fault: Some(fault),
            };
        }
    };
    let mut decoded = Decoded {
        body: Cow::Borrowed(body),
        fault: None,
    };
    // A response to HEAD declares codings of a body that it does not have.
    if body.is_empty() {
        return decoded;
    }
    let bound = allowed(body.len(), limits);
    for coding in codings.into_iter().rev() {
        if !coding.begins(&decoded.body) {
            decoded.fault.get_or_insert(DecodeFault::NotCoded(coding));
            continue;
        }
        let mut layer = Layer {
            coding,
            rest: &decoded.body,
            output: Vec::new(),
            bound,
        };
        let fault = layer.run().err().map(|fault| match fault {
            DecodeFault::TooLarge(_) => too_large(body.len(), limits),
            other => other,
        });
        let output = layer.output;
        decoded.body = Cow::Owned(output);
        decoded.fault = decoded.fault.or(fault);
    }
    decoded
}

/// The most that a body of `received` bytes may decode to.
pub fn allowed(received: usize, limits: &Limits) -> usize {
    let by_ratio = received
        .saturating_mul(limits.decoded_ratio_max)
        .max(limits.decoded_free_bytes);
    limits.decoded_bytes_max.min(by_ratio)
}

fn too_large(received: usize, limits: &Limits) -> DecodeFault {
    if allowed(received, limits) < limits.decoded_bytes_max {
        DecodeFault::Ratio {
            received,
            ratio_max: limits.decoded_ratio_max,
        }
    } else {
        DecodeFault::TooLarge(limits.decoded_bytes_max)
    }
}

/// The codings in the order they were applied.
fn codings(headers: &HeaderMap, codings_max: usize) -> Result<Vec<Coding>, DecodeFault> {
    let lines = headers.get_all(CONTENT_ENCODING).iter();
    let names = lines.flat_map(|line| line.as_bytes().split(|&byte| byte == b','));
    let names = names
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty());
    let mut codings = Vec::new();
    let mut count = 0;
    for name in names {
        let coding = match name.to_ascii_lowercase().as_slice() {
            b"identity" => continue,
            b"gzip" | b"x-gzip" => Coding::Gzip,
            b"deflate" => Coding::Deflate,
            b"br" => Coding::Brotli,
            b"zstd" => Coding::Zstd,
            other => {
                let shown = String::from_utf8_lossy(other).chars().take(40).collect();
                return Err(DecodeFault::Unknown(shown));
            }
        };
        count += 1;
        if count <= codings_max {
            codings.push(coding);
        }
    }
    if count > codings_max {
        Err(DecodeFault::TooManyCodings(count))
    } else {
        Ok(codings)
    }
}

impl Coding {
    /// Whether `bytes` begin as this coding does, as far as that can be told.
    fn begins(self, bytes: &[u8]) -> bool {
        match self {
            Self::Gzip => bytes.starts_with(&[0x1f, 0x8b]) || bytes == [0x1f],
            Self::Zstd => zstd_frame(bytes),
            Self::Deflate | Self::Brotli => true,
        }
    }

    /// Whether one part may follow another, and `bytes` begin one.
    fn continues(self, bytes: &[u8]) -> bool {
        match self {
            Self::Gzip => bytes.starts_with(&[0x1f, 0x8b]),
            Self::Zstd => zstd_frame(bytes),
            Self::Deflate | Self::Brotli => false,
        }
    }

    fn decoder(self, bytes: &[u8]) -> Result<AnyDecoder, DecodeFault> {
        Ok(match self {
            Self::Gzip => AnyDecoder::Flate(Decompress::new_gzip(15)),
            Self::Deflate => AnyDecoder::Flate(Decompress::new(zlib_frame(bytes))),
            Self::Brotli => {
                let alloc = StandardAlloc::default;
                AnyDecoder::Brotli(Box::new(BrotliState::new_strict(alloc(), alloc(), alloc())))
            }
            Self::Zstd => {
                let damaged = |error: std::io::Error| DecodeFault::Damaged(self, error.to_string());
                let mut decoder = Decoder::new().map_err(damaged)?;
                let window = DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX);
                decoder.set_parameter(window).map_err(damaged)?;
                AnyDecoder::Zstd(decoder)
            }
        })
    }
}

/// A zstd frame or a skippable one; a beginning too short to tell counts as one.
fn zstd_frame(bytes: &[u8]) -> bool {
    let frame = [0x28, 0xb5, 0x2f, 0xfd]
        .into_iter()
        .zip(bytes)
        .all(|(want, &byte)| want == byte);
    let skippable = matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    !bytes.is_empty() && (frame || skippable)
}

/// Whether deflate data comes in its zlib frame (RFC 1950, 2.2).
fn zlib_frame(bytes: &[u8]) -> bool {
    match bytes {
        [cmf, flg, ..] => {
            cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)).is_multiple_of(31)
        }
        _ => false,
    }
}

/// One coding being undone.
struct Layer<'a> {
    coding: Coding,
    rest: &'a [u8],
    output: Vec<u8>,
    bound: usize,
}

impl Layer<'_> {
    /// Decodes part after part; the output is good as far as it goes, also after a fault.
    fn run(&mut self) -> Result<(), DecodeFault> {
        loop {
            self.run_part()?;
            if self.rest.iter().all(|&byte| byte == 0) {
                return Ok(()); // the end, or the padding of old archives
            }
            if !self.coding.continues(self.rest) {
                return Err(DecodeFault::TrailingBytes(self.coding, self.rest.len()));
            }
        }
    }

    fn run_part(&mut self) -> Result<(), DecodeFault> {
        let mut decoder = self.coding.decoder(self.rest)?;
        loop {
            let start = self.output.len();
            let room = STEP_BYTES.min(self.bound.saturating_add(1) - start);
            self.output.resize(start + room, 0);
            let step = decoder.step(self.rest, &mut self.output[start..]);
            self.output.truncate(start + step.produced);
            self.rest = &self.rest[step.consumed..];
            if self.output.len() > self.bound {
                self.output.truncate(self.bound);
                return Err(DecodeFault::TooLarge(self.bound));
            }
            match step.state {
                StepState::End => return Ok(()),
                StepState::Damaged(why) => return Err(DecodeFault::Damaged(self.coding, why)),
                StepState::More if step.produced == 0 && step.consumed == 0 => {
                    return Err(DecodeFault::EndsEarly(self.coding));
                }
                StepState::More => {}
            }
        }
    }
}

enum AnyDecoder {
    Flate(Decompress),
    Brotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>),
    Zstd(Decoder<'static>),
}

struct Step {
    consumed: usize,
    produced: usize,
    state: StepState,
}

enum StepState {
    More,
    End,
    Damaged(String),
}

impl AnyDecoder {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        match self {
            Self::Flate(decoder) => step_flate(decoder, input, output),
            Self::Brotli(state) => step_brotli(state, input, output),
            Self::Zstd(decoder) => step_zstd(decoder, input, output),
        }
    }
}

fn step_flate(decoder: &mut Decompress, input: &[u8], output: &mut [u8]) -> Step {
    let (before_in, before_out) = (decoder.total_in(), decoder.total_out());
    let state = match decoder.decompress(input, output, FlushDecompress::None) {
        Ok(Status::Ok | Status::BufError) => StepState::More,
        Ok(Status::StreamEnd) => StepState::End,
        Err(error) => StepState::Damaged(error.to_string()),
    };
    let moved = |now: u64, before: u64| usize::try_from(now - before).expect("within the slices");
    Step {
        consumed: moved(decoder.total_in(), before_in),
        produced: moved(decoder.total_out(), before_out),
        state,
    }
}

fn step_brotli(
    state: &mut BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    input: &[u8],
    output: &mut [u8],
) -> Step {
    let (mut consumed, mut produced) = (0, 0);
    let (mut left_in, mut left_out, mut total_out) = (input.len(), output.len(), 0);
    let result = BrotliDecompressStream(
        &mut left_in,
        &mut consumed,
        input,
        &mut left_out,
        &mut produced,
        output,
        &mut total_out,
        state,
    );
    let state = match result {
        BrotliResult::ResultSuccess => StepState::End,
        BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => StepState::More,
        BrotliResult::ResultFailure => StepState::Damaged(brotli_error(state)),
    };
    Step {
        consumed,
        produced,
        state,
    }
}

/// `BROTLI_DECODER_ERROR_FORMAT_DISTANCE` and the like, in words.
fn brotli_error(state: &BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>) -> String {
    let name = format!("{:?}", state.error_code);
    let words = name.strip_prefix("BROTLI_DECODER_ERROR_").unwrap_or(&name);
    words.replace('_', " ").to_ascii_lowercase()
}

fn step_zstd(decoder: &mut Decoder<'_>, input: &[u8], output: &mut [u8]) -> Step {
    let mut input = InBuffer::around(input);
    let mut output = OutBuffer::around(output);
    let state = match decoder.run(&mut input, &mut output) {
        Ok(0) => StepState::End,
        Ok(_) => StepState::More,
        Err(error) => StepState::Damaged(error.to_string()),
    };
    Step {
        consumed: input.pos(),
        produced: output.pos(),
        state,
    }
}
