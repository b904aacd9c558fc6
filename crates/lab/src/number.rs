//! Numbers as people read them.

/// A whole number with thousands separators: 1,234,567.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something: 1 page, 2 pages.
pub fn plural(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {what}{ending}", whole(count))
}

/// A share as per cent with one or two decimals; `-` for what is not a number.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "-".to_owned();
    }
    if share.abs() < 0.1 {
        format!("{:.2} %", share * 100.0)
    } else {
        format!("{:.1} %", share * 100.0)
    }
}

/// A share of which at least so much is sure, as per cent: rounded down, so that the words "at least" stay
/// true. Close to all of it there are two decimals, for 99.99 % is not 99.9 %.
pub fn at_least(share: f64) -> String {
    directed(share, f64::floor)
}

/// A share of which at most so much can be, as per cent: rounded up.
pub fn at_most(share: f64) -> String {
    directed(share, f64::ceil)
}

/// As [`percent`], rounded in one direction.
fn directed(share: f64, round: fn(f64) -> f64) -> String {
    if !share.is_finite() {
        return "-".to_owned();
    }
    let fine = share.abs() < 0.1 || (0.999..1.0).contains(&share);
    let (scale, decimals) = if fine { (1e4, 2) } else { (1e3, 1) };
    // The product of a short decimal and a power of ten may lie a hair beside it: that is no reason to
    // step over it.
    let scaled = share * scale;
    let near = scaled.round();
    let scaled = if near / scale == share {
        near
    } else {
        round(scaled)
    };
    let decimals = if scaled == scale { 1 } else { decimals };
    format!("{:.decimals$} %", scaled * 100.0 / scale)
}

/// A number in few characters: 0.25, 12, 3.5 k, 2 M.
pub fn short(number: f64) -> String {
    if !number.is_finite() {
        return "-".to_owned();
    }
    let (scaled, unit) = match number.abs() {
        x if x >= 1e9 => (number / 1e9, " G"),
        x if x >= 1e6 => (number / 1e6, " M"),
        x if x >= 1e4 => (number / 1e3, " k"),
        x if x > 0.0 && x < 1e-3 => return format!("{number:.0e}"),
        _ => (number, ""),
    };
    let text = format!("{scaled:.3}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Seconds as people say them: 0.42 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 10.0 => format!("{seconds:.2} s"),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole / 60 % 60),
        _ => format!("{} d {} h", whole / 86_400, whole / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(whole),
            ["0", "999", "1,000", "1,234,567"]
        );
        let shown = [0.25, 12.0, 3500.0, 35_000.0, 2e6, 1e-5, f64::NAN].map(short);
        assert_eq!(shown, ["0.25", "12", "3500", "35 k", "2 M", "1e-5", "-"]);
        assert_eq!(
            [0.0123, 0.5, f64::NAN].map(percent),
            ["1.23 %", "50.0 %", "-"]
        );
        let spoken = [0.421, 59.4, 200.0, 7500.0, 273_600.0].map(duration);
        assert_eq!(
            spoken,
            ["0.42 s", "59 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"]
        );
    }
}
