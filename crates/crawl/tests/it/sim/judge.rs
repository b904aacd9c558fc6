//! What must hold: after every step, at every request, and when a question is answered.

use std::collections::{BTreeMap, BTreeSet};

use turnstone_crawl::{ALIVE, Job};
use turnstone_fetch::Url;
use turnstone_frontier::{Fault, PageId};
use turnstone_ledger::{DAY_MS, Stop};
use turnstone_pagestore::{Entry, PageState, Settled, Store};
use turnstone_policy::Question;
use turnstone_questions::last_survey;

use super::World;
use super::process::Process;
use super::wish::TRUST;

/// What was seen of the requests of a world.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Stored pages that this process asked for.
    again: BTreeSet<PageId>,
    /// By slice: requests.
    slices: BTreeMap<(u64, u32), u64>,
    /// By day and host: requests, of those who keep.
    days: BTreeMap<(u64, String), u64>,
}

impl Seen {
    /// A process begins.
    pub(super) fn begins(&mut self) {
        self.again.clear();
    }
}

impl World {
    /// A request is about to be sent.
    pub(super) fn sends(&mut self, process: &Process, job: &Job) {
        let url = match job {
            Job::Resolve { .. } | Job::Meet { .. } => return,
            Job::Robots { url, .. } => url,
            Job::Page(job) | Job::Sibling { job, .. } => &job.url,
        };
        let ledger = process.asker.ledger();
        if let (Question::Changes | Question::Discovery, Job::Page(job)) =
            (self.wish.question(), job)
        {
            let is_stored = ledger.index().is_copied(job.page);
            let changes = self.wish.question() == Question::Changes;
            assert!(is_stored || !changes, "{url} is not stored");
            if is_stored {
                self.seen.again.insert(job.page);
            }
            let asked = self.seen.again.len() as u64;
            let most = self.wish.budget;
            assert!(asked <= most, "{asked} pages asked for again, of {most}");
        }
        let Some(pace) = self.wish.pace else {
            return;
        };
        let now_ms = self.machine.real_ms;
        let gap_ms = pace.gap_us().unwrap_or(0) / 1000;
        if let Some(last) = self.hosts.last_ms {
            let apart = now_ms - last;
            assert!(
                apart >= gap_ms,
                "{url}: {apart} ms after the last, not {gap_ms}"
            );
        }
        let host = url.host_str().unwrap_or_default();
        if self.hosts.web.is_dead(host) {
            return;
        }
        let slice = ledger.spending().slice();
        let sent = self
            .seen
            .slices
            .entry((slice.began.0, slice.round))
            .or_default();
        *sent += 1;
        assert!(
            *sent <= slice.budget + self.forgotten,
            "{sent} requests in a slice of {}",
            slice.budget
        );
        let tick = process.ticks.at(self.machine.reading());
        let day = (tick.0 / DAY_MS, host.to_owned());
        let sent = self.seen.days.entry(day).or_default();
        *sent += 1;
        let most = pace.host_per_day.unwrap_or(u64::MAX);
        assert!(
            *sent <= most.saturating_add(self.forgotten),
            "{sent} requests to {host} in a day, of {most}"
        );
    }

    /// After every step.
    pub(super) fn check(&self, process: &Process) {
        let ledger = process.asker.ledger();
        let (policy, ranking) = (ledger.scheduler().policy(), ledger.scheduler().ranking());
        let proof = policy.report().proof;
        if let Some((proof, shard)) = proof.and_then(|proof| Some((proof, proof.shard()?))) {
            let masses = shard.masses();
            assert!(masses.balanced(), "mass must be conserved: {masses:?}");
            let pages = (0..ledger.view().len()).map(PageId::from_index);
            let residual = |page| u128::from(proof.residual(page, ranking).unwrap_or(0));
            let held: u128 = pages.map(residual).sum();
            assert_eq!(held, masses.residuals, "mass must be somewhere");
        }
        if let Some(max) = self.wish.requests {
            // What is told may be more: a request that may have been sent counts.
            assert!(
                self.hosts.requests <= max + self.forgotten,
                "{} requests of {max} were sent",
                self.hosts.requests
            );
        }
    }

