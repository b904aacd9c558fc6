//! What must hold for OPIC with every setting on every web, whatever happens to it.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use turnstone_frontier::{PageId, Scheduler};
use turnstone_policy::Spec;
use turnstone_policy::importance::{self, Bonus, Opic, Weight};

use crate::changing_web::{ChangingCrawl, changing_web};
use crate::web::{Answer, Crawl, Web};

const SPECS: &[&str] = &[
    "opic",
    "opic:select=random",
    "opic:select=random,pay=eager,window=fixed,span=2",
    "opic:select=cycle,window=variable,k=3",
    "opic:window=interpolation,span=2",
    "opic:window=improved-fixed,span=1,virtual=fraction",
    "opic:pay=eager,weight=0.25",
    "opic:weight=0,internal=0.5",
    "opic:discover=1,window=interpolation",
    "opic:discover=0.3,select=cycle",
    "opic:nodes=host",
    "opic:nodes=host,select=random,internal=0.5,window=variable",
    "opic:nodes=host,discover=0.5,window=interpolation,links=both",
    "opic:links=both,virtual=fraction,weight=0.2",
];

fn bonus() -> Bonus {
    let scores = [(1, 0.5), (3, 40.0), (4, 2.0)];
    let scores = scores.map(|(page, score)| (PageId(page), Weight::new(score).unwrap()));
    Bonus::new(scores.into())
}

fn policy(spec: &str, bonus: &Bonus) -> Opic {
    importance::opic(&spec.parse::<Spec>().unwrap(), bonus, 1).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn cash_is_conserved_whatever_happens(web in changing_web()) {
        for spec in SPECS {
            for bonus in [Bonus::none(), bonus()] {
                let mut crawl = ChangingCrawl::start(policy(spec, &bonus), &web);
                for _ in 0..60 {
                    crawl.step();
                    crawl.scheduler.policy().audit(crawl.scheduler.ranking());
                }
            }
        }
    }

    #[test]
    fn importance_can_be_asked_of_every_page_at_any_time(web in changing_web()) {
        for spec in SPECS {
            let mut crawl = ChangingCrawl::start(policy(spec, &Bonus::none()), &web);
            for _ in 0..60 {
                crawl.step();
                let ranking = crawl.scheduler.ranking();
                for page in 0..ranking.page_count() {
                    let page = PageId::from_index(page);
                    let importance = crawl.scheduler.policy().importance(page, ranking);
                    prop_assert!(importance.is_finite() && importance >= 0.0, "{}: {}", spec, importance);
                }
            }
        }
    }

    #[test]
    fn without_a_window_importances_add_up_to_one(web in changing_web()) {
        for spec in ["opic", "opic:select=random", "opic:discover=0.5,pay=eager"] {
            let mut crawl = ChangingCrawl::start(policy(spec, &Bonus::none()), &web);
            for _ in 0..60 {
                crawl.step();
                let scheduler = &crawl.scheduler;
                let pages = (0..scheduler.ranking().page_count()).map(PageId::from_index);
                let sum: f64 = pages
                    .map(|page| scheduler.policy().importance(page, scheduler.ranking()))
                    .sum();
                let nothing_yet = scheduler.policy().virtual_cash() == 1.0;
                prop_assert!((sum - 1.0).abs() < 1e-9 || nothing_yet, "{}: {}", spec, sum);
            }
        }
    }

    #[test]
    fn restored_at_any_event_it_goes_on_alike(web in changing_web(), kill_at in 0usize..50) {
        for spec in SPECS {
            let bonus = bonus();
            let mut undisturbed = ChangingCrawl::start(policy(spec, &bonus), &web);
            let expected: Vec<_> = (0..60).map(|_| undisturbed.step()).collect();

            let mut killed = ChangingCrawl::start(policy(spec, &bonus), &web);
            let mut steps: Vec<_> = (0..kill_at).map(|_| killed.step()).collect();
            let mut saved = Vec::new();
            killed.scheduler.save(&mut saved).unwrap();
            killed.scheduler = Scheduler::restore(policy(spec, &bonus), &mut saved.as_slice()).unwrap();
            steps.extend((kill_at..60).map(|_| killed.step()));
            prop_assert_eq!(&steps, &expected, "{}", spec);
            let save = |crawl: &ChangingCrawl<'_, Opic>| {
                let mut bytes = Vec::new();
                crawl.scheduler.save(&mut bytes).unwrap();
                bytes
            };
            prop_assert_eq!(save(&killed), save(&undisturbed), "{}", spec);
        }
    }

    #[test]
    fn a_cut_checkpoint_is_refused(web in changing_web(), keep in 0.0f64..1.0) {
        for spec in SPECS {
            let mut crawl = ChangingCrawl::start(policy(spec, &Bonus::none()), &web);
            for _ in 0..20 {
                crawl.step();
            }
            let mut saved = Vec::new();
            crawl.scheduler.save(&mut saved).unwrap();
            saved.truncate((saved.len() as f64 * keep) as usize);
            let restored = Scheduler::restore(policy(spec, &Bonus::none()), &mut saved.as_slice());
            prop_assert!(restored.is_err(), "{}", spec);
        }
    }

    #[test]
    fn only_chance_depends_on_the_seed(web in changing_web()) {
        let order = |spec: &str, seed| -> Vec<_> {
            let policy = importance::opic(&spec.parse::<Spec>().unwrap(), &Bonus::none(), seed);
            let mut crawl = ChangingCrawl::start(policy.unwrap(), &web);
            (0..60).map(|_| crawl.step()).collect()
        };
        for spec in SPECS {
            prop_assert_eq!(order(spec, 1), order(spec, 1), "{}", spec);
            if !spec.contains("random") {
                prop_assert_eq!(order(spec, 1), order(spec, 2), "{}", spec);
            }
        }
    }
}

