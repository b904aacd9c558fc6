//! The failures that `docs/cluster.md` names, N1 to N12, each over some seeds.
//!
//! What every run checks after each step is in `sim/check.rs`; here stands what is expected beyond.

use turnstone_cluster::bus::{Answer, Bus as _, Request, Stream};
use turnstone_cluster::chain::{Chunk, Ends};
use turnstone_cluster::lease::{HOLD_MS, TAKE_MS};
use turnstone_cluster::memory::MemoryBus;
use turnstone_cluster::writer::{News, Writer};
use turnstone_cluster::{Digest, NodeId, Shard};

use crate::sim::{Blow, Crawl, Disk, Outcome, Plan, Weather, run};

const SEEDS: u64 = 12;

/// When things begin to go wrong: everybody is at work.
const AT: u64 = 14_000;

fn outcome(seed: u64, blows: &[(u64, Blow)]) -> Outcome {
    run(Plan {
        seed,
        machines: 3,
        crawl: Crawl {
            shards: 4,
            lanes: 2,
            budget: 2_000,
            chunk_max: 120,
        },
        drift: 5_000,
        blows: blows.to_vec(),
    })
}

/// Runs the blows over all seeds; every run must settle without refusal or alarm.
fn settles(blows: &[(u64, Blow)], expect: impl Fn(&Outcome, &Outcome)) {
    for seed in 0..SEEDS {
        let quiet = outcome(seed, &[]);
        let outcome = outcome(seed, blows);
        assert!(outcome.settled, "seed {seed}: {outcome:?}");
        assert!(
            outcome.refusals.is_empty() && outcome.alarms.is_empty(),
            "seed {seed}: {outcome:?}"
        );
        assert!(
            !outcome.forgot && outcome.transfers > 0,
            "seed {seed}: {outcome:?}"
        );
        expect(&outcome, &quiet);
    }
}

/// Requests between two moments.
fn between(outcome: &Outcome, from: u64, until: u64) -> usize {
    outcome
        .request_times
        .iter()
        .filter(|at| (from..until).contains(*at))
        .count()
}

#[test]
fn n1_a_node_is_killed() {
    let kill = Blow::Kill {
        machine: 0,
        back_ms: 500_000,
        disk: Disk::Whole,
    };
    settles(&[(AT, kill)], |outcome, quiet| {
        assert!(outcome.epochs > quiet.epochs);
    });
}

#[test]
fn n2_a_node_loses_its_disk() {
    let kill = Blow::Kill {
        machine: 1,
        back_ms: 8_000,
        disk: Disk::Lost,
    };
    settles(&[(AT, kill)], |outcome, quiet| {
        assert!(outcome.epochs > quiet.epochs);
    });
}

#[test]
fn n3_a_node_stands_still_beyond_its_lease() {
    let pause = Blow::Pause {
        machine: 2,
        ms: 45_000,
    };
    settles(&[(AT, pause)], |outcome, quiet| {
        assert!(outcome.epochs > quiet.epochs);
    });
}

#[test]
fn n4_the_leader_of_the_bus_dies() {
    let election = Blow::Silence { ms: 7_700 };
    settles(&[(AT, election)], |outcome, quiet| {
        assert_eq!(outcome.epochs, quiet.epochs, "a lease was lost");
    });
}

#[test]
fn n5_the_bus_has_no_quorum() {
    let silence = Blow::Silence { ms: 60_000 };
    settles(&[(AT, silence)], |outcome, _| {
        let (from, until) = (AT + HOLD_MS * 101 / 100, AT + 60_000);
        assert_eq!(
            between(outcome, from, until),
            0,
            "a request after every deadline"
        );
    });
}

#[test]
fn n6_a_node_is_cut_off() {
    let cut = Blow::Cut {
        machine: 0,
        ms: 50_000,
    };
    settles(&[(AT, cut)], |outcome, quiet| {
        assert!(outcome.epochs > quiet.epochs);
    });
}

#[test]
fn n7_the_minority_acknowledges_nothing() {
    let cuts = [0, 1].map(|machine| {
        (
            AT,
            Blow::Cut {
                machine,
                ms: 60_000,
            },
        )
    });
    settles(&cuts, |outcome, _| {
        assert!(
            between(outcome, AT + 2 * TAKE_MS, AT + 90_000) > 0 || outcome.ended_ms < AT + 60_000
        );
    });
}

#[test]
fn n8_answers_are_lost() {
    let weather = [
        (3_000, Blow::Weather(Weather::Deaf)),
        (60_000, Blow::Weather(Weather::Fair)),
    ];
    settles(&weather, |_, _| {});
}

#[test]
fn n9_transfers_come_twice_late_or_not() {
    let lose = |at, lane| {
        (
            at,
            Blow::LoseTail {
                stream: Stream::Lane(lane),
                messages: 3,
            },
        )
    };
    let blows = [
        (3_000, Blow::Weather(Weather::Echoing)),
        lose(12_000, 0),
        lose(17_000, 1),
        lose(24_000, 0),
        (60_000, Blow::Weather(Weather::Fair)),
    ];
    settles(&blows, |_, _| {});
}

#[test]
fn n9_other_bytes_under_a_known_number_are_an_alarm() {
    let mut stopped = 0;
    for seed in 0..SEEDS {
        let outcome = outcome(seed, &[(20_000, Blow::Forge { lane: 0 })]);
        stopped += u32::from(!outcome.alarms.is_empty() || !outcome.refusals.is_empty());
    }
    assert!(stopped > 6, "only {stopped} were seen");
}

