//! Groups of near duplicates against every pair compared.

use proptest::prelude::*;
use turnstone_text::groups::{DISTANCE_MAX, groups};

/// Every pair compared, and joined until nothing changes.
fn slowly(hashes: &[u64]) -> Vec<u32> {
    let mut group: Vec<u32> = (0..hashes.len() as u32).collect();
    loop {
        let before = group.clone();
        for a in 0..hashes.len() {
            for b in 0..hashes.len() {
                if (hashes[a] ^ hashes[b]).count_ones() <= DISTANCE_MAX {
                    group[a] = group[a].min(group[b]);
                }
            }
        }
        if group == before {
            return group;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn near_hashes_are_together_and_no_others(
        seeds in prop::collection::vec((0_u64..6, prop::collection::vec(0_u32..64, 0..5)), 0..80),
    ) {
        let hashes: Vec<u64> = seeds
            .into_iter()
            .map(|(seed, flips)| {
                let base = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                flips.into_iter().fold(base, |hash, bit| hash ^ (1 << bit))
            })
            .collect();
        prop_assert_eq!(groups(&hashes), slowly(&hashes));
    }
}

#[test]
fn a_crowd_of_one_hash_is_one_group() {
    let mut hashes = vec![7; 5000];
    hashes[0] = 5;
    hashes.push(u64::MAX);
    let found = groups(&hashes);
    assert!(found[..5000].iter().all(|first| *first == 0));
    assert_eq!(found[5000], 5000);
}