fn check_error(spec: &str, expected: Expect) {
    let error = importance::build(&spec.parse().unwrap(), &Bonus::none(), 1)
        .map(drop)
        .unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn errors_say_what_would_be_right() {
    check_error(
        "opik",
        expect![
            "no policy 'opik' for importance; did you mean 'opic'? (there are: opic, local-push)"
        ],
    );
    check_error(
        "opic:windows=none",
        expect!["policy 'opic' has no parameter 'windows'; did you mean 'window'?"],
    );
    check_error(
        "opic:select=best",
        expect!["policy 'opic': select=best is not possible; give one of random, cycle, greedy"],
    );
    check_error(
        "opic:window=variable,k=1",
        expect!["policy 'opic': k=1 is not possible; give a whole number from 2 to 1024"],
    );
    check_error(
        "opic:span=0",
        expect!["policy 'opic': span=0 is not possible; give a number from 0.001 to 1000000"],
    );
    check_error(
        "opic:virtual=fraction,weight=1",
        expect!["policy 'opic': weight=1 is not possible; give a number above 0 and below 1"],
    );
    check_error(
        "opic:discover=1.5",
        expect!["policy 'opic': discover=1.5 is not possible; give a number from 0 to 1"],
    );
}

/// How often each page of a ring of links was read, and G, after so many reads.
fn reads(spec: &str, pages: u32, visits: usize) -> (Vec<u32>, f64) {
    let links = |page: u32| vec![PageId((page + 1) % pages), PageId(page * 7 % pages)];
    let web = Web((0..pages).map(links).collect());
    let mut crawl = Crawl::start(policy(spec, &Bonus::none()), &web);
    let mut reads = vec![0; pages as usize];
    for _ in 0..visits {
        crawl.step(&web, |_, _| Answer::Page);
        reads[crawl.order.pop().unwrap().index()] += 1;
    }
    (reads, crawl.scheduler.policy().clock())
}

#[test]
fn chance_reads_pages_independently_of_their_cash() {
    let (reads, clock) = reads("opic:select=random,pay=eager", 500, 20_000);
    // Poisson: the variance is the mean, 40.
    let mean = f64::from(reads.iter().sum::<u32>()) / 500.0;
    let variance = reads
        .iter()
        .map(|n| (f64::from(*n) - mean).powi(2))
        .sum::<f64>()
        / 500.0;
    assert!((30.0..50.0).contains(&variance), "{variance}");
    // A page chosen by chance has the mean cash.
    assert!((clock / 40.0 - 1.0).abs() < 0.1, "{clock}");
}

#[test]
fn in_a_cycle_everyone_is_read_equally_often() {
    let (reads, _) = reads("opic:select=cycle", 50, 500);
    assert!(reads.iter().all(|count| *count == 10), "{reads:?}");
}
