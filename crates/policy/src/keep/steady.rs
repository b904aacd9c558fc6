//! Exponential and logarithm that are the same on every machine.
//!
//! The mathematics library of a system may round these as it likes, and a rank that differs in its
//! last bit is another decision. Here they are made of additions, multiplications and divisions
//! alone, which every machine rounds alike; exact to about one part in 10¹⁵.
//!
//! Cost: some twenty multiplications each.

/// Terms of the series for e^(−r), r below ln 2: what is left out is below 2⁻⁵³.
const TERMS: u32 = 17;

/// e^(−x) for x from 0 on.
pub(super) fn exp_neg(x: f64) -> f64 {
    debug_assert!(x >= 0.0, "{x} is not above 0");
    if x > 700.0 {
        return 0.0;
    }
    // x = k ln 2 + r, with ln 2 in two parts so that r loses nothing.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let k = (x * std::f64::consts::LOG2_E) as u64;
    let r = (x - k as f64 * LN_2_HIGH) - k as f64 * LN_2_LOW;
    let mut sum = 1.0;
    for n in (1..=TERMS).rev() {
        sum = 1.0 - r * sum / f64::from(n);
    }
    // 2^(−k), exactly: k is at most 1010.
    sum * f64::from_bits((1023 - k) << 52)
}

/// 1 − e^(−x), without loss for small x.
pub(super) fn exp_gap(x: f64) -> f64 {
    if x > 0.5 {
        return 1.0 - exp_neg(x);
    }
    let mut sum = 1.0;
    for n in (2..=TERMS).rev() {
        sum = 1.0 - x * sum / f64::from(n);
    }
    x * sum
}

/// 1 − e^(−x)(1 + x), without loss for small x: the chance of at least two events where x are
/// expected.
pub(super) fn two_or_more(x: f64) -> f64 {
    if x > 0.5 {
        return 1.0 - exp_neg(x) * (1.0 + x);
    }
    // x²/2 − x³/3 + x⁴/8 − …: the terms are (−x)^n (n−1)/n!.
    let mut sum = 0.0;
    let mut term = 0.5 * x * x;
    for n in 2..=TERMS {
        sum += term * f64::from(n - 1);
        term = -term * x / f64::from(n + 1);
    }
    sum
}

/// The natural logarithm of a number above 0 that is neither tiny nor infinite.
pub(super) fn ln(y: f64) -> f64 {
    debug_assert!(y.is_normal() && y > 0.0, "no logarithm of {y}");
    let bits = y.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // 2 artanh s, |s| at most 0.172.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for n in (0..12u32).rev() {
        sum = sum * square + 1.0 / f64::from(2 * n + 1);
    }
    2.0 * s * sum + exponent as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, ours: f64, theirs: f64) {
        let off = (ours - theirs).abs() / theirs.abs().max(1e-300);
        assert!(off < 1e-13, "{name}: {ours} is not {theirs}");
    }

    #[test]
    fn they_agree_with_the_library() {
        for step in 0..4000 {
            let x = f64::from(step) * 0.0131 + 1e-6;
            check("exp", exp_neg(x), (-x).exp());
            check("gap", exp_gap(x), -(-x).exp_m1());
            check("ln", ln(x) + 100.0, x.ln() + 100.0);
            check("ln", ln(1.0 / x) + 100.0, 100.0 - x.ln());
        }
        assert_eq!(
            (exp_neg(0.0), exp_gap(0.0), two_or_more(0.0)),
            (1.0, 0.0, 0.0)
        );
        assert_eq!(exp_neg(1e9), 0.0);
    }

    #[test]
    fn small_numbers_lose_nothing() {
        for x in [1e-12, 1e-6, 1e-3, 0.1, 0.4999] {
            // Four terms of the series suffice for a bound.
            let (least, most) = (x * x / 2.0 - x * x * x / 3.0, x * x / 2.0);
            assert!((least..=most).contains(&two_or_more(x)), "{x}");
        }
        check("at the seam", two_or_more(0.5), 1.0 - (-0.5f64).exp() * 1.5);
    }
}
