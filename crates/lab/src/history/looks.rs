//! What of a history is known, and what is not: when each page was looked at.
//!
//! A recorded history saw the whole site at every snapshot. A crawl directory did not: a round
//! fetches some pages, and what the others were at that time nobody knows. So what a page was at a
//! snapshot has three answers:
//!
//! - *seen*: it was looked at in that snapshot, or the whole site was;
//! - *bracketed*: the looks before and after found the same, so it is taken to have been the same in
//!   between. A page that changed and changed back is missed, as it is by any crawler;
//! - *unknown*: anything else. Before its first look and after its last one, and between two looks
//!   that differ, a page could have been either.
//!
//! Cost: 16 bytes a look; a question is O(log looks of the page).

use turnstone_frontier::PageId;

use super::{Rows, VersionId};

/// What a look at a page found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// This content.
    Version(VersionId),
    /// Nothing: the page is not there.
    Gone,
    /// That the page is there; its content was not looked at.
    Alive,
}

/// One look at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// In which snapshot.
    pub snapshot: u32,
    /// The chance with which the page was chosen, in units of 2⁻³²; 0 means it was certain.
    pub chance: u32,
    /// What was found; the last word of the snapshot.
    pub found: Found,
}

/// How well it is known what a page was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was looked at, having been chosen with this chance, in units of 2⁻³²; 0 means certain.
    Seen(u32),
    /// It was the same before and after.
    Bracketed,
    /// It is not.
    Unknown,
}

impl Known {
    /// Whether there is an answer.
    pub fn is_known(self) -> bool {
        self != Self::Unknown
    }
}

/// When the pages of a site were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// By snapshot: whether every page was looked at.
    whole: Vec<bool>,
    /// By page: its looks, a snapshot at most once, ascending.
    looks: Rows<Look>,
}

impl Looks {
    /// Looks by page, and by snapshot whether it saw the whole site.
    pub fn new(whole: Vec<bool>, looks: Rows<Look>) -> Self {
        Self { whole, looks }
    }

    /// The looks at a page, oldest first. A snapshot of the whole site is none of them.
    pub fn of(&self, page: PageId) -> &[Look] {
        if page.index() < self.looks.len() {
            self.looks.row(page.index())
        } else {
            &[]
        }
    }

    /// Whether a snapshot saw the whole site.
    pub fn is_whole(&self, snapshot: usize) -> bool {
        self.whole[snapshot]
    }

    /// What a page was at a snapshot, having had content `last` by its last look then. `same` says
    /// whether two contents count as the same.
    pub fn at(
        &self,
        page: PageId,
        snapshot: usize,
        last: Option<VersionId>,
        same: &dyn Fn(VersionId, VersionId) -> bool,
    ) -> Known {
        if self.is_whole(snapshot) {
            return Known::Seen(0);
        }
        let looks = self.of(page);
        let here = looks.partition_point(|look| (look.snapshot as usize) < snapshot);
        if let Some(look) = looks.get(here)
            && look.snapshot as usize == snapshot
            && look.found != Found::Alive
        {
            return Known::Seen(look.chance);
        }
        let mut later = looks[here..].iter();
        let next =
            later.find(|look| look.snapshot as usize > snapshot && look.found != Found::Alive);
        let whole = (snapshot + 1..self.whole.len()).find(|later| self.whole[*later]);
        let stayed = match (next, whole) {
            // The whole site was seen first, and this page was as it had been.
            (Some(look), Some(whole)) if (look.snapshot as usize) > whole => true,
            (None, Some(_)) => true,
            (Some(look), _) => match (look.found, last) {
                (Found::Version(next), Some(last)) => same(last, next),
                (Found::Gone, None) => true,
                _ => false,
            },
            (None, None) => false,
        };
        if stayed {
            Known::Bracketed
        } else {
            Known::Unknown
        }
    }

    /// The last look at a page after one snapshot and up to another: whether it was there, and the
    /// chance with which it was chosen. None if nobody looked.
    pub fn fate(
        &self,
        page: PageId,
        after: Option<usize>,
        until: usize,
        last: Option<VersionId>,
    ) -> Option<(bool, u32)> {
        let first = after.map_or(0, |after| after + 1);
        let looks = self.of(page);
        let end = looks.partition_point(|look| look.snapshot as usize <= until);
        let look = looks[..end].last();
        let look = look.filter(|look| look.snapshot as usize >= first);
        let whole = (first..=until).rev().find(|snapshot| self.whole[*snapshot]);
        match (look, whole) {
            (Some(look), whole) if whole.is_none_or(|whole| look.snapshot as usize > whole) => {
                Some((look.found != Found::Gone, look.chance))
            }
            (_, Some(_)) => Some((last.is_some(), 0)),
            _ => None,
        }
    }

    /// Whether a snapshot looked at every page that was there before it, one by one or at once.
    pub fn is_full(&self, snapshot: usize) -> bool {
        let seen = |looks: &[Look]| {
            let first = looks.first().map_or(u32::MAX, |look| look.snapshot);
            first as usize >= snapshot
                || looks
                    .binary_search_by_key(&(snapshot as u32), |look| look.snapshot)
                    .is_ok_and(|at| looks[at].found != Found::Alive)
        };
        self.is_whole(snapshot) || (0..self.looks.len()).all(|page| seen(self.looks.row(page)))
    }

