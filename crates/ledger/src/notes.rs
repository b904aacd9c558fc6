//! What a crawl notes in its journal for those who look at it later.

use std::io;

use turnstone_frontier::{Arm, ArmShare, Reason, Restore, Save, Split, Tick, corrupt};

use crate::slice::Slice;

/// Why a process ended, as [`Stop::name`](crate::Stop::name). Empty while it runs, and for ever if
/// it was killed.
pub const STOP_NOTE: &str = "stop";

/// What was proven after so many requests. On disk three numbers of eight bytes, low end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoverageNote {
    /// Requests sent so far.
    pub requests: u64,
    /// At least this much was in the store, in units of [`Coverage::ONE`](turnstone_frontier::Coverage::ONE).
    pub guaranteed: u64,
    /// This much could not be guaranteed any more.
    pub stuck: u64,
}

impl CoverageNote {
    /// The kind of such notes.
    pub const KIND: &str = "coverage";

    /// As it is written.
    pub fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.requests, self.guaranteed, self.stuck];
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// Reads a note; nothing if it is not one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        match (numbers, rest) {
            (&[requests, guaranteed, stuck], []) => Some(Self {
                requests: u64::from_le_bytes(requests),
                guaranteed: u64::from_le_bytes(guaranteed),
                stuck: u64::from_le_bytes(stuck),
            }),
            _ => None,
        }
    }
}

/// A slice of a crawl that runs for ever, and how its budget is divided. On disk a version, ten
/// numbers of eight bytes, and if there is a split its round, its budget, and 74 bytes an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceNote {
    /// The slice, as far as it is.
    pub slice: Slice,
    /// When it began, in seconds of 1970 by the crawl's clock.
    pub began_s: u64,
    /// How its budget is divided, where the policy divides it.
    pub split: Option<Split>,
}

/// The form of a [`SliceNote`] that is written.
const SLICE_NOTE_VERSION: u8 = 1;
/// In the order of their numbers in a note.
const REASONS: [Reason; 5] = [
    Reason::Worth,
    Reason::Floor,
    Reason::Exhausted,
    Reason::NoCandidate,
    Reason::Outbid,
];

impl SliceNote {
    /// The kind of the note about the slice that runs, or ran last.
    pub const KIND: &str = "keep";
    /// The kind of the note about the last slice that ended.
    pub const PAST: &str = "slice";

    /// As it is written.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::new();
        self.save(&mut out).expect("memory takes all");
        out
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        SLICE_NOTE_VERSION.save(out)?;
        let Slice {
            round,
            began,
            budget,
            requests,
            new,
            changed,
            unchanged,
            gone,
            hints,
        } = self.slice;
        for number in [
            u64::from(round),
            began.0,
            budget,
            requests,
            new,
            changed,
            unchanged,
            gone,
            hints,
            self.began_s,
        ] {
            number.save(out)?;
        }
        self.split.is_some().save(out)?;
        let Some(split) = self.split else {
            return Ok(());
        };
        u64::from(split.round).save(out)?;
        split.budget.save(out)?;
        for share in split.arms {
            save_share(&share, out)?;
        }
        Ok(())
    }

    /// Reads a note; nothing if it is not one.
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let note = Self::restore(&mut bytes).ok()?;
        bytes.is_empty().then_some(note)
    }

    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        if u8::restore(from)? != SLICE_NOTE_VERSION {
            return Err(corrupt("a note of another version"));
        }
        let mut numbers = [0u64; 10];
        for number in &mut numbers {
            *number = u64::restore(from)?;
        }
        let [
            round,
            began,
            budget,
            requests,
            new,
            changed,
            unchanged,
            gone,
            hints,
            began_s,
        ] = numbers;
        let small = |number| u32::try_from(number).map_err(|_| corrupt("a round beyond all"));
        let slice = Slice {
            round: small(round)?,
            began: Tick(began),
            budget,
            requests,
            new,
            changed,
            unchanged,
            gone,
            hints,
        };
        if !bool::restore(from)? {
            return Ok(Self {
                slice,
                began_s,
                split: None,
            });
        }
        let round = small(u64::restore(from)?)?;
        let budget = u64::restore(from)?;
        let mut arms = Vec::new();
        for arm in Arm::ALL {
            arms.push(restore_share(arm, from)?);
        }
        let arms = arms.try_into().map_err(|_| corrupt("too few arms"))?;
        let split = Some(Split {
            round,
            budget,
            arms,
        });
        Ok(Self {
            slice,
            began_s,
            split,
        })
    }
}

fn save_share(share: &ArmShare, out: &mut dyn io::Write) -> io::Result<()> {
    (share.arm.index() as u8).save(out)?;
    for number in [
        share.candidates,
        share.planned,
        share.spent_in_round,
        share.spent,
    ] {
        number.save(out)?;
    }
    for number in [
        share.gain,
        share.gain_per_request,
        share.marginal,
        share.floor,
    ] {
        number.save(out)?;
    }
    let reason = REASONS.iter().position(|reason| *reason == share.reason);
    (reason.expect("the list has every reason") as u8).save(out)
}

fn restore_share(arm: Arm, from: &mut dyn io::Read) -> io::Result<ArmShare> {
    if usize::from(u8::restore(from)?) != arm.index() {
        return Err(corrupt("arms out of order"));
    }
    Ok(ArmShare {
        arm,
        candidates: u64::restore(from)?,
        planned: u64::restore(from)?,
        spent_in_round: u64::restore(from)?,
        spent: u64::restore(from)?,
        gain: f64::restore(from)?,
        gain_per_request: f64::restore(from)?,
        marginal: f64::restore(from)?,
        floor: f64::restore(from)?,
        reason: REASONS
            .get(usize::from(u8::restore(from)?))
            .copied()
            .ok_or_else(|| corrupt("a reason that means nothing"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_read_as_it_was_written() {
        let share = |arm: Arm| ArmShare {
            arm,
            candidates: 1,
            planned: 2 + arm.index() as u64,
            spent_in_round: 3,
            spent: 4,
            gain: 0.5,
            gain_per_request: 0.25,
            marginal: 0.125,
            floor: 0.1,
            reason: REASONS[arm.index() + 1],
        };
        let mut note = SliceNote {
            slice: Slice {
                round: 7,
                began: Tick(8),
                budget: 9,
                requests: 10,
                new: 11,
                changed: 12,
                unchanged: 13,
                gone: 14,
                hints: 15,
            },
            began_s: 16,
            split: Some(Split {
                round: 7,
                budget: 9,
                arms: Arm::ALL.map(share),
            }),
        };
        let bytes = note.to_bytes();
        assert_eq!(SliceNote::read(&bytes), Some(note));
        for end in 0..bytes.len() {
            assert_eq!(SliceNote::read(&bytes[..end]), None, "{end}");
        }
        note.split = None;
        assert_eq!(SliceNote::read(&note.to_bytes()), Some(note));
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = CoverageNote {
            requests: 7,
            guaranteed: 1 << 61,
            stuck: 3,
        };
        assert_eq!(CoverageNote::read(&note.to_bytes()), Some(note));
        assert_eq!(CoverageNote::read(b"short"), None);
        assert_eq!(CoverageNote::read(&[0; 25]), None);
    }
}
