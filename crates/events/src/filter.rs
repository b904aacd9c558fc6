//! Which events are wanted.

use turnstone_pagestore::Position;
use turnstone_pagestore::warc::parse_warc_date;

use crate::chronicle::Kind;
use crate::stream::SiteEvent;

/// From when on events are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// From this place in the journal on.
    Position(Position),
    /// From this moment on, in milliseconds of 1970.
    Moment(u64),
}

impl Since {
    /// A number is a position, whatever its length; all else is a date. So a year alone is no date.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(at) = text.parse() {
            return Some(Self::Position(Position(at)));
        }
        parse_warc_date(text).map(Self::Moment)
    }
}

/// Which events are wanted; all of them, unless it says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// These kinds; empty for all but `alive`, which is no news.
    pub kinds: Vec<Kind>,
    /// These hosts and those below them; empty for all.
    pub hosts: Vec<String>,
    /// From when on.
    pub since: Option<Since>,
}

impl Filter {
    /// Whether an event is wanted.
    pub fn wants(&self, event: &SiteEvent) -> bool {
        let host = |wanted: &String| {
            let below = event.host.strip_suffix(wanted.as_str());
            below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
        };
        ((self.kinds.is_empty() && event.kind != Kind::Alive) || self.kinds.contains(&event.kind))
            && (self.hosts.is_empty() || self.hosts.iter().any(host))
            && match self.since {
                None => true,
                Some(Since::Position(at)) => event.at >= at,
                Some(Since::Moment(ms)) => event.when_ms >= ms,
            }
    }
}
