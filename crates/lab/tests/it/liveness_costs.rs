//! The cost of every order, against its definition written down plainly, on random small webs.

use std::sync::Arc;

use proptest::prelude::*;
use turnstone_frontier::{HostId, PageId, Politeness};
use turnstone_lab::backtest::liveness::{self, Outcome, Question, alphas};
use turnstone_lab::web::{GraphWeb, OldWeb};
use turnstone_linkgraph::rank::{GraphRank, PageRank};
use turnstone_linkgraph::{LinkGraph, UrlTable};
use turnstone_policy::liveness::{Confidence, Enough, OldCrawl, Sample, SampleBy};

const SPECS: &[&str] = &[
    "tree",
    "tree:looks=9",
    "random",
    "indegree",
    "pagerank",
    "pa",
    "pa-ratio",
    "active-site-first",
    "alive-bfs",
    "alive-indegree",
    "pa-recursive",
    "pa-site",
    "pa-ratio:sample=pagerank-apart",
];

/// A small web with at least one alive page, spread over four sites.
fn old_web() -> impl Strategy<Value = OldWeb> {
    (2usize..30).prop_flat_map(|pages| {
        let page = 0..pages as u32;
        (
            prop::collection::vec((page.clone(), page), 0..90),
            prop::collection::vec(prop::bool::ANY, pages),
            0..pages,
        )
            .prop_map(move |(links, mut alive, one)| {
                alive[one] = true;
                OldWeb {
                    web: GraphWeb {
                        graph: LinkGraph::from_links(pages, &links),
                        urls: None,
                    },
                    sites: (0..pages as u32).map(|page| HostId(page % 4)).collect(),
                    site_count: 4,
                    alive,
                    ..OldWeb::default()
                }
            })
    })
}

fn question(web: &OldWeb, size: usize) -> Question<'_> {
    let ranks = GraphRank::new(web.graph(), PageRank::default());
    Question {
        web,
        old: Arc::new(OldCrawl::new(Arc::new(ranks))),
        sample: Sample {
            by: SampleBy::Random,
            size,
        },
        confidence: Confidence::default(),
        enough: None,
        politeness: Politeness::OFF,
        open: 1,
    }
}

fn run(question: &Question<'_>, spec: &str, seeds: &[u64]) -> Outcome {
    liveness::run(question, &spec.parse().unwrap(), seeds, &mut |_, _| {}).unwrap()
}

/// cost(L, α) = i / (α n_a), i the least number with at least α n_a alive among the first i.
fn cost_by_definition(order: &[PageId], alive: &[bool], alpha: f64) -> f64 {
    let wanted = alpha * alive.iter().filter(|alive| **alive).count() as f64;
    let found = |first: usize| {
        order[..first]
            .iter()
            .filter(|page| alive[page.index()])
            .count()
    };
    let least = (1..=order.len()).find(|first| found(*first) as f64 >= wanted - 1e-9);
    // Less than one page is wanted: the first alive one is.
    let least = least.filter(|first| found(*first) > 0);
    let least = least.or_else(|| (1..=order.len()).find(|first| found(*first) > 0));
    least.unwrap() as f64 / wanted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn costs_are_as_defined(web in old_web(), tenths in 1usize..=10) {
        let size = (web.alive.len() * tenths / 10).max(1);
        let question = question(&web, size);
        let blind = web.alive.len() as f64 / web.alive_count() as f64;
        for spec in SPECS {
            let outcome = run(&question, spec, &[3]);
            let order = liveness::order(&question, &spec.parse().unwrap(), 3).unwrap();
            for (point, alpha) in outcome.curve.iter().zip(alphas()) {
                let expected = cost_by_definition(&order, &web.alive, alpha);
                prop_assert_eq!(point.cost, expected, "{} at {}", spec, alpha);
            }
            prop_assert!(outcome.curve[19].cost <= blind + 1e-12, "{} costs more than asking all", spec);
        }
    }

    #[test]
    fn the_ideal_costs_one_and_nothing_costs_less(web in old_web()) {
        let question = question(&web, 1);
        let ideal = liveness::ideal(&question);
        prop_assert_eq!(ideal.curve[19].cost, 1.0);
        for (point, alpha) in ideal.curve.iter().zip(alphas()) {
            // Pages are whole: where α·n_a is not, one page more is asked for.
            let wanted = alpha * web.alive_count() as f64;
            let expected = (wanted - 1e-9).ceil().max(1.0) / wanted;
            prop_assert!((point.cost - expected).abs() < 1e-12);
        }
        for spec in SPECS {
            let outcome = run(&question, spec, &[1]);
            for (point, least) in outcome.curve.iter().zip(&ideal.curve) {
                prop_assert!(point.cost >= least.cost, "{} at {}", spec, point.alpha);
            }
        }
    }

    #[test]
    fn one_seed_gives_one_answer(web in old_web()) {
        let question = question(&web, 1 + web.alive.len() / 4);
        for spec in SPECS {
            prop_assert_eq!(run(&question, spec, &[7]).curve, run(&question, spec, &[7]).curve);
        }
    }

    #[test]
    fn requests_under_way_change_when_but_not_whether(web in old_web(), open in 2usize..20) {
        let mut question = question(&web, 1 + web.alive.len() / 4);
        question.open = open;
        for spec in SPECS {
            let order = liveness::order(&question, &spec.parse().unwrap(), 1).unwrap();
            let mut pages: Vec<u32> = order.iter().map(|page| page.0).collect();
            pages.sort_unstable();
            prop_assert_eq!(pages, (0..web.alive.len() as u32).collect::<Vec<_>>(), "{}", spec);
        }
    }

    #[test]
    fn politeness_changes_when_but_not_whether(web in old_web()) {
        let mut question = question(&web, 1 + web.alive.len() / 4);
        question.politeness = Politeness { delay_ms: 1000, open_max: 1 };
        for spec in SPECS {
            let order = liveness::order(&question, &spec.parse().unwrap(), 1).unwrap();
            let mut pages: Vec<u32> = order.iter().map(|page| page.0).collect();
            pages.sort_unstable();
            prop_assert_eq!(pages, (0..web.alive.len() as u32).collect::<Vec<_>>(), "{}", spec);
        }
    }
}

