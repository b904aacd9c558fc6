//! Five hundred surveys: how often the interval for the number of alive pages holds, early and
//! late, at all moments at once, and where a survey stops, while the tree chooses the pages.

use turnstone_frontier::{PageId, Random};
use turnstone_policy::liveness::{Confidence, Enough};

use crate::tree_web::{Folders, InFlight};

const TRIALS: u64 = 500;

/// Twelve hosts of some folders; hosts, folders and pages die, each with a chance of its own.
fn web(seed: u64) -> Folders {
    let mut random = Random::new(seed);
    let [hosts, folders, pages] = [(); 3].map(|()| random.unit() * 0.6);
    let (mut above, mut of_page, mut alive) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..12 {
        let top = above.len() as u32;
        above.push(top);
        let host_is_dead = random.unit() < hosts;
        for _ in 0..random.below(6) {
            let folder = above.len() as u32;
            above.push(top);
            let is_dead = host_is_dead || random.unit() < folders;
            for _ in 0..1 + random.below(20) {
                of_page.push(folder);
                alive.push(!is_dead && random.unit() >= pages);
            }
        }
        of_page.push(top);
        alive.push(!host_is_dead);
    }
    Folders {
        above,
        of_page,
        alive,
    }
}

#[test]
fn in_five_hundred_surveys_the_interval_holds_at_any_time() {
    let confidence = Confidence::default();
    let enough = Enough::new(0.8, confidence).unwrap();
    // At shares of the requests in hundredths, at all moments at once, and at the stop.
    let shares = [3, 10, 30, 60, 90];
    let mut held = [0u64; 5];
    let (mut always, mut at_stop, mut told, mut widths) = (0, 0, 0, 0.0);
    for trial in 0..TRIALS {
        let folders = web(trial);
        let pages = folders.of_page.len();
        let truth = folders.alive.iter().filter(|alive| **alive).count() as u64;
        // Some one after the other, some with twenty requests in flight.
        let open = if trial % 2 == 0 { 1 } else { 20 };
        let mut survey = InFlight::start(&folders, "tree:looks=2", trial, open);
        let (mut requests, mut holds_always, mut stop) = (0, true, None);
        let mut at = [true; 5];
        while survey.step().is_some() {
            requests += 1;
            let policy = survey.scheduler.policy();
            let Some(estimate) = policy.estimate() else {
                continue;
            };
            let (low, high) = estimate.interval(confidence);
            assert!(low <= high && estimate.looks() > 0);
            let holds = (low..=high).contains(&truth);
            holds_always &= holds;
            for (share, at) in shares.iter().zip(&mut at) {
                if requests == pages * share / 100 {
                    *at = holds;
                }
            }
            if requests == pages * 3 / 10 {
                widths += (high - low) as f64 / pages as f64;
                told += 1;
            }
            let found = policy.tally().alive;
            if stop.is_none() && enough.met(found, &estimate) {
                stop = Some(found as f64 >= 0.8 * truth as f64);
            }
        }
        always += u64::from(holds_always);
        at_stop += u64::from(stop != Some(false));
        for (held, at) in held.iter_mut().zip(at) {
            *held += u64::from(at);
        }
    }
    let width = widths / f64::from(told);
    let all =
        format!("{held:?} always {always} at the stop {at_stop}, of {TRIALS}; width {width:.2}");
    let least = TRIALS * 95 / 100;
    assert!(held.iter().all(|held| *held >= least), "{all}");
    assert!(always >= least && at_stop >= least, "{all}");
    // It says something, too.
    assert!(width < 0.6, "{all}");
    if std::env::var_os("SHOW_TRIALS").is_some() {
        panic!("{all}");
    }
}

#[test]
fn nothing_is_told_before_the_first_look() {
    let folders = web(1);
    let mut survey = InFlight::start(&folders, "tree:looks=0", 1, 1);
    while survey.step().is_some() {
        assert_eq!(survey.scheduler.policy().estimate(), None);
    }
    let survey = InFlight::start(&folders, "tree", 1, 1);
    assert_eq!(survey.scheduler.policy().estimate(), None);
    let drawn = survey.scheduler.chance(PageId(0));
    assert_eq!(drawn.number(), 1.0);
}
