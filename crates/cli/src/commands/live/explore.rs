//! `--explore`: the share of a round that is drawn at random.

use std::str::FromStr;

use crate::exit::Usage;
use crate::units;

/// A share of a round, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ExploreShare(pub(crate) f64);

impl FromStr for ExploreShare {
    type Err = Usage;

    fn from_str(text: &str) -> Result<Self, Usage> {
        let share = units::part(text).map_err(|error| Usage::of("--explore", error))?;
        Ok(Self(share))
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
