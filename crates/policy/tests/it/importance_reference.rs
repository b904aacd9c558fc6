//! OPIC written down plainly: cash in an array, payments one by one, every measure kept, the next
//! page found by looking at all of them. The policy must read the same pages in the same order,
//! hold the same cash to the last unit, and give the same importances.

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
        format!("opic:select={select},window={window},pay={pay}{share}")
    }
}

/// A page as the reference sees it.
#[derive(Clone, Debug)]
struct Page {
    cash: u64,
    /// Cash read and clock after it.
    measures: Vec<(f64, f64)>,
    /// The importance it was given when it came, and the clock and all there was then.
    given: (f64, f64, f64),
    gone: bool,
    deferred_until: Option<Tick>,
    /// Cycle: its number in the line.
    number: u64,
}

struct Slow {
    setting: Setting,
    pages: Vec<Page>,
    virtual_cash: u64,
    virtual_number: u64,
    clock: u128,
    numbers: u64,
    begun: bool,
    introduced: Vec<usize>,
    /// Histories given to new pages, less those of pages that went.
    granted: f64,
}

impl Slow {
    fn new(setting: Setting) -> Self {
        Self {
            setting,
            pages: Vec::new(),
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

    fn introduce(&mut self, read_any: bool) {
        let recent: Vec<usize> = self.introduced.iter().rev().take(32).copied().collect();
        let sum: f64 = recent.iter().map(|page| self.importance(*page)).sum();
        let importance = sum / recent.len().max(1) as f64;
        if read_any {
            self.introduced.push(self.pages.len());
        }
        let number = self.number();
        let given = (importance, self.now(), importance * self.all());
        self.granted += given.2;
        self.pages.push(Page {
            cash: 0,
            measures: Vec::new(),
            given,
            gone: false,
            deferred_until: None,
            number,
        });
    }

    fn importance(&self, at: usize) -> f64 {
        let page = &self.pages[at];
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
        for page in &mut self.pages {
            if page.deferred_until.is_some_and(|until| until <= now) {
                page.deferred_until = None;
            }
        }
        self.best_waiting()
    }

    fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.pages.len())
            .filter(|at| !self.pages[*at].gone && self.pages[*at].deferred_until.is_none())
    }

    fn best_waiting(&self) -> Option<usize> {
        match self.setting.choice {
            Choice::Greedy => self.waiting().reduce(|best, at| {
                if self.pages[at].cash > self.pages[best].cash {
                    at
                } else {
                    best
                }
            }),
            Choice::Cycle => self.waiting().min_by_key(|at| self.pages[*at].number),
            Choice::Any => None,
        }
    }

    fn pay(&mut self) {
        self.virtual_number = self.number();
        let open = self.pages.iter().filter(|page| !page.gone).count() as u64;
        if let Some(each) = self.virtual_cash.checked_div(open) {
            for page in self.pages.iter_mut().filter(|page| !page.gone) {
                page.cash += each;
                self.virtual_cash -= each;
            }
        }
    }

    fn give(&mut self, to: usize, cash: u64) {
        if self.pages[to].gone {
            self.virtual_cash += cash;
        } else {
            self.pages[to].cash += cash;
        }
    }

    fn read(&mut self, at: usize, links: &[PageId]) {
        let cash = std::mem::take(&mut self.pages[at].cash);
        self.clock += u128::from(cash);
        let measure = (as_fraction(cash), self.now());
        self.pages[at].measures.push(measure);
        self.pages[at].gone = false;
        self.pages[at].number = self.number();
        let count = links.len() as u64;
        let (pool, parts) = match self.setting.fraction {
            None => (cash, count + 1),
            Some(fraction) => {
                let share = Fraction::new(fraction).unwrap().of_rounded_up(cash);
                (cash - share, count.max(1))
            }
        };
        for link in links {
            self.give(link.index(), pool / parts);
        }
        self.virtual_cash += cash - pool / parts * count;
    }

    fn observe(&mut self, step: &Step, web: &ChangingWeb) {
        if !std::mem::replace(&mut self.begun, true) {
            self.pay();
        }
        let at = step.page.index();
        match step.answer {
            Answer::Page => self.read(at, &web.links(step.page, step.number)),
            Answer::Unknown => {
                self.read(at, &[]);
                self.pages[at].deferred_until = Some(step.now.plus(60_000));
            }
            Answer::Gone => {
                let page = &mut self.pages[at];
                page.gone = true;
                let read: f64 = page.measures.iter().map(|(cash, _)| cash).sum();
                self.granted -= page.given.2 + read;
                page.measures.clear();
                page.given = (0.0, page.given.1, 0.0);
                self.virtual_cash += std::mem::take(&mut page.cash);
            }
            Answer::MovedTo(to) => {
                let cash = std::mem::take(&mut self.pages[at].cash);
                self.pages[at].number = self.number();
                if to == step.page {
                    self.virtual_cash += cash;
                } else {
                    self.give(to.index(), cash);
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
            let open = self.pages.iter().filter(|page| !page.gone).count() as u64;
            let due = match self.setting.choice {
                Choice::Greedy => {
                    self.virtual_cash > self.pages[best].cash && self.virtual_cash >= open
                }
                Choice::Cycle => self.virtual_number < self.pages[best].number,
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
    let policy = importance::build(&spec, &Bonus::none(), 7).unwrap();
    let mut crawl: ChangingCrawl<'_, Opic> = ChangingCrawl::start(policy, web);
    let mut slow = Slow::new(setting);
    for number in 0..80 {
        while slow.pages.len() < web.known(number) {
            slow.introduce(crawl.scheduler.policy().visits() > 0);
        }
        let step = crawl.step();
        let page = step.as_ref().map(|step| step.page.index());
        let expected = slow.next(Tick(number as u64 * 7_000));
        if setting.choice != Choice::Any {
            assert_eq!(page, expected, "{spec}: page of step {number}");
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
        for (at, page) in slow.pages.iter().enumerate() {
            let id = PageId::from_index(at);
            assert_eq!(
                policy.cash(id, ranking),
                page.cash,
                "{spec}: cash of {at} in {number}"
            );
            let (fast, slow) = (policy.importance(id, ranking), slow.importance(at));
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
    (choice, past, fraction).prop_map(|((choice, eager), past, fraction)| Setting {
        choice,
        past,
        eager,
        fraction,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn opic_is_the_papers_loop(web in changing_web(), setting in settings()) {
        check(setting, &web);
    }
}
