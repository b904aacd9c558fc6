//! Numbers that look random and depend on nothing but what they are made of.
//!
//! SplitMix64: the same seed, page and attempt give the same number on every machine and in every
//! order of requests, so that a run can be repeated.

/// The next state of the generator, which is its state plus a constant.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scatters the bits of a number.
pub(super) fn scatter(mut z: u64) -> u64 {
    z = z.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One number from several; their order matters.
pub(super) fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |sum, part| scatter(sum ^ *part))
}

/// One number from bytes.
pub(super) fn mix_bytes(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    scatter(bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

/// A share in [0, 1) from a number.
pub(super) fn share(number: u64) -> f64 {
    (number >> 11) as f64 / (1u64 << 53) as f64
}

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(super) struct Stream(pub(super) u64);

impl Stream {
    pub(super) fn next(&mut self) -> u64 {
        let number = scatter(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }
}
