//! Everything that can happen in a crawl.
//!
//! The journal of a crawl is these events plus every hand-out, with ticks; all state is their
//! fold. Events carry facts that a driver saw, never opinions: what a page is worth is for the
//! policy to say.

use crate::calendar::Tick;
use crate::chance::Chance;
use crate::id::{HostId, PageId};

/// One thing that happened. Borrowed, because a page's links are read far more often than kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A URL was seen for the first time. Page ids are dense and issued in order.
    Discovered {
        /// The new page.
        page: PageId,
        /// Its politeness unit.
        host: HostId,
        /// Named by the user rather than found through a link.
        seed: bool,
    },
    /// Not all links of a page could be seen, because its body was cut off or it has more of them
    /// than anybody reads. Told immediately before the page's [`Fetched`](Self::Fetched), and each
    /// time: a `Fetched` without it says that every link was seen.
    Unseen {
        /// The page that is told of next.
        page: PageId,
        /// At most so many of its links were not seen; [`u64::MAX`] where nobody knows how many.
        links: u64,
    },
    /// A request brought an answer that counts as the page.
    Fetched {
        /// The page asked for.
        page: PageId,
        /// How it compares with the copy we had.
        change: Change,
        /// Every distinct link of the page that was seen, also those we shall never follow.
        links: &'a [PageId],
    },
    /// A request, or the decision not to make one, ended without the page.
    Failed {
        /// The page asked for.
        page: PageId,
        /// Why.
        fault: Fault,
    },
    /// The page turned out to stand for another: a redirect, or an exact duplicate.
    Moved {
        /// The page asked for.
        page: PageId,
        /// The page it stands for.
        to: PageId,
    },
    /// A host asked not to be contacted before a time.
    Held {
        /// The host.
        host: HostId,
        /// The first tick at which it may be contacted again.
        until: Tick,
    },
    /// Somebody outside said that the page changed since our copy was made: a sitemap's `lastmod`,
    /// an entry of a feed, a ping. Told once for each such saying; what it is worth is for the
    /// policy to learn.
    Hinted {
        /// The page.
        page: PageId,
        /// The page that said so, if it is one of ours.
        by: Option<PageId>,
    },
    /// A page that nobody linked to may be there: its address was guessed. Told after it was discovered, and
    /// again when the guess is worth more or less than before. Until it is fetched it is no page.
    Guessed {
        /// The page.
        page: PageId,
        /// That it is there.
        chance: Chance,
        /// How many new pages are expected if it is, itself included.
        brings: u32,
    },
    /// Something crossed, or crosses, between the shards of a crawl.
    Crossed(Crossing<'a>),
    /// A new round begins: the policy may rank pages for up to `budget` fetches.
    Round {
        /// The number of the round, from 0.
        round: u32,
        /// How many fetches the round may spend.
        budget: u64,
    },
}

/// What crosses between shards. A shard is a crawl of some sites only; pages of other sites are *away*:
/// known and linked to, never handed out. What they would hold is sent to the shard that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing<'a> {
    /// This crawl is a shard. Told before anything else.
    Cut,
    /// The page belongs to another shard. Told immediately after it was discovered.
    Away {
        /// The page.
        page: PageId,
    },
    /// What pages that are away held was sent to their shards, all of it.
    Sent {
        /// The pages with what they held.
        items: &'a [(PageId, u64)],
    },
    /// Something came from another shard.
    Received {
        /// What.
        items: &'a [Arrival],
    },
}

/// One thing that came from another shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The page it is about, by the receiver's number.
    pub page: PageId,
    /// What came.
    pub what: Arrived,
}

/// What can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// Mass for a page of this shard.
    Mass {
        /// How much.
        mass: u64,
        /// Through how many redirects between shards it came.
        hops: u8,
    },
    /// A page that is away cannot be had: its shard says so.
    Dead,
    /// The sender takes back what it had sent for a page that cannot be had.
    Back {
        /// How much.
        mass: u64,
    },
}

/// How a fetched page compares with the copy in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There was no copy.
    New,
    /// The copy is no longer current.
    Changed,
    /// The copy is still current.
    Unchanged,
}

/// Why a page did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The page is not there (404, 410, no such host).
    Gone,
    /// No verdict: a time-out, a 5xx, a reset. It may be asked for again.
    Unknown,
    /// We may not or will not ask: robots.txt, scope, a trap rule.
    Refused,
    /// The hand-out never came back (a crash, a client that vanished), or was given back unasked.
    /// The scheduler queues the page again at its rank; policies are not told.
    Lost,
}
