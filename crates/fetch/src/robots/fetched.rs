//! From a fetch to an answer about robots.txt.
//!
//! A file that broke off or cannot be decoded is not the file: the rule that forbids may be in
//! the part that is missing. So it counts as no answer, unless more than [`BYTES_MAX`] came: the
//! rest would not be read anyway.

use std::time::{Duration, SystemTime};

use url::Url;

use super::line::BYTES_MAX;
use super::record::{Answer, Next, Record, RefreshOptions};
use crate::decode::DecodeFault;
use crate::error::FetchError;
use crate::limits::Limits;
use crate::message::{Request, Response};
use crate::retry_after::retry_after;

impl Record {
    /// What to fetch now, if anything; takes no more of the file than counts.
    pub fn request(&self, now_s: u64) -> Option<Request> {
        let Next::Fetch(address) = self.next(now_s) else {
            return None;
        };
        Some(Request {
            // One byte more, to tell a file that is cut from one that ends here.
            body_bytes_max: Some(BYTES_MAX + 1),
            ..Request::get(Url::parse(&address).ok()?)
        })
    }

    /// Folds in what came of [`Record::request`], by a client with these limits.
    pub fn observe_fetch(
        &mut self,
        now_s: u64,
        fetched: &Result<Response, FetchError>,
        limits: &Limits,
        agent: &str,
        options: &RefreshOptions,
    ) {
        let why = match fetched {
            Ok(response) => match self.read(now_s, response, limits, agent, options) {
                Ok(()) => return,
                Err(why) => why,
            },
            Err(error) => error.to_string(),
        };
        self.observe(now_s, Answer::Unreachable { why: &why }, agent, options);
    }

    fn read(
        &mut self,
        now_s: u64,
        response: &Response,
        limits: &Limits,
        agent: &str,
        options: &RefreshOptions,
    ) -> Result<(), String> {
        let decoded = response.decoded(limits);
        if (200..=299).contains(&response.status) && decoded.body.len() <= BYTES_MAX {
            if let Some(truncation) = response.truncation {
                return Err(format!("robots.txt broke off ({})", truncation.cause));
            }
            match decoded.fault {
                None | Some(DecodeFault::NotCoded(_) | DecodeFault::TrailingBytes(..)) => {}
                Some(fault) => return Err(format!("robots.txt cannot be decoded: {fault}")),
            }
        }
        let text = |name: &str| response.headers.get(name)?.to_str().ok();
        let now = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(now_s));
        let wait = now.and_then(|now| retry_after(&response.headers, now, Duration::ZERO));
        let answer = Answer::Response {
            status: response.status,
            location: text("location"),
            body: &decoded.body,
            cache_control: text("cache-control"),
            retry_after_s: wait.map(|wait| wait.as_secs()),
        };
        self.observe(now_s, answer, agent, options);
        Ok(())
    }
}
