//! What is guaranteed is there, and no more is there than is possible: whatever pages are dead, cut,
//! refused or moved, whatever comes of the pages not yet fetched, and even where the past is undone.

use proptest::prelude::*;
use turnstone_frontier::{PageId, Policy, Scheduler};
use turnstone_policy::Spec;
use turnstone_policy::coverage::{self, CoveragePolicy, Goal, Gone, Trust};
use turnstone_policy::mass::{Fraction, ONE, as_fraction};

use crate::known_web::{Known, KnownCrawl, Reply, Unknown};
use crate::web::{Web, web_with_trust};

const SPECS: &[&str] = &[
    "l-neighbor",
    "l-neighbor:gone=count",
    "rankmass",
    "rankmass:push=exact",
    "rankmass:gone=count",
    "rankmass:dangling=leak",
    "windowed-rankmass",
    "windowed-rankmass:window=1,sweep=in-place",
    "windowed-rankmass:window=0.5,gone=count",
];

/// Nothing but the negligible may be missing.
fn goal() -> Goal {
    Goal {
        epsilon: Fraction::new(3e-6).unwrap(),
        ..Goal::default()
    }
}

fn policy(spec: &str, trust: &Trust) -> Box<dyn CoveragePolicy> {
    coverage::build(&spec.parse::<Spec>().unwrap(), trust, goal()).unwrap()
}

/// What comes of a page, fixed by numbers drawn for it.
#[derive(Clone, Copy, Debug)]
struct Kind {
    kind: u8,
    number: u8,
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let kind = (0u8..14, any::<u8>()).prop_map(|(kind, number)| Kind { kind, number });
    prop::collection::vec(kind, 1..24)
}

fn reply(web: &Web, kinds: &[Kind], page: PageId, tries: usize) -> Reply {
    let Kind { kind, number } = kinds[page.index() % kinds.len()];
    let other = PageId::from_index(usize::from(number) % web.page_count());
    let links = web.0[page.index()].clone();
    match kind {
        0 | 1 => Reply::Gone,
        2 => Reply::Refused,
        3 if tries == 0 => Reply::Unknown,
        4 | 5 => Reply::Moved(other),
        6 => {
            let unseen = [1, 2, 7, u64::MAX][usize::from(number) % 4];
            Reply::Page { links, unseen }
        }
        _ => Reply::Page { links, unseen: 0 },
    }
}

/// The bounds, against both extremes of what nobody knows.
fn check<P: Policy>(spec: &str, crawl: &KnownCrawl<P>, trust: &Trust) -> Result<(), TestCaseError> {
    let coverage = crawl.coverage();
    let gone = if spec.contains("gone=count") {
        Gone::Count
    } else {
        Gone::Skip
    };
    let rules = (goal().damping.number(), gone, spec.contains("leak"));
    for open in [Unknown::Away, Unknown::Back] {
        for unseen in [Unknown::Away, Unknown::Back] {
            let truth = crawl.web.stored_share(trust, rules, (open, unseen));
            let (least, most) = (coverage.guaranteed_fraction(), coverage.possible_fraction());
            prop_assert!(
                least <= truth + 1e-12,
                "{spec}: {least} > {truth} {coverage:?}"
            );
            prop_assert!(
                truth <= most + 1e-12,
                "{spec}: {truth} > {most} {coverage:?}"
            );
        }
    }
    prop_assert!(
        coverage.guaranteed <= coverage.possible,
        "{spec}: {coverage:?}"
    );
    prop_assert!(
        coverage.guaranteed + coverage.stuck <= ONE,
        "{spec}: {coverage:?}"
    );
    Ok(())
}