    /// A question is answered.
    pub(super) fn judge(&self, process: &Process, stop: Stop) {
        // What is under way when a budget is reached, and what each kill forgot, may come beside.
        let most = u64::from(TRUST) + 4 + self.kills;
        for (host, days) in self.hosts.days() {
            assert!(
                days <= most,
                "{days} days of the calendar of {host} were asked for"
            );
        }
        let store = process.asker.ledger().store();
        let told = store.index().tally().requests;
        let sent = self.hosts.requests;
        assert!(
            sent <= told + self.forgotten,
            "{sent} requests were sent, {told} are in the journal"
        );
        match self.wish.question() {
            _ if stop == Stop::Requests => {}
            Question::Coverage | Question::Importance => {
                // Who grew older has pages that were stored when they linked elsewhere; and this policy
                // is not to be told that nothing of what it ranks can be had.
                let gives_up = self.wish.asked.spec.name() == "windowed-rankmass";
                if self.hosts.web.age == 0 && !(gives_up && stop == Stop::Unreachable) {
                    self.has_all(process, stop);
                }
            }
            Question::Liveness => self.has_verdicts(store, stop),
            Question::Keep => assert_eq!(stop, Stop::Rounds, "it goes on until it is told"),
            Question::Changes | Question::Discovery => {}
        }
    }

    /// What can be had is stored.
    fn has_all(&self, process: &Process, stop: Stop) {
        let store = process.asker.ledger().store();
        let scope = self.wish.scope(&self.hosts.web);
        let in_scope = |url: &Url| scope.check(url, 0).is_ok();
        let expected = self.hosts.web.reachable(in_scope);
        let index = store.index();
        let pages = (0..index.page_count()).map(PageId::from_index);
        let stored: BTreeSet<String> = pages
            .filter(|page| index.is_copied(*page) && !index.is_outside(*page))
            .map(|page| store.url(page).unwrap())
            .filter(|url| url.ends_with(".html"))
            .collect();
        let missed: Vec<&String> = expected.difference(&stored).collect();
        for url in &missed {
            let page = index.find(store.keyer().key(url));
            let outcome = page.and_then(|page| store.outcome(page).unwrap());
            let state = page.map(|page| index.state(page));
            eprintln!("{url}: {state:?} {:?}", outcome.map(|it| it.facts));
        }
        assert!(
            missed.is_empty(),
            "{stop:?} after {:?}: {missed:?} were never stored, {:?}",
            process.asker.waited(),
            self.wish
        );
    }

    /// A survey says of each page what it is.
    fn has_verdicts(&self, store: &Store, stop: Stop) {
        let mut scan = store.scan(last_survey(store).unwrap());
        let mut judged = BTreeMap::new();
        while let Some((at, _, entry)) = scan.next().unwrap() {
            let Entry::Outcome(outcome) = entry else {
                continue;
            };
            let verdict = match outcome.settled {
                Settled::Fetched(_) if outcome.facts.class == ALIVE => Some(true),
                Settled::Failed(Fault::Gone) => Some(false),
                Settled::Failed(Fault::Refused) => None,
                _ => continue,
            };
            // A survey that goes on keeps what it found while the web was younger.
            let verdict = verdict.filter(|_| at >= self.aged_at);
            judged.insert(outcome.page, (verdict, outcome.facts.detail));
        }
        let index = store.index();
        for (page, (verdict, detail)) in &judged {
            let url = Url::parse(&store.url(*page).unwrap()).unwrap();
            let truth = self.hosts.web.is_alive(&url);
            assert!(
                truth.is_none() || verdict.is_none() || truth == *verdict,
                "{url} is said to be {verdict:?}: {detail}"
            );
        }
        if stop != Stop::Exhausted {
            return;
        }
        for page in (0..index.page_count()).map(PageId::from_index) {
            let asked = index.is_copied(page) && !index.is_outside(page);
            assert!(
                !asked || judged.contains_key(&page) || index.state(page) == PageState::Refused,
                "{} has no verdict: {:?}",
                store.url(page).unwrap(),
                index.state(page)
            );
        }
    }
}
