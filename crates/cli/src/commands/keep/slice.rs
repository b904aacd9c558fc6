//! A slice and its split as a line and as a table.
//!
//! People are shown what programs are: text is made from the JSON, which a running crawl writes
//! for `turnstone status` too.

use crate::table::Table;
use serde_json::Value;
use turnstone_lab::number::{percent, short, whole};
pub(crate) use turnstone_server::slice::json;

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

/// A slice in a line.
pub(crate) fn line(slice: &Value) -> String {
    let mut text = format!(
        "{}  slice {}: {}",
        slice["began"].as_str().unwrap_or_default(),
        whole(number(slice, "round")),
        requests(slice),
    );
    let arms: Vec<String> = slice["split"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|arm| {
            format!(
                "{} {}",
                arm["arm"].as_str().unwrap_or_default(),
                whole(number(arm, "spent"))
            )
        })
        .collect();
    if !arms.is_empty() {
        text += &format!(" ({})", arms.join(", "));
    }
    text + "; " + &counts(slice)
}

/// What came of the pages of a slice.
pub(crate) fn counts(slice: &Value) -> String {
    let counts = ["new", "changed", "unchanged", "gone", "hints"];
    let counts = counts.map(|key| match (number(slice, key), key) {
        (1, "hints") => "1 hint".to_owned(),
        (count, key) => format!("{} {key}", whole(count)),
    });
    counts.join(", ")
}

/// What a slice spent of its budget.
pub(crate) fn requests(slice: &Value) -> String {
    let spent = whole(number(slice, "requests"));
    match number(slice, "budget") {
        u64::MAX => format!("{spent} requests"),
        budget => format!("{spent} of {} requests", whole(budget)),
    }
}

/// How the budget of a slice is divided, and why; nothing where it is not divided.
pub(crate) fn table(slice: &Value) -> String {
    let Some(arms) = slice["split"].as_array() else {
        return String::new();
    };
    let mut table = Table::new(&[
        "requests for",
        "#could ask",
        "#planned",
        "#share",
        "#floor",
        "#spent",
        "#gain each",
        "why",
    ]);
    for arm in arms {
        let share = |key: &str| percent(arm[key].as_f64().unwrap_or(0.0));
        table.row([
            arm["arm"].as_str().unwrap_or_default().to_owned(),
            whole(number(arm, "candidates")),
            whole(number(arm, "planned")),
            share("share"),
            share("floor"),
            whole(number(arm, "spent")),
            short(arm["gain_per_request"].as_f64().unwrap_or(0.0)),
            arm["why"].as_str().unwrap_or_default().to_owned(),
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use turnstone_frontier::{Arm, ArmShare, Reason, Split, Tick};
    use turnstone_ledger::{Slice, SliceNote};

    #[test]
    fn a_slice_is_told_in_a_line_and_a_table() {
        let share = |arm: Arm| ArmShare {
            arm,
            candidates: 1200,
            planned: 10 * (1 + arm.index() as u64),
            spent_in_round: 7,
            spent: 70,
            gain: 3.0,
            gain_per_request: 0.25,
            marginal: 0.2,
            floor: 0.05,
            reason: Reason::Worth,
        };
        let note = SliceNote {
            slice: Slice {
                round: 12,
                began: Tick(1000),
                budget: 100,
                requests: 41,
                new: 5,
                changed: 7,
                unchanged: 20,
                gone: 3,
                hints: 2,
            },
            began_s: 1_700_000_001,
            split: Some(Split {
                round: 12,
                budget: 100,
                arms: Arm::ALL.map(share),
            }),
        };
        let json = json(&note);
        expect![[r#"
            2023-11-14T22:13:21Z  slice 12: 41 of 100 requests (coverage 7, refresh 7, discovery 7, retest 7); 5 new, 7 changed, 20 unchanged, 3 gone, 2 hints
        "#]]
        .assert_eq(&(line(&json) + "\n"));
        expect![[r"
            requests for  could ask  planned   share   floor  spent  gain each  why
            coverage          1,200       10  10.0 %  5.00 %      7       0.25  its requests are worth as much as the others'
            refresh           1,200       20  20.0 %  5.00 %      7       0.25  its requests are worth as much as the others'
            discovery         1,200       30  30.0 %  5.00 %      7       0.25  its requests are worth as much as the others'
            retest            1,200       40  40.0 %  5.00 %      7       0.25  its requests are worth as much as the others'
        "]]
        .assert_eq(&table(&json));
        let alone = SliceNote {
            split: None,
            ..note
        };
        assert_eq!(table(&super::json(&alone)), "");
    }
}
