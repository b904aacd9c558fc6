//! How the process ends, as a type.

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done what was asked.
    Done = 0,
    /// Could not.
    Failed = 1,
    /// Was asked wrongly.
    Usage = 2,
    /// Stopped by a limit before its goal.
    Limit = 3,
}

/// The arguments do not make sense: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

impl Usage {
    /// An error about an option or argument.
    pub(crate) fn of(option: &str, what: impl std::fmt::Display) -> Self {
        Self(format!("{option}: {what}"))
    }
}
