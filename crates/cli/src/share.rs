//! A share as users write it: `98%` or `0.98`.

/// Reads a share above 0 and below 1.
pub(crate) fn parse(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let share = number.ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| format!("'{text}' is not a share; give one like 98% or 0.98"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_number_below_one() {
        assert_eq!(parse("98%"), Ok(0.98));
        assert_eq!(parse("0.5"), Ok(0.5));
        for wrong in ["0", "1", "100%", "98", "-1%", "%", "x", "NaN"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
