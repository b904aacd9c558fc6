//! `Retry-After`: how long a host asks to be left alone.
//!
//! Seconds or an HTTP date (RFC 9110, 10.2.3), clamped between the host's own delay and a day;
//! anything else means nothing was asked, and the caller backs off as it would without. Pure:
//! the time is an argument.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::RETRY_AFTER;

/// Longest wait that a host can ask for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// The wait that a response asks for, at least `delay` and at most [`RETRY_AFTER_MAX`]; `None`
/// if it asks for none or cannot be understood. Of several lines the longest counts.
pub fn retry_after(headers: &HeaderMap, now: SystemTime, delay: Duration) -> Option<Duration> {
    let waits = headers.get_all(RETRY_AFTER).iter();
    let waits = waits.filter_map(|value| parse_retry_after(value.as_bytes(), now));
    waits
        .max()
        .map(|wait| wait.max(delay).min(RETRY_AFTER_MAX.max(delay)))
}

/// One value, unclamped; a date gone by is a wait of zero.
pub fn parse_retry_after(value: &[u8], now: SystemTime) -> Option<Duration> {
    let text = str::from_utf8(value).ok()?.trim_ascii();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits beyond 64 bits still mean "very long".
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t16_retry_after() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777); // the dates below
        let check = |lines: &[&str], want: Option<u64>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(RETRY_AFTER, line.parse().unwrap());
            }
            let got = retry_after(&headers, now, Duration::from_secs(5));
            assert_eq!(got, want.map(Duration::from_secs), "{lines:?}");
        };
        check(&["120"], Some(120));
        check(&[" 120 "], Some(120));
        check(&["0"], Some(5));
        check(&["99999999"], Some(86_400));
        check(&["99999999999999999999999999"], Some(86_400));
        check(&["Sun, 06 Nov 1994 08:49:37 GMT"], Some(5)); // now
        check(&["Sun, 06 Nov 1994 08:51:37 GMT"], Some(120));
        check(&["Sunday, 06-Nov-94 08:51:37 GMT"], Some(120));
        check(&["Sun Nov  6 08:51:37 1994"], Some(120));
        check(&["Sat, 06 Nov 1993 08:49:37 GMT"], Some(5));
        check(&["Sat, 06 Nov 2094 08:49:37 GMT"], Some(86_400));
        check(&["10", "300"], Some(300));
        for junk in [
            "",
            "soon",
            "-1",
            "1.5",
            "1e3",
            "0x10",
            "12 0",
            "Sun, 99 Nov 1994 08:49:37 GMT",
        ] {
            check(&[junk], None);
        }
        check(&[], None);
    }

    #[test]
    fn a_delay_beyond_a_day_is_kept() {
        let mut headers = HeaderMap::new();
        headers.append(RETRY_AFTER, "10".parse().unwrap());
        let delay = Duration::from_secs(100_000);
        assert_eq!(
            retry_after(&headers, SystemTime::UNIX_EPOCH, delay),
            Some(delay)
        );
    }
}
