//! One call for every question, and one loop under all: a question that nobody asked before is a web that
//! answers, and what is measured of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use serde::Serialize;
use turnstone_frontier::{Change, Event, Fault, HostId, Links, PageId, Policy, Ranking, Tick};
use turnstone_lab::backtest::{changes, coverage, discovery, importance, keep, liveness, trap};
use turnstone_lab::driver::{Answer, Answers, Driver, Newcomer};
use turnstone_lab::generate::history::{HistoryPlan, write_folder};
use turnstone_lab::web::RecordedWeb;
use turnstone_lab::{Backtest, RunError, Trial, run};
use turnstone_policy::coverage::{Goal, Trust};
use turnstone_policy::{Spec, SpecError};

/// How deep do the first fetches lead? A question of our own, of a chain of pages that is made up.
#[derive(Clone, Copy)]
struct Depth {
    fetches: usize,
}

#[derive(Serialize)]
struct Deepest {
    question: &'static str,
    deepest: BTreeMap<String, u32>,
}

impl Backtest for Depth {
    type Report = Deepest;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        turnstone_policy::coverage::check(spec)
    }

    fn ask(&self, Trial { specs, watch, .. }: Trial<'_>) -> Result<Deepest, RunError> {
        let mut deepest = BTreeMap::new();
        for spec in specs {
            watch(&spec.to_string(), 0.0);
            let front = Trust::alike([PageId(0)])?;
            let policy = turnstone_policy::coverage::build(spec, &front, Goal::default())?;
            let mut driver = Driver::in_rounds(policy);
            let mut web = Chain::default();
            driver.announce(&mut web);
            let pages = (0..self.fetches).map_while(|_| driver.step(&mut web));
            let last = pages.map(|page| page.0).max();
            deepest.insert(spec.to_string(), last.unwrap_or(0));
        }
        let question = "depth";
        Ok(Deepest { question, deepest })
    }
}

/// Page n links to n + 1 alone, which nobody knows before n was asked for.
#[derive(Default)]
struct Chain {
    links: Vec<[PageId; 1]>,
    announced: u32,
}

impl Answers for Chain {
    fn asked(&mut self, page: PageId) {
        self.links.resize(page.index() + 1, [PageId(page.0 + 1)]);
    }

    fn newcomer(&mut self) -> Option<Newcomer> {
        let page = PageId(self.announced);
        let is_known = self.announced as usize <= self.links.len();
        self.announced += u32::from(is_known);
        is_known.then_some(Newcomer {
            page,
            host: HostId(0),
            seed: page.0 == 0,
        })
    }

    fn answer(&self, page: PageId) -> Answer<'_> {
        Answer::Fetched(Change::New, &self.links[page.index()])
    }

    fn lent(&self) -> &dyn Links {
        self
    }
}

impl Links for Chain {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &self.links[page.index()]
    }
}

fn specs(list: &str) -> Vec<Spec> {
    Spec::parse_list(list).unwrap()
}

/// A graph and two sites.
fn webs(folder: &tempfile::TempDir) -> (RecordedWeb, RecordedWeb) {
    let edges = folder.path().join("web.tsv");
    let links = (0..60).flat_map(|page| [(page, page / 2), (page, (page * 7 + 1) % 60)]);
    let lines: String = links.map(|(from, to)| format!("{from}\t{to}\n")).collect();
    std::fs::write(&edges, lines).unwrap();
    let sites = folder.path().join("sites");
    let plan = HistoryPlan {
        pages: 30,
        snapshots: 20,
        ..HistoryPlan::default()
    };
    write_folder(&sites, 2, plan).unwrap();
    (RecordedWeb::at(&[edges]), RecordedWeb::at(&[sites]))
}

/// What a document says it is, and of which policies it tells.
fn told<B: Backtest>(question: &B, web: &RecordedWeb, list: &str) -> String {
    let report = match run(question, web, &specs(list), &mut |_, _| {}) {
        Ok(report) => serde_json::to_value(report).unwrap(),
        Err(error) => return error.to_string(),
    };
    let results = report["results"].as_array().unwrap();
    let mut policies: Vec<&str> = results
        .iter()
        .map(|one| one["policy"].as_str().unwrap())
        .collect();
    policies.dedup();
    format!(
        "{}: {}",
        report["question"].as_str().unwrap(),
        policies.join(" ")
    )
}

