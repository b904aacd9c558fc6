//! What the shards of a crawl know of each other, as one process sees it: budgets that bind over all of them, what
//! they prove together, and whether anything is left.
//!
//! Every shard states where it stands. *Budgets* are asked here, one question at a time: what a shard is
//! allowed counts as spent until it states again, so the sum is never passed whoever asks when. *Coverage* is
//! the sum of statements that may be of different moments: what is covered only grows. *Exhausted* is the
//! crawl when all state that they have nothing to do and every transfer that was sent was received. One look is
//! enough for that, because numbers are compared pair by pair: if a receiver has all that its sender had sent,
//! the statements are a cut that no message crosses, and a shard without work is woken by messages only.
//!
//! *The level* is what the best page that is ready anywhere is worth. While connections are short, a shard whose best
//! page is worth less than [`LEVEL_SHARE`] of it leaves them to others: one order for all would do the same. While
//! they are not, nobody waits: then one order would ask for those pages too.
//!
//! *Of several processes*: shards of others stand here too, by what they stated last ([`Joint::heard`]). What is proven and
//! the level are of all; connections are those of this process; each shard spends up to what it was granted, and whoever
//! leads all processes says when nothing is left.
//!
//! Over a restart nothing is kept: what was spent stands in the journals, and shards state again.
//!
//! Cost: O(shards) a question, O(shards²) to see whether all is exhausted.

use turnstone_frontier::{Coverage, Masses};

use crate::budgets::{Allowance, Budget, Spent, Stop, Until};

/// The share of the best page's rank below which a shard rests while connections are short: one of so many.
pub(crate) const LEVEL_SHARE: u64 = 2;

/// About so many pages say what pages are worth.
const LAST_PAGES: u64 = 64;

/// Where one shard stands.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// What it has spent.
    pub spent: Spent,
    /// Where its mass is.
    pub masses: Masses,
    /// What the best page is worth that it could ask for now, as it last said.
    pub best: Option<u64>,
    /// It has nothing to ask for and nothing under way.
    pub done: bool,
    /// It has nothing to ask for, nothing under way and nothing to send.
    pub idle: bool,
    /// What it has left is at hosts that do not answer.
    pub unreachable: bool,
    /// By shard: the number of the last transfer that was sent there.
    pub sent: Vec<u64>,
    /// By shard: the number of the last transfer that was taken in from there.
    pub received: Vec<u64>,
}

/// The most of requests, bytes and pages that a shard may spend.
pub type Limits = [u64; 3];

/// All shards.
#[derive(Clone, Debug)]
pub struct Joint {
    standings: Vec<Option<Standing>>,
    /// Of several processes: by shard, whether it is here, and what it was granted.
    cluster: Option<Vec<Seated>>,
    stop: Option<Stop>,
    /// Told by whoever leads all processes.
    told_level: u64,
    /// The most pages that all have under way.
    connections: u64,
    /// What pages are worth that are asked for now, whichever shard asks: the last ones count most.
    worth: u64,
}

/// A shard of a crawl that several processes share.
#[derive(Clone, Copy, Debug, Default)]
struct Seated {
    here: bool,
    granted: Option<Limits>,
    /// It has more to ask for than that.
    short: bool,
    /// Nothing is left to be granted.
    dry: bool,
}

impl Joint {
    /// As [`Joint::new`], of shards that several processes have.
    pub fn of_cluster(shards: usize, connections: usize) -> Self {
        Self {
            cluster: Some(vec![Seated::default(); shards]),
            ..Self::new(shards, connections)
        }
    }

    /// Whether several processes have the shards.
    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// A shard is this process's now, or is no more. Nothing is granted to it yet.
    pub fn seat(&mut self, shard: usize, here: bool) {
        if let Some(seated) = &mut self.cluster {
            seated[shard] = Seated {
                here,
                ..Seated::default()
            };
        }
    }

    /// What a shard of this process may spend in all, and whether nothing is left for anybody.
    pub fn grant(&mut self, shard: usize, limits: Limits, dry: bool) {
        if let Some(seated) = &mut self.cluster {
            seated[shard] = Seated {
                granted: Some(limits),
                short: false,
                dry,
                ..seated[shard]
            };
        }
    }

