//! What the shards of one crawl say together: their summaries and what is seen of them, added up.
//!
//! What is proven is not added: each shard of a process says what all prove ([`join`](crate::join)), and the
//! best that was said holds, for what is proven only grows.

use turnstone_frontier::Coverage;
use turnstone_ledger::Stop;

use crate::asker::Done;
use crate::progress::Progress;
use crate::run::Summary;
use crate::silence::{TOLD_MAX, Waited};

impl Summary {
    /// That of all shards; nothing of none.
    pub fn of_shards(shards: impl IntoIterator<Item = Self>) -> Option<Self> {
        shards.into_iter().reduce(|mut sum, shard| {
            sum.stop = if sum.stop == Stop::Told {
                shard.stop
            } else {
                sum.stop
            };
            sum.pages += shard.pages;
            sum.known += shard.known;
            sum.waiting += shard.waiting;
            sum.gone += shard.gone;
            sum.refused += shard.refused;
            sum.tally.add(&shard.tally);
            sum.coverage = best(sum.coverage, shard.coverage);
            sum.running = sum.running.max(shard.running);
            sum.abandoned += shard.abandoned;
            sum.waited = latest(sum.waited, shard.waited);
            sum
        })
    }
}

impl Progress {
    /// That of all shards.
    pub fn of_shards(shards: impl IntoIterator<Item = Self>) -> Self {
        let sum = shards.into_iter().reduce(|mut sum, shard| {
            // Ticks are each shard's own: what is waited for is told by those of the first.
            let ahead = sum.tick.0.abs_diff(shard.tick.0);
            let behind = sum.tick < shard.tick;
            let waited = shard.waited.into_iter().map(|mut waited| {
                let until = &mut waited.until.0;
                *until = if behind {
                    until.saturating_sub(ahead)
                } else {
                    until.saturating_add(ahead)
                };
                waited
            });
            sum.waited = latest(sum.waited, waited.collect());
            sum.running = sum.running.max(shard.running);
            sum.pages += shard.pages;
            sum.known += shard.known;
            sum.requests += shard.requests;
            sum.bytes += shard.bytes;
            sum.in_flight += shard.in_flight;
            sum.queued += shard.queued;
            sum.hosts += shard.hosts;
            for (mine, theirs) in sum.statuses.iter_mut().zip(shard.statuses) {
                *mine += theirs;
            }
            sum.failed += shard.failed;
            sum.coverage = best(sum.coverage, shard.coverage);
            sum.durable_fetches += shard.durable_fetches;
            sum.paused = sum.paused.or(shard.paused);
            sum.warning = sum.warning.or(shard.warning);
            sum.trouble = sum.trouble.or(shard.trouble);
            let Done {
                pages,
                known,
                requests,
                bytes,
            } = shard.since_start;
            sum.since_start.pages += pages;
            sum.since_start.known += known;
            sum.since_start.requests += requests;
            sum.since_start.bytes += bytes;
            sum.ending |= shard.ending;
            sum
        });
        let mut sum = sum.unwrap_or_default();
        if sum.in_flight > 0 {
            sum.waited.clear();
        }
        sum
    }
}

fn best(a: Option<Coverage>, b: Option<Coverage>) -> Option<Coverage> {
    let guaranteed = |coverage: &Coverage| coverage.guaranteed;
    a.into_iter().chain(b).max_by_key(guaranteed)
}

/// The hosts that are waited for longest.
fn latest(mut a: Vec<Waited>, b: Vec<Waited>) -> Vec<Waited> {
    a.extend(b);
    a.sort_by_key(|waited| std::cmp::Reverse(waited.until));
    a.truncate(TOLD_MAX);
    a
}
