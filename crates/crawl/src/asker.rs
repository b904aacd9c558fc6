//! The asker: decides what to ask for and what answers mean, without asking anybody.
//!
//! Reports and ticks go in, entries and jobs come out. It owns the ledger and what a process knows
//! beside it: robots.txt files met so far, addresses, errands, surveys. It has no clock, no socket, no
//! thread and no file but the ledger's, so the same code runs under the live loop ([`crate::run`]) and
//! in a simulation that kills it at any moment.
//!
//! | module | what it decides |
//! |---|---|
//! | `hand_out` | whether a page that was handed out is asked for, refused or waits |
//! | `receive`, `verdict` | what an answer means |
//! | `robots`, `addresses`, `mood` | whether, and how gently, a host is asked |
//! | `doubt`, `probe` | whether a page that came is the page, or a soft 404 |
//! | `survey` | whether a page is still there |
//! | `slices`, `pace` | how fast a crawl that runs for ever may go |
//!
//! A turn: take reports in, then [`Asker::turn`], then write the journal, then send the jobs. Nothing
//! may be sent before the entries that permit it are written.

use std::collections::{HashMap, HashSet, VecDeque};

use turnstone_fetch::Turn;
use turnstone_frontier::{HostId, PageId, Policy, Tick};
use turnstone_ledger::{Budget, Ledger, LedgerError, SliceNote, Spent, Stop};
use turnstone_pagestore::{Entry, Index, Keyer, PageState, StoreError};

use crate::doubt::Doubts;
use crate::epoch::Epoch;
use crate::errands::Errand;
use crate::hand_out::Job;
use crate::limits::Limits;
use crate::orders::Halt;
use crate::pace::Pacing;
use crate::plan::{Lists, Plan};
use crate::robots::Robots;
use crate::shard::Member;
use crate::silence::Silences;
use crate::survey::Survey;
use crate::twins::Twins;

/// Why the asker cannot go on. The directory is whole: it can be resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal cannot be folded.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The policy cannot be made for a new plan.
    #[error("the policy cannot be made for the new plan: {0}")]
    Policy(String),
}

/// A moment, as the driver's clock tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The crawl's time.
    pub tick: Tick,
    /// The wall clock, for records that people read: milliseconds of 1970.
    pub wall_ms: u64,
}

/// What a process says of itself when it takes a crawl over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Which start of the machine this is; empty if it cannot be known.
    pub boot: String,
    /// Milliseconds since that start.
    pub boot_ms: u64,
    /// Whether the machine was started anew since the last process ran: what was never synced may be
    /// missing.
    pub rebooted: bool,
}

/// What an asker is made of.
pub struct AskerParts<P> {
    /// What was asked.
    pub plan: Plan,
    /// The crawl.
    pub ledger: Ledger<P>,
    /// What ticks are in the world's time.
    pub epoch: Epoch,
    /// The limits of answers.
    pub limits: turnstone_fetch::Limits,
}

/// What is to be done after a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turned {
    /// When to look again, if no report comes before; `None` if only a report can change anything.
    pub wake: Option<Tick>,
    /// What is under way: pages handed out, or requests for no page.
    pub open: usize,
}

/// Decides what to ask for.
pub struct Asker<P> {
    pub(crate) plan: Plan,
    pub(crate) ledger: Ledger<P>,
    pub(crate) keyer: Keyer,
    pub(crate) limits: turnstone_fetch::Limits,
    /// Which parameters change nothing, by host.
    pub(crate) twins: Twins,
    /// How soft 404 are told from pages, if they are.
    pub(crate) doubts: Option<Doubts>,
    pub(crate) survey: Option<Survey>,
    pub(crate) epoch: Epoch,
    pub(crate) robots: Robots,
    /// Hosts whose addresses this process has looked up.
    pub(crate) looked_up: HashSet<HostId>,
    /// Hosts that are being looked up and no page waits for.
    pub(crate) being_looked_up: HashSet<HostId>,
    pub(crate) budget: Budget,
    /// The tick of this turn.
    pub(crate) now: Tick,
    pub(crate) wall_ms: u64,
    /// Requests sent and not yet answered.
    pub(crate) requests_open: u64,
    /// To be sent when this turn's entries are written.
    pub(crate) jobs: Vec<Job>,
    /// Requests for no page that wait for their host.
    pub(crate) errands: Vec<Errand>,
    /// Pages whose request went out on a kept connection that turned out closed: asked for next on a
    /// fresh one.
    pub(crate) stale: HashSet<PageId>,
    /// By the host that stands for all that are asked as one, where several requests may be open.
    pub(crate) turns: HashMap<HostId, Turn>,
    /// Where the crawl goes on in slices of time.
    pub(crate) pacing: Option<Pacing>,
    /// What came of the last slices, the last one last.
    pub(crate) past_slices: VecDeque<SliceNote>,
    /// How much may be asked of hosts, and what was.
    pub(crate) quotas: Limits,
    pub(crate) stop: Option<Stop>,
    /// What the last request without an answer met; nothing once an answer came.
    pub(crate) trouble: Option<String>,
    pub(crate) noted_requests: u64,
    /// Hosts that do not answer this process.
    pub(crate) silences: Silences,
    /// Why nothing is handed out, if somebody said so.
    pub(crate) halt: Halt,
    /// How much had been fetched, and how many pages were known, when the policy was last asked to rank more.
    pub(crate) ranked_more: Option<(u64, usize)>,
    /// Where this is one of several shards.
    pub(crate) member: Option<Member>,
    /// What had been done when this process began.
    before: Done,
}