    /// What a shard of this process has spent and has under way: from now on it may spend no more than that.
    pub fn lower(&mut self, shard: usize, body_bytes_max: u64) -> Limits {
        let standing = self.standings[shard].as_ref();
        let spent = standing.map_or_else(Spent::default, |standing| standing.spent);
        let least = [
            spent.requests + spent.requests_open + spent.pages_open,
            spent.bytes + spent.requests_open * body_bytes_max,
            spent.pages + spent.pages_open,
        ];
        if let Some(seated) = &mut self.cluster
            && let Some(granted) = &mut seated[shard].granted
        {
            for (kind, least) in least.into_iter().enumerate() {
                granted[kind] = granted[kind].min(least);
            }
        }
        least
    }

    /// Below which rank nobody asks while connections are short, for what shards of other processes have.
    pub fn tell_level(&mut self, level: u64) {
        self.told_level = level;
    }

    /// Whether a shard of this process has more to ask for than it was granted.
    pub fn is_short(&self, shard: usize) -> bool {
        let seated = self.cluster.as_ref();
        seated.is_some_and(|seated| seated[shard].short)
    }

    /// What a shard of another process stated.
    pub fn heard(&mut self, shard: usize, standing: Standing) {
        let here = self
            .cluster
            .as_ref()
            .is_some_and(|seated| seated[shard].here);
        // Of those that are here this process knows more.
        if !here || self.standings[shard].is_none() {
            self.standings[shard] = Some(standing);
        }
    }

    /// Whether this process has a shard.
    pub fn here(&self, shard: usize) -> bool {
        let seated = self.cluster.as_ref();
        seated.is_none_or(|seated| seated[shard].here)
    }

    /// Of so many shards, none of which has stated anything: nothing is allowed before all have.
    pub fn new(shards: usize, connections: usize) -> Self {
        Self {
            standings: vec![None; shards],
            cluster: None,
            stop: None,
            told_level: 0,
            connections: connections.max(shards) as u64,
            worth: 0,
        }
    }

    /// A shard states where it stands.
    pub fn state(&mut self, shard: usize, standing: Standing) {
        self.standings[shard] = Some(standing);
    }

    /// Whether a shard that has spent this much may hand out one more page, the best one being worth so much.
    pub fn page(
        &mut self,
        shard: usize,
        own: Spent,
        best: Option<u64>,
        budget: &Budget,
    ) -> Allowance {
        if let Some(standing) = &mut self.standings[shard] {
            standing.best = best;
        }
        if let Some(best) = best
            && !(self.is_worth_it(shard, own.pages_open, best)
                && self.has_connection(shard, own.pages_open))
        {
            return Allowance::Wait;
        }
        let allowed = self.allow(shard, own, budget, Budget::page);
        if let (Some(best), Allowance::Send { .. }) = (best, allowed) {
            self.worth = match self.worth {
                0 => best,
                before => before - before / LAST_PAGES + best / LAST_PAGES,
            };
        }
        allowed
    }

