//! `--explore`: the share of a round that is drawn at random.

use std::str::FromStr;

use crate::exit::Usage;

/// A share of a round, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExploreShare(pub(crate) f64);

impl FromStr for ExploreShare {
    type Err = Usage;

    fn from_str(text: &str) -> Result<Self, Usage> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
            None => text.parse(),
        };
        let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or_else(|| {
            Usage::of(
                "--explore",
                format!("'{text}' is not a share such as 10% or 0.1"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read() {
        let read = |text: &str| text.parse::<ExploreShare>().ok();
        assert_eq!(read("10%"), Some(ExploreShare(0.1)));
        assert_eq!(read("0.1"), Some(ExploreShare(0.1)));
        assert_eq!(read("0"), Some(ExploreShare(0.0)));
        for wrong in ["", "x", "-1", "101%", "1.5", "NaN"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
