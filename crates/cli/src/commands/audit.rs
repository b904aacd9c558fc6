//! `turnstone audit DIR`: the certificate of a crawl, computed again from its journal alone.
//!
//! Surfers are drawn from the crawl's seed and the number of events before them, and walk over what the journal
//! says was fetched. So nobody has to believe what a crawl said of itself: every hand-out is decided again, every
//! surfer drawn again, from the first entry and without a checkpoint. No request is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use turnstone_cluster::Digest;
use turnstone_cluster::channel::{Received, Transfer};
use turnstone_cluster::shard::Cut;
use turnstone_frontier::Coverage;
use turnstone_lab::number::{at_least, at_most, percent, plural, whole as whole_number};
use turnstone_ledger::{Ledger, Replay};
use turnstone_pagestore::{Entry, Fold, Written};

use super::crawl::summary::{Proven, bytes as size};
use crate::commands::shards::Whole;
use crate::exit::{Exit, Usage};
use crate::lines::aligned;
use crate::output::Output;

/// Compute again what a crawl has proven and certified, from its journal alone, and what the test cost
///
/// Decides every hand-out and draws every surfer again, and fails where the journal has it otherwise. Sends no request. To certify what a crawl
/// without a certificate has stored, go on with it: `turnstone crawl -o DIR --until
/// coverage=98%,confidence=95%` asks only for what the test needs.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// The same of journals that were read from servers.
pub(crate) fn of_copy(directory: &std::path::Path, output: &Output) -> anyhow::Result<Exit> {
    shards(&Whole::look(directory)?, output)
}

impl Audit {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let whole = Whole::look(&crate::commands::cluster::looked_at(&self.directory)?)?;
        if whole.is_cut() {
            return shards(&whole, output);
        }
        let directory = whole.first();
        let (asked, store) = (&directory.asked, &directory.store);
        if !asked.proves() || store.index().seeds().is_empty() {
            let what = format!(
                "{}: this crawl proves no coverage",
                self.directory.display()
            );
            return Err(Usage(what).into());
        }
        let policy = asked.make_proof(store)?;
        let replayed = Ledger::replay(store, &directory.terms, policy)?;
        let coverage = replayed.scheduler.coverage().unwrap_or_default();
        let tests = replayed.scheduler.policy().tests();
        let proven = Proven::of(coverage);
        let confidence = asked.confidence.map(|level| level.number());
        let requests = store.index().tally().requests;
        let json = json!({
            "directory": self.directory.display().to_string(),
            "guaranteed": proven.guaranteed,
            "certified": proven.certified,
            "upper_bound": proven.upper_bound,
            "goal": proven.goal,
            "confidence": confidence,
            "requests": requests,
            "test_requests": tests.map(|tests| tests.requests),
            "surfers": tests.map(|tests| tests.surfers),
            "tests_undone": tests.map(|tests| tests.undone),
        });
        output.result(&json, || {
            let mut facts = vec![(
                "proven",
                format!("at least {} is stored", at_least(proven.guaranteed)),
            )];
            match (proven.certified, confidence, tests) {
                (Some(certified), Some(confidence), Some(tests)) => {
                    let least = at_least(certified);
                    let sure = percent(confidence);
                    let met = certified_alone(coverage);
                    facts.push((
                        "certified",
                        format!("at least {least}, with {sure} confidence; {met}"),
                    ));
                    let surfers = plural(tests.surfers, "surfer");
                    let spent = whole_number(tests.requests);
                    let test = format!(
                        "{surfers} drawn; {spent} of {} requests made for them",
                        whole_number(requests)
                    );
                    facts.push(("test", test));
                    if tests.undone > 0 {
                        let undone = format!(
                            "started over {} times: pages came back changed",
                            tests.undone
                        );
                        facts.push(("", undone));
                    }
                }
                _ => facts.push(("certified", "no confidence was asked for".to_owned())),
            }
            facts.push((
                "possible",
                format!("at most {}", at_most(proven.upper_bound)),
            ));
            facts.push(("asked for", percent(proven.goal)));
            let path = self.directory.display();
            format!(
                "{path}: computed again from the journal, every hand-out as it stands there\n{}",
                aligned(&facts)
            )
        })?;
        Ok(if coverage.met() {
            Exit::Done
        } else {
            Exit::Limit
        })
    }
}