    /// Whether nobody but this shard has anything to ask for.
    pub fn others_done(&self, shard: usize) -> bool {
        let others = self.standings.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != shard);
        others.all(|(_, standing)| standing.as_ref().is_some_and(|it| it.done))
    }

    /// What a page is worth that is asked for now, on average over the last ones.
    pub fn worth(&self) -> u64 {
        self.worth
    }

    /// What the best page is worth that any shard could ask for.
    pub fn level(&self) -> u64 {
        let best = self.standings.iter().flatten().filter_map(|it| it.best);
        best.max().unwrap_or(0)
    }

    /// Whether a page of this rank is not to be left for better ones of others.
    fn is_worth_it(&self, shard: usize, own: u64, best: u64) -> bool {
        let others = self.standings.iter().enumerate();
        let others = others.filter(|(other, _)| *other != shard && self.here(*other));
        let open = others.filter_map(|(_, it)| Some(it.as_ref()?.spent.pages_open));
        let short = 2 * (own + open.sum::<u64>()) >= self.connections;
        !short || best >= (self.level() / LEVEL_SHARE).max(self.told_level)
    }

    /// Whether one more of the connections that all share is for this shard. Half of them are kept for each in
    /// equal parts, so that nobody waits for somebody who has them all; the others are for whoever comes.
    fn has_connection(&self, shard: usize, own: u64) -> bool {
        let here = (0..self.standings.len()).filter(|shard| self.here(*shard));
        let kept = (self.connections / (2 * here.count().max(1) as u64)).max(1);
        let others = self.standings.iter().enumerate();
        let others = others.filter(|(other, _)| *other != shard && self.here(*other));
        let open =
            |standing: &Option<Standing>| standing.as_ref().map_or(0, |it| it.spent.pages_open);
        let taken: u64 = others.map(|(_, standing)| open(standing).max(kept)).sum();
        own < kept || taken + own < self.connections
    }

    /// Whether a shard that has spent this much may send one more request.
    pub fn request(&mut self, shard: usize, own: Spent, budget: &Budget) -> Allowance {
        self.allow(shard, own, budget, Budget::request)
    }

    fn allow(
        &mut self,
        shard: usize,
        own: Spent,
        budget: &Budget,
        ask: fn(&Budget, Spent) -> Allowance,
    ) -> Allowance {
        match &mut self.standings[shard] {
            Some(standing) => standing.spent = own,
            None => return Allowance::Wait,
        }
        let allowed = match &mut self.cluster {
            Some(seated) => seated[shard].allow(own, budget, ask),
            None => match self.spent() {
                Some(all) => ask(budget, all),
                None => Allowance::Wait,
            },
        };
        if let (Allowance::Send { .. }, Some(standing)) = (allowed, &mut self.standings[shard]) {
            // Until it states again: others ask meanwhile.
            standing.spent.pages_open += 1;
            standing.spent.requests_open += 1;
        }
        allowed
    }

    /// What all have spent and may yet by what is under way; nothing before all have stated.
    pub fn spent(&self) -> Option<Spent> {
        let mut all = Spent::default();
        for standing in &self.standings {
            let spent = standing.as_ref()?.spent;
            all.pages += spent.pages;
            all.requests += spent.requests;
            all.bytes += spent.bytes;
            all.pages_open += spent.pages_open;
            all.requests_open += spent.requests_open;
        }
        Some(all)
    }

    /// What all prove together; nothing before all have stated.
    pub fn coverage(&self, goal: u64) -> Option<Coverage> {
        let masses: Option<Vec<Masses>> = self
            .standings
            .iter()
            .map(|standing| Some(standing.as_ref()?.masses))
            .collect();
        Some(Coverage::of_shards(masses?, goal))
    }

    /// Why all are to end, if nobody has anything to do and nothing is on its way.
    pub fn exhausted(&self) -> Option<Stop> {
        if self.is_cluster() {
            return None;
        }
        let all: Vec<&Standing> = self
            .standings
            .iter()
            .map(Option::as_ref)
            .collect::<Option<_>>()?;
        let number = |numbers: &[u64], shard: usize| numbers.get(shard).copied().unwrap_or(0);
        let carried = all.iter().enumerate().all(|(from, sender)| {
            let mut others = all.iter().enumerate().filter(|(to, _)| *to != from);
            others
                .all(|(to, receiver)| number(&sender.sent, to) == number(&receiver.received, from))
        });
        let idle = all.iter().all(|standing| standing.idle);
        let unreachable = all.iter().any(|standing| standing.unreachable);
        (idle && carried).then_some(match unreachable {
            true => Stop::Unreachable,
            false => Stop::Exhausted,
        })
    }

    /// All shards are to end. The first reason holds.
    pub fn end(&mut self, why: Stop) {
        self.stop.get_or_insert(why);
    }

    /// Why all are to end, once they are.
    pub fn stopped(&self) -> Option<Stop> {
        self.stop
    }
}