/// Crawls until the goal is met or nothing is left, looking after each answer.
fn crawl<P: Policy>(
    policy: P,
    (web, kinds): (&Web, &[Kind]),
    mut look: impl FnMut(&mut KnownCrawl<P>) -> Result<(), TestCaseError>,
) -> Result<KnownCrawl<P>, TestCaseError> {
    let mut crawl = KnownCrawl::start(policy, web.page_count());
    let mut tries = vec![0; web.page_count()];
    while let Some(page) = crawl.next() {
        crawl.reply(page, reply(web, kinds, page, tries[page.index()]), false);
        tries[page.index()] += 1;
        look(&mut crawl)?;
    }
    Ok(crawl)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn the_truth_lies_between_the_bounds((web, trust) in web_with_trust(), kinds in kinds()) {
        for spec in SPECS {
            crawl(policy(spec, &trust), (&web, &kinds), |crawl| check(spec, crawl, &trust))?;
        }
    }

    #[test]
    fn the_truth_lies_between_the_bounds_where_the_past_is_undone(
        (web, trust) in web_with_trust(),
        kinds in kinds(),
        later in prop::collection::vec((kinds(), any::<prop::sample::Index>(), web_links()), 1..40),
    ) {
        for spec in SPECS {
            let mut later = later.iter();
            let undo = |crawl: &mut KnownCrawl<_>| {
                check(spec, crawl, &trust)?;
                let Some((kinds, page, links)) = later.next() else { return Ok(()) };
                let page = PageId::from_index(page.index(web.page_count()));
                if *crawl.web.state(page) != Known::Open {
                    let links = links.iter().map(|link| PageId(link % web.page_count() as u32));
                    let mut links: Vec<PageId> = links.collect();
                    links.sort();
                    links.dedup();
                    let mut changed = web.clone();
                    changed.0[page.index()] = links;
                    crawl.reply(page, reply(&changed, kinds, page, 1), false);
                    check(spec, crawl, &trust)?;
                }
                Ok(())
            };
            crawl(policy(spec, &trust), (&web, &kinds), undo)?;
        }
    }

    #[test]
    fn all_that_can_be_had_is_proven_in_the_end((web, trust) in web_with_trust(), kinds in kinds()) {
        let kinds: Vec<Kind> = kinds.into_iter().filter(|kind| kind.kind != 6).collect();
        prop_assume!(!kinds.is_empty());
        for spec in SPECS.iter().filter(|spec| !spec.contains("count") && !spec.contains("leak")) {
            let crawl = crawl(policy(spec, &trust), (&web, &kinds), |_| Ok(()))?;
            let coverage = crawl.coverage();
            let is_barren = trust.masses().iter().all(|(page, _)| crawl.web.ends_dead(*page));
            prop_assert_eq!(coverage.met(), !is_barren, "{} {:?} {:?}", spec, coverage, crawl.web);
            prop_assert_eq!(coverage.out_of_reach(), is_barren, "{} {:?}", spec, coverage);
        }
    }

    #[test]
    fn what_is_covered_and_what_pages_hold_make_the_truth(
        (web, trust) in web_with_trust(), kinds in kinds(),
    ) {
        let mut checked = 0;
        for spec in SPECS.iter().filter(|spec| spec.contains("rankmass")) {
            if spec.contains("count") || spec.contains("leak") {
                continue;
            }
            crawl(policy(spec, &trust), (&web, &kinds), |crawl| {
                let pages = || (0..web.page_count()).map(PageId::from_index);
                let held = |page| {
                    let scheduler = &crawl.scheduler;
                    scheduler.residual(page).unwrap()
                };
                // Before the next sweep, dead pages still hold what is due to others.
                if pages().any(|page| crawl.web.ends_dead(page) && held(page) > 0) {
                    return Ok(());
                }
                let Some((worth, all)) = crawl.web.worth(&trust, goal().damping.number()) else {
                    return Ok(());
                };
                let open: f64 = pages().map(|page| as_fraction(held(page)) * worth[page.index()]).sum();
                let covered = as_fraction(crawl.coverage().guaranteed);
                prop_assert!((covered + open - all).abs() < 1e-12, "{spec}: {covered} {open} {all}");
                checked += 1;
                Ok(())
            })?;
        }
        prop_assert!(checked > 0 || kinds.iter().any(|kind| kind.kind < 6));
    }

    #[test]
    fn restored_at_any_answer_it_goes_on_alike(
        (web, trust) in web_with_trust(),
        kinds in kinds(),
        kill_at in 0usize..30,
        undone in prop::collection::vec((kinds(), any::<prop::sample::Index>()), 0..20),
    ) {
        for spec in SPECS {
            let run = |kill_at: usize| {
                let (mut steps, mut undone) = (0, undone.iter());
                crawl(policy(spec, &trust), (&web, &kinds), |crawl| {
                    if let Some((kinds, page)) = undone.next() {
                        let page = PageId::from_index(page.index(web.page_count()));
                        if *crawl.web.state(page) != Known::Open {
                            crawl.reply(page, reply(&web, kinds, page, 1), false);
                        }
                    }
                    steps += 1;
                    if steps == kill_at {
                        let mut saved = Vec::new();
                        crawl.scheduler.save(&mut saved).unwrap();
                        let restored = Scheduler::restore(policy(spec, &trust), &mut saved.as_slice());
                        crawl.scheduler = restored.unwrap();
                    }
                    Ok(())
                })
            };
            let (undisturbed, killed) = (run(usize::MAX)?, run(kill_at)?);
            prop_assert_eq!(&undisturbed.web.0, &killed.web.0, "{}", spec);
            prop_assert_eq!(undisturbed.asked, killed.asked, "{}", spec);
            prop_assert_eq!(undisturbed.coverage(), killed.coverage(), "{}", spec);
        }
    }
}

