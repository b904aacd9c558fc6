//! Which pages say nearly the same: groups of pages whose SimHashes differ in few bits.
//!
//! Two texts of which most words are the same have SimHashes that differ in three bits or fewer (Manku, Jain,
//! Das Sarma 2007 chose three for the web). Split into four blocks, such hashes agree in at least one whole
//! block: so pages are sorted by each block in turn, and neighbours that share it are compared. Groups are what
//! is joined by a chain of such pairs. A page belongs to none while its text is shorter than [`WORDS_MIN`] words:
//! the hashes of menus and error pages are alike by chance.
//!
//! Cost: four sorts; 20 bytes a page. Each page is compared with [`NEIGHBOURS_MAX`] others a block at most, so a
//! site that makes millions of pages with hashes of its choice costs no more than any other; pairs that are
//! farther apart in such a crowd may be missed. Pages with the same hash are always together.

/// In how many bits the hashes of pages that say nearly the same may differ.
pub const DISTANCE_MAX: u32 = 3;
/// The shortest text that is compared, in words.
pub const WORDS_MIN: u32 = 30;
/// How many others share a block with a page and are compared with it.
const NEIGHBOURS_MAX: usize = 512;
/// Into how many blocks a hash is split: one more than bits that may differ.
const BLOCKS: u32 = DISTANCE_MAX + 1;
const BLOCK_BITS: u32 = 64 / BLOCKS;

/// For each hash the number of the first that is in its group: its own where it is alone or first.
pub fn groups(hashes: &[u64]) -> Vec<u32> {
    let count = u32::try_from(hashes.len()).expect("pages are numbered by 32 bits");
    let mut joined: Vec<u32> = (0..count).collect();
    let mut order: Vec<u32> = (0..count).collect();
    for block in 0..BLOCKS {
        let turned = |page: u32| hashes[page as usize].rotate_left(block * BLOCK_BITS);
        order.sort_unstable_by_key(|page| (turned(*page), *page));
        for (at, &page) in order.iter().enumerate() {
            let shares = |other: &&u32| (turned(page) ^ turned(**other)) >> (64 - BLOCK_BITS) == 0;
            let mut last = turned(page);
            let mut compared = 0;
            for &other in order[at + 1..].iter().take_while(shares) {
                let hash = turned(other);
                // The same hash was joined with its like one step before.
                if hash == last && compared > 0 {
                    continue;
                }
                if (hash ^ turned(page)).count_ones() <= DISTANCE_MAX {
                    join(&mut joined, page, other);
                }
                if hash == turned(page) {
                    // Whoever follows is compared from there.
                    break;
                }
                last = hash;
                compared += 1;
                if compared == NEIGHBOURS_MAX {
                    break;
                }
            }
        }
    }
    for page in 0..count {
        let first = first_of(&mut joined, page);
        joined[page as usize] = first;
    }
    joined
}

/// The first page of a group; the way there is made shorter.
fn first_of(joined: &mut [u32], page: u32) -> u32 {
    let mut at = page;
    while joined[at as usize] != at {
        let next = joined[at as usize];
        joined[at as usize] = joined[next as usize];
        at = next;
    }
    at
}

fn join(joined: &mut [u32], a: u32, b: u32) {
    let (a, b) = (first_of(joined, a), first_of(joined, b));
    // The smaller number is the first, whatever the order of joining.
    joined[a.max(b) as usize] = a.min(b);
}