    /// The looks of the first snapshots.
    pub(crate) fn truncated(mut self, snapshots: usize) -> Self {
        let early = |look: &&Look| (look.snapshot as usize) < snapshots;
        let rows = (0..self.looks.len()).map(|page| self.looks.row(page));
        let rows: Rows<Look> = rows
            .map(|row| row.iter().filter(early).copied().collect::<Vec<_>>())
            .collect();
        self.whole.truncate(snapshots);
        self.looks = rows;
        self
    }

    /// The same with pages in another order.
    pub(crate) fn renumbered(self, order: &[PageId]) -> Self {
        let rows = order.iter().map(|old| self.of(*old).to_vec());
        Self {
            looks: rows.collect(),
            whole: self.whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page's looks, a letter a snapshot: `.` none, `a` to `z` a content, `-` gone, `!` alive,
    /// and a capital letter where the whole site was seen. What each snapshot knows of it: `s`
    /// seen, `b` bracketed, `?` unknown.
    fn check(looks: &str, expected: &str) {
        let content = |letter: char| VersionId(letter as u32 - 'a' as u32);
        let mut row = Vec::new();
        let whole = looks.chars().map(|letter| letter.is_ascii_uppercase());
        for (snapshot, letter) in looks.chars().enumerate() {
            let found = match letter {
                '-' => Found::Gone,
                '!' => Found::Alive,
                'a'..='z' => Found::Version(content(letter)),
                _ => continue,
            };
            let (snapshot, chance) = (snapshot as u32, 0);
            row.push(Look {
                snapshot,
                chance,
                found,
            });
        }
        let known = Looks::new(whole.collect(), [row].into_iter().collect());
        let mut last = None;
        let told: String = looks
            .chars()
            .enumerate()
            .map(|(snapshot, letter)| {
                match letter {
                    'a'..='z' => last = Some(content(letter)),
                    '-' => last = None,
                    _ => {}
                }
                match known.at(PageId(0), snapshot, last, &|a, b| a == b) {
                    Known::Seen(_) => 's',
                    Known::Bracketed => 'b',
                    Known::Unknown => '?',
                }
            })
            .collect();
        assert_eq!(told, expected, "{looks}");
    }

    #[test]
    fn what_is_known_is_seen_or_bracketed() {
        check("a..a", "sbbs");
        check("a..b", "s??s");
        check("a.-.-..", "s?sbs??");
        check("a..", "s??");
        // The whole site seen: nothing is left open, whatever comes after.
        check("a.W.b", "sbs?s");
        check("a.WW", "sbss");
        // That a page is there says nothing of its content.
        check("a!a", "sbs");
        check("a!b", "s?s");
        check("a!.", "s??");
        check("a.!a", "sbbs");
    }

    #[test]
    fn a_fate_is_the_last_look_of_the_time_between() {
        let look = |snapshot, found| Look {
            snapshot,
            chance: 7,
            found,
        };
        let row = vec![
            look(0, Found::Version(VersionId(0))),
            look(2, Found::Gone),
            look(3, Found::Alive),
        ];
        let looks = Looks::new(vec![false; 5], [row].into_iter().collect());
        let fate = |after, until| looks.fate(PageId(0), after, until, Some(VersionId(0)));
        assert_eq!(fate(Some(0), 1), None);
        assert_eq!(fate(Some(0), 2), Some((false, 7)));
        assert_eq!(fate(Some(0), 4), Some((true, 7)));
        assert_eq!(fate(Some(3), 4), None);
        assert_eq!(fate(None, 0), Some((true, 7)));
        // What the whole site showed later is the last word.
        let row = vec![look(0, Found::Version(VersionId(0))), look(1, Found::Gone)];
        let looks = Looks::new(vec![false, false, true, false], [row].into_iter().collect());
        let fate = |until| looks.fate(PageId(0), Some(0), until, Some(VersionId(0)));
        assert_eq!(fate(1), Some((false, 7)));
        assert_eq!(fate(3), Some((true, 0)));
    }

    #[test]
    fn a_full_snapshot_looked_at_all_that_was_there_before() {
        let look = |snapshot, found| Look {
            snapshot,
            chance: 0,
            found,
        };
        let seen = Found::Version(VersionId(0));
        let check = |other: Vec<Look>, expected: bool| {
            let row = vec![look(0, seen), look(2, seen)];
            let looks = Looks::new(vec![false; 4], [row, other].into_iter().collect());
            assert_eq!(looks.is_full(2), expected);
        };
        check(vec![look(0, seen), look(2, Found::Gone)], true);
        check(vec![look(0, seen), look(1, seen)], false);
        // Whether it is there is not what it says; and what came later was not there.
        check(vec![look(0, seen), look(2, Found::Alive)], false);
        check(vec![look(3, seen)], true);
    }

    #[test]
    fn the_first_snapshots_know_nothing_of_the_later_ones() {
        let look = |snapshot| Look {
            snapshot,
            chance: 0,
            found: Found::Gone,
        };
        let row = vec![look(0), look(1), look(2)];
        let looks = Looks::new(vec![false; 3], [row].into_iter().collect()).truncated(2);
        assert_eq!(looks.of(PageId(0)), [look(0), look(1)]);
    }
}
