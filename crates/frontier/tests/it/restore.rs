//! Kill it at any event and restore: it goes on as if nothing had happened.

use proptest::prelude::*;
use turnstone_frontier::{Politeness, Scheduler};

use crate::random_crawls::{Driver, Whim, web};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn restored_at_any_step_it_goes_on_alike(web in web(), seed: u64, kill_at in 0usize..200) {
        let politeness = Politeness { delay_ms: 5, open_max: 2 };
        let mut undisturbed = Driver::start(&web, seed, politeness);
        undisturbed.run(&web);

        let mut killed = Driver::start(&web, seed, politeness);
        for _ in 0..kill_at {
            if !killed.step(&web) {
                break;
            }
        }
        let mut saved = Vec::new();
        killed.scheduler.save(&mut saved).unwrap();
        // The generator's state must come from the checkpoint, not from the seed.
        killed.scheduler = Scheduler::restore(Whim::new(0), &mut saved.as_slice()).unwrap();
        let mut again = Vec::new();
        killed.scheduler.save(&mut again).unwrap();
        prop_assert_eq!(&saved, &again, "saving what was restored gives the same bytes");
        killed.run(&web);
        prop_assert_eq!(killed.log, undisturbed.log);
    }

    #[test]
    fn a_damaged_checkpoint_is_an_error_or_a_valid_state(
        web in web(), seed: u64, at: prop::sample::Index, flip in 1u8..=255, cut: bool,
    ) {
        let mut driver = Driver::start(&web, seed, Politeness::default());
        for _ in 0..20 {
            driver.step(&web);
        }
        let mut saved = Vec::new();
        driver.scheduler.save(&mut saved).unwrap();
        let at = at.index(saved.len());
        if cut {
            saved.truncate(at);
            prop_assert!(Scheduler::restore(Whim::new(0), &mut saved.as_slice()).is_err());
        } else {
            saved[at] ^= flip;
            // The journal's checksums find flipped bits; here it is enough not to panic or hang.
            let _ = Scheduler::restore(Whim::new(0), &mut saved.as_slice());
        }
    }
}