/// What a crawl has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Pages in the store.
    pub pages: u64,
    /// Pages known.
    pub known: u64,
    /// Requests sent.
    pub requests: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
}

impl Done {
    fn of(index: &Index) -> Self {
        Self {
            pages: index.stored_count(),
            known: index.known_count(),
            requests: index.tally().requests,
            bytes: index.tally().body_bytes,
        }
    }
}

impl<P: Policy> Asker<P> {
    /// Takes a crawl over. Pages that were in flight when the last process ended are given back.
    pub fn begin(
        parts: AskerParts<P>,
        session: &Session,
        moment: Moment,
    ) -> Result<Self, AskError> {
        let AskerParts {
            plan,
            ledger,
            epoch,
            limits,
        } = parts;
        let Moment { tick, wall_ms } = moment;
        let now = tick.max(ledger.index().latest());
        let pacing = match (plan.pace, &plan.round) {
            (Some(pace), Some(round)) => Some(Pacing::resume(pace, round, &ledger, now)),
            _ => None,
        };
        let mut asker = Self {
            robots: Robots::new(plan.robots.clone(), &plan.agent, plan.crawl_delay_max),
            budget: Budget {
                until: plan.until,
                body_bytes_max: plan.body_bytes_max as u64,
            },
            twins: Twins::default(),
            doubts: plan
                .survey
                .as_ref()
                .or(plan.soft404.as_ref())
                .map(|options| Doubts::new(options.clone(), wall_ms)),
            survey: plan.survey.as_ref().map(|_| Survey::default()),
            keyer: ledger.store().keyer(),
            noted_requests: ledger.index().tally().requests,
            looked_up: HashSet::new(),
            being_looked_up: HashSet::new(),
            now,
            wall_ms,
            requests_open: 0,
            jobs: Vec::new(),
            errands: Vec::new(),
            stale: HashSet::new(),
            turns: HashMap::new(),
            pacing,
            past_slices: VecDeque::new(),
            quotas: Limits::new(plan.limits.clone(), ledger.index()),
            stop: None,
            trouble: None,
            silences: Silences::new(),
            halt: Halt::default(),
            ranked_more: None,
            member: None,
            before: Done::of(ledger.index()),
            plan,
            ledger,
            epoch,
            limits,
        };
        asker.take_over(session)?;
        Ok(asker)
    }

    /// Time goes on; it never goes back.
    pub fn pass(&mut self, moment: Moment) {
        self.now = self.now.max(moment.tick);
        self.wall_ms = moment.wall_ms;
    }

    /// Ends what is over, and hands out what may be asked.
    pub fn turn(&mut self) -> Result<Turned, AskError> {
        self.look_at_goals();
        if self.stop.is_none() && self.is_halted() {
            return self.stand_still();
        }
        self.turn_slice()?;
        let wake = self.hand_out()?;
        if self.stop.is_some() {
            self.drop_errands()?;
        }
        self.run_errands()?;
        let open = self.open();
        let idle = self.stop.is_none() && open == 0 && self.errands.is_empty();
        if self.member.is_some() {
            return self.turn_shard(Turned { wake, open }, idle);
        }
        if idle {
            self.stop = match wake {
                None => Some(Stop::Exhausted),
                Some(wake) => self.nobody_answers(wake),
            };
            let more = match self.stop {
                Some(Stop::Unreachable) => true,
                // Pages that only sitemaps and feeds name come when all else is done.
                Some(Stop::Exhausted) => self.plan.lists == Lists::Beside,
                _ => false,
            };
            if more && self.rank_more() {
                self.stop = None;
                let wake = Some(self.now.plus(1));
                return Ok(Turned { wake, open });
            }
        }
        Ok(Turned { wake, open })
    }

