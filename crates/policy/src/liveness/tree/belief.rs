//! How likely a place's pages are alive: counts of tests, shrunk from the general to the particular.
//!
//! Upwards, a place with n tests speaks to the place above with n/(1 + ρ(n − 1)) of them at its own
//! alive share, ρ = 0.1: one test counts for one, a thousand for ten, because pages of one place
//! die together. Downwards, p = (alive + p_above)/(tests + 1): what is thought of the place above
//! counts for one test. The web itself starts at one half.
//!
//! All of it is integers: tests in units of 2⁻¹⁶, chances in units of 2⁻³⁰, rounded down. So every
//! machine decides alike, and sums do not depend on the order in which verdicts came.
//!
//! On old crawls ρ from 0.05 to 0.4 and a weight from 0.5 to 2 for the place above cost the same
//! within 0.005; a bonus for places little tested cost more.

/// One test.
pub(super) const TEST: u64 = 1 << 16;

/// Surely alive.
pub(super) const SURE: u32 = 1 << 30;

/// What is thought of the web before the first test.
pub(super) const PRIOR: u32 = SURE / 2;

/// Tests count in full up to here; beyond, counts are halved until they fit.
const TESTS_BITS_MAX: u32 = 32;

/// What a place of so many tests and so many alive says to the place above: (tests, alive).
pub(super) fn passed_on(tests: u64, alive: u64) -> (u64, u64) {
    let shift = (u64::BITS - tests.leading_zeros()).saturating_sub(TESTS_BITS_MAX + 8);
    let (tests, alive) = (tests >> shift, alive >> shift);
    let divisor = 9 * TEST + tests;
    (10 * tests * TEST / divisor, 10 * alive * TEST / divisor)
}

/// How likely a page of a place is alive, given how likely one of the place above is.
pub(super) fn chance(tests: u64, alive: u64, above: u32) -> u32 {
    let shift = (u64::BITS - tests.leading_zeros()).saturating_sub(TESTS_BITS_MAX);
    let (tests, alive, one) = (tests >> shift, alive >> shift, TEST >> shift);
    ((alive * u64::from(SURE) + one * u64::from(above)) / (tests + one)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tests_count_in_full_and_many_for_ten() {
        assert_eq!(passed_on(0, 0), (0, 0));
        assert_eq!(passed_on(TEST, TEST), (TEST, TEST));
        assert_eq!(passed_on(TEST, 0), (TEST, 0));
        let (tests, alive) = passed_on(1000 * TEST, 500 * TEST);
        assert!((tests as f64 / TEST as f64 - 1000.0 / (1.0 + 0.1 * 999.0)).abs() < 1e-3);
        assert!((alive as f64 / tests as f64 - 0.5).abs() < 1e-3);
        let (tests, alive) = passed_on(TEST << 30, TEST << 30);
        assert!(tests < 10 * TEST && tests > 9 * TEST && alive == tests);
    }

    #[test]
    fn without_tests_a_place_is_thought_of_as_the_one_above() {
        for above in [0, 1, PRIOR, SURE - 1, SURE] {
            assert_eq!(chance(0, 0, above), above);
        }
        assert_eq!(chance(TEST, TEST, PRIOR), SURE / 4 * 3);
        assert_eq!(chance(TEST, 0, PRIOR), SURE / 4);
        assert_eq!(chance(3 * TEST, 3 * TEST, SURE), SURE);
        assert!(chance(TEST << 30, TEST << 30, 0) > SURE - 100_000);
        assert_eq!(chance(TEST << 30, 0, SURE) >> 12, 0);
    }
}
