//! OPIC written down plainly: cash in an array, payments one by one, every measure kept, the next
//! page found by looking at all of them. The policy must read the same pages in the same order,
//! hold the same cash to the last unit, and give the same importances. What holds cash is a node:
//! a page, or a host whose pages take turns in a queue.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use turnstone_frontier::{PageId, Tick};
use turnstone_policy::Spec;
use turnstone_policy::importance::{self, Bonus, Opic};
use turnstone_policy::mass::{Fraction, ONE, as_fraction};

use crate::changing_web::{ChangingCrawl, ChangingWeb, Step, changing_web};
use crate::web::Answer;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Greedy,
    Cycle,
    /// Whatever the policy drew.
    Any,
}

#[derive(Clone, Copy, Debug)]
enum Past {
    All,
    Last(usize),
    Span(f64),
    SpanOrLast(f64, usize),
    Interpolated(f64),
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    choice: Choice,
    past: Past,
    eager: bool,
    /// The fraction that goes to the virtual page; else it is one more link.
    fraction: Option<f64>,
    /// Hosts hold cash, not pages.
    hosts: bool,
    /// The weight of a link within a host, in thousandths.
    internal: Option<u64>,
}

impl Setting {
    fn spec(&self) -> String {
        let select = match self.choice {
            Choice::Greedy => "greedy",
            Choice::Cycle => "cycle",
            Choice::Any => "random",
        };
        let window = match self.past {
            Past::All => "none".to_owned(),
            Past::Last(k) => format!("variable,k={k}"),
            Past::Span(span) => format!("fixed,span={span}"),
            Past::SpanOrLast(span, min) => format!("improved-fixed,span={span},min={min}"),
            Past::Interpolated(span) => format!("interpolation,span={span}"),
        };
        let pay = if self.eager { "eager" } else { "ordinary" };
        let share = self.fraction.map_or(String::new(), |fraction| {
            format!(",virtual=fraction,weight={fraction}")
        });
        let nodes = if self.hosts { ",nodes=host" } else { "" };
        let internal = self.internal.map_or(String::new(), |thousandths| {
            format!(",internal={}", thousandths as f64 / 1000.0)
        });
        format!("opic:select={select},window={window},pay={pay}{share}{nodes}{internal}")
    }
}

/// What holds cash, as the reference sees it.
#[derive(Clone, Debug)]
struct Node {
    /// Its pages, the one whose turn it is first, and whether they are gone. A gone page leaves
    /// when its turn comes; until then it may come back to its place.
    pages: VecDeque<(usize, bool)>,
    cash: u64,
    /// Cash read and clock after it.
    measures: Vec<(f64, f64)>,
    /// The importance it was given when it came, and the clock and all there was then.
    given: (f64, f64, f64),
    /// Whether all its pages are gone.
    gone: bool,
    deferred_until: Option<Tick>,
    /// Cycle: its number in the line.
    number: u64,
}

impl Node {
    /// The page whose turn it is.
    fn holder(&self) -> usize {
        self.pages[0].0
    }

    fn keep(&mut self, page: usize) {
        match self.pages.iter_mut().find(|(known, _)| *known == page) {
            Some(known) if !self.gone => known.1 = false,
            None if !self.gone => self.pages.push_back((page, false)),
            _ => self.pages = [(page, false)].into(),
        }
    }

    fn pass_over_gone(&mut self) {
        while self.pages.iter().any(|(_, gone)| !gone) && self.pages[0].1 {
            self.pages.pop_front();
        }
    }
}

struct Slow<'a> {
    setting: Setting,
    web: &'a ChangingWeb,
    nodes: Vec<Node>,
    page_count: usize,
    virtual_cash: u64,
    virtual_number: u64,
    clock: u128,
    numbers: u64,
    begun: bool,
    introduced: Vec<usize>,
    /// Histories given to new pages, less those of pages that went.
    granted: f64,
}

impl<'a> Slow<'a> {
    fn new(setting: Setting, web: &'a ChangingWeb) -> Self {
        Self {
            setting,
            web,
            nodes: Vec::new(),
            page_count: 0,
            virtual_cash: ONE,
            virtual_number: 0,
            clock: 0,
            numbers: 0,
            begun: false,
            introduced: Vec::new(),
            granted: 0.0,
        }
    }

