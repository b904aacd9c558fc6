//! Live equals lab: a crawl over HTTP decides as the lab does, and its journal can be asked again.

use turnstone_frontier::{PageId, Policy};
use turnstone_lab::serve::{GraphPages, Options, Web, start};
use turnstone_lab::web::GraphWeb;
use turnstone_ledger::{Ledger, Terms};
use turnstone_linkgraph::LinkGraph;
use turnstone_pagestore::{PageState, Store};
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::importance::{self, Bonus};
use turnstone_policy::mass::Fraction;
use turnstone_policy::{Question, Spec};
use turnstone_questions::Asked;

use super::by_links::Explore;
use super::crawler::{Crawler, status, until};
use super::dice::Dice;
use super::town::{self, Town};

const PAGES: u32 = 300;

/// Some pages are linked often, some never; some link to themselves or to nothing.
fn graph() -> LinkGraph {
    let mut dice = Dice(5);
    let mut links = Vec::new();
    for page in 0..PAGES {
        for _ in 0..dice.below(9) {
            let target = dice
                .below(u64::from(PAGES))
                .min(dice.below(u64::from(PAGES)));
            links.push((page, target as u32));
        }
    }
    links.push((0, 7));
    links.push((0, 1));
    LinkGraph::from_links(PAGES as usize, &links)
}

fn goal(epsilon: f64) -> Goal {
    Goal {
        damping: Fraction::new(0.85).unwrap(),
        epsilon: Fraction::new(epsilon).unwrap(),
        confidence: None,
    }
}

fn coverage_policy(spec: &str, epsilon: f64) -> Box<dyn Policy> {
    let spec: Spec = spec.parse().unwrap();
    let trust = Trust::alike([PageId(0)]).unwrap();
    coverage::build(&spec, &trust, goal(epsilon)).unwrap()
}

/// The paths asked for, in order, but robots.txt.
fn live(graph: &LinkGraph, arguments: &str) -> Vec<String> {
    let web = GraphWeb {
        graph: graph.clone(),
        urls: None,
    };
    let pages = GraphPages {
        page_bytes: 600,
        ..GraphPages::default()
    };
    let server = start(Web::graph(web, pages), Options::default()).unwrap();
    let seed = server.url_of(PageId(0));
    let crawler = Crawler::new(&format!(
        "{seed} --allow-private --delay 0s --connections 1 --pattern-trust 0 {arguments}"
    ));
    let code = crawler.start().wait().code();
    assert!(matches!(code, Some(0 | 3)), "{code:?} {}", crawler.said());
    let requests = server.requests().into_iter();
    let paths = requests.map(|request| String::from(request.path));
    paths.filter(|path| path != "/robots.txt").collect()
}

fn check(arguments: &str, policy: Box<dyn Policy>, pages_max: usize) {
    let graph = graph();
    let mut lab = Explore::start(&graph, &[PageId(0)], policy);
    let mut expected = Vec::new();
    let met = |lab: &Explore<'_, Box<dyn Policy>>| {
        lab.scheduler()
            .coverage()
            .is_some_and(|proven| proven.met())
    };
    while lab.stored_count() < pages_max
        && !met(&lab)
        && let Some(page) = lab.step()
    {
        expected.push(format!("/p/{}", page.0));
    }
    assert!(expected.len() > 40, "{arguments}: {}", expected.len());
    let asked = live(&graph, arguments);
    assert_eq!(asked, expected, "{arguments}");
}

#[test]
fn a_live_crawl_decides_as_the_lab_does() {
    for spec in [
        "rankmass",
        "rankmass:push=exact",
        "windowed-rankmass",
        "l-neighbor",
    ] {
        let arguments = format!("--policy {spec} --until coverage=0.9");
        check(&arguments, coverage_policy(spec, 1.0 - 0.9), usize::MAX);
    }
    let certified = Asked {
        goal: goal(1.0 - 0.9),
        confidence: Fraction::new(0.9),
        ..Asked::new(Question::Coverage, "rankmass".parse().unwrap())
    };
    let policy = certified.proof(&[PageId(0)]).unwrap();
    let until = "--until coverage=90%,confidence=90%";
    check(until, Box::new(policy), usize::MAX);
    let policy = coverage_policy("breadth-first", 0.02);
    check("--policy breadth-first", policy, usize::MAX);
    for spec in ["opic", "local-push"] {
        let policy = importance::build(&spec.parse().unwrap(), &Bonus::default(), 1).unwrap();
        check(&format!("--policy {spec} --until pages=80"), policy, 80);
    }
}

/// Crawls with everything that goes wrong, stopped and killed several times; then every hand-out is
/// made again from the journal alone.
fn check_replay(spec: &str, arguments: &str, seed: u64) {
    let town = Town::open(town::Plan {
        hosts: 6,
        pages: 20,
        delay_ms: 10,
        scale: 100,
        faults: true,
    });
    let crawler = Crawler::new(&format!("{} --policy {spec} {arguments}", town.arguments()));
    let mut dice = Dice(seed);
    for session in 0..6 {
        let mut running = crawler.start();
        if session > 0 {
            // On a busy machine it may take long to begin.
            let before = town.server.request_count();
            let has_begun = || town.server.request_count() > before || running.ended().is_some();
            until("it begins or has nothing left", has_begun);
        }
        std::thread::sleep(std::time::Duration::from_millis(30 + dice.below(150)));
        if session % 2 == 0 {
            running.kill();
        } else {
            running.signal("TERM");
            // Before it has begun there is nothing to end cleanly: the signal kills it.
            let status = running.wait();
            assert!(matches!(status.code(), Some(0) | None), "{status}");
        }
    }
    crawler.finish();
    let store = Store::look(&crawler.directory()).unwrap();
    assert!(store.index().sessions().len() > 3);
    assert!(store.index().count(PageState::Fetched) > 60);
    let terms = store.index().plan().and_then(Terms::read).unwrap();
    let replayed = Ledger::replay(&store, &terms, coverage_policy(spec, 1e-6));
    let replayed = replayed.unwrap_or_else(|error| panic!("{spec}: {error}"));
    assert!(replayed.exact);
    assert_eq!(replayed.scheduler.in_flight().count(), 0);
    town.assert_polite(spec);
}

#[test]
fn a_live_journal_is_decided_again_alike() {
    check_replay("breadth-first", "", 1);
    check_replay("rankmass", "--until pages=100000", 2);
}

#[test]
fn c9_sigterm_ends_cleanly_and_a_second_one_at_once() {
    let town = Town::open(town::Plan {
        hosts: 4,
        pages: 40,
        delay_ms: 20,
        scale: 1,
        faults: false,
    });
    let crawler = Crawler::new(&format!("{} --policy breadth-first", town.arguments()));
    let running = crawler.start();
    until("a few pages", || town.server.request_count() > 20);
    running.signal("TERM");
    assert!(running.wait().success(), "{}", crawler.said());
    let store = Store::look(&crawler.directory()).unwrap();
    assert_eq!(store.index().count(PageState::InFlight), 0);
    drop(store);
    let running = crawler.start();
    until("a few more pages", || town.server.request_count() > 40);
    running.signal("INT");
    running.signal("INT");
    assert!(running.wait().success(), "{}", crawler.said());
    crawler.finish();
    assert_eq!(status(&crawler.directory())["pages"], 4 * 40 + 4 + 4);
    town.assert_polite("told to end");
}