    /// What is under way.
    pub(crate) fn open(&self) -> usize {
        let pages = self.ledger.scheduler().ranking().in_flight_count();
        // A robots.txt may be asked for while no page waits for it.
        pages.max(usize::try_from(self.requests_open).unwrap_or(usize::MAX))
    }

    /// The crawl is to end; open requests may come back.
    pub fn end(&mut self, why: Stop) {
        self.stop.get_or_insert(why);
    }

    /// Why the crawl ends, once it does.
    pub fn stopped(&self) -> Option<Stop> {
        self.stop
    }

    /// What is to be sent at this moment, now that everything told so far is written. Writing may have
    /// taken long.
    pub fn take_jobs(&mut self, moment: Moment) -> Vec<Job> {
        self.pass(moment);
        if let Some(pacing) = &mut self.pacing {
            pacing.sends(self.now);
        }
        std::mem::take(&mut self.jobs)
    }

    /// The crawl.
    pub fn ledger(&self) -> &Ledger<P> {
        &self.ledger
    }

    /// The crawl, to be written out.
    pub fn ledger_mut(&mut self) -> &mut Ledger<P> {
        &mut self.ledger
    }

    /// Whether it is time to stop.
    fn look_at_goals(&mut self) {
        self.share_end();
        if self.stop.is_some() || !self.plan.until.coverage {
            return;
        }
        if self.member.as_ref().is_some_and(Member::is_of_cluster) {
            // What is not durable in all shards yet is no proof: who leads the cluster looks at that.
            return;
        }
        let Some(coverage) = self.coverage() else {
            return;
        };
        if coverage.met() {
            self.stop = Some(Stop::Coverage);
            self.share_end();
        } else if self.member.is_some() {
            // What is stuck in one shard says little: they go on until nothing is left.
        } else if coverage.out_of_reach() && self.has_more() && !self.plan.beyond_reach {
            self.stop = Some(Stop::OutOfReach);
        }
    }

    /// Has the policy rank what it left out so far, once for all pages fetched until now.
    pub(crate) fn rank_more(&mut self) -> bool {
        let index = self.ledger.index();
        let moment = Some((index.tally().fetches, index.page_count()));
        if self.plan.round.is_some() || self.ranked_more == moment {
            return false;
        }
        self.ranked_more = moment;
        self.ledger.tell(self.now, &Entry::Starved);
        true
    }

    /// Whether there is anything left to fetch. Where there is not, the crawl ends by itself.
    fn has_more(&self) -> bool {
        let ranking = self.ledger.scheduler().ranking();
        ranking.queued_count() > 0
    }

    /// What was spent, and what may yet be by what is under way.
    pub(crate) fn spent(&self) -> Spent {
        let index = self.ledger.index();
        let open = self.ledger.scheduler().ranking().in_flight_count() as u64;
        let stored = index.stored_count() - index.tally().imported_pages;
        Spent::new(index.tally(), stored, open, self.requests_open)
    }

    /// What was done since this process began.
    pub(crate) fn since_start(&self) -> Done {
        let now = Done::of(self.ledger.index());
        Done {
            pages: now.pages - self.before.pages,
            known: now.known.saturating_sub(self.before.known),
            requests: now.requests - self.before.requests,
            bytes: now.bytes - self.before.bytes,
        }
    }

    /// Now, in seconds of 1970.
    pub(crate) fn now_s(&self) -> u64 {
        self.epoch.seconds(self.now)
    }

    /// Pages that were in flight when the last process ended.
    pub(crate) fn left_open(&self) -> Vec<PageId> {
        let store = self.ledger.store();
        store.pages_in(PageState::InFlight).collect()
    }

    pub(crate) fn note(&mut self, kind: &str, bytes: &[u8]) {
        self.ledger.tell(self.now, &Entry::Note { kind, bytes });
    }
}