    fn now(&self) -> f64 {
        self.clock as f64 / ONE as f64
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// All histories and all cash of pages.
    fn all(&self) -> f64 {
        self.now() + self.granted + as_fraction(ONE - self.virtual_cash)
    }

    /// The node of a page.
    fn node(&self, page: usize) -> usize {
        if self.setting.hosts {
            self.web.host(PageId::from_index(page)).index()
        } else {
            page
        }
    }

    fn introduce(&mut self, read_any: bool) {
        let page = self.page_count;
        self.page_count += 1;
        let at = self.node(page);
        if at < self.nodes.len() {
            self.nodes[at].keep(page);
            if self.nodes[at].gone {
                self.nodes[at].given.1 = self.now();
                self.enter(at);
            }
            return;
        }
        let recent: Vec<usize> = self.introduced.iter().rev().take(32).copied().collect();
        let sum: f64 = recent.iter().map(|page| self.importance(*page)).sum();
        let importance = sum / recent.len().max(1) as f64;
        if read_any {
            self.introduced.push(self.nodes.len());
        }
        let number = self.number();
        let given = (importance, self.now(), importance * self.all());
        self.granted += given.2;
        self.nodes.push(Node {
            pages: [(page, false)].into(),
            cash: 0,
            measures: Vec::new(),
            given,
            gone: false,
            deferred_until: None,
            number,
        });
    }

    /// The node is in the game and in the line.
    fn enter(&mut self, at: usize) {
        self.nodes[at].gone = false;
        self.nodes[at].number = self.number();
    }

    fn importance(&self, at: usize) -> f64 {
        let page = &self.nodes[at];
        if page.gone {
            return 0.0;
        }
        let (cash, now) = (as_fraction(page.cash), self.now());
        let (given, born, given_history) = page.given;
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        // The measures, begun by one that says what was given.
        let measures = |span: f64| {
            let first = (given * span, born);
            let first = (given > 0.0).then_some(first);
            first
                .into_iter()
                .chain(page.measures.clone())
                .collect::<Vec<_>>()
        };
        let last = |k: usize| {
            let all = measures(born);
            match &all[all.len().saturating_sub(k)..] {
                [] => ratio(cash, now),
                [(cash, at)] => ratio(*cash, *at),
                [(_, begin), rest @ ..] => {
                    let end = rest[rest.len() - 1].1;
                    ratio(rest.iter().map(|(cash, _)| cash).sum(), end - begin)
                }
            }
        };
        let inside = |span: f64, given_span: f64| {
            let mut all = measures(given_span);
            all.retain(|(_, at)| *at > now - span);
            (
                all.len(),
                ratio(all.iter().map(|(cash, _)| cash).sum(), span.min(now)),
            )
        };
        match self.setting.past {
            Past::All => {
                let read: f64 = page.measures.iter().map(|(cash, _)| cash).sum();
                ratio(given_history + read + cash, self.all())
            }
            Past::Last(k) => last(k),
            Past::Span(span) => inside(span, span.min(born)).1,
            Past::SpanOrLast(span, min) => match inside(span, born) {
                (count, importance) if count >= min => importance,
                _ => last(min),
            },
            Past::Interpolated(span) => {
                let (mut history, mut at) = (given * span, born);
                for (cash, read_at) in page.measures.iter().chain([&(cash, now)]) {
                    let passed = read_at - at;
                    history = if passed < span {
                        history * (span - passed) / span + cash
                    } else {
                        cash * span / passed
                    };
                    at = *read_at;
                }
                history / span
            }
        }
    }

    /// The page to be read next, as far as it is determined.
    fn next(&mut self, now: Tick) -> Option<usize> {
        for page in &mut self.nodes {
            if page.deferred_until.is_some_and(|until| until <= now) {
                page.deferred_until = None;
            }
        }
        self.best_waiting().map(|at| self.nodes[at].holder())
    }

    fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len())
            .filter(|at| !self.nodes[*at].gone && self.nodes[*at].deferred_until.is_none())
    }

    fn best_waiting(&self) -> Option<usize> {
        match self.setting.choice {
            Choice::Greedy => self
                .waiting()
                .max_by_key(|at| (self.nodes[*at].cash, Reverse(self.nodes[*at].holder()))),
            Choice::Cycle => self.waiting().min_by_key(|at| self.nodes[*at].number),
            Choice::Any => None,
        }
    }

    fn pay(&mut self) {
        self.virtual_number = self.number();
        let open = self.nodes.iter().filter(|node| !node.gone).count() as u64;
        if let Some(each) = self.virtual_cash.checked_div(open) {
            for node in self.nodes.iter_mut().filter(|node| !node.gone) {
                node.cash += each;
                self.virtual_cash -= each;
            }
        }
    }

    fn give(&mut self, to: usize, cash: u64) {
        if self.nodes[to].gone {
            self.virtual_cash += cash;
        } else {
            self.nodes[to].cash += cash;
        }
    }

    /// The nodes a page links to, and whether they are its own host: each once where hosts are.
    fn targets(&self, page: usize, links: &[PageId]) -> Vec<(usize, bool)> {
        let own = self.web.host(PageId::from_index(page));
        let targets = links
            .iter()
            .map(|link| (self.node(link.index()), self.web.host(*link) == own));
        if self.setting.hosts {
            let once: BTreeSet<_> = targets.collect();
            return once.into_iter().collect();
        }
        targets.collect()
    }

    fn read(&mut self, page: usize, links: &[PageId]) {
        let at = self.node(page);
        let was_gone = self.nodes[at].gone;
        self.nodes[at].keep(page);
        if !was_gone && self.nodes[at].holder() != page {
            // It is there again, behind others of its host.
            return;
        }
        let cash = std::mem::take(&mut self.nodes[at].cash);
        self.clock += u128::from(cash);
        let measure = (as_fraction(cash), self.now());
        self.nodes[at].measures.push(measure);
        self.pass_turn(at);
        let targets = self.targets(page, links);
        let default = if self.setting.hosts { 0 } else { 1000 };
        let internal = self.setting.internal.unwrap_or(default);
        let weight = |is_internal| if is_internal { internal } else { 1000 };
        let links: u64 = targets.iter().map(|(_, own)| weight(*own)).sum();
        let (pool, parts) = match self.setting.fraction {
            None => (cash, links + 1000),
            Some(fraction) => {
                let share = Fraction::new(fraction).unwrap().of_rounded_up(cash);
                (cash - share, links.max(1))
            }
        };
        let mut left = cash;
        for (target, own) in targets {
            let part = u128::from(pool) * u128::from(weight(own)) / u128::from(parts);
            self.give(target, part as u64);
            left -= part as u64;
        }
        self.virtual_cash += left;
    }

    /// The page whose turn it was goes to the end of its node's queue.
    fn pass_turn(&mut self, at: usize) {
        self.nodes[at].pages.rotate_left(1);
        self.nodes[at].pass_over_gone();
        self.enter(at);
    }

    fn lose(&mut self, page: usize) {
        let at = self.node(page);
        let node = &mut self.nodes[at];
        if let Some(known) = node.pages.iter_mut().find(|(known, _)| *known == page) {
            known.1 = true;
        }
        node.pass_over_gone();
        if node.pages.iter().any(|(_, gone)| !gone) {
            return self.enter(at);
        }
        node.gone = true;
        let read: f64 = node.measures.iter().map(|(cash, _)| cash).sum();
        self.granted -= node.given.2 + read;
        node.measures.clear();
        node.given = (0.0, node.given.1, 0.0);
        self.virtual_cash += std::mem::take(&mut node.cash);
    }

    fn observe(&mut self, step: &Step, web: &ChangingWeb) {
        if !std::mem::replace(&mut self.begun, true) {
            self.pay();
        }
        let page = step.page.index();
        let at = self.node(page);
        match step.answer {
            Answer::Page => self.read(page, &web.links(step.page, step.number)),
            Answer::Unknown => {
                self.read(page, &[]);
                // Another page of the host may be asked at once.
                if self.nodes[at].holder() == page {
                    self.nodes[at].deferred_until = Some(step.now.plus(60_000));
                }
            }
            Answer::Gone => self.lose(page),
            Answer::MovedTo(to) => {
                let cash = std::mem::take(&mut self.nodes[at].cash);
                self.pass_turn(at);
                let to = self.node(to.index());
                if to == at && !self.setting.hosts {
                    self.virtual_cash += cash;
                } else if to != at && self.nodes[to].gone && self.setting.hosts {
                    self.give(at, cash);
                } else {
                    self.give(to, cash);
                }
            }
        }
        self.settle();
    }

    fn settle(&mut self) {
        if self.setting.eager {
            return self.pay();
        }
        while let Some(best) = self.best_waiting() {
            let open = self.nodes.iter().filter(|node| !node.gone).count() as u64;
            let due = match self.setting.choice {
                Choice::Greedy => {
                    self.virtual_cash > self.nodes[best].cash && self.virtual_cash >= open
                }
                Choice::Cycle => self.virtual_number < self.nodes[best].number,
                Choice::Any => unreachable!("only eager payments can be followed"),
            };
            if !due {
                return;
            }
            self.pay();
        }
    }
}