#[test]
fn n10_an_acknowledged_tail_is_lost_and_published_again() {
    let lose = |at, shard| {
        let stream = Stream::Journal(Shard(shard));
        (
            at,
            Blow::LoseTail {
                stream,
                messages: 4,
            },
        )
    };
    let blows = [
        lose(AT, 0),
        lose(AT, 1),
        lose(AT + 4_000, 2),
        lose(AT + 9_000, 0),
    ];
    settles(&blows, |outcome, quiet| {
        assert_eq!(outcome.epochs, quiet.epochs);
    });
}

#[test]
fn n10_a_tail_and_its_file_are_lost() {
    let (mut refused, mut forgot) = (0, 0);
    for seed in 0..SEEDS {
        for shard in 0..4 {
            let disk = Disk::Lost;
            let kill = Blow::KillOwner {
                shard,
                messages: 6,
                back_ms: 5_000,
                disk,
            };
            let outcome = outcome(seed, &[(AT + seed * 300, kill)]);
            assert!(
                outcome.settled || !outcome.refusals.is_empty(),
                "seed {seed}: {outcome:?}"
            );
            refused += u32::from(!outcome.refusals.is_empty());
            forgot += u32::from(outcome.forgot);
        }
    }
    // Most such tails are known to somebody. What nobody knows of is only asked for again.
    assert!(
        refused > 30 && forgot <= 4,
        "{refused} refused, {forgot} forgot"
    );
}

#[test]
fn n10_only_receivers_know_of_a_lost_tail() {
    let (mut refused, mut forgot) = (0, 0);
    for seed in 0..4 * SEEDS {
        let shard = (seed % 4) as u32;
        let disk = Disk::Lost;
        // A short tail: the lease may not know of it yet. The lanes lose theirs, too.
        let messages = 1 + (seed % 3) as usize;
        let kill = Blow::KillOwner {
            shard,
            messages,
            back_ms: 5_000,
            disk,
        };
        let lose = |lane| Blow::LoseTail {
            stream: Stream::Lane(lane),
            messages: 8,
        };
        let at = AT + seed * 170;
        let outcome = outcome(seed, &[(at, kill), (at, lose(0)), (at, lose(1))]);
        assert!(
            outcome.settled || !outcome.refusals.is_empty(),
            "seed {seed}: {outcome:?}"
        );
        refused += u32::from(!outcome.refusals.is_empty());
        forgot += u32::from(outcome.forgot);
    }
    assert!(
        refused > 10 && forgot > 3,
        "{refused} refused, {forgot} forgot"
    );
}

#[test]
fn n10_whoever_has_the_file_mends_it() {
    let mut refused = 0;
    for seed in 0..SEEDS {
        let disk = Disk::Whole;
        let kill = Blow::KillOwner {
            shard: 1,
            messages: 6,
            back_ms: 40_000,
            disk,
        };
        let outcome = outcome(seed, &[(AT + seed * 300, kill)]);
        assert!(outcome.settled, "seed {seed}: {outcome:?}");
        refused += u32::from(!outcome.refusals.is_empty());
    }
    assert!(refused > 3, "only {refused} were refused first");
}

#[test]
fn n11_clocks_drift_and_machines_sleep() {
    for seed in 0..SEEDS {
        let outcome = run(Plan {
            seed,
            machines: 3,
            crawl: Crawl {
                shards: 4,
                lanes: 4,
                budget: 2_000,
                chunk_max: 400,
            },
            drift: 45_000,
            blows: vec![
                (
                    AT,
                    Blow::Pause {
                        machine: 0,
                        ms: 19_000,
                    },
                ),
                (
                    AT + 5_000,
                    Blow::Pause {
                        machine: 1,
                        ms: 21_000,
                    },
                ),
                (
                    AT + 9_000,
                    Blow::Cut {
                        machine: 2,
                        ms: 18_500,
                    },
                ),
            ],
        });
        assert!(outcome.settled, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn n12_a_disk_is_full() {
    let full = [0, 1, 2].map(|machine| {
        (
            AT,
            Blow::Full {
                machine,
                ms: 20_000,
            },
        )
    });
    settles(&full, |outcome, quiet| {
        assert_eq!(outcome.epochs, quiet.epochs, "a lease was lost");
    });
}

#[test]
fn n12_an_older_release_does_not_void_a_newer_one() {
    let mut bus = MemoryBus::default();
    let (epoch, node) = (1, NodeId(1));
    let chunk = Chunk {
        epoch,
        node,
        position: 0,
        previous: Digest::default(),
        ends: Ends::Whole,
        bytes: b"x",
    };
    let mut payload = chunk.encode();
    payload[0] += 1;
    let stream = Stream::Journal(Shard(0));
    bus.ask(
        (),
        Request::Append {
            stream,
            subject: 0,
            expect: 0,
            payload,
        },
    );
    assert_eq!(bus.answer(), Some(((), Answer::Appended { sequence: 1 })));
    let mut writer = Writer::new(Shard(0), (2, NodeId(2)));
    bus.ask((), writer.want_read().unwrap());
    let mut news = Vec::new();
    writer.answered(bus.answer().unwrap().1, &mut news);
    assert_eq!(news, [News::Newer]);
    assert_eq!(
        writer.want_append(|_, _| (b"seal".to_vec(), Ends::Whole)),
        None
    );
}
