//! What deciding costs: RankMass and greedy OPIC through the scheduler, each beside the same loop on
//! a bare heap.
//!
//! ```text
//! cargo bench -p turnstone-lab --bench scheduling -- [PAGES [LINKS_PER_PAGE [EPSILON]]]
//! ```
//!
//! Default 200000 12 0.2. One thread; seconds of CPU, not of the clock, so that a busy machine only
//! blurs the figures through its caches. Each line is one measurement.

#![allow(missing_docs, clippy::print_stdout)] // a benchmark speaks to the terminal

use turnstone_frontier::{PageId, Politeness};
use turnstone_lab::replay::{Replay, Start};
use turnstone_linkgraph::LinkGraph;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters};
use turnstone_policy::breadth_first::BreadthFirst;
use turnstone_policy::coverage::{CoveragePolicy, Dangling, Goal, Push, RankMass, Trust};
use turnstone_policy::importance::{Bonus, Opic, OpicOptions, Window};
use turnstone_policy::mass::{Fraction, ONE, as_fraction};

fn main() {
    let numbers: Vec<f64> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let number = |index: usize, default: f64| numbers.get(index).copied().unwrap_or(default);
    let parameters = WebParameters {
        pages: number(0, 200_000.0) as usize,
        links_per_page: number(1, 12.0),
        ..WebParameters::default()
    };
    let epsilon = Fraction::new(number(2, 0.2)).expect("epsilon lies between 0 and 1");
    let web = GeneratedWeb::new(&parameters).expect("the parameters are within their limits");
    let graph = web.graph();
    println!(
        "web: {} pages, {} links",
        graph.page_count(),
        graph.link_count()
    );

    let trust = Trust::alike((0..10).map(PageId)).expect("ten pages can be trusted");
    let goal = Goal {
        epsilon,
        ..Goal::default()
    };
    breadth_first(&graph);
    let bare = bare_rankmass(&graph, &trust, goal);
    let ours = rankmass(&graph, &trust, goal);
    println!("through the scheduler / bare heap: {:.2}", ours / bare);
    let bare = bare_opic(&graph);
    let ours = opic(&graph);
    println!("through the scheduler / bare heap: {:.2}", ours / bare);
}

/// Hand-outs per second with nothing to decide.
fn breadth_first(graph: &LinkGraph) {
    let seeds = [PageId(0)];
    let start = Start {
        graph,
        hosts: &[],
        seeds: &seeds,
        politeness: Politeness::OFF,
    };
    let began = cpu_seconds();
    let mut replay = Replay::start(start, BreadthFirst::default());
    while replay.step().is_some() {}
    let seconds = cpu_seconds() - began;
    report("breadth-first, fetches", replay.requests(), seconds);
}

/// Expansions per second of RankMass through the scheduler. Returns them.
fn rankmass(graph: &LinkGraph, trust: &Trust, goal: Goal) -> f64 {
    let policy = RankMass::new(trust.clone(), goal, Push::Exact, Dangling::Jump);
    let start = Start {
        graph,
        hosts: &[],
        seeds: &[],
        politeness: Politeness::OFF,
    };
    let began = cpu_seconds();
    let mut replay = Replay::start(start, policy);
    while !replay
        .scheduler()
        .coverage()
        .is_some_and(|coverage| coverage.met())
    {
        if replay.step().is_none() {
            break;
        }
    }
    let seconds = cpu_seconds() - began;
    let scheduler = replay.scheduler();
    let bytes = scheduler.ranking().allocated_bytes() as f64 / graph.page_count() as f64;
    let proven = scheduler
        .coverage()
        .map_or(0.0, |coverage| coverage.guaranteed_fraction());
    println!(
        "rankmass: {} fetches, {:.3} proven, {bytes:.1} bytes a page",
        replay.requests(),
        proven
    );
    report("rankmass, expansions", scheduler.policy().pushes(), seconds)
}

/// The same loop on one indexed 4-ary heap over all pages, with no scheduler, events or accounts.
fn bare_rankmass(graph: &LinkGraph, trust: &Trust, goal: Goal) -> f64 {
    let began = cpu_seconds();
    let mut heap = BareHeap::new(graph.page_count());
    for &(page, mass) in trust.masses() {
        heap.raise(page, mass);
    }
    let (mut covered, mut expansions) = (0, 0);
    while covered < goal.mass() {
        let Some((page, mass)) = heap.take_best() else {
            break;
        };
        let pushed = goal.damping.of_rounded_up(mass);
        covered += mass - pushed;
        expansions += 1;
        let links = graph.links(page);
        for &link in links {
            heap.raise(link, pushed / links.len() as u64);
        }
        if links.is_empty() {
            let share = pushed / trust.masses().len() as u64;
            trust
                .masses()
                .iter()
                .for_each(|(page, _)| heap.raise(*page, share));
        }
    }
    let seconds = cpu_seconds() - began;
    println!("bare heap: {:.3} proven", as_fraction(covered));
    report("bare heap, expansions", expansions, seconds)
}