fn check(setting: Setting, web: &ChangingWeb) {
    let spec: Spec = setting.spec().parse().unwrap();
    let policy = importance::opic(&spec, &Bonus::none(), 7).unwrap();
    let mut crawl: ChangingCrawl<'_, Opic> = ChangingCrawl::start(policy, web);
    let mut slow = Slow::new(setting, web);
    for number in 0..80 {
        while slow.page_count < web.known(number) {
            slow.introduce(crawl.scheduler.policy().visits() > 0);
        }
        let step = crawl.step();
        let page = step.as_ref().map(|step| step.page.index());
        if !step.as_ref().is_some_and(|step| step.returned) {
            let expected = slow.next(Tick(number as u64 * 7_000));
            if setting.choice != Choice::Any {
                assert_eq!(page, expected, "{spec}: page of step {number}");
            }
        }
        if let Some(step) = step {
            slow.observe(&step, web);
        }
        let (policy, ranking) = (crawl.scheduler.policy(), crawl.scheduler.ranking());
        assert_eq!(policy.clock(), slow.now(), "{spec}: clock of step {number}");
        assert_eq!(
            policy.virtual_cash(),
            as_fraction(slow.virtual_cash),
            "{spec}"
        );
        for at in 0..slow.page_count {
            let (id, node) = (PageId::from_index(at), slow.node(at));
            assert_eq!(
                policy.cash(id, ranking),
                slow.nodes[node].cash,
                "{spec}: cash of {at} in {number}"
            );
            let (fast, slow) = (policy.importance(id, ranking), slow.importance(node));
            // Interpolation keeps times to 1/4096 of the span, and histories in 24 bits.
            let exact = !matches!(setting.past, Past::Interpolated(_));
            let tolerance = if exact { 1e-9 } else { 2e-3 };
            assert!(
                (fast - slow).abs() <= tolerance * (1.0 + slow),
                "{spec}: importance of {at} in {number}: {fast}, not {slow}"
            );
        }
    }
}

