//! Where a page stands: one of a few words, told everywhere alike.
//!
//! A page is in one state at a time. What it was before it was handed out is kept beside it in the index, so that
//! a page given back is what it was.

/// Where a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PageState {
    /// Known, not yet asked for.
    Waiting,
    /// Handed out, not yet come back.
    InFlight,
    /// In the store.
    Fetched,
    /// Not there.
    Gone,
    /// No verdict yet; it may be asked for again.
    Unknown,
    /// Not to be asked for.
    Refused,
    /// Stands for another page.
    Moved,
    /// Out of scope: known, never asked for.
    Outside,
    /// Of another shard of the crawl: known, never asked for here.
    Away,
}

impl PageState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Waiting,
        Self::InFlight,
        Self::Fetched,
        Self::Gone,
        Self::Unknown,
        Self::Refused,
        Self::Moved,
        Self::Outside,
        Self::Away,
    ];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::InFlight => "in-flight",
            Self::Fetched => "fetched",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::Moved => "moved",
            Self::Outside => "out-of-scope",
            Self::Away => "away",
        }
    }
}
