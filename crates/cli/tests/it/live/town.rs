//! A town of small sites with everything that goes wrong in one: the web of the crash tests.
//!
//! Every page is reached by a tree of links from the front page of the first host; more links go
//! across. What a page answers hangs on its host, its number and how often it was asked for, so that
//! a disturbed crawl and an undisturbed one must end with the same pages.

use turnstone_lab::serve::{
    Answer, Delivery, Handle, Options, Politeness, Request, RobotsCheck, Web, start,
};

/// How a town is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) hosts: u32,
    /// Pages of each host.
    pub(crate) pages: u32,
    /// What must pass between two requests to a host.
    pub(crate) delay_ms: u64,
    /// How much faster than time the crawl's clock runs, so that tries again come soon.
    pub(crate) scale: u64,
    /// Whether anything goes wrong.
    pub(crate) faults: bool,
}

/// A served town.
pub(crate) struct Town {
    pub(crate) plan: Plan,
    pub(crate) server: Handle,
}

impl Town {
    pub(crate) fn open(plan: Plan) -> Self {
        let web = Web::custom(plan.hosts, move |request| answer(plan, request));
        let options = Options {
            politeness: Politeness {
                delay_ms: Some(plan.delay_ms),
                open: Some(1),
                robots: RobotsCheck::Rules,
                ..Politeness::default()
            },
            ..Options::default()
        };
        let server = start(web, options).unwrap();
        Self { plan, server }
    }

    /// The arguments that every crawl of the town has.
    pub(crate) fn arguments(&self) -> String {
        let hosts: Vec<&str> = (0..self.plan.hosts as usize)
            .map(|host| host_of(self.server.origin(host)))
            .collect();
        format!(
            "{}/ --allow-private --hosts {} --delay {}ms --clock-scale {}",
            self.server.origin(0),
            hosts.join(","),
            self.plan.delay_ms * self.plan.scale,
            self.plan.scale
        )
    }

    /// How often a path of a host was asked for.
    pub(crate) fn asked(&self, url: &str) -> u64 {
        let requests = self.server.requests();
        let is_it = |request: &&turnstone_lab::serve::Requested| {
            let origin = self.server.origin(request.host as usize);
            url.strip_prefix(origin) == Some(&*request.path)
        };
        requests.iter().filter(is_it).count() as u64
    }

    /// No request was impolite.
    pub(crate) fn assert_polite(&self, what: &str) {
        let violations = self.server.violations();
        assert!(
            violations.is_empty(),
            "{what}: {} impolite requests, the first: {}",
            violations.len(),
            violations[0]
        );
    }
}

fn host_of(origin: &str) -> &str {
    let rest = origin.strip_prefix("http://").unwrap();
    rest.split(':').next().unwrap()
}

/// What is wrong with a page.
fn fault(plan: Plan, host: u32, page: u32) -> u32 {
    if !plan.faults || page == 0 {
        return u32::MAX;
    }
    (host * 7 + page * 13) % 29
}

fn answer(plan: Plan, request: &Request<'_>) -> Answer {
    let host = request.host as u32;
    if request.path == "/robots.txt" {
        return robots(plan, request);
    }
    if request.path == "/same" {
        return Answer::html("<p>The same on every host, and long enough to be worth keeping.</p>");
    }
    let number = match request.path {
        "/" => Some(0),
        path => path.strip_prefix("/p/").and_then(|text| text.parse().ok()),
    };
    let Some(page) = number.filter(|page| *page < plan.pages) else {
        return Answer::not_found();
    };
    let first = request.attempt == 0;
    match fault(plan, host, page) {
        0 if first => Answer::status(500),
        1 if first => Answer::status(200).deliver(Delivery::Reset),
        2 if first => body(plan, request, page).deliver(Delivery::Truncate { bytes: 40 }),
        3 => Answer::redirect(301, &format!("/p/{page}/moved")),
        4 => Answer::redirect(302, &format!("{}/same", request.origins[0])),
        5 => Answer::not_found(),
        6 if host == 1 && first => Answer::status(429).header("Retry-After", "1"),
        7 => body(plan, request, page).deliver(Delivery::Late { wait_ms: 30 }),
        8 => Answer::redirect(301, &format!("/p/{page}")),
        _ => body(plan, request, page),
    }
}

/// The first host keeps its rules for an hour, the third wants more time between requests, the
/// fourth has its rules at the fifth, the last forbids some pages.
fn robots(plan: Plan, request: &Request<'_>) -> Answer {
    let host = request.host as u32;
    let rules = match host {
        // The server reads it by the time of the world.
        2 if plan.scale == 1 && plan.delay_ms > 0 => format!(
            "User-agent: *\nCrawl-delay: {}\n",
            plan.delay_ms as f64 * 4.0 / 1000.0
        ),
        3 if plan.faults => {
            let other = &request.origins[request.origins.len() - 2];
            return Answer::redirect(302, &format!("{other}/robots.txt"));
        }
        5 if plan.faults => "User-agent: *\nDisallow: /p/1\n".to_owned(),
        _ => "User-agent: *\nDisallow:\n".to_owned(),
    };
    Answer::text(rules).header("Cache-Control", "max-age=3600")
}

fn body(plan: Plan, request: &Request<'_>, page: u32) -> Answer {
    let mut text = format!(
        "<!DOCTYPE html><title>{page} of {}</title><p>{}</p>\n",
        request.host,
        "words and more words ".repeat(1 + page as usize % 20)
    );
    let mut link = |target: String| text += &format!("<a href=\"{target}\">on</a>\n");
    for child in [2 * page + 1, 2 * page + 2] {
        if child < plan.pages {
            link(format!("/p/{child}"));
        }
    }
    if page == 0 {
        // The town is a ring as well, so that no host hangs on one page only.
        for step in [1, 2] {
            let next = (request.host + step) % request.origins.len();
            link(format!("{}/", request.origins[next]));
        }
        link("/same".to_owned());
    }
    let other = (request.host as u32 * 31 + page * 17) % plan.hosts;
    let across = (page * 7 + 3) % plan.pages;
    link(format!(
        "{}/p/{across}#part",
        request.origins[other as usize]
    ));
    Answer::html(text)
}