fn settings() -> impl Strategy<Value = Setting> {
    let past = prop_oneof![
        Just(Past::All),
        (2usize..6).prop_map(Past::Last),
        (0.5f64..4.0).prop_map(|span| Past::Span((span * 8.0).round() / 8.0)),
        (0.5f64..4.0, 2usize..5)
            .prop_map(|(span, min)| Past::SpanOrLast((span * 8.0).round() / 8.0, min)),
        (0.5f64..4.0).prop_map(|span| Past::Interpolated((span * 8.0).round() / 8.0)),
    ];
    let choice = prop_oneof![
        4 => (Just(Choice::Greedy), any::<bool>()),
        2 => (Just(Choice::Cycle), any::<bool>()),
        1 => Just((Choice::Any, true)),
    ];
    let fraction = prop::option::of((1u32..10).prop_map(|tenths| f64::from(tenths) / 10.0));
    let internal = prop::option::of((0u64..=4).prop_map(|quarters| quarters * 250));
    (choice, past, fraction, any::<bool>(), internal).prop_map(
        |((choice, eager), past, fraction, hosts, internal)| Setting {
            choice,
            past,
            eager,
            fraction,
            hosts,
            internal,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn opic_is_the_papers_loop(web in changing_web(), setting in settings()) {
        check(setting, &web);
    }
}
