//! Moments as people and scripts read them: UTC, to the second.

use std::time::SystemTime;

use turnstone_lab::history::Date;

const DAY_S: u64 = 86_400;

/// Now, in milliseconds of 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// The day of a moment in milliseconds of 1970.
pub(crate) fn day(wall_ms: u64) -> Date {
    Date(i32::try_from(wall_ms / 1000 / DAY_S).unwrap_or(i32::MAX / 2))
}

/// A moment in milliseconds of 1970, like `2026-11-15T08:30:00Z`.
pub(crate) fn utc(wall_ms: u64) -> String {
    let second = wall_ms / 1000 % DAY_S;
    format!(
        "{}T{:02}:{:02}:{:02}Z",
        day(wall_ms),
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(1_700_000_000_999), "2023-11-14T22:13:20Z");
    }
}
