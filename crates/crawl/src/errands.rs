//! Errands: requests for no page, which wait for their host.
//!
//! A robots.txt may be redirected to another host. That host has a calendar of its own, so the request waits for it, as
//! an errand. Where the host belongs to another shard of this process, the errand is lent to it (`lent`). Where it
//! belongs to a shard of another process, it is sent from here, under the token of the host's address, and the host
//! then rests as long as any rule may want; where addresses are ignored nothing says when it may be asked, so it is
//! not, and the rules count as unreachable.

use turnstone_fetch::{ErrorClass, FetchError, Url};
use turnstone_frontier::{HostId, Policy, Tick, Visit};
use turnstone_ledger::Allowance;

use crate::asker::{AskError, Asker};
use crate::hand_out::{Job, Slot, robots_bytes_max};
use crate::shard::Member;

/// A robots.txt to be asked for at another host than its own, when that host is free.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) authority: String,
    pub(crate) url: Url,
    pub(crate) host: HostId,
    /// The shard that it is for, and the longest body that it permits; nothing for this one.
    pub(crate) of: Option<(usize, usize)>,
}

impl Errand {
    pub(crate) fn own(authority: String, url: Url, host: HostId) -> Self {
        Self {
            authority,
            url,
            host,
            of: None,
        }
    }
}

impl<P: Policy> Asker<P> {
    /// Sends the errands whose hosts are free.
    pub(crate) fn run_errands(&mut self) -> Result<(), AskError> {
        let mut at = 0;
        while at < self.errands.len() {
            let Errand { host, of, .. } = self.errands[at];
            let allowed = match of {
                // Whoever lent it has what it needs.
                Some(_) => Allowance::Send { body_bytes_max: 0 },
                None => self.allows(self.may_send()),
            };
            let (Allowance::Send { body_bytes_max }, true) =
                (allowed, self.ledger.scheduler().is_free(host, self.now))
            else {
                at += 1;
                continue;
            };
            let owner = self.ledger.index().away(host);
            let is_lent = owner.is_some_and(|owner| {
                let member = self.member.as_ref();
                member.is_some_and(|member| member.is_here(owner))
            });
            if is_lent {
                let errand = self.errands.remove(at);
                self.lend(errand, robots_bytes_max(body_bytes_max));
                continue;
            }
            if owner.is_some() && !self.plan.per_address {
                let errand = self.errands.remove(at);
                self.cannot_ask(errand)?;
                continue;
            }
            let is_of_cluster = self.member.as_ref().is_some_and(Member::is_of_cluster);
            if is_of_cluster && self.plan.per_address && !self.is_looked_up(host) {
                // Which node may ask there hangs on its addresses.
                let url = self.errands[at].url.clone();
                self.looking_up(host, url);
                at += 1;
                continue;
            }
            let allowed = self.host_allows(host);
            let delay_ms = self.plan.politeness.delay_ms;
            if let Err(until) = allowed.and_then(|()| self.ask_place(host, delay_ms)) {
                self.hold(host, until);
                at += 1;
                continue;
            }
            let Errand { authority, url, .. } = self.errands.remove(at);
            self.visit(host, Visit::Opened);
            if owner.is_some() {
                // Its own shard, at another node, knows how long it rests; here the longest rest will do.
                let rest = self.plan.crawl_delay_max.as_millis();
                let rest = u64::try_from(rest).unwrap_or(u64::MAX);
                self.hold(host, self.now.plus(rest));
            }
            let spacing = self.spacing(host, self.plan.politeness.delay_ms);
            self.opens(host);
            self.jobs.push(Job::Robots {
                authority,
                url,
                host,
                slot: of.map_or(Slot::Own, |(shard, _)| Slot::Of { shard }),
                body_bytes_max: of.map_or(robots_bytes_max(body_bytes_max), |(_, max)| max),
                spacing,
            });
        }
        Ok(())
    }

    /// Looks the addresses of a host up that no page here waits for, unless that is under way.
    fn looking_up(&mut self, host: HostId, url: Url) {
        if self.being_looked_up.insert(host) {
            self.jobs.push(Job::Meet { host, url });
        }
    }

    /// A robots.txt is at a host of another node, and nothing says when that may be asked.
    fn cannot_ask(&mut self, errand: Errand) -> Result<(), AskError> {
        let error = FetchError {
            class: ErrorClass::ConnectFailed,
            subject: errand.url.to_string(),
            detail: "it is at a host of another machine, and addresses are ignored: who may ask there is not \
                     known"
                .to_owned(),
            requests_sent: 0,
        };
        self.robots_answered(&errand.authority, None, &Err(error))
    }

    /// Gives back the pages whose errands will not be run any more, since the crawl ends.
    pub(crate) fn drop_errands(&mut self) -> Result<(), AskError> {
        for Errand { authority, of, .. } in std::mem::take(&mut self.errands) {
            if let Some((shard, _)) = of {
                self.give_back_errand(shard, authority, None);
                continue;
            }
            self.robots.not_asking(&authority);
            for page in self.robots.waited(&authority) {
                self.give_back(page, "", String::new())?;
            }
        }
        Ok(())
    }

    pub(crate) fn errand_due(&self, errand: &Errand) -> Tick {
        self.ledger
            .scheduler()
            .earliest(errand.host)
            .max(self.now.plus(1))
    }

    pub(crate) fn first_errand(&self, tick: Tick) -> Tick {
        let dues = self.errands.iter().map(|errand| self.errand_due(errand));
        dues.min().map_or(tick, |due| due.min(tick))
    }
}
