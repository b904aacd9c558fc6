//! What must hold for every liveness policy on every web, whatever goes wrong.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use turnstone_frontier::{PageId, Scheduler};
use turnstone_policy::Spec;
use turnstone_policy::liveness::{self, Confidence, Enough, SampleBy};

use crate::old_web::{OldWeb, old_web};
use crate::web::{Answer, Web};

const SPECS: &[&str] = &[
    "tree",
    "tree:looks=9",
    "random",
    "indegree",
    "pagerank",
    "pa",
    "pa-ratio",
    "pa-ratio:sample=indegree-apart",
    "active-site-first",
    "active-site-first:sample=pagerank,inside=pagerank",
    "alive-bfs",
    "alive-indegree",
    "alive-indegree:sample=pagerank-apart",
    "pa-recursive",
    "pa-site",
];

/// The old web's answers, but some pages hesitate, never answer or have moved.
fn unreliable<'a>(old: &'a OldWeb, kinds: &'a [u8]) -> impl Fn(PageId, usize) -> Answer + 'a {
    move |page, tries| match kinds[page.index() % kinds.len()] {
        0 => Answer::Unknown,
        1 if tries < 2 => Answer::Unknown,
        2 => Answer::MovedTo(PageId(0)),
        _ => old.answer(page),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_page_is_tested_once(old in old_web()) {
        for spec in SPECS {
            let mut order = old.order(spec, SampleBy::Random);
            order.sort();
            let pages: Vec<PageId> = (0..old.web.page_count()).map(PageId::from_index).collect();
            prop_assert_eq!(order, pages, "{}", spec);
        }
    }

    #[test]
    fn what_gives_no_verdict_is_asked_again_but_not_for_ever(
        old in old_web(), kinds in prop::collection::vec(0u8..6, 1..20),
    ) {
        for spec in SPECS {
            let mut crawl = old.crawl(spec, SampleBy::Random);
            while crawl.step(&old.web, unreliable(&old, &kinds)) {}
            let times = |page: usize| crawl.order.iter().filter(|other| other.index() == page).count();
            for page in 0..old.web.page_count() {
                let expected = match kinds[page % kinds.len()] { 0 => 4, 1 => 3, _ => 1 };
                prop_assert_eq!(times(page), expected, "{}: page {}", spec, page);
            }
            let kind = |page: usize| kinds[page % kinds.len()];
            let tally = crawl.scheduler.policy().tally();
            let decided = (0..old.web.page_count()).filter(|page| kind(*page) != 0).count();
            prop_assert_eq!(tally.tested(), decided as u64, "{}", spec);
        }
    }

    #[test]
    fn a_killed_crawl_goes_on_as_if_nothing_had_happened(
        old in old_web(), kinds in prop::collection::vec(0u8..12, 1..20), kill_at in 0usize..40,
    ) {
        for spec in SPECS {
            let answers = unreliable(&old, &kinds);
            let mut undisturbed = old.crawl(spec, SampleBy::Random);
            while undisturbed.step(&old.web, &answers) {}

            let mut killed = old.crawl(spec, SampleBy::Random);
            for _ in 0..kill_at {
                killed.step(&old.web, &answers);
            }
            let mut saved = Vec::new();
            killed.scheduler.save(&mut saved).unwrap();
            let fresh = old.policy(spec, SampleBy::Random);
            killed.scheduler = Scheduler::restore(fresh, &mut saved.as_slice()).unwrap();
            while killed.step(&old.web, &answers) {}
            prop_assert_eq!(&killed.order, &undisturbed.order, "{}", spec);
            let (killed, undisturbed) = (killed.scheduler.policy(), undisturbed.scheduler.policy());
            prop_assert_eq!(killed.tally(), undisturbed.tally(), "{}", spec);
            prop_assert_eq!(killed.estimate(), undisturbed.estimate(), "{}", spec);
        }
    }

    #[test]
    fn a_whole_sample_estimates_exactly_and_stops_at_its_share(old in old_web(), percent in 1u32..=100) {
        let mut old = old;
        old.sample_size = old.web.page_count();
        let share = f64::from(percent) / 100.0;
        let enough = Enough::new(share, Confidence::default()).unwrap();
        let alive = old.alive.iter().filter(|alive| **alive).count();
        let mut crawl = old.crawl("alive-bfs", SampleBy::Random);
        while crawl.step(&old.web, |page, _| old.answer(page)) {}
        let estimate = crawl.scheduler.policy().estimate().unwrap();
        prop_assert!((estimate.alive() - alive as f64).abs() < 1e-9);
        let needed = (share * alive as f64 - 1e-9).ceil().max(0.0) as u64;
        prop_assert_eq!(enough.needed(&estimate), needed);
    }
}

#[test]
fn estimates_need_a_random_sample_that_is_back() {
    let old = OldWeb {
        web: Web(vec![Vec::new(); 6]),
        sites: vec![Default::default(); 6],
        alive: vec![true, false, true, false, true, false],
        sample_size: 3,
        seed: 1,
    };
    let estimate_after = |spec: &str, steps: usize| {
        let mut crawl = old.crawl(spec, SampleBy::Random);
        for _ in 0..steps {
            crawl.step(&old.web, |page, _| old.answer(page));
        }
        crawl.scheduler.policy().estimate()
    };
    for spec in [
        "random",
        "pa",
        "pa-ratio",
        "alive-bfs",
        "alive-indegree",
        "pa-recursive",
    ] {
        assert_eq!(estimate_after(spec, 2), None, "{spec}");
        let estimate = estimate_after(spec, 3).unwrap();
        assert_eq!(estimate_after(spec, 6), Some(estimate), "{spec}");
    }
    for spec in [
        "indegree",
        "pagerank",
        "active-site-first",
        "pa:sample=pagerank",
    ] {
        assert_eq!(estimate_after(spec, 6), None, "{spec}");
    }
}

fn check_error(spec: &str, expected: Expect) {
    let old = OldWeb {
        web: Web(vec![Vec::new(); 6]),
        sites: vec![Default::default(); 6],
        alive: vec![true; 6],
        sample_size: 3,
        seed: 1,
    };
    let built = liveness::build(&spec.parse::<Spec>().unwrap(), &old.start(SampleBy::Random));
    expected.assert_eq(
        &built
            .err()
            .map_or("fine".to_owned(), |error| error.to_string()),
    );
}

#[test]
fn errors_say_what_would_be_right() {
    check_error("pa:size=6", expect!["fine"]);
    check_error(
        "pa:size=7",
        expect!["policy 'pa': size=7 is not possible; give at most the web's 6 pages"],
    );
    check_error(
        "pa:sample=per-site",
        expect![
            "policy 'pa': sample=per-site is not possible; give one of random, indegree, pagerank, indegree-apart, pagerank-apart"
        ],
    );
    check_error(
        "pa-ration",
        expect![
            "no policy 'pa-ration' for liveness; did you mean 'pa-ratio'? (there are: tree, random, indegree, pagerank, pa, pa-ratio, active-site-first, alive-bfs, alive-indegree, pa-recursive, pa-site)"
        ],
    );
    check_error(
        "pa-recursive:rounds=1000",
        expect!["policy 'pa-recursive': rounds=1000 is not possible; give a number from 0 to 100"],
    );
    check_error(
        "pagerank:size=3",
        expect!["policy 'pagerank' has no parameter 'size'; it has none"],
    );
}
