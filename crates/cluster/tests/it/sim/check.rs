//! What must be so after each step, judged from the bus itself and from what hosts see.

use std::collections::{BTreeMap, BTreeSet};

use turnstone_cluster::budget::Ledger;
use turnstone_cluster::bus::{Key, Stream};
use turnstone_cluster::chain::{Ends, Tip};
use turnstone_cluster::lease::Lease;
use turnstone_cluster::memory::Memory;
use turnstone_cluster::{Digest, Shard};

use super::node::{Crawl, Sent};
use super::toy::{ONE, State, entries};

/// The one history of a shard, as every reader must see it.
#[derive(Default)]
pub(crate) struct Truth {
    tip: Tip,
    parts: Vec<u8>,
    read: Vec<Digest>,
    pub(crate) state: State,
    /// The longest it ever was: less means that a tail is lost, and not published again yet.
    bytes: Vec<u8>,
    longest: Vec<u8>,
    /// Another history took the place of a lost tail: nobody knew of it any more.
    forgot: bool,
}

impl Truth {
    /// Reads what is new; reads all again if the past changed.
    fn update(&mut self, memory: &Memory, shard: Shard) {
        let log = memory.stream(Stream::Journal(shard));
        let same = log.len() >= self.read.len()
            && self
                .read
                .last()
                .is_none_or(|last| *last == Digest::of(&log[self.read.len() - 1].payload));
        if !same {
            let longest = std::mem::take(&mut self.longest);
            *self = Self {
                longest,
                forgot: self.forgot,
                ..Self::default()
            };
        }
        for message in &log[self.read.len()..] {
            self.read.push(Digest::of(&message.payload));
            let before = self.tip;
            let Ok(chunk) = self.tip.take(&message.payload) else {
                continue;
            };
            if chunk.position == before.whole {
                self.parts.clear();
            }
            self.parts.extend_from_slice(chunk.bytes);
            if chunk.ends == Ends::Whole {
                self.bytes.extend_from_slice(&self.parts);
                for (_, entry) in entries(&std::mem::take(&mut self.parts)) {
                    self.state.apply(&entry);
                }
            }
        }
        let shared = self.bytes.len().min(self.longest.len());
        if self.bytes[..shared] != self.longest[..shared] {
            self.forgot = true;
            self.longest.clone_from(&self.bytes);
        } else if self.bytes.len() > shared {
            self.longest.clone_from(&self.bytes);
        }
    }

    fn lost_a_tail(&self) -> bool {
        self.bytes.len() < self.longest.len()
    }
}

/// Everything that is checked.
pub(crate) struct Checker {
    crawl: Crawl,
    pub(crate) truths: Vec<Truth>,
    /// Every transfer that was ever durable with its sender.
    ever_sent: BTreeSet<(u32, u32, u64, Digest)>,
    requested: BTreeMap<(Shard, u64), u64>,
    pub(crate) requests: u64,
    /// Every fetch that was ever durable.
    fetched: BTreeMap<Shard, BTreeSet<u64>>,
    pub(crate) refusals: Vec<(Shard, String)>,
    pub(crate) opened: BTreeMap<Shard, u64>,
}

impl Checker {
    pub(crate) fn new(crawl: Crawl) -> Self {
        Self {
            crawl,
            truths: (0..crawl.shards).map(|_| Truth::default()).collect(),
            ever_sent: BTreeSet::new(),
            requested: BTreeMap::new(),
            requests: 0,
            fetched: BTreeMap::new(),
            refusals: Vec::new(),
            opened: BTreeMap::new(),
        }
    }

    /// A journal changed: its history is one, and no mass appeared, vanished or arrived twice.
    pub(crate) fn journal_changed(&mut self, memory: &Memory, shard: Shard) {
        let truth = &mut self.truths[shard.0 as usize];
        truth.update(memory, shard);
        for (&(lane, number), &digest) in &truth.state.sent {
            self.ever_sent.insert((shard.0, lane, number, digest));
        }
        let fetched = self.fetched.entry(shard).or_default();
        fetched.extend(&truth.state.fetched);
        let lane = shard.0 % self.crawl.lanes;
        for (&(from, number), &digest) in &truth.state.applied {
            assert!(
                self.ever_sent.contains(&(from, lane, number, digest)),
                "{shard:?} applied transfer {number} of {from}, which was never durable there"
            );
        }
        self.conserved();
    }

    /// Nothing is held twice: what is held and what is on its way is everything.
    fn conserved(&self) {
        let sum = |of: fn(&State) -> u128| {
            self.truths
                .iter()
                .map(|truth| of(&truth.state))
                .sum::<u128>()
        };
        let held =
            sum(|state| state.account.covered + state.account.residuals + state.account.lost);
        let sent = sum(|state| state.account.sent);
        let received = sum(|state| state.account.received);
        let endowed = sum(|state| state.account.endowed);
        assert_eq!(held + sent, endowed + received, "mass is not conserved");
        if !self.truths.iter().any(Truth::lost_a_tail) {
            assert!(held <= ONE, "more is held than there is");
        }
        let handed: u64 = self.truths.iter().map(|truth| truth.state.handed).sum();
        assert!(
            handed <= self.crawl.budget || self.forgot(),
            "hand-outs pass the budget"
        );
    }

