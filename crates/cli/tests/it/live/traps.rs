//! Generators with fresh text are left, honest pages with odd names are not.

use std::collections::BTreeMap;

use turnstone_lab::serve::{Answer, Options, Request, Web, start};
use turnstone_pagestore::Store;

use super::crawler::Crawler;

/// Names of files as links escape them.
const NAMES: [&str; 8] = [
    "%25ce.html",
    "%2525ce.html",
    "%252525ce.html",
    "%2525.html",
    "100%25.html",
    "a%2Fb.html",
    "x%252Fy.html",
    "%3Fq.html",
];
const ARTICLES: u32 = 60;

fn answer(request: &Request<'_>) -> Answer {
    let path = request.path;
    let number = |prefix: &str| {
        path.strip_prefix(prefix)
            .and_then(|it| it.parse::<u32>().ok())
    };
    let links: Vec<String> = if path == "/" {
        let mut links = vec!["/g/".to_owned(), "/s/".to_owned(), "/ok/1".to_owned()];
        links.push("/w?title=A&amp;diff=2&amp;oldid=1".to_owned());
        links.extend(NAMES.iter().map(|name| format!("/f/{name}")));
        links
    } else if path.starts_with("/g/") {
        vec![format!("{path}a%2F")]
    } else if path.starts_with("/s/") {
        vec![format!("{path}/")]
    } else if path.starts_with("/w?") {
        let diff = path
            .split("diff=")
            .nth(1)
            .and_then(|it| it.split('&').next());
        let diff: u32 = diff.and_then(|it| it.parse().ok()).unwrap_or(1);
        vec![format!("/w?title=A&amp;diff={}&amp;oldid={diff}", diff + 1)]
    } else if let Some(number) = number("/ok/") {
        (number < ARTICLES)
            .then(|| format!("/ok/{}", number + 1))
            .into_iter()
            .collect()
    } else if path.starts_with("/f/") {
        Vec::new()
    } else {
        return Answer::not_found();
    };
    let links: String = links
        .iter()
        .map(|link| format!("<a href=\"{link}\">on</a>\n"))
        .collect();
    // Words that no other page has.
    let words: String = path.bytes().map(|byte| format!("w{byte} ")).collect();
    Answer::html(format!("<title>{path}</title><p>{words}{links}"))
}

#[test]
fn generators_are_left_and_odd_names_are_fetched() {
    let server = start(Web::custom(1, answer), Options::default()).unwrap();
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 0s --policy breadth-first --until all,requests=2000 --no-soft-404",
        server.origin(0)
    ));
    crawler.finish();
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    let requests = server.requests();
    for request in &requests {
        let kind = request.path.split(['/', '?']).nth(1).unwrap_or_default();
        *asked.entry(kind).or_default() += 1;
    }
    let count = |kind: &str| asked.get(kind).copied().unwrap_or(0);
    assert_eq!(count("f"), NAMES.len(), "{asked:?}");
    assert_eq!(count("ok"), ARTICLES as usize, "{asked:?}");
    assert!(count("g") <= 5, "{asked:?}");
    assert!(count("s") <= 6, "{asked:?}");
    assert!((10..=60).contains(&count("w")), "{asked:?}");
}

/// A parameter that changes nothing is found out by what it brings, whatever its name; one that changes pages
/// is asked for, whatever its name.
#[test]
fn parameters_that_change_nothing_stop_eating_requests() {
    let prose = |salt: usize| -> String {
        let words = (0..60).map(|at| format!("w{} ", (salt * 131 + at * at * 7) % 997));
        words.collect()
    };
    let web = Web::custom(1, move |request| {
        let (path, query) = request.path.split_once('?').unwrap_or((request.path, ""));
        let article = path
            .strip_prefix("/a/")
            .and_then(|it| it.parse::<usize>().ok());
        match (path, article) {
            ("/robots.txt", _) => Answer::not_found(),
            ("/", _) => {
                let links = (0..60).map(|at| format!("<a href=/a/{at}>on</a>"));
                Answer::html(format!("<title>front</title>{}", links.collect::<String>()))
            }
            (_, Some(at)) => {
                // `gclid` shows another edition here.
                let edition = query.split('&').find_map(|it| it.strip_prefix("gclid="));
                let salt = at + 1000 * edition.map_or(0, |it| it.len());
                let links = (1..5).map(|step| {
                    let to = (at + step * 7) % 60;
                    format!("<a href=/a/{to}?from=x{at}y{step}>on</a>")
                });
                let other = format!("<a href=/a/{at}?gclid=aa>edition</a>");
                Answer::html(format!(
                    "<title>part {at}</title><p>{}{other}{}",
                    prose(salt),
                    links.collect::<String>()
                ))
            }
            _ => Answer::not_found(),
        }
    });
    let server = start(web, Options::default()).unwrap();
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 0 --policy breadth-first --until all,requests=2000",
        server.origin(0)
    ));
    crawler.finish();
    let asked = |what: &str| {
        let requests = server.requests();
        requests.iter().filter(|it| it.path.contains(what)).count()
    };
    let from = asked("from=");
    assert!(
        (8..=40).contains(&from),
        "{from} of 240 twins were asked for"
    );
    // One in doubt is asked for again.
    let editions = asked("gclid=aa");
    assert!(
        (60..64).contains(&editions),
        "what changes a page is no twin: {editions}"
    );
    let store = Store::look(&crawler.directory()).unwrap();
    let classes = &store.index().tally().classes;
    assert!(classes["twin"] >= 200, "{classes:?}");
    let directory = crawler.directory().display().to_string();
    let twin = audit_twin(&store);
    let why = crate::run::done(
        std::path::Path::new("."),
        &format!("why {directory} {twin}"),
    )
    .out;
    assert!(why.contains("from changes nothing on this host"), "{why}");
}

/// The address of a page that was refused as a twin.
fn audit_twin(store: &Store) -> String {
    let pages = store.pages_in(turnstone_pagestore::PageState::Refused);
    let mut twins = pages.filter(|page| {
        let outcome = store.outcome(*page).unwrap();
        outcome.is_some_and(|outcome| outcome.facts.class == "twin")
    });
    store.url(twins.next().unwrap()).unwrap()
}
