//! Spans of time as people write them: `500ms`, `1s`, `2m`, `1h`, `1d`.

/// Milliseconds of a span; a number alone is seconds.
pub(crate) fn parse_ms(text: &str) -> Result<u64, String> {
    let wanted = || format!("'{text}' is not a span of time like 500ms, 1s, 2m or 1h");
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| wanted())?;
    let unit_ms = match &text[digits..] {
        "ms" => 1.0,
        "" | "s" => 1e3,
        "m" | "min" => 60e3,
        "h" => 3600e3,
        "d" => 86_400e3,
        _ => return Err(wanted()),
    };
    let ms = number * unit_ms;
    if ms <= 1e15 {
        Ok(ms.round() as u64)
    } else {
        Err(wanted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_nonsense_is_refused() {
        let spans =
            ["500ms", "1s", "2", "0.5s", "2m", "1h", "1d"].map(|text| parse_ms(text).unwrap());
        assert_eq!(
            spans,
            [500, 1000, 2000, 500, 120_000, 3_600_000, 86_400_000]
        );
        for text in [
            "",
            "s",
            "1x",
            "-1s",
            "1e99",
            "1.2.3s",
            "99999999999999999999d",
        ] {
            assert!(parse_ms(text).is_err(), "{text}");
        }
    }
}
