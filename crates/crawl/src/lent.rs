//! A robots.txt that a redirect puts at a host of another shard: that shard asks for it.
//!
//! Only the shard of a host asks it, so an errand to a host of another is *lent*: it goes into the other's
//! mailbox, waits there until the host is free, and comes back with what came. The lender counts the request,
//! before and after, for the budgets; the borrower has the host's rest in its journal. Nothing of it is kept over
//! a kill: the page that waits was in flight, and is asked for again.

use turnstone_fetch::urls::host_of;
use turnstone_fetch::{FetchError, Response, Url};
use turnstone_frontier::Policy;

use crate::asker::{AskError, Asker};
use crate::errands::Errand;
use crate::receive::Report;

/// An errand at a host of the shard that gets it.
#[derive(Debug)]
pub struct Lent {
    /// Who lends it.
    pub(crate) from: usize,
    pub(crate) authority: String,
    pub(crate) url: Url,
    pub(crate) body_bytes_max: usize,
}

impl Lent {
    /// As nobody took it.
    pub(crate) fn undone(self) -> Report {
        Report::Returned {
            authority: self.authority,
            result: None,
        }
    }
}

impl<P: Policy> Asker<P> {
    /// Lends an errand to the shard of its host. It counts as a request from now on.
    pub(crate) fn lend(&mut self, errand: Errand, body_bytes_max: usize) {
        let owner = self.ledger.index().away(errand.host);
        let (Some(member), Some(owner)) = (&mut self.member, owner) else {
            unreachable!("only a shard knows hosts of others");
        };
        self.requests_open += 1;
        let lent = Lent {
            from: member.shard,
            authority: errand.authority,
            url: errand.url,
            body_bytes_max,
        };
        member.letters.push((owner as usize, Report::Lent(lent)));
    }

    /// Another shard lends an errand.
    pub(crate) fn borrow(&mut self, lent: Lent) {
        let host = self.ledger.host(self.now, host_of(&lent.url));
        let is_here = self.ledger.index().away(host).is_none();
        if self.stop.is_some() || !is_here {
            self.give_back_errand(lent.from, lent.authority, None);
            return;
        }
        self.errands.push(Errand {
            authority: lent.authority,
            url: lent.url,
            host,
            of: Some((lent.from, lent.body_bytes_max)),
        });
    }

    /// An errand of another shard is done, or will not be.
    pub(crate) fn give_back_errand(
        &mut self,
        shard: usize,
        authority: String,
        result: Option<Result<Response, FetchError>>,
    ) {
        let result = result.map(Box::new);
        if let Some(member) = &mut self.member {
            let letter = Report::Returned { authority, result };
            member.letters.push((shard, letter));
        }
    }

    /// An errand that was lent came back.
    pub(crate) fn returned(
        &mut self,
        authority: &str,
        result: Option<Box<Result<Response, FetchError>>>,
    ) -> Result<(), AskError> {
        self.requests_open -= 1;
        match result {
            Some(result) => self.robots_answered(authority, None, &result),
            None => {
                self.robots.not_asking(authority);
                for page in self.robots.waited(authority) {
                    self.give_back(page, "", String::new())?;
                }
                Ok(())
            }
        }
    }
}