    /// Whether a tail was lost of which no lease, lane or receiver knew: then pages may be asked for
    /// again, and nothing else.
    pub(crate) fn forgot(&self) -> bool {
        self.truths.iter().any(|truth| truth.forgot)
    }

    /// A pair agrees: the receiver has only what the sender's history has.
    pub(crate) fn pair_agrees(&self, from: Shard) {
        let sender = &self.truths[from.0 as usize].state;
        for to in (0..self.crawl.shards).filter(|to| *to != from.0) {
            let lane = to % self.crawl.lanes;
            let receiver = &self.truths[to as usize].state;
            for (&(_, number), digest) in
                receiver.applied.iter().filter(|((of, _), _)| *of == from.0)
            {
                assert_eq!(
                    sender.sent.get(&(lane, number)),
                    Some(digest),
                    "shard {to} has transfer {number} of {from:?}, whose history has another"
                );
            }
        }
    }

    /// A node opened a shard: nobody knows more of it than its journal.
    pub(crate) fn opened(&mut self, shard: Shard, epoch: u64) {
        let before = self.opened.insert(shard, epoch).unwrap_or(0);
        assert!(
            before < epoch,
            "{shard:?} was opened twice in epoch {epoch}"
        );
        if !self.truths[shard.0 as usize].lost_a_tail() {
            self.pair_agrees(shard);
        }
    }

    /// A host sees a request.
    pub(crate) fn requested(&mut self, memory: &Memory, sent: Sent) {
        let lease = memory
            .value(Key::Lease(sent.shard))
            .and_then(|value| Lease::decode(value).ok());
        let lease = lease.expect("a held shard has a lease");
        assert_eq!(
            lease.epoch, sent.epoch,
            "{:?}: a request of epoch {} while epoch {} has the lease",
            sent.shard, sent.epoch, lease.epoch
        );
        let before = self.requested.insert((sent.shard, sent.id), sent.epoch);
        assert!(
            before.is_none() || self.forgot(),
            "hand-out {sent:?} was requested twice"
        );
        let truth = &self.truths[sent.shard.0 as usize];
        assert!(
            truth.state.handed >= sent.id || truth.lost_a_tail(),
            "{sent:?} was requested before its hand-out was durable"
        );
        self.requests += 1;
        assert!(
            self.requests <= self.crawl.budget || self.forgot(),
            "the budget is passed"
        );
    }

    /// What the budget's key says.
    pub(crate) fn budget(&self, memory: &Memory) {
        if let Some(value) = memory.value(Key::Budget) {
            let ledger = Ledger::decode(value).expect("a budget");
            let given: u64 = ledger.slots.iter().map(|slot| slot.given[0]).sum();
            assert!(given <= ledger.total[0], "grants pass the budget");
            for (slot, truth) in ledger.slots.iter().zip(&self.truths) {
                if !truth.lost_a_tail() && !self.forgot() {
                    assert!(
                        truth.state.handed <= slot.given[0],
                        "more was handed out than was given"
                    );
                }
            }
        }
    }

    /// Whether the whole budget was handed out.
    pub(crate) fn all_spent(&self) -> bool {
        let handed: u64 = self.truths.iter().map(|truth| truth.state.handed).sum();
        handed >= self.crawl.budget
    }

    /// Somebody says that nobody has anything left to do.
    pub(crate) fn exhausted(&self) {
        // An owner that has not noticed yet that its log lost a tail knows more than the log.
        let lost = self.truths.iter().any(Truth::lost_a_tail);
        assert!(lost || self.quiet(), "exhausted, but not quiet");
    }

    /// Whether all that was sent has come, and no request is open.
    pub(crate) fn quiet(&self) -> bool {
        let sent: u128 = self
            .truths
            .iter()
            .map(|truth| truth.state.account.sent)
            .sum();
        let received: u128 = self
            .truths
            .iter()
            .map(|truth| truth.state.account.received)
            .sum();
        let busy = |truth: &Truth| {
            let waiting = !truth.state.open.is_empty() || !truth.state.away.is_empty();
            waiting || truth.lost_a_tail()
        };
        sent == received && !self.truths.iter().any(busy)
    }

    /// Pairs whose transfers have not all arrived, for a failure's message.
    pub(crate) fn under_way(&self) -> Vec<String> {
        let pairs = (0..self.crawl.shards)
            .flat_map(|from| (0..self.crawl.shards).map(move |to| (from, to)));
        let pairs = pairs.filter_map(|(from, to)| {
            let sent = self.truths[from as usize].state.outbox.mass(Shard(to));
            let came = self.truths[to as usize].state.inbox.known(Shard(from));
            (sent != came.mass).then(|| format!("{from} to {to}: sent {sent}, came {came:?}"))
        });
        pairs.collect()
    }

    /// At the end: every durable fetch is still there, every pair agrees, everything has arrived.
    pub(crate) fn end(&self) {
        for (shard, truth) in (0..).map(Shard).zip(&self.truths) {
            self.pair_agrees(shard);
            if !self.forgot() {
                assert!(
                    !truth.lost_a_tail(),
                    "{shard:?} never published its tail again"
                );
                assert_eq!(
                    self.fetched.get(&shard),
                    Some(&truth.state.fetched),
                    "{shard:?} lost fetches"
                );
            }
        }
        let endowed: u128 = self
            .truths
            .iter()
            .map(|truth| truth.state.account.endowed)
            .sum();
        assert_eq!(endowed, ONE);
    }
}
