//! The fingerprint of some bytes: what links a chunk to the one before it.
//!
//! 128 bits of SipHash-1-3 under a fixed key. It finds accidents: bytes lost, doubled, swapped or
//! mixed between two writers. It is no signature; who may write at all is decided by the bus.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// The fingerprint of some bytes; all zero before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = SipHasher13::new_with_key(b"turnstone chain1");
        hasher.write(bytes);
        Self(hasher.finish128().as_bytes())
    }
}
