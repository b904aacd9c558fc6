//! A slice of a crawl that runs for ever, and its split, as JSON: what `keep` and `status` print too.

use serde_json::{Value, json};
use turnstone_frontier::{ArmShare, Split};
use turnstone_ledger::SliceNote;

use crate::words::utc;

/// A slice for machines.
pub fn json(note: &SliceNote) -> Value {
    let SliceNote {
        slice,
        began_s,
        split,
    } = note;
    json!({
        "round": slice.round,
        "began": utc(began_s * 1000),
        "budget": slice.budget,
        "requests": slice.requests,
        "new": slice.new,
        "changed": slice.changed,
        "unchanged": slice.unchanged,
        "gone": slice.gone,
        "hints": slice.hints,
        "split": split.as_ref().map(arms),
    })
}

fn arms(split: &Split) -> Value {
    let arm = |share: &ArmShare| {
        json!({
            "arm": share.arm.name(),
            "candidates": share.candidates,
            "planned": share.planned,
            "share": share.planned as f64 / split.budget.max(1) as f64,
            "spent": share.spent_in_round,
            "spent_in_all": share.spent,
            "gain": share.gain,
            "gain_per_request": share.gain_per_request,
            "marginal": share.marginal,
            "floor": share.floor,
            "reason": share.reason.name(),
            "why": share.reason.words(),
        })
    };
    split.arms.iter().map(arm).collect()
}
