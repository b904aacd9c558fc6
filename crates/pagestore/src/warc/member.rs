//! One gzip member for each record, so that a record can be read by its place alone.
//!
//! Setting up a compressor costs more than compressing a small record, so a [`Packer`] keeps one
//! and is kept by whoever packs many. A record is at hand as a whole, which libdeflate makes use
//! of: it packs a page as small as zlib's level 4 does in less than half of the time.
//!
//! Invariant: the same bytes give the same member; it holds no name and no time.

use libdeflater::{CompressionLvl, Compressor};

/// The level records are packed with unless told otherwise: see the benchmark `warc`.
pub const LEVEL: u32 = 1;

/// Room for a record that is kept for the next one; what longer ones needed is given back.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// A compressor that is used again and again.
pub struct Packer {
    state: Compressor,
    /// The record in one piece.
    whole: Vec<u8>,
    /// Room for its member, filled from the beginning.
    packed: Vec<u8>,
}

impl Packer {
    /// Packs at a level from 1 (fast) to 12 (small); others are taken for the nearest.
    pub fn new(level: u32) -> Self {
        let level = i32::try_from(level.clamp(1, 12)).expect("it is small");
        let level = CompressionLvl::new(level).expect("these levels exist");
        Self {
            state: Compressor::new(level),
            whole: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Appends one member that holds all parts, one after the other.
    pub(super) fn pack(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) {
        self.whole.clear();
        for part in parts {
            self.whole.extend_from_slice(part);
        }
        let bound = self.state.gzip_compress_bound(self.whole.len());
        if self.packed.len() < bound {
            self.packed.resize(bound, 0);
        }
        let length = self
            .state
            .gzip_compress(&self.whole, &mut self.packed)
            .expect("the bound is room enough for any bytes");
        out.extend_from_slice(&self.packed[..length]);
        if bound > KEPT_BYTES_MAX {
            (self.whole, self.packed) = (Vec::new(), Vec::new());
        }
    }
}

impl Default for Packer {
    fn default() -> Self {
        Self::new(LEVEL)
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn members_unpack_to_their_parts() {
        let noise: Vec<u8> = (0..300_000_u64)
            .map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
            .collect();
        let mut packer = Packer::default();
        for parts in [
            vec![],
            vec![&b""[..]],
            vec![&b"head"[..], &b""[..], &b"body"[..]],
            vec![&noise[..], &noise[..70_000], &vec![0; 1_000_000]],
        ] {
            let mut out = Vec::new();
            packer.pack(&parts, &mut out);
            let mut again = Vec::new();
            Packer::default().pack(&parts, &mut again);
            assert!(out == again, "a used packer packs alike");
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&out[..])
                .read_to_end(&mut unpacked)
                .unwrap();
            assert!(unpacked == parts.concat());
        }
    }
}
