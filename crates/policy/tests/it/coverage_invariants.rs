//! What must hold for every coverage policy on every web, whatever goes wrong.

use proptest::prelude::*;
use turnstone_frontier::{PageId, Scheduler};
use turnstone_policy::Spec;
use turnstone_policy::coverage::{
    self, CoveragePolicy, Dangling, Goal, Push, RankMass, Sweep, Trust, Window, WindowOf,
    WindowedRankMass,
};
use turnstone_policy::mass::{Fraction, ONE, as_fraction};

use crate::web::{Answer, Crawl, Web, true_ranks, web_with_trust};

const SPECS: &[&str] = &[
    "l-neighbor",
    "rankmass",
    "rankmass:share=0.5",
    "rankmass:push=exact",
    "rankmass:gone=count",
    "rankmass:dangling=leak",
    "windowed-rankmass",
    "windowed-rankmass:window=0.5,of=fetched",
    "windowed-rankmass:window=1,sweep=in-place",
    "windowed-rankmass:dangling=leak",
];

fn policy(spec: &str, trust: &Trust) -> Box<dyn CoveragePolicy> {
    coverage::build(&spec.parse::<Spec>().unwrap(), trust, Goal::default()).unwrap()
}

/// A web whose pages fail, move and hesitate in ways fixed by page.
fn unreliable(kinds: &[u8], pages: usize) -> impl Fn(PageId, usize) -> Answer + '_ {
    move |page, tries| match kinds[page.index() % kinds.len()] {
        0 => Answer::Gone,
        1 if tries < 2 => Answer::Unknown,
        2 => Answer::MovedTo(PageId::from_index((page.index() * 7 + 1) % pages)),
        _ => Answer::Page,
    }
}

/// Steps through a crawl of an unreliable web, calling `look` after each answer.
fn crawl_unreliable<P: turnstone_frontier::Policy>(
    policy: P,
    web: &Web,
    kinds: &[u8],
    mut look: impl FnMut(&Scheduler<P>),
) {
    let mut crawl = Crawl::start(policy, web);
    while crawl.step(web, unreliable(kinds, web.page_count())) {
        look(&crawl.scheduler);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn never_more_is_guaranteed_than_is_there((web, trust) in web_with_trust()) {
        let ranks = true_ranks(&web, &trust, Goal::default().damping.number());
        for spec in SPECS {
            let mut crawl = Crawl::start(policy(spec, &trust), &web);
            while crawl.step(&web, |_, _| Answer::Page) {
                let guaranteed = crawl.scheduler.coverage().unwrap().guaranteed_fraction();
                let actual: f64 = crawl.order.iter().map(|page| ranks[page.index()]).sum();
                prop_assert!(guaranteed <= actual + 1e-12, "{spec}: {guaranteed} > {actual}");
            }
            let leaks = spec.contains("leak");
            let met = crawl.scheduler.coverage().unwrap().met();
            prop_assert!(met || leaks, "{spec}: every page could be fetched, yet the goal is missed");
        }
    }

    #[test]
    fn no_page_is_fetched_twice((web, trust) in web_with_trust()) {
        for spec in SPECS {
            let mut crawl = Crawl::start(policy(spec, &trust), &web);
            crawl.run(&web);
            let mut pages = crawl.order.clone();
            pages.sort();
            pages.dedup();
            prop_assert_eq!(pages.len(), crawl.order.len(), "{}", spec);
        }
    }

    #[test]
    fn mass_is_conserved_whatever_fails(
        (web, trust) in web_with_trust(), kinds in prop::collection::vec(0u8..8, 1..20),
    ) {
        for push in [Push::Exact, Push::FetchedFirst { share: Fraction::TWO_PERCENT }] {
            for dangling in [Dangling::Jump, Dangling::Leak] {
                let policy = RankMass::new(trust.clone(), Goal::default(), push, dangling);
                crawl_unreliable(policy, &web, &kinds, |scheduler| {
                    scheduler.policy().audit(scheduler.ranking());
                });
                for sweep in [Sweep::Simultaneous, Sweep::InPlace] {
                    let window = Window { share: 0.3, of: WindowOf::Frontier, sweep };
                    let policy =
                        WindowedRankMass::new(trust.clone(), Goal::default(), window, dangling);
                    crawl_unreliable(policy, &web, &kinds, |scheduler| scheduler.policy().audit());
                }
            }
        }
    }

    #[test]
    fn an_unreachable_goal_ends_and_is_known_to_be_unreachable(
        (web, trust) in web_with_trust(), kinds in prop::collection::vec(0u8..8, 1..20),
    ) {
        for spec in SPECS {
            let mut crawl = Crawl::start(policy(spec, &trust), &web);
            while crawl.step(&web, unreliable(&kinds, web.page_count())) {
                let coverage = crawl.scheduler.coverage().unwrap();
                prop_assert!(coverage.guaranteed + coverage.stuck <= ONE, "{}: {:?}", spec, coverage);
            }
            let coverage = crawl.scheduler.coverage().unwrap();
            // What is neither guaranteed nor stuck at the end is negligible.
            let open = as_fraction(ONE - coverage.guaranteed - coverage.stuck);
            prop_assert!(coverage.met() || open < 2e-6, "{}: {:?} leaves {} open", spec, coverage, open);
        }
    }

    #[test]
    fn restored_at_any_answer_it_goes_on_alike(
        (web, trust) in web_with_trust(),
        kinds in prop::collection::vec(0u8..12, 1..20),
        kill_at in 0usize..30,
    ) {
        for spec in SPECS {
            let answers = unreliable(&kinds, web.page_count());
            let mut undisturbed = Crawl::start(policy(spec, &trust), &web);
            while undisturbed.step(&web, &answers) {}

            let mut killed = Crawl::start(policy(spec, &trust), &web);
            for _ in 0..kill_at {
                killed.step(&web, &answers);
            }
            let mut saved = Vec::new();
            killed.scheduler.save(&mut saved).unwrap();
            killed.scheduler = Scheduler::restore(policy(spec, &trust), &mut saved.as_slice()).unwrap();
            while killed.step(&web, &answers) {}
            prop_assert_eq!(&killed.order, &undisturbed.order, "{}", spec);
            prop_assert_eq!(killed.scheduler.coverage(), undisturbed.scheduler.coverage());
        }
    }
}

#[test]
fn pushing_fetched_pages_first_never_proves_less_per_download() {
    // A hub that links to its own pages and back: fetched pages keep earning.
    let pages = 40;
    let mut links = vec![(1..pages).map(PageId).collect::<Vec<_>>()];
    links.extend((1..pages).map(|page| vec![PageId(0), PageId(page % (pages - 1) + 1)]));
    let web = Web(links);
    let trust = Trust::alike([PageId(0)]).unwrap();
    let downloads = |spec: &str| {
        let mut crawl = Crawl::start(policy(spec, &trust), &web);
        crawl.run(&web);
        crawl.order.len()
    };
    assert!(downloads("rankmass") <= downloads("rankmass:push=exact"));
}