#[test]
fn every_question_is_asked_by_the_same_call() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, sites) = webs(&folder);
    let coverage = coverage::Options {
        trusted: "top:2".to_owned(),
        damping: 0.85,
        epsilon: 0.1,
        delay_ms: None,
    };
    let certificate = coverage::certificate::Options {
        coverage: coverage.clone(),
        confidence: 0.95,
        repetitions: 2,
    };
    let importance = importance::Options {
        visits: 1.0,
        change_rates: vec![0.0],
        bonus: Vec::new(),
        delay_ms: None,
        seed: 1,
    };
    let trap = trap::Options {
        shape: trap::Shape {
            sections: 1,
            lists: 2,
            articles: 2,
        },
        fetches: None,
        seed: 1,
    };
    let liveness = liveness::Options {
        sample_by: turnstone_policy::liveness::SampleBy::Random,
        sample_size: turnstone_policy::liveness::SampleSize::Pages(5),
        from: None,
        to: None,
        alive: None,
        among: None,
        seed: 1,
        seeds: 1,
        until_alive: None,
        confidence: 0.95,
        paper: false,
        order: false,
        delay_ms: None,
        open: 1,
    };
    let discovery = discovery::Options {
        budgets: vec![2],
        recrawl_every: vec![1],
        decay: 1.0,
        target: turnstone_policy::discovery::Target::Pages,
        by_site: false,
        folds: None,
        figures: false,
        seed: 1,
    };
    let changes = changes::Options {
        budgets: vec![changes::Budget::Share(0.1)],
        cycle_weeks: None,
        cycles: 4,
        compare: changes::Compare::Text,
        since: changes::Since::Copy,
        grow: false,
        half: None,
        seed: 1,
        seeds: 1,
    };
    let keep = keep::Options {
        rules: keep::Rules {
            days: 60,
            round_days: 1,
            share: 0.5,
            hints: keep::Announced::default(),
        },
        budget: "50%".to_owned(),
        hints: None,
        compare: changes::Compare::Text,
        half: None,
        seed: 1,
    };
    let all = [
        told(&coverage, &graph, "rankmass,l-neighbor"),
        told(&certificate, &graph, "rankmass"),
        told(&importance, &graph, "opic"),
        told(&trap, &RecordedWeb::default(), "breadth-first,opic"),
        told(&liveness, &sites, "tree"),
        told(&discovery, &sites, "od-1,bandit"),
        told(&changes, &sites, "rns,cohorts"),
        told(&keep, &sites, "keep,uniform"),
    ];
    expect![[r"
        coverage: optimal rankmass l-neighbor
        coverage: rankmass
        importance: off-line opic
        trap: breadth-first opic
        liveness: ideal tree
        discovery: greedy-cover od-1 bandit
        changes: rns cohorts
        keep: keep uniform
    "]]
    .assert_eq(&(all.join("\n") + "\n"));
}

#[test]
fn what_does_not_fit_is_said_before_the_web_is_read() {
    let check = |list: &str, places: &[PathBuf], expected: Expect| {
        let asked = coverage::Options {
            trusted: "top:1".to_owned(),
            damping: 0.85,
            epsilon: 0.1,
            delay_ms: None,
        };
        expected.assert_eq(&told(&asked, &RecordedWeb::at(places), list));
    };
    let nowhere = [PathBuf::from("/nowhere")];
    check("", &nowhere, expect!["policies: name at least one policy"]);
    check("rankmass", &[], expect!["web: name one web"]);
    let two = [PathBuf::from("/a"), PathBuf::from("/b")];
    check("rankmass", &two, expect!["web: name one web"]);
    let wrong = told(&Depth { fetches: 1 }, &RecordedWeb::default(), "rankmas");
    assert!(wrong.contains("did you mean 'rankmass'"), "{wrong}");
}

#[test]
fn a_question_of_ones_own_needs_a_web_that_answers() {
    let asked = Depth { fetches: 9 };
    let list = specs("breadth-first,rankmass");
    let report = run(&asked, &RecordedWeb::default(), &list, &mut |_, _| {}).unwrap();
    let document = serde_json::to_string(&report).unwrap();
    expect![[r#"{"question":"depth","deepest":{"breadth-first":8,"rankmass":8}}"#]]
        .assert_eq(&document);
}

/// Writes down what it is told, and when.
#[derive(Default)]
struct Listener {
    told: Vec<String>,
}

impl Policy for Listener {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        let what = match event {
            Event::Discovered { page, .. } => {
                ranking.set(*page, 1);
                format!("discovered {page}")
            }
            Event::Fetched { page, links, .. } => format!("fetched {page} with {links:?}"),
            Event::Failed { page, fault } => format!("failed {page}: {fault:?}"),
            other => format!("{other:?}"),
        };
        self.told.push(format!("{}: {what}", now.0));
    }

    fn save(&self, _: &mut dyn std::io::Write) -> std::io::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut dyn std::io::Read) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_page_is_announced_before_a_link_to_it_is_seen_and_the_clock_stands_still_in_rounds() {
    let mut driver = Driver::in_rounds(Listener::default());
    let mut web = Chain::default();
    driver.announce(&mut web);
    assert_eq!(driver.step(&mut web), Some(PageId(0)));
    driver.at(Tick(7));
    let (round, budget) = (0, 1);
    driver.tell(&Event::Round { round, budget }, web.lent());
    assert_eq!(driver.next(), Some(PageId(1)));
    driver.answer(PageId(1), Answer::Failed(Fault::Gone), web.lent());
    assert_eq!(driver.next(), None);
    expect![[r"
        0: discovered 0
        0: discovered 1
        0: fetched 0 with [1]
        7: Round { round: 0, budget: 1 }
        7: failed 1: Gone
    "]]
    .assert_eq(&(driver.scheduler().policy().told.join("\n") + "\n"));
}
