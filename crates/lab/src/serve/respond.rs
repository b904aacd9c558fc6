//! From a request to its answer: robots.txt, traps and faults come before the page.

use std::time::SystemTime;

use super::answer::Answer;
use super::faults::{Faults, Kind, MOVED, Missing};
use super::request::Request;
use super::robots::Served;
use super::sitemap;
use super::traps::TRAPS;
use super::web::{Moment, Web};

/// What a web answers, with all that is to go wrong.
#[derive(Debug)]
pub(super) struct Responder {
    pub(super) web: Web,
    faults: Faults,
    /// None where robots.txt is the web's own to answer.
    pub(super) robots: Option<Served>,
    /// Where the traps begin, as paths.
    trap_links: Vec<String>,
    /// When the server began, if hosts have sitemaps.
    sitemaps: Option<SystemTime>,
}

impl Responder {
    pub(super) fn new(web: Web, mut faults: Faults, sitemaps: bool) -> Self {
        let robots = faults.robots.take();
        Self {
            sitemaps: (sitemaps && !web.is_custom()).then(SystemTime::now),
            robots: robots.or_else(|| (!web.is_custom()).then(Served::default)),
            trap_links: faults.traps.iter().map(|trap| trap.entry()).collect(),
            web,
            faults,
        }
    }

    /// Whether the answer can hang on how often a path was asked for.
    pub(super) fn counts_attempts(&self) -> bool {
        self.faults.any() || self.web.is_custom()
    }

    /// Answers.
    pub(super) fn answer(&self, request: &Request<'_>, moment: Moment) -> Answer {
        if !matches!(request.method, "GET" | "HEAD") {
            return Answer::status(405).header("Allow", "GET, HEAD");
        }
        if let Some(answer) = self
            .robots
            .as_ref()
            .and_then(|robots| robots.answer(request))
        {
            return self.with_sitemap(request, answer);
        }
        if let Some(started) = self.sitemaps
            && request.path == sitemap::PATH
        {
            return sitemap::answer(&self.web, request, moment, started);
        }
        if request.path.starts_with(TRAPS)
            && let Some(answer) = self.trap(request.path)
        {
            return answer;
        }
        if let Some((hops, path)) = self.faults.moved(request.path) {
            return match hops {
                2.. => Answer::redirect(301, &format!("{MOVED}{}{path}", hops - 1)),
                _ => self.page(
                    &Request {
                        path,
                        ..request.clone()
                    },
                    moment,
                ),
            };
        }
        let fault = self.faults.of(request);
        if let Some(answer) = fault.and_then(|fault| fault.instead(request)) {
            return answer;
        }
        let answer = self.page(request, moment);
        match fault {
            None => answer,
            Some(fault) => bad(answer, fault),
        }
    }

    /// A robots.txt names the sitemap, if there is one.
    fn with_sitemap(&self, request: &Request<'_>, mut answer: Answer) -> Answer {
        if self.sitemaps.is_some() && answer.status == 200 {
            let line = format!("Sitemap: {}{}\n", request.origin(), sitemap::PATH);
            answer.body.extend_from_slice(line.as_bytes());
        }
        answer
    }

    fn trap(&self, path: &str) -> Option<Answer> {
        self.faults.traps.iter().find_map(|trap| trap.answer(path))
    }

    /// The page, or what stands for one that is not there.
    fn page(&self, request: &Request<'_>, moment: Moment) -> Answer {
        let answer = self.web.answer(request, &self.trap_links, moment);
        match self.faults.missing {
            _ if answer.status != 404 => answer,
            Missing::NotFound => answer,
            Missing::SoftHome => Answer::redirect(302, "/"),
            Missing::SoftPage => Answer::html(
                "<!DOCTYPE html><html><head><title>Welcome</title></head><body><p>Sorry, the page \
                 you are looking for could not be found. It may have been moved, or it never was \
                 here. Try our <a href=\"/\">front page</a>.</p></body></html>\n",
            ),
        }
    }
}

fn bad(answer: Answer, fault: Kind) -> Answer {
    let delivery = fault.delivery(answer.body.len());
    answer.deliver(delivery)
}