/// Computes again what a crawl in shards has proven: each journal by itself, then that they fit each other.
fn shards(whole: &Whole, output: &Output) -> anyhow::Result<Exit> {
    let first = whole.first();
    if !first.asked.proves() || first.store.index().seeds().is_empty() {
        let what = format!("{}: this crawl proves no coverage", whole.path.display());
        return Err(Usage(what).into());
    }
    let (mut masses, mut goal) = (Vec::new(), 0);
    let mut transfers = Transfers::default();
    for (me, shard) in whole.shards.iter().enumerate() {
        let show = shard.path.display();
        let store = &shard.store;
        let policy = shard.asked.make_proof(store)?;
        transfers.me = me as u32;
        let mut replay = Replay::of_plan(store, &shard.terms, policy);
        store.try_fold(&mut (&mut replay, &mut transfers))?;
        let replayed = replay.finish()?;
        let account = replayed.scheduler.shard().map(|account| account.masses());
        let account = account.with_context(|| format!("{show}: keeps no account"))?;
        anyhow::ensure!(
            account.balanced(),
            "{show}: mass appeared or vanished in this shard's account: {account:?}"
        );
        goal = replayed
            .scheduler
            .coverage()
            .map_or(goal, |coverage| coverage.goal);
        masses.push(account);
    }
    let lanes = Cut::new([0; 16], whole.shards.len() as u32).lanes();
    let (sent, under_way) = transfers.check(whole, lanes)?;
    let total: i128 = masses.iter().map(|masses| masses.total()).sum();
    anyhow::ensure!(
        total == i128::from(Coverage::ONE),
        "{}: the shards together hold {total} units of mass, not {}",
        whole.path.display(),
        Coverage::ONE
    );
    let coverage = Coverage::of_shards(masses, goal);
    let proven = Proven::of(coverage);
    let requests = whole.tally().requests;
    let json = json!({
        "directory": whole.path.display().to_string(),
        "shards": whole.shards.len(),
        "guaranteed": proven.guaranteed,
        "certified": null,
        "upper_bound": proven.upper_bound,
        "goal": proven.goal,
        "requests": requests,
        "transfers": sent,
        "transfers_under_way": under_way,
        "transfer_items": transfers.items,
        "transfer_bytes": transfers.bytes,
        "difference": 0,
    });
    output.result(&json, || {
        let facts = [
            (
                "proven",
                format!("at least {} is stored", at_least(proven.guaranteed)),
            ),
            (
                "possible",
                format!("at most {}", at_most(proven.upper_bound)),
            ),
            ("asked for", percent(proven.goal)),
            (
                "transfers",
                format!(
                    "{}, {} of them under way; what was received is what was sent, byte for byte",
                    whole_number(sent),
                    whole_number(under_way)
                ),
            ),
            (
                "",
                format!(
                    "{} with {}",
                    plural(transfers.items, "item"),
                    size(transfers.bytes)
                ),
            ),
            (
                "mass",
                "held and under way is all there is, to the last bit".to_owned(),
            ),
        ];
        format!(
            "{}: {} computed again from their journals, every hand-out as it stands there\n{}",
            whole.path.display(),
            plural(whole.shards.len() as u64, "shard"),
            aligned(&facts)
        )
    })?;
    Ok(if coverage.met() {
        Exit::Done
    } else {
        Exit::Limit
    })
}

/// What the journals say crossed.
#[derive(Default)]
struct Transfers {
    /// The shard whose journal is read.
    me: u32,
    /// By sender, lane and number: the fingerprint of a transfer, and for whom it has parcels.
    sent: BTreeMap<(u32, u32, u64), (Digest, BTreeSet<u32>)>,
    /// By sender, receiver and number.
    received: BTreeMap<(u32, u32, u64), Digest>,
    /// How much was sent.
    items: u64,
    bytes: u64,
}

impl Fold<anyhow::Error> for Transfers {
    fn see(&mut self, _: Written, entry: &Entry<'_>) -> anyhow::Result<()> {
        match entry {
            Entry::Sent { lane, bytes } => {
                let transfer = Transfer::decode(bytes)?;
                let items = transfer.parcels.values().map(|parcel| parcel.items.len());
                self.items += items.sum::<usize>() as u64;
                self.bytes += bytes.len() as u64;
                let to = transfer.parcels.keys().map(|to| to.0).collect();
                let key = (self.me, *lane, transfer.number);
                self.sent.insert(key, (Digest::of(bytes), to));
            }
            Entry::Received { bytes } => {
                let it = Received::decode(bytes)?;
                let key = (it.from.0, self.me, it.number);
                self.received.insert(key, it.digest);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Transfers {
    /// How many parcels were sent, and how many of them were not received; whatever was received was sent so.
    fn check(&self, whole: &Whole, lanes: u32) -> anyhow::Result<(u64, u64)> {
        for ((from, to, number), digest) in &self.received {
            let key = (*from, to % lanes, *number);
            let fits = match self.sent.get(&key) {
                Some((sent, _)) => sent == digest,
                // A crawl that runs has gone on since the sender's journal was read.
                None => whole.holder().is_some(),
            };
            anyhow::ensure!(
                fits,
                "{}: shard {to} received transfer {number} of shard {from}, whose journal does not have it so",
                whole.path.display()
            );
        }
        let (mut sent, mut under_way) = (0, 0);
        for ((from, _, number), (_, receivers)) in &self.sent {
            for to in receivers {
                sent += 1;
                under_way += u64::from(!self.received.contains_key(&(*from, *to, *number)));
            }
        }
        Ok((sent, under_way))
    }
}

/// Whether the goal stands on the certificate.
fn certified_alone(coverage: Coverage) -> &'static str {
    match (coverage.guaranteed >= coverage.goal, coverage.met()) {
        (true, _) => "the goal is proven as well",
        (false, true) => "the goal is met by this sample, not by proof",
        (false, false) => "the goal is not met",
    }
}
