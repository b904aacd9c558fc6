//! Luck that can be had again: a seed gives the same throws on every machine.

/// SplitMix64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.bits() % end.max(1)
    }

    /// Once in so many throws.
    pub(super) fn once_in(&mut self, throws: u64) -> bool {
        self.below(throws) == 0
    }
}

/// What a seed says of a thing, always the same.
pub(super) fn fate(seed: u64, thing: &str) -> Dice {
    let hash = thing.bytes().fold(0xCBF2_9CE4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3)
    });
    let mut dice = Dice(seed ^ hash);
    dice.bits();
    dice
}
