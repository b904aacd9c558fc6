//! What is missing of a body: cut by us, by the peer, or past reading.
//!
//! A crawl that wants to say "these are all the links" must know what it did not see. A body can
//! fall short in five ways; for each, the number of missing bytes is told where it is known, and
//! said to be unknown where it is not. It is known when the peer declared the length of a body
//! that is not compressed. How long a compressed rest would have become, nobody can say.

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, TRANSFER_ENCODING};

use crate::decode::{DecodeFault, Decoded};
use crate::message::{Note, Response, TruncationMark};

/// A body that is not all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// Why.
    pub cause: ShortfallCause,
    /// How many bytes of the page are missing, where that is known.
    pub bytes: Option<u64>,
}

/// Why a body is not all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShortfallCause {
    /// Cut by us at a limit on its length, before or after decoding.
    Length,
    /// Cut by us, for it took too long.
    Time,
    /// Cut by the peer or the network.
    Disconnect,
    /// The peer sent a part though nobody asked for one.
    Part,
    /// The content coding is unknown, broken or ends early: the rest cannot be read.
    Undecoded,
}

impl ShortfallCause {
    /// The word for people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Part => "part",
            Self::Undecoded => "undecoded",
        }
    }
}

impl Response {
    /// What is missing of the body, given what became of its codings; `None` if it is whole.
    ///
    /// A body that is not coded though it is said to be, or that has bytes behind its end, is
    /// whole: [`Decoded::fault`] tells of both.
    pub fn shortfall(&self, decoded: &Decoded<'_>) -> Option<Shortfall> {
        let is_plain = matches!(decoded.body, std::borrow::Cow::Borrowed(_));
        let received = self.body.len() as u64;
        // More came than was declared: then the declaration says nothing.
        let rest = |whole: Option<u64>| whole?.checked_sub(received).filter(|_| is_plain);
        let received_short = match self.truncation.map(|truncation| truncation.mark) {
            Some(TruncationMark::Length) => Some(ShortfallCause::Length),
            Some(TruncationMark::Time) => Some(ShortfallCause::Time),
            Some(TruncationMark::Disconnect) => Some(ShortfallCause::Disconnect),
            None => None,
        };
        let undecoded = decoded.fault.as_ref().and_then(undecoded);
        if let Some(cause) = received_short {
            let bytes = rest(self.declared_length()).filter(|_| undecoded.is_none());
            return Some(Shortfall { cause, bytes });
        }
        if let Some(cause) = undecoded {
            return Some(Shortfall { cause, bytes: None });
        }
        if self.notes.contains(&Note::PartialUnasked) {
            let bytes = rest(self.length_of_whole());
            return (bytes != Some(0)).then_some(Shortfall {
                cause: ShortfallCause::Part,
                bytes,
            });
        }
        None
    }

    /// The length the peer declared for this body; chunks know none.
    fn declared_length(&self) -> Option<u64> {
        if self.headers.contains_key(TRANSFER_ENCODING) {
            return None;
        }
        let value = self.headers.get(CONTENT_LENGTH)?.to_str().ok()?;
        // A line may repeat itself; the head was refused if the numbers differ.
        value.split(',').next()?.trim().parse().ok()
    }

    /// The length of what a part was taken from: `bytes 0-99/1234`.
    fn length_of_whole(&self) -> Option<u64> {
        let value = self.headers.get(CONTENT_RANGE)?.to_str().ok()?;
        value.rsplit_once('/')?.1.trim().parse().ok()
    }
}

/// Whether a fault of the coding keeps something from us.
fn undecoded(fault: &DecodeFault) -> Option<ShortfallCause> {
    match fault {
        DecodeFault::Unknown(_)
        | DecodeFault::TooManyCodings(_)
        | DecodeFault::EndsEarly(_)
        | DecodeFault::Damaged(..) => Some(ShortfallCause::Undecoded),
        DecodeFault::TooLarge(_) | DecodeFault::Ratio { .. } => Some(ShortfallCause::Length),
        DecodeFault::NotCoded(_) | DecodeFault::TrailingBytes(..) => None,
    }
}
