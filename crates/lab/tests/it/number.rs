//! Shares that are bounds are rounded so that they stay bounds.

use turnstone_lab::number::{at_least, at_most};

fn check(share: f64, least: &str, most: &str) {
    assert_eq!(at_least(share), least, "at least {share}");
    assert_eq!(at_most(share), most, "at most {share}");
}

#[test]
fn a_bound_is_never_better_than_what_is_known() {
    check(0.0, "0.00 %", "0.00 %");
    check(0.000_01, "0.00 %", "0.01 %");
    check(0.58, "58.0 %", "58.0 %");
    check(0.07, "7.00 %", "7.00 %");
    check(0.979_96, "97.9 %", "98.0 %");
    check(0.98, "98.0 %", "98.0 %");
    check(0.999_999, "99.99 %", "100.0 %");
    check(1.0, "100.0 %", "100.0 %");
    check(f64::NAN, "-", "-");
}

#[test]
fn shares_of_few_decimals_are_shown_as_they_are() {
    for thousandth in 100..=998 {
        let share = f64::from(thousandth) / 1000.0;
        let shown = format!("{}.{} %", thousandth / 10, thousandth % 10);
        check(share, &shown, &shown);
    }
}
