//! A shard of a crawl, among others of the same process.
//!
//! Each shard is a crawl with a ledger, a loop and an owner of its own. What belongs to others leaves by
//! entries of its journal; once these are durable the loop puts the same bytes into the others' mailboxes,
//! where they are reports like any other. Budgets, the goal and the end are those of all together
//! ([`Joint`]); it is asked, never waited for, so an owner does not hold up another.
//!
//! Nothing that a kill must not lose is kept here: what was sent and received stands in the journals, and
//! [`join`] works out from both what is still to be carried.
//!
//! Not here: hosts of several shards at one address, which would be asked by several at once. Whoever cuts a
//! crawl must not promise rests per address.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use turnstone_cluster::Shard;
use turnstone_cluster::channel::Admission;
use turnstone_fetch::traps;
use turnstone_frontier::{Coverage, Policy, Tick};
use turnstone_ledger::{Allowance, CrossError, Joint, Ledger, LedgerError, Spent, Standing};
use turnstone_pagestore::{Position, StoreError};

use crate::asker::{AskError, Asker, Turned};
use crate::receive::Report;
use crate::run::{Crawl, CrawlError};

/// Less than this is not worth a transfer: about 10⁻⁹ of all mass.
const SENT_MIN: u128 = (Coverage::ONE >> 30) as u128;
/// How long mass is gathered before it is sent, while there is other work.
const GATHER_MS: u64 = 100;
/// When a shard that waits for what others are allowed asks again.
const ASK_AGAIN_MS: u64 = 20;

/// The place of a shard among the others.
pub(crate) struct Member {
    shard: usize,
    joint: Arc<Mutex<Joint>>,
    sent: Tick,
}

impl Member {
    fn joint(&self) -> MutexGuard<'_, Joint> {
        // Whatever panicked, the statements are whole.
        self.joint.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the loop of a shard puts what is for others.
pub(crate) struct Post {
    /// By shard.
    mailboxes: Vec<mpsc::UnboundedSender<Report>>,
    /// By shard: the number of the last transfer that was put there.
    carried: Vec<u64>,
    me: usize,
}

impl Post {
    /// Carries every transfer that is durable.
    pub(crate) fn carry<P: Policy>(
        &mut self,
        ledger: &Ledger<P>,
        durable: Position,
    ) -> Result<(), StoreError> {
        for (to, mailbox) in self.mailboxes.iter().enumerate() {
            let lane = ledger.lane_of(shard(to));
            while to != self.me
                && let Some(bytes) = ledger.transfer(lane, self.carried[to] + 1, durable)?
            {
                self.carried[to] += 1;
                // When nobody listens any more it is carried by the next process.
                let _ = mailbox.send(Report::Transfer(bytes));
            }
        }
        Ok(())
    }

    /// Whether something was sent that is not durable yet.
    pub(crate) fn has_more<P: Policy>(&self, ledger: &Ledger<P>) -> bool {
        let Some(crossings) = ledger.crossings() else {
            return false;
        };
        let others = (0..self.carried.len()).filter(|to| *to != self.me);
        others
            .into_iter()
            .any(|to| crossings.outbox().number(ledger.lane_of(shard(to))) > self.carried[to])
    }
}

fn shard(index: usize) -> Shard {
    Shard(u32::try_from(index).expect("there are few shards"))
}

/// Joins the shards of one crawl, all of them, in order: from now on they exchange mass and share budgets, goal
/// and end. Refused where their journals do not fit each other.
pub fn join<P: Policy>(crawls: &mut [Crawl<P>]) -> Result<(), CrawlError> {
    let refused = |error: LedgerError| CrawlError::from(AskError::from(error));
    let count = crawls.len();
    for (index, crawl) in crawls.iter().enumerate() {
        let crossings = crawl.asker.ledger.crossings();
        let fits =
            crossings.is_some_and(|it| it.me() == shard(index) && it.shards() as usize == count);
        if !fits {
            return Err(refused(CrossError::Whole.into()));
        }
        for (_, other) in crawls.iter().enumerate().filter(|(to, _)| *to != index) {
            crawl
                .asker
                .ledger
                .check_pair(&other.asker.ledger)
                .map_err(refused)?;
        }
    }
    let joint = Arc::new(Mutex::new(Joint::new(count)));
    let mailboxes: Vec<_> = crawls.iter().map(Crawl::mailbox).collect();
    let applied = |crawl: &Crawl<P>, from: usize| {
        let crossings = crawl.asker.ledger.crossings();
        crossings.map_or(0, |it| it.inbox().known(shard(from)).number)
    };
    let carried: Vec<Vec<u64>> = (0..count)
        .map(|from| crawls.iter().map(|to| applied(to, from)).collect())
        .collect();
    for ((index, crawl), carried) in crawls.iter_mut().enumerate().zip(carried) {
        crawl.post = Some(Post {
            mailboxes: mailboxes.clone(),
            carried,
            me: index,
        });
        crawl.asker.member = Some(Member {
            shard: index,
            joint: joint.clone(),
            sent: Tick(0),
        });
        crawl.asker.stand(false, false);
    }
    Ok(())
}

impl<P: Policy> Asker<P> {
    /// Whether one more page may be handed out.
    pub(crate) fn may_hand_out(&self) -> Allowance {
        let (own, budget) = (self.spent(), &self.budget);
        self.allowed(
            own,
            |joint, shard| joint.page(shard, own, budget),
            |own| budget.page(own),
        )
    }