/// Two folders of a host, one of them dead, and a dead host.
fn folders(pages: usize) -> OldWeb {
    let mut urls = UrlTable::new();
    let mut web = OldWeb::default();
    for page in 0..pages {
        let host = page % 3 / 2;
        urls.push(&format!(
            "https://host{host}.example/{}/{page}.html",
            page % 3
        ));
        web.sites.push(HostId(host as u32));
        web.alive.push(page % 3 == 0);
    }
    web.web = GraphWeb {
        graph: LinkGraph::from_links(pages, &[]),
        urls: Some(urls),
    };
    web.site_count = 2;
    web
}

#[test]
fn the_tree_knows_the_folders_of_a_recorded_web() {
    let web = folders(300);
    let mut question = question(&web, 10);
    let ranks = GraphRank::new(web.graph(), PageRank::default());
    question.old = Arc::new(web.old_crawl(Arc::new(ranks)));
    let outcome = run(&question, "tree:looks=0", &[1]);
    // One request for each of the two dead folders, or one more.
    let requests = outcome.curve[19].requests;
    assert!((100.0..=103.0).contains(&requests), "{requests}");
    question.open = 8;
    let requests = run(&question, "tree:looks=0", &[1]).curve[19].requests;
    assert!((100.0..=108.0).contains(&requests), "{requests}");
    // Without addresses only hosts are known.
    question.old = Arc::new(OldCrawl::new(Arc::new(GraphRank::new(
        web.graph(),
        PageRank::default(),
    ))));
    question.open = 1;
    let requests = run(&question, "tree:looks=0", &[1]).curve[19].requests;
    assert!(requests > 190.0, "{requests}");
}

/// A web of so many pages, every `nth` alive, without links.
fn every_nth_alive(pages: usize, nth: usize) -> OldWeb {
    OldWeb {
        web: GraphWeb {
            graph: LinkGraph::from_links(pages, &[]),
            urls: None,
        },
        sites: Vec::new(),
        site_count: 1,
        alive: (0..pages).map(|page| page % nth == 0).collect(),
        ..OldWeb::default()
    }
}

#[test]
fn a_random_order_costs_all_over_alive() {
    let web = every_nth_alive(400, 4);
    let question = question(&web, 20);
    let seeds: Vec<u64> = (0..300).collect();
    let outcome = run(&question, "random", &seeds);
    assert_eq!(outcome.runs.len(), 300);
    for point in &outcome.curve {
        // The exact expectation is (n+1)/(n_a+1) for every alive page, a shade below n/n_a.
        let need = (point.alpha * 100.0).round();
        let expected = need * 401.0 / 101.0 / (point.alpha * 100.0);
        let error = 4.0 * point.cost_sd / 300f64.sqrt() + 1e-9;
        assert!(
            (point.cost - expected).abs() < error,
            "{point:?} {expected}"
        );
    }
}

#[test]
fn what_hangs_on_nothing_runs_once() {
    let web = every_nth_alive(40, 3);
    let question = question(&web, 5);
    for (spec, runs) in [
        ("pagerank", 1),
        ("indegree", 1),
        ("pa:sample=pagerank", 1),
        ("pa", 4),
        ("active-site-first:sample=pagerank", 4),
        ("random", 4),
    ] {
        assert_eq!(
            run(&question, spec, &[1, 2, 3, 4]).runs.len(),
            runs,
            "{spec}"
        );
    }
}

#[test]
fn stopping_at_a_share_keeps_its_word_as_often_as_it_says() {
    let web = every_nth_alive(600, 3);
    let mut question = question(&web, 120);
    let confidence = Confidence::new(0.9).unwrap();
    question.enough = Enough::new(0.8, confidence);
    let seeds: Vec<u64> = (0..200).collect();
    let outcome = run(&question, "random", &seeds);
    let stops: Vec<_> = outcome.runs.iter().map(|run| run.stop.unwrap()).collect();
    let kept = stops.iter().filter(|stop| stop.share >= 0.8 - 1e-9).count();
    // 90 % of 200, give or take three standard deviations.
    assert!(kept >= 167, "{kept} of 200");
    assert!(
        stops.iter().any(|stop| stop.requests < 600),
        "it never stops early"
    );
}