impl Seated {
    /// What is allowed by what was granted. Whoever has spent that asks for more, and waits.
    fn allow(
        &mut self,
        own: Spent,
        budget: &Budget,
        ask: fn(&Budget, Spent) -> Allowance,
    ) -> Allowance {
        let until = &budget.until;
        let is_bound = until.requests.is_some() || until.bytes.is_some() || until.pages.is_some();
        let limits = match self.granted {
            Some(limits) => limits,
            None if is_bound => {
                self.short = true;
                return Allowance::Wait;
            }
            None => Limits::default(),
        };
        let granted = Budget {
            until: Until {
                requests: until.requests.map(|_| limits[0]),
                bytes: until.bytes.map(|_| limits[1]),
                pages: until.pages.map(|_| limits[2]),
                ..*until
            },
            ..*budget
        };
        let allowed = ask(&granted, own);
        match allowed {
            // No body is cut for what others would leave.
            Allowance::Send { body_bytes_max }
                if body_bytes_max < budget.body_bytes_max && !self.dry =>
            {
                self.short = true;
                Allowance::Wait
            }
            Allowance::Send { .. } | Allowance::WaitUntil(_) => allowed,
            Allowance::Wait | Allowance::Spent(_) => {
                self.short = true;
                Allowance::Wait
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roll(state: &mut u64, sides: u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 33) % sides
    }

    /// Whoever asks when, limits are reached and never passed.
    #[test]
    fn budgets_bind_over_all_shards() {
        for seed in 0..300 {
            let mut dice = seed;
            let shards = 1 + roll(&mut dice, 4) as usize;
            let limit = |dice: &mut u64, most| (roll(dice, 2) == 0).then(|| 1 + roll(dice, most));
            let budget = Budget {
                until: Until {
                    pages: limit(&mut dice, 40),
                    requests: limit(&mut dice, 40),
                    bytes: limit(&mut dice, 900),
                    ..Until::default()
                },
                body_bytes_max: 50,
            };
            let mut joint = Joint::new(shards, 1000);
            let nothing = Spent::default();
            assert_eq!(joint.page(0, nothing, None, &budget), Allowance::Wait);
            let mut own = vec![nothing; shards];
            let mut longest: Vec<Vec<u64>> = vec![Vec::new(); shards];
            for shard in 0..shards {
                joint.state(shard, Standing::default());
            }
            let mut spent = false;
            for _ in 0..2000 {
                let shard = roll(&mut dice, shards as u64) as usize;
                let mine = &mut own[shard];
                if roll(&mut dice, 2) == 0 {
                    match joint.page(shard, *mine, Some(1), &budget) {
                        Allowance::Send { body_bytes_max } if roll(&mut dice, 5) > 0 => {
                            mine.pages_open += 1;
                            mine.requests_open += 1;
                            longest[shard].push(body_bytes_max);
                        }
                        Allowance::Spent(_) => spent = true,
                        _ => {}
                    }
                } else if let Some(body_bytes_max) = longest[shard].pop() {
                    mine.pages_open -= 1;
                    mine.requests_open -= 1;
                    mine.requests += 1;
                    mine.pages += roll(&mut dice, 2);
                    mine.bytes += roll(&mut dice, body_bytes_max + 1);
                }
                if roll(&mut dice, 3) == 0 {
                    let spent = own[shard];
                    let standing = Standing {
                        spent,
                        ..Standing::default()
                    };
                    joint.state(shard, standing);
                }
                let sum = |of: fn(&Spent) -> u64| own.iter().map(of).sum::<u64>();
                let Until {
                    pages,
                    requests,
                    bytes,
                    ..
                } = budget.until;
                assert!(
                    pages.is_none_or(|max| sum(|it| it.pages) <= max),
                    "seed {seed}"
                );
                assert!(
                    requests.is_none_or(|max| sum(|it| it.requests) <= max),
                    "seed {seed}"
                );
                assert!(
                    bytes.is_none_or(|max| sum(|it| it.bytes) <= max),
                    "seed {seed}"
                );
            }
            let limited = budget.until != Until::default();
            assert_eq!(spent, limited, "seed {seed}: {:?}", budget.until);
        }
    }

    /// Whoever asks when, all connections can be used, and nobody is left without.
    #[test]
    fn connections_are_shared() {
        for seed in 0..200 {
            let mut dice = seed;
            let shards = 1 + roll(&mut dice, 5) as usize;
            let connections = shards as u64 + roll(&mut dice, 40);
            let mut joint = Joint::new(shards, connections as usize);
            for shard in 0..shards {
                joint.state(shard, Standing::default());
            }
            let budget = Budget {
                until: Until::default(),
                body_bytes_max: 1,
            };
            let mut open = vec![0; shards];
            let mut ask = |shard: usize, open: &mut Vec<u64>| {
                let spent = Spent {
                    pages_open: open[shard],
                    ..Spent::default()
                };
                let may = matches!(
                    joint.page(shard, spent, Some(1), &budget),
                    Allowance::Send { .. }
                );
                open[shard] += u64::from(may);
                may
            };
            // One takes all it can get; every other still gets some; in the end all are in use.
            while ask(0, &mut open) {}
            for shard in 1..shards {
                assert!(
                    ask(shard, &mut open),
                    "seed {seed}: {open:?} of {connections}"
                );
            }
            for _ in 0..200 {
                ask(roll(&mut dice, shards as u64) as usize, &mut open);
            }
            for shard in 0..shards {
                while ask(shard, &mut open) {}
            }
            assert_eq!(
                open.iter().sum::<u64>(),
                connections,
                "seed {seed}: {open:?}"
            );
        }
    }

    #[test]
    fn while_connections_are_short_only_what_is_worth_it_is_asked_for() {
        let mut joint = Joint::new(2, 8);
        for shard in 0..2 {
            joint.state(shard, Standing::default());
        }
        let budget = Budget {
            until: Until::default(),
            body_bytes_max: 1,
        };
        let mut ask = |shard, pages_open, best| {
            let spent = Spent {
                pages_open,
                ..Spent::default()
            };
            matches!(
                joint.page(shard, spent, best, &budget),
                Allowance::Send { .. }
            )
        };
        assert!(ask(0, 3, Some(1000)));
        assert!(
            !ask(1, 0, Some(499)),
            "four are open, and the other has better"
        );
        assert!(ask(1, 0, Some(500)));
        assert!(ask(0, 2, Some(1000)));
        assert!(ask(1, 0, Some(1)), "three are open: enough are left");
        // Who has nothing to ask for is in nobody's way.
        assert!(ask(0, 6, None));
        assert!(ask(1, 0, Some(1)));
    }

    #[test]
    fn what_pages_are_worth_follows_what_is_asked_for() {
        let mut joint = Joint::new(3, 8);
        for shard in 0..3 {
            joint.state(shard, Standing::default());
        }
        let budget = Budget {
            until: Until::default(),
            body_bytes_max: 1,
        };
        assert_eq!(joint.worth(), 0, "nothing was asked for");
        assert!(!joint.others_done(0));
        for (shard, done) in [(0, false), (1, true), (2, true)] {
            let standing = Standing {
                done,
                ..Standing::default()
            };
            joint.state(shard, standing);
        }
        assert!(joint.others_done(0) && !joint.others_done(1));
        let mut ask = |shard, best| joint.page(shard, Spent::default(), Some(best), &budget);
        ask(0, 1 << 40);
        // One shard goes on with less, the other rests: what that asked for long ago says nothing.
        for _ in 0..1500 {
            ask(1, 1 << 20);
        }
        assert!(
            (1 << 19..1 << 21).contains(&joint.worth()),
            "{}",
            joint.worth()
        );
    }

    #[test]
    fn exhausted_is_who_waits_for_nothing() {
        let standing = |idle, sent: [u64; 2], received: [u64; 2]| Standing {
            idle,
            sent: sent.to_vec(),
            received: received.to_vec(),
            ..Standing::default()
        };
        let mut joint = Joint::new(2, 8);
        joint.state(0, standing(true, [0, 3], [0, 1]));
        assert_eq!(joint.exhausted(), None, "the other has not said anything");
        joint.state(1, standing(true, [1, 0], [2, 0]));
        assert_eq!(joint.exhausted(), None, "one transfer is on its way");
        joint.state(1, standing(false, [1, 0], [3, 0]));
        assert_eq!(joint.exhausted(), None, "it has work");
        joint.state(1, standing(true, [2, 0], [3, 0]));
        assert_eq!(
            joint.exhausted(),
            None,
            "it sent something after the first had said so"
        );
        joint.state(0, standing(true, [0, 3], [0, 2]));
        assert_eq!(joint.exhausted(), Some(Stop::Exhausted));
        joint.end(Stop::Exhausted);
        joint.end(Stop::Told);
        assert_eq!(joint.stopped(), Some(Stop::Exhausted));
    }
}