fn web_links() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..4)
}

/// A site of pages in a circle, each linking to the next and to a page of its own that is gone.
fn crawl_of_a_site_with_dead_links(spec: &str, pages: u32) -> KnownCrawl<Box<dyn CoveragePolicy>> {
    let trust = Trust::alike([PageId(0)]).unwrap();
    let mut crawl = KnownCrawl::start(policy(spec, &trust), 2 * pages as usize);
    while let Some(page) = crawl.next() {
        let links = vec![PageId((page.0 + 1) % pages), PageId(pages + page.0)];
        let answer = if page.0 < pages {
            Reply::Page { links, unseen: 0 }
        } else {
            Reply::Gone
        };
        crawl.reply(page, answer, false);
    }
    crawl
}

#[test]
fn dead_links_hold_back_nothing() {
    for spec in [
        "rankmass",
        "rankmass:push=exact",
        "windowed-rankmass",
        "l-neighbor",
    ] {
        let crawl = crawl_of_a_site_with_dead_links(spec, 30);
        let coverage = crawl.coverage();
        assert!(
            coverage.guaranteed > ONE - ONE / 100_000,
            "{spec}: {coverage:?}"
        );
        assert!(coverage.met(), "{spec}");
    }
    let coverage = crawl_of_a_site_with_dead_links("rankmass:gone=count", 30).coverage();
    assert!(
        coverage.out_of_reach() && coverage.guaranteed < ONE / 2,
        "{coverage:?}"
    );
}

#[test]
fn what_leaves_through_unseen_links_is_never_guaranteed() {
    let trust = Trust::alike([PageId(0)]).unwrap();
    let run = |unseen| {
        let mut crawl = KnownCrawl::start(policy("rankmass", &trust), 2);
        while let Some(page) = crawl.next() {
            let links = vec![PageId(1 - page.0)];
            let unseen = if page.0 == 0 { unseen } else { 0 };
            crawl.reply(page, Reply::Page { links, unseen }, false);
        }
        crawl
    };
    let mut one = run(1);
    // Of the half that page 1 gives to page 0, half leaves again: r0 = 0.15 + 0.85 r1, r1 = 0.425 r0.
    let stored = 0.15 * 1.425 / (1.0 - 0.85 * 0.425);
    let close = |mass: u64, share: f64| (as_fraction(mass) - share).abs() < 1e-5;
    assert!(
        close(one.coverage().guaranteed, stored),
        "{:?}",
        one.coverage()
    );
    assert!(
        close(one.coverage().stuck, 1.0 - stored),
        "{:?}",
        one.coverage()
    );
    assert_eq!(one.coverage().possible, ONE, "they may lead back");
    let nobody_knows = run(u64::MAX).coverage();
    assert!(close(nobody_knows.guaranteed, 0.15), "{nobody_knows:?}");
    // Fetched again, whole this time.
    let links = vec![PageId(1)];
    one.reply(PageId(0), Reply::Page { links, unseen: 0 }, true);
    assert!(one.coverage().met(), "{:?}", one.coverage());
}