    /// Whether one more request may be sent.
    pub(crate) fn may_send(&self) -> Allowance {
        let (own, budget) = (self.spent(), &self.budget);
        self.allowed(
            own,
            |joint, shard| joint.request(shard, own, budget),
            |own| budget.request(own),
        )
    }

    fn allowed(
        &self,
        own: Spent,
        all: impl FnOnce(&mut Joint, usize) -> Allowance,
        alone: impl FnOnce(Spent) -> Allowance,
    ) -> Allowance {
        let Some(member) = &self.member else {
            return alone(own);
        };
        match all(&mut member.joint(), member.shard) {
            // What others have under way wakes nobody here.
            Allowance::Wait => Allowance::WaitUntil(self.now.plus(ASK_AGAIN_MS)),
            other => other,
        }
    }

    /// What is proven: by all shards together, where this is one.
    pub(crate) fn coverage(&self) -> Option<Coverage> {
        let own = self.ledger.coverage()?;
        match &self.member {
            None => Some(own),
            Some(member) => Some(member.joint().coverage(own.goal).unwrap_or(Coverage {
                goal: own.goal,
                ..Coverage::default()
            })),
        }
    }

    /// The end of one shard is that of all, and the other way round.
    pub(crate) fn share_end(&mut self) {
        if let Some(member) = &self.member {
            let mut joint = member.joint();
            if let Some(why) = self.stop {
                joint.end(why);
            }
            self.stop = joint.stopped();
        }
    }

    /// Ends a turn of a shard: sends what belongs to others and says where it stands. `wake` and `idle` are
    /// what they are to a crawl by itself.
    pub(crate) fn turn_shard(&mut self, turned: Turned, idle: bool) -> Result<Turned, AskError> {
        let unreachable = match turned.wake {
            Some(wake) if idle => self.nobody_answers(wake).is_some(),
            _ => false,
        };
        let done = idle && (turned.wake.is_none() || unreachable);
        if done && unreachable && self.rank_more() {
            let wake = Some(self.now.plus(1));
            return Ok(Turned { wake, ..turned });
        }
        let due = self
            .member
            .as_ref()
            .is_some_and(|it| it.sent.plus(GATHER_MS) <= self.now);
        if self.has_to_send() && (done || due) {
            self.ledger.send(self.now)?;
            if let Some(member) = &mut self.member {
                member.sent = self.now;
            }
        }
        self.stand(done && !self.has_to_send(), unreachable);
        if let Some(member) = &self.member {
            let mut joint = member.joint();
            if let Some(why) = joint.exhausted() {
                joint.end(why);
            }
        }
        self.share_end();
        Ok(turned)
    }

    fn has_to_send(&self) -> bool {
        let news = self.ledger.crossings().is_some_and(|it| it.has_news());
        news || self.ledger.scheduler().ranking().away_total() > SENT_MIN
    }

    /// Says where this shard stands.
    fn stand(&mut self, idle: bool, unreachable: bool) {
        let (Some(member), Some(crossings)) = (&self.member, self.ledger.crossings()) else {
            return;
        };
        let others = 0..crossings.shards();
        let sent = |to: u32| crossings.outbox().number(self.ledger.lane_of(Shard(to)));
        let received = |from: u32| crossings.inbox().known(Shard(from)).number;
        let standing = Standing {
            spent: self.spent(),
            masses: self.ledger.masses().unwrap_or_default(),
            idle,
            unreachable,
            sent: others.clone().map(sent).collect(),
            received: others.map(received).collect(),
        };
        member.joint().state(member.shard, standing);
    }

    /// A transfer of another shard came.
    pub(crate) fn transferred(&mut self, bytes: &[u8]) -> Result<(), AskError> {
        let (now_s, options) = (self.now_s(), self.plan.traps.clone());
        let judge = |url: &turnstone_fetch::Url| {
            let finding = traps::judge(url, now_s, &options)?;
            let trap = finding.class == traps::TrapClass::Trap;
            trap.then(|| ("trap".to_owned(), format!("trap: {}", finding.rule)))
        };
        let admission = self.ledger.receive(self.now, bytes, judge)?;
        let refused = match admission {
            Admission::Apply(_) | Admission::Skip => return Ok(()),
            Admission::Gap { need } => CrossError::Missing { need },
            Admission::Alarm(alarm) => alarm.into(),
        };
        Err(LedgerError::from(refused).into())
    }
}