/// Visits per second of greedy OPIC through the scheduler, as many as there are pages. Returns them.
fn opic(graph: &LinkGraph) -> f64 {
    let options = OpicOptions {
        window: Window::Interpolation { span: 4.0 },
        ..OpicOptions::default()
    };
    let start = Start {
        graph,
        hosts: &[],
        seeds: &[],
        politeness: Politeness::OFF,
    };
    let mut replay = Replay::start(start, Opic::new(options, Bonus::none(), 1));
    let began = cpu_seconds();
    for _ in graph.pages() {
        replay.step().expect("every page may be read again");
    }
    let seconds = cpu_seconds() - began;
    let scheduler = replay.scheduler();
    let bytes = scheduler.ranking().allocated_bytes() + scheduler.policy().allocated_bytes();
    println!(
        "opic: clock {:.4}, {:.1} bytes a page",
        scheduler.policy().clock(),
        bytes as f64 / graph.page_count() as f64
    );
    report("opic, visits", replay.requests(), seconds)
}

/// The same order of visits from one indexed 4-ary heap over all pages, with no scheduler, events
/// or histories. What the virtual page has paid is a credit that all pages have in common.
fn bare_opic(graph: &LinkGraph) -> f64 {
    const EMPTY: u64 = 1 << 63;
    let pages = graph.page_count() as u64;
    let mut heap = BareHeap::new(graph.page_count());
    for page in graph.pages() {
        heap.raise(page, EMPTY);
    }
    let (mut credit, mut virtual_cash) = (ONE / pages, ONE % pages);
    let mut clock = 0;
    let began = cpu_seconds();
    for _ in graph.pages() {
        let (page, purse) = heap.take_best().expect("every page is in the heap");
        heap.raise(page, EMPTY - credit);
        let cash = purse + credit - EMPTY;
        clock += u128::from(cash);
        let links = graph.links(page);
        let part = cash / (links.len() as u64 + 1);
        for &link in links {
            heap.raise(link, part);
        }
        virtual_cash += cash - part * links.len() as u64;
        if EMPTY + virtual_cash - credit > heap.best() {
            credit += virtual_cash / pages;
            virtual_cash %= pages;
        }
    }
    let seconds = cpu_seconds() - began;
    println!("bare heap: clock {:.4}", clock as f64 / ONE as f64);
    report("bare heap, visits", pages, seconds)
}

/// Every page in one heap, keys inline.
struct BareHeap {
    entries: Vec<(u64, PageId)>,
    places: Vec<u32>,
}

impl BareHeap {
    fn new(pages: usize) -> Self {
        Self {
            entries: Vec::new(),
            places: vec![u32::MAX; pages],
        }
    }

    fn raise(&mut self, page: PageId, by: u64) {
        let mut at = self.places[page.index()] as usize;
        if at == u32::MAX as usize {
            at = self.entries.len();
            self.entries.push((0, page));
        }
        let key = (self.entries[at].0 + by, page);
        while at > 0 && before(key, self.entries[(at - 1) / 4]) {
            self.settle(at, self.entries[(at - 1) / 4]);
            at = (at - 1) / 4;
        }
        self.settle(at, key);
    }

    fn best(&self) -> u64 {
        self.entries.first().map_or(0, |best| best.0)
    }

    fn take_best(&mut self) -> Option<(PageId, u64)> {
        let last = self.entries.pop()?;
        let Some(&best) = self.entries.first() else {
            self.places[last.1.index()] = u32::MAX;
            return Some((last.1, last.0));
        };
        self.places[best.1.index()] = u32::MAX;
        let mut at = 0;
        loop {
            let children = at * 4 + 1..(at * 4 + 5).min(self.entries.len());
            let child = children.reduce(|a, b| {
                if before(self.entries[b], self.entries[a]) {
                    b
                } else {
                    a
                }
            });
            match child {
                Some(child) if before(self.entries[child], last) => {
                    self.settle(at, self.entries[child]);
                    at = child;
                }
                _ => break,
            }
        }
        self.settle(at, last);
        Some((best.1, best.0))
    }

    fn settle(&mut self, at: usize, key: (u64, PageId)) {
        self.entries[at] = key;
        self.places[key.1.index()] = at as u32;
    }
}

fn before(a: (u64, PageId), b: (u64, PageId)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 < b.1)
}

fn report(what: &str, count: u64, seconds: f64) -> f64 {
    let rate = count as f64 / seconds;
    println!(
        "{what}: {count} in {seconds:.2} CPU s, {:.3} M per CPU s",
        rate / 1e6
    );
    rate
}

/// Seconds this process has spent on a CPU.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = stat
        .split_whitespace()
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds.expect("Linux counts CPU time in /proc/self/schedstat") / 1e9
}
