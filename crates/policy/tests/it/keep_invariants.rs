//! What must hold for every policy that keeps a store, whatever the web does.

use proptest::prelude::*;
use turnstone_frontier::{Arm, Policy, Reason, Scheduler, Split};
use turnstone_policy::keep;
use turnstone_policy::{Question, Spec, catalog};

use crate::keep_web::{Keeping, MovingWeb, Told, moving_web};

const SPECS: &[&str] = &[
    "keep",
    "keep:coverage=0.3,refresh=0.3,discovery=0.3,retest=0.1",
    "keep:refresh=0,discovery=0,retest=0,changed=2,found=0,horizon=10",
    "uniform",
    "interval",
    "interval:shrink=0.5,grow=0.1,initial=7",
];

fn policy(spec: &str) -> Box<dyn Policy> {
    keep::build(&spec.parse::<Spec>().unwrap(), 1).unwrap()
}

fn start<'a>(spec: &str, web: &'a MovingWeb) -> Keeping<'a> {
    Keeping::start(web, policy(spec))
}

/// What a split must be after a round began, or within it.
fn check_split(split: &Split, floors: [f64; 4]) {
    let sum = |of: fn(&turnstone_frontier::ArmShare) -> u64| split.arms.iter().map(of).sum::<u64>();
    let (planned, candidates) = (sum(|arm| arm.planned), sum(|arm| arm.candidates));
    assert_eq!(
        planned,
        split.budget.min(candidates),
        "all of the budget is planned"
    );
    assert!(sum(|arm| arm.spent_in_round) <= split.budget);
    for (arm, floor) in split.arms.iter().zip(floors) {
        assert_eq!(arm.floor, floor);
        assert!(arm.planned <= arm.candidates && arm.spent_in_round <= arm.spent);
        assert!(arm.gain >= 0.0 && arm.gain_per_request >= 0.0 && arm.marginal >= 0.0);
        let reason = match (arm.candidates, arm.planned) {
            (0, _) => arm.reason == Reason::NoCandidate,
            (candidates, planned) if candidates == planned => arm.reason == Reason::Exhausted,
            (_, 0) => arm.reason == Reason::Outbid,
            _ => matches!(arm.reason, Reason::Worth | Reason::Floor),
        };
        assert!(reason, "{arm:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_answer_is_booked_once_and_no_round_spends_more_than_its_budget(
        web in moving_web(), fault_every in 3usize..12,
    ) {
        for spec in SPECS {
            let mut crawl = start(spec, &web);
            crawl.fault_every = fault_every;
            let floors = match *spec {
                "keep" => keep::Settings::default().floors,
                spec if spec.contains("refresh=0.3") => [0.3, 0.3, 0.3, 0.1],
                _ => [0.0; 4],
            };
            let mut answered = 0;
            loop {
                let before = crawl.told.len();
                if !crawl.step() {
                    break;
                }
                let is_answer = |(_, told): &(u64, Told)| {
                    matches!(told, Told::Page { .. } | Told::Gone { .. } | Told::NoVerdict { .. })
                };
                answered += crawl.told[before..].iter().filter(|told| is_answer(told)).count() as u64;
                let Some(split) = crawl.scheduler.split() else {
                    prop_assert!(!spec.starts_with("keep"), "{} shows its split", spec);
                    continue;
                };
                check_split(&split, floors);
                let booked: u64 = split.arms.iter().map(|arm| arm.spent).sum();
                prop_assert_eq!(booked, answered, "{}", spec);
            }
        }
    }

    #[test]
    fn the_same_events_give_the_same_decisions(web in moving_web()) {
        for spec in SPECS {
            prop_assert_eq!(start(spec, &web).run().asked, start(spec, &web).run().asked);
        }
    }

    #[test]
    fn restored_at_any_event_it_goes_on_alike(
        web in moving_web(), kill_at in 0usize..50, fault_every in 3usize..12,
    ) {
        for spec in SPECS {
            let begin = || {
                let mut crawl = start(spec, &web);
                crawl.fault_every = fault_every;
                crawl
            };
            let mut killed = begin();
            for _ in 0..kill_at {
                killed.step();
            }
            let mut saved = Vec::new();
            killed.scheduler.save(&mut saved).unwrap();
            let restored = Scheduler::restore(policy(spec), &mut saved.as_slice()).unwrap();
            let mut again = Vec::new();
            restored.save(&mut again).unwrap();
            prop_assert_eq!(&saved, &again, "{}", spec);
            prop_assert_eq!(restored.split(), killed.scheduler.split());
            killed.scheduler = restored;
            let (killed, whole) = (killed.run(), begin().run());
            prop_assert_eq!(killed.asked, whole.asked, "{}", spec);
            prop_assert_eq!(killed.scheduler.split(), whole.scheduler.split());
        }
    }

    #[test]
    fn damaged_checkpoints_are_refused_or_harmless(
        web in moving_web(), at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        for spec in SPECS {
            let crawl = start(spec, &web).run();
            let mut saved = Vec::new();
            crawl.scheduler.policy().save(&mut saved).unwrap();
            let at = at.index(saved.len());
            let fresh = || policy(spec);
            prop_assert!(fresh().restore(&mut &saved[..at]).is_err(), "{} cut at {}", spec, at);
            saved[at] ^= 1 << bit;
            let _ = fresh().restore(&mut saved.as_slice());
        }
    }
}

#[test]
fn every_policy_of_the_catalogue_is_tried_here_and_can_be_built() {
    for info in catalog::policies().filter(|info| info.answers(Question::Keep)) {
        keep::check(&info.name.parse().unwrap()).unwrap();
        let tried = SPECS
            .iter()
            .any(|spec| spec.split(':').next() == Some(info.name));
        assert!(tried, "{} is not tried", info.name);
        for parameter in info.parameters {
            let given = format!("{}:{}={}", info.name, parameter.name, parameter.default);
            keep::check(&given.parse().unwrap()).unwrap();
        }
    }
    let usual = keep::Settings::default();
    let parameters = catalog::policies()
        .find(|info| info.name == "keep")
        .unwrap();
    for arm in Arm::ALL {
        let told = parameters.parameters.iter().find(|p| p.name == arm.name());
        let told: f64 = told.unwrap().default.parse().unwrap();
        assert_eq!(told, usual.floors[arm.index()], "{arm}");
    }
}

#[test]
fn wrong_values_are_refused_with_what_would_be_right() {
    let wrong = |spec: &str| keep::check(&spec.parse().unwrap()).unwrap_err();
    let shown: Vec<String> = [
        "keep:refresh=1.5",
        "keep:refresh=0.7,coverage=0.7",
        "keep:horizon=0",
        "keep:lastng=3",
        "interval:grow=1",
        "kep",
    ]
    .iter()
    .map(|spec| wrong(spec).to_string())
    .collect();
    expect_test::expect![[r"
        policy 'keep': refresh=1.5 is not possible; give a number from 0 to 1
        policy 'keep': refresh=0.7 is not possible; give floors that add up to 1 at most
        policy 'keep': horizon=0 is not possible; give a number above 0 and at most 1000000
        policy 'keep' has no parameter 'lastng'; did you mean 'lasting'?
        policy 'interval': grow=1 is not possible; give a number above 0 and below 1
        no policy 'kep' for keep; did you mean 'keep'? (there are: keep, uniform, interval)"]]
    .assert_eq(&shown.join("\n"));
}
