//! Random mixes of everything that can go wrong, by seed.
//!
//! `SEEDS=10000 cargo test -p turnstone-cluster --test it random` tries more;
//! `SEED=17` repeats one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use turnstone_cluster::Shard;
use turnstone_cluster::bus::Stream;

use crate::sim::{Blow, Crawl, Disk, Plan, Random, Weather, run};

fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9));
    let machines = 2 + random.below(3) as usize;
    let shards = 2 + random.below(4) as u32;
    let crawl = Crawl {
        shards,
        lanes: 1 + random.below(u64::from(shards)) as u32,
        budget: [2_000, 2_000, 9, 25][random.below(4) as usize],
        chunk_max: [24, 60, 400, 1 << 16][random.below(4) as usize],
    };
    let weathers = [Weather::Fair, Weather::Foul, Weather::Raced];
    let weather = weathers[random.below(3) as usize];
    let mut blows = vec![
        (2_000, Blow::Weather(weather)),
        (60_000, Blow::Weather(Weather::Fair)),
    ];
    for _ in 0..1 + random.below(5) {
        let at = 3_000 + random.below(55_000);
        let machine = random.below(machines as u64) as usize;
        let ms = 1_000 + random.below(40_000);
        let disks = [Disk::Whole, Disk::Torn, Disk::Lost];
        let stream = match random.below(2) {
            0 => Stream::Journal(Shard(random.below(u64::from(shards)) as u32)),
            _ => Stream::Lane(random.below(u64::from(crawl.lanes)) as u32),
        };
        blows.push((
            at,
            match random.below(7) {
                0 | 1 => Blow::Kill {
                    machine,
                    back_ms: ms,
                    disk: disks[random.below(3) as usize],
                },
                2 => Blow::Pause { machine, ms },
                3 => Blow::Cut { machine, ms },
                4 => Blow::Silence { ms: ms / 3 },
                5 => Blow::LoseTail {
                    stream,
                    messages: 1 + random.below(3) as usize,
                },
                _ => Blow::Full { machine, ms },
            },
        ));
    }
    // A tail and the only file of it, lost together, is a scenario of its own.
    let loses_tails = blows
        .iter()
        .any(|(_, blow)| matches!(blow, Blow::LoseTail { .. }));
    for (_, blow) in &mut blows {
        if let Blow::Kill { disk, .. } = blow
            && loses_tails
        {
            *disk = Disk::Whole;
        }
    }
    Plan {
        seed,
        machines,
        crawl,
        drift: random.below(20_000),
        blows,
    }
}

fn try_seeds(seeds: impl Iterator<Item = u64>) {
    let (mut tried, mut requests, mut epochs) = (0u64, 0u64, 0u64);
    for seed in seeds {
        let shown = format!("{:?}", plan(seed));
        let outcome = catch_unwind(AssertUnwindSafe(|| run(plan(seed))));
        let again = format!("SEED={seed} cargo test -p turnstone-cluster --test it random");
        let Ok(outcome) = outcome else {
            panic!("seed {seed} failed: {again}\n{shown}");
        };
        let refused = !outcome.refusals.is_empty();
        assert!(
            outcome.settled || refused,
            "seed {seed} never settled: {again}\n{outcome:?}\n{shown}"
        );
        assert!(
            outcome.alarms.is_empty(),
            "seed {seed}: {again}\n{outcome:?}"
        );
        (tried, requests, epochs) = (
            tried + 1,
            requests + outcome.requests,
            epochs + outcome.epochs,
        );
    }
    assert!(
        requests >= tried * 9 && epochs >= tried * 2,
        "the simulations did nothing"
    );
}

fn seeds() -> Vec<u64> {
    let read = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    match read("SEED") {
        Some(seed) => vec![seed],
        None => (0..read("SEEDS").unwrap_or(1_000)).collect(),
    }
}

#[test]
fn random_mixes_even() {
    try_seeds(seeds().into_iter().filter(|seed| seed % 2 == 0));
}

#[test]
fn random_mixes_odd() {
    try_seeds(seeds().into_iter().filter(|seed| seed % 2 == 1));
}
