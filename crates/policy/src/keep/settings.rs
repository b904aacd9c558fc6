//! What the user may set: floors, weights, and how beliefs weigh.

use turnstone_frontier::Arm;

use super::bursts::Doubt;
use super::rates::Pool;
use super::sources::Trust;
use crate::catalog::ParameterInfo;
use crate::spec::{Spec, SpecError};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// By arm, the share of requests it is given whatever it brings.
    pub floors: [f64; 4],
    /// What a copy renewed is worth.
    pub changed: f64,
    /// What a page new in the store is worth.
    pub stored: f64,
    /// What a page found is worth.
    pub found: f64,
    /// How far ahead a copy counts, in days.
    pub horizon_days: f64,
    /// How long a link to a new page stays for a source to show, in days.
    pub lasting_days: f64,
    /// What the group's rate weighs against a page's own, in changes.
    pub pool: f64,
    /// What the usual weighs against a week's changes, in changes.
    pub burst: f64,
    /// Between all pages alike (0) and each by its importance (1).
    pub importance: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            floors: [0.0, 0.05, 0.02, 0.005],
            changed: 1.0,
            stored: 1.0,
            found: 10.0,
            horizon_days: 180.0,
            lasting_days: 60.0,
            pool: 0.5,
            burst: 1.0,
            importance: 1.0,
        }
    }
}

pub(super) const PARAMETERS: &[ParameterInfo] = &[
    ParameterInfo {
        name: "coverage",
        default: "0",
        meaning: "the share of requests that known pages never fetched get whatever they bring, \
                  from 0 to 1",
    },
    ParameterInfo {
        name: "refresh",
        default: "0.05",
        meaning: "the same for stored pages that may have changed",
    },
    ParameterInfo {
        name: "discovery",
        default: "0.02",
        meaning: "the same for stored pages that may link to new ones",
    },
    ParameterInfo {
        name: "retest",
        default: "0.005",
        meaning: "the same for pages that were gone",
    },
    ParameterInfo {
        name: "changed",
        default: "1",
        meaning: "what a day of a current copy is worth",
    },
    ParameterInfo {
        name: "stored",
        default: "1",
        meaning: "what the same is worth for a page new in the store",
    },
    ParameterInfo {
        name: "found",
        default: "10",
        meaning: "what a day by which a new page is known earlier is worth",
    },
    ParameterInfo {
        name: "horizon",
        default: "180",
        meaning: "how far ahead a copy counts, in days",
    },
    ParameterInfo {
        name: "lasting",
        default: "60",
        meaning: "how long the pages that a source would show wait for it, in days",
    },
    ParameterInfo {
        name: "pool",
        default: "0.5",
        meaning: "what the rate of a page's group weighs against its own history, in changes",
    },
    ParameterInfo {
        name: "burst",
        default: "1",
        meaning: "what an ordinary week weighs against the changes seen in one, in changes",
    },
    ParameterInfo {
        name: "importance",
        default: "1",
        meaning: "what a page counts for: from 0, all alike, to 1, each by the links to it",
    },
];

impl Settings {
    pub(super) fn read(spec: &Spec) -> Result<Self, SpecError> {
        let usual = Self::default();
        let mut floors = usual.floors;
        for arm in Arm::ALL {
            let floor = &mut floors[arm.index()];
            *floor = number(spec, arm.name(), *floor, "a number from 0 to 1", |floor| {
                (0.0..=1.0).contains(&floor)
            })?;
        }
        if floors.iter().sum::<f64>() > 1.0 {
            // Named after the last floor that was given: the one to lower.
            let given = Arm::ALL
                .iter()
                .rev()
                .find(|arm| spec.get(arm.name()).is_some());
            let arm = given.copied().unwrap_or(Arm::Refresh).name();
            return Err(SpecError::BadValue {
                policy: spec.name().to_owned(),
                parameter: arm.to_owned(),
                value: spec.get(arm).unwrap_or_default().to_owned(),
                wanted: "floors that add up to 1 at most".to_owned(),
            });
        }
        let weight = |name, default| {
            let wanted = "a number from 0 to 1000000";
            number(spec, name, default, wanted, |weight| {
                (0.0..=1e6).contains(&weight)
            })
        };
        let above = |name, default| {
            let wanted = "a number above 0 and at most 1000000";
            number(spec, name, default, wanted, |number| {
                number > 0.0 && number <= 1e6
            })
        };
        Ok(Self {
            floors,
            changed: weight("changed", usual.changed)?,
            stored: weight("stored", usual.stored)?,
            found: weight("found", usual.found)?,
            horizon_days: above("horizon", usual.horizon_days)?,
            lasting_days: above("lasting", usual.lasting_days)?,
            pool: above("pool", usual.pool)?,
            burst: above("burst", usual.burst)?,
            importance: number(
                spec,
                "importance",
                usual.importance,
                "a number from 0 to 1",
                |dial| (0.0..=1.0).contains(&dial),
            )?,
        })
    }

    pub(super) fn doubt(&self) -> Doubt {
        Doubt {
            site: self.burst,
            group: self.burst,
        }
    }

    pub(super) fn pooling(&self) -> Pool {
        Pool {
            page: self.pool,
            group: 0.5,
        }
    }

    pub(super) fn trust(&self) -> Trust {
        Trust {
            page: 0.02,
            kind: 0.5,
            keep: 0.95,
        }
    }
}

pub(super) fn number(
    spec: &Spec,
    name: &str,
    default: f64,
    wanted: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<f64, SpecError> {
    spec.read(name, default, wanted, |value| {
        value.parse().ok().filter(|number| fits(*number))
    })
}
