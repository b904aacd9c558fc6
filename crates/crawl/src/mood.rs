//! How long a host is left alone after an answer: the crawl gets gentler when a host struggles.
//!
//! A host that says so (429, 503, `Retry-After`) is left alone as long as it asks, or longer each
//! time it says so again. A host that cannot be reached or fails three times in a row likewise. A
//! slow host rests as long as it took to answer. A good answer forgets it all. How often a host
//! struggled in a row is the ledger's to know: a restart is as gentle as the process before it.

use std::time::Duration;

use turnstone_pagestore::Mood;

/// The first rest of a host that says it is too much, without saying how long.
const BUSY_REST: Duration = Duration::from_secs(10);
/// The longest rest we choose ourselves.
const REST_MAX: Duration = Duration::from_secs(3600);
/// Server errors in a row before the host as a whole is taken to struggle.
const ERRORS_FREE: u32 = 3;
/// The longest rest after a slow answer.
const SLOW_REST_MAX: Duration = Duration::from_secs(30);

/// How an answer speaks of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It answered, taking this long.
    Good(Duration),
    /// It said it is too much, and perhaps for how long.
    Busy(Option<Duration>),
    /// A server error.
    Error,
    /// It could not be reached, or broke off.
    Unreachable,
}

impl Answer {
    /// The same without times, as the journal keeps it.
    pub(crate) fn kind(self) -> Mood {
        match self {
            Self::Good(_) => Mood::Good,
            Self::Busy(_) => Mood::Busy,
            Self::Error => Mood::Error,
            Self::Unreachable => Mood::Unreachable,
        }
    }
}

/// How long a host is to be left alone from now on, beyond its usual delay, when it answers so after
/// `troubles` answers in a row that were not good.
pub(crate) fn rest(troubles: u32, answer: Answer, delay: Duration) -> Duration {
    let troubles = troubles.saturating_add(1);
    let doubled = |first: Duration, times: u32| {
        first
            .saturating_mul(1 << times.saturating_sub(1).min(16))
            .min(REST_MAX)
    };
    match answer {
        // With no delay there is nobody to be gentle with: a lab.
        Answer::Good(took) if took > delay && !delay.is_zero() => took.min(SLOW_REST_MAX),
        Answer::Good(_) => Duration::ZERO,
        Answer::Busy(Some(asked)) => asked,
        Answer::Busy(None) => doubled(BUSY_REST, troubles),
        Answer::Error if troubles < ERRORS_FREE => Duration::ZERO,
        Answer::Error => doubled(delay, troubles - ERRORS_FREE + 1),
        Answer::Unreachable => doubled(delay, troubles),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_adds_up_and_is_forgotten() {
        let mut troubles = 0;
        let mut rest = |answer| {
            let rest = rest(troubles, answer, Duration::from_secs(1)).as_secs();
            troubles = match answer {
                Answer::Good(_) => 0,
                _ => troubles + 1,
            };
            rest
        };
        assert_eq!(rest(Answer::Busy(None)), 10);
        assert_eq!(rest(Answer::Busy(None)), 20);
        assert_eq!(rest(Answer::Busy(Some(Duration::from_secs(7)))), 7);
        assert_eq!(rest(Answer::Good(Duration::from_millis(5))), 0);
        assert_eq!(rest(Answer::Unreachable), 1);
        assert_eq!(rest(Answer::Unreachable), 2);
        assert_eq!(rest(Answer::Good(Duration::from_secs(4))), 4);
        assert_eq!(rest(Answer::Good(Duration::from_secs(400))), 30);
        assert_eq!(rest(Answer::Error), 0);
        assert_eq!(rest(Answer::Error), 0);
        assert_eq!(rest(Answer::Error), 1);
        assert_eq!(rest(Answer::Error), 2);
        for _ in 0..100 {
            rest(Answer::Unreachable);
        }
        assert_eq!(rest(Answer::Unreachable), 3600);
    }
}
