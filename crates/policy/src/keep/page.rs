//! What is remembered of one page: its copy, its history, where it belongs.
//!
//! Cost: 56 bytes a page.

use std::io;

use turnstone_frontier::{Arm, Restore, Save, Tick, corrupt};

use super::bursts::Home;
use super::rates::Waits;
use super::sources::{Kind, Shown};

/// What we have of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Have {
    /// Known, never asked for with a verdict.
    Nothing,
    /// A copy.
    Copy,
    /// Not there when last asked for.
    Absence,
    /// We may not ask.
    Refusal,
}

/// One page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Page {
    pub(super) have: Have,
    /// The arm that it is queued for in this round.
    pub(super) arm: Option<Arm>,
    /// Whether it was ever stored.
    pub(super) was_stored: bool,
    /// How often in a row it was not there. A gone page with none is expected back.
    pub(super) misses: u8,
    /// How often in a row no verdict came.
    pub(super) faults: u8,
    /// Hints since our copy.
    pub(super) hints: u16,
    pub(super) site: u32,
    /// Its group, or [`NONE`](Self::NONE).
    pub(super) group: u32,
    /// When the last verdict came: the time of our copy.
    pub(super) seen_at: Tick,
    /// Not to be asked for before.
    pub(super) not_before: Tick,
    pub(super) changes: f32,
    pub(super) days: f32,
    pub(super) shown: f32,
    pub(super) shown_days: f32,
    /// How many links it has, and how many pages link to it as far as is known.
    pub(super) links: u32,
    pub(super) linked: u32,
}

impl Page {
    /// No group.
    pub(super) const NONE: u32 = u32::MAX;

    /// A page that was just discovered.
    pub(super) fn new(site: u32, group: u32) -> Self {
        Self {
            have: Have::Nothing,
            arm: None,
            was_stored: false,
            misses: 0,
            faults: 0,
            hints: 0,
            site,
            group,
            seen_at: Tick(0),
            not_before: Tick(0),
            changes: 0.0,
            days: 0.0,
            shown: 0.0,
            shown_days: 0.0,
            links: 0,
            linked: 0,
        }
    }

    pub(super) fn home(&self) -> Home {
        Home {
            site: self.site,
            group: Some(self.group).filter(|group| *group != Self::NONE),
        }
    }

    pub(super) fn seen(&self) -> Waits {
        Waits {
            changes: f64::from(self.changes),
            days: f64::from(self.days),
        }
    }

    pub(super) fn shown(&self) -> Shown {
        Shown {
            pages: f64::from(self.shown),
            days: f64::from(self.shown_days),
        }
    }

    /// Adds to its history of changes.
    pub(super) fn add_seen(&mut self, seen: Waits) {
        self.changes += seen.changes as f32;
        self.days += seen.days as f32;
    }

    /// What it has shown so far.
    pub(super) fn set_shown(&mut self, shown: Shown) {
        (self.shown, self.shown_days) = (shown.pages as f32, shown.days as f32);
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::of(self.links, self.linked)
    }

    /// The arm that a request for it belongs to when no plan says otherwise.
    pub(super) fn usual_arm(&self) -> Option<Arm> {
        match self.have {
            Have::Nothing => Some(Arm::Coverage),
            Have::Copy => Some(Arm::Refresh),
            Have::Absence => Some(Arm::Retest),
            Have::Refusal => None,
        }
    }
}

impl Save for Page {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.have as u8).save(out)?;
        self.arm.map(|arm| arm as u8).save(out)?;
        self.was_stored.save(out)?;
        self.misses.save(out)?;
        self.faults.save(out)?;
        self.hints.save(out)?;
        self.site.save(out)?;
        self.group.save(out)?;
        self.seen_at.save(out)?;
        self.not_before.save(out)?;
        for number in [self.changes, self.days, self.shown, self.shown_days] {
            number.save(out)?;
        }
        self.links.save(out)?;
        self.linked.save(out)
    }
}

impl Restore for Page {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let have = match u8::restore(from)? {
            0 => Have::Nothing,
            1 => Have::Copy,
            2 => Have::Absence,
            3 => Have::Refusal,
            _ => return Err(corrupt("a page of which we have no known thing")),
        };
        let arm = match Option::<u8>::restore(from)? {
            None => None,
            Some(number) => {
                let arm = Arm::ALL.get(usize::from(number)).copied();
                Some(arm.ok_or_else(|| corrupt("an arm that does not exist"))?)
            }
        };
        Ok(Self {
            have,
            arm,
            was_stored: Restore::restore(from)?,
            misses: Restore::restore(from)?,
            faults: Restore::restore(from)?,
            hints: Restore::restore(from)?,
            site: Restore::restore(from)?,
            group: Restore::restore(from)?,
            seen_at: Restore::restore(from)?,
            not_before: Restore::restore(from)?,
            changes: Restore::restore(from)?,
            days: Restore::restore(from)?,
            shown: Restore::restore(from)?,
            shown_days: Restore::restore(from)?,
            links: Restore::restore(from)?,
            linked: Restore::restore(from)?,
        })
    }
}
