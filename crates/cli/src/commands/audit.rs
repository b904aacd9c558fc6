//! `turnstone audit DIR`: the certificate of a crawl, reckoned again from its journal alone.
//!
//! Surfers are drawn from the crawl's seed and the number of events before them, and walk over what the journal
//! says was fetched. So nobody has to believe what a crawl said of itself: every hand-out is decided again, every
//! surfer drawn again, from the first entry and without a checkpoint. No request is sent.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use turnstone_frontier::Coverage;
use turnstone_lab::number::{percent, plural, whole};
use turnstone_ledger::Ledger;

use super::crawl::summary::Proven;
use crate::commands::directory::Directory;
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

impl Audit {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = Directory::look(&self.directory)?;
        let (asked, store) = (&directory.asked, &directory.store);
        if !asked.proves() || store.index().seeds().is_empty() {
            let what = format!(
                "{}: this crawl proves no coverage",
                self.directory.display()
            );
            return Err(Usage(what).into());
        }
        let replayed = Ledger::replay(store, &directory.terms, asked.make_proof(store)?)?;
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
                format!("at least {} is stored", percent(proven.guaranteed)),
            )];
            match (proven.certified, confidence, tests) {
                (Some(certified), Some(confidence), Some(tests)) => {
                    let least = percent(certified);
                    let sure = percent(confidence);
                    let met = certified_alone(coverage);
                    facts.push((
                        "certified",
                        format!("at least {least}, with {sure} confidence; {met}"),
                    ));
                    let surfers = plural(tests.surfers, "surfer");
                    let spent = whole(tests.requests);
                    let test = format!(
                        "{surfers} drawn; {spent} of {} requests made for them",
                        whole(requests)
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
                format!("at most {}", percent(proven.upper_bound)),
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

/// Whether the goal stands on the certificate.
fn certified_alone(coverage: Coverage) -> &'static str {
    match (coverage.guaranteed >= coverage.goal, coverage.met()) {
        (true, _) => "the goal is proven as well",
        (false, true) => "the goal is met by this sample, not by proof",
        (false, false) => "the goal is not met",
    }
}
