//! What an answer about a robots.txt means: the record of its authority, how long hosts rest, who need wait no
//! longer.
//!
//! A robots.txt is nobody's page: its request counts for the host that was asked, which may be another than the
//! one it speaks for. So it has a file of its own beside the answers for pages.

use turnstone_fetch::urls::host_of;
use turnstone_fetch::{ErrorClass, FetchError, Response, TruncationMark, Url};
use turnstone_frontier::{Fault, HostId, Policy, Tick, Visit};
use turnstone_pagestore::{Entry, Mood};

use crate::asker::{AskError, Asker};
use crate::errands::Errand;
use crate::hand_out::{ROBOTS_BYTES_MAX, Slot};
use crate::verdict::{self, Judged};

impl<P: Policy> Asker<P> {
    pub(crate) fn robots_came(
        &mut self,
        authority: &str,
        (host, slot, sent): (HostId, Slot, Option<Tick>),
        result: Result<Response, FetchError>,
    ) -> Result<(), AskError> {
        self.closes(host);
        // Before the visit closes: a process that dies in between must know how long the host rests.
        let own = self.ledger.index().find_host(&host_of_authority(authority));
        let rest = if own == Some(host) {
            self.plan.politeness.delay_ms
        } else {
            self.due_of_host(host)?
        };
        self.rest_since(host, sent, rest);
        if let Slot::Of { shard } = slot {
            self.visit(host, Visit::Closed);
            self.give_back_errand(shard, authority.to_owned(), Some(result));
            return Ok(());
        }
        self.trouble = result.as_ref().err().map(ToString::to_string);
        self.robots_answered(authority, Some((host, slot, sent)), &result)
    }

    /// Takes in what came of a request for a robots.txt; where another shard asked for it, its host is that
    /// shard's. A visit closes right after the record is told: the ledger takes the host of the one for that of
    /// the other, and if only the first is durable when the power fails, the request counts twice, not never.
    pub(crate) fn robots_answered(
        &mut self,
        authority: &str,
        asked: Option<(HostId, Slot, Option<Tick>)>,
        result: &Result<Response, FetchError>,
    ) -> Result<(), AskError> {
        let requests = match result {
            Ok(response) => response.requests_sent,
            Err(error) => error.requests_sent,
        };
        if result
            .as_ref()
            .is_err_and(|error| error.class == ErrorClass::NotPermitted)
        {
            if let Some((host, Slot::Own, _)) = asked {
                self.visit(host, Visit::Closed);
            }
            self.robots.not_asking(authority);
            for page in self.robots.waited(authority) {
                self.give_back(page, "", String::new())?;
            }
            return Ok(());
        }
        let own = self.ledger.index().find_host(&host_of_authority(authority));
        let now_s = self.now_s();
        let body_bytes = match result {
            Ok(response) => response.body.len() as u64,
            Err(_) => 0,
        };
        let visited = asked.and_then(|(host, slot, _)| (slot == Slot::Own).then_some(host));
        if let Err(error) = result
            && let (Judged::Failed(Fault::Refused), None) = verdict::of_error(error)
            && self.robots.is_at_home(authority)
        {
            // That authority is not to be asked at all: not for a page either.
            if let Some(host) = visited {
                self.visit(host, Visit::Closed);
            }
            self.robots.not_asking(authority);
            for page in self.robots.waited(authority) {
                self.failed(page, error)?;
            }
            return Ok(());
        }
        let met = match result {
            Ok(response) if response.status >= 500 || response.status == 429 => {
                Some(format!("its robots.txt answers {}", response.status))
            }
            Ok(_) => None,
            Err(error) => Some(error.detail.clone()),
        };
        match (asked, met) {
            (Some((host, ..)), Some(met)) => self.heard(host, Mood::Unreachable, &met),
            (Some((host, ..)), None) => self.heard(host, Mood::Good, ""),
            (None, _) => {}
        }
        let (record, next) = if result.as_ref().is_ok_and(is_cut_short) {
            (self.robots.unanswered(authority), None)
        } else {
            self.robots.answered(authority, result, &self.limits, now_s)
        };
        // The page that waited is the next request: what the rules want holds for it already. When its
        // host was asked last is not known if they came from elsewhere.
        let wanted = self.robots.crawl_delay(authority, now_s);
        let due = own.map_or_else(|| self.due(wanted), |own| self.due_at(own, wanted));
        match (own, asked) {
            (Some(own), Some((host, _, sent))) if own == host => self.rest_since(host, sent, due),
            (Some(own), _) if due > self.plan.politeness.delay_ms => {
                self.rest_since(own, None, due);
            }
            (Some(_) | None, _) => {}
        }
        let entry = Entry::Robots {
            authority,
            record: &record,
            requests,
            body_bytes,
        };
        self.ledger.tell(self.now, &entry);
        if let Some(host) = visited {
            self.visit(host, Visit::Closed);
        }
        match next.map(|next| Url::parse(&next)) {
            Some(Ok(url)) => self.follow_robots(authority, url),
            Some(Err(_)) | None => {
                self.announce_sitemaps(authority);
                for page in self.robots.waited(authority) {
                    self.give_back(page, "", String::new())?;
                }
                Ok(())
            }
        }
    }

    /// A robots.txt that is elsewhere: asked for at that host, when it is free.
    fn follow_robots(&mut self, authority: &str, url: Url) -> Result<(), AskError> {
        let host = self.ledger.host(self.now, host_of(&url));
        // Within its own host, or its address, the slots of waiting pages would never become free: they
        // go back, and the next one handed out asks where the redirect points.
        let from = self.ledger.index().find_host(&host_of_authority(authority));
        let unit = |host| self.ledger.scheduler().unit(host);
        let own = from.is_some_and(|from| unit(from) == unit(host));
        if own {
            self.robots.not_asking(authority);
            for page in self.robots.waited(authority) {
                self.give_back(page, "", String::new())?;
            }
            return Ok(());
        }
        self.errands
            .push(Errand::own(authority.to_owned(), url, host));
        Ok(())
    }
}

/// Whether our own byte budget cut a robots.txt: rules that end too early would permit too much.
fn is_cut_short(response: &Response) -> bool {
    let mark = response.truncation.map(|truncation| truncation.mark);
    mark == Some(TruncationMark::Length)
        && response.body.len() < ROBOTS_BYTES_MAX
        && (200..300).contains(&response.status)
}

/// The name of the host of an authority.
pub(crate) fn host_of_authority(authority: &str) -> String {
    Url::parse(authority).map_or_else(|_| String::new(), |url| host_of(&url).to_owned())
}
