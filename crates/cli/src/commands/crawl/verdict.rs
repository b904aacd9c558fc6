//! Where a crawl stands, in a sentence for somebody who knows nothing of PageRank.
//!
//! The summary, `status` and the report begin with it. One function writes all of them, from counts of the
//! index alone, so they cannot contradict each other. The shares that are proven stand below.

use turnstone_crawl::{Summary, Waited};
use turnstone_frontier::Coverage;
use turnstone_lab::number::{percent, plural};
use turnstone_ledger::Stop;
use turnstone_pagestore::{Index, PageState, Tally};

/// What the sentence is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand<'a> {
    /// The command that asked last.
    pub(crate) command: &'a str,
    pub(crate) counts: Counts,
    pub(crate) coverage: Option<Coverage>,
    /// Hosts that do not answer.
    pub(crate) waited: &'a [Waited],
    pub(crate) end: End<'a>,
}

/// How many pages there are of which kind, those out of scope left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) stored: u64,
    /// Known, and to be asked for.
    pub(crate) waiting: u64,
    pub(crate) gone: u64,
    pub(crate) refused: u64,
    /// Of those refused: what looks like a trap, which is our own guess.
    pub(crate) traps: u64,
    /// Bodies whose end a limit cut.
    pub(crate) cut: u64,
    /// Known, and out of scope.
    pub(crate) outside: u64,
}

/// Whether somebody works at it, and how the last process ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End<'a> {
    /// One is at it.
    Running,
    /// It was killed.
    Killed,
    /// There was none.
    Never,
    /// It ended by itself.
    Stopped(&'a str),
}

impl Counts {
    pub(crate) fn of(index: &Index) -> Self {
        let waiting = [PageState::Waiting, PageState::InFlight, PageState::Unknown];
        Self {
            stored: index.had_count(),
            waiting: waiting.iter().map(|state| index.count(*state)).sum(),
            gone: index.count(PageState::Gone),
            refused: index.count(PageState::Refused),
            ..Self::of_tally(index.tally(), index.count(PageState::Refused))
        }
    }

    /// Those of several shards, each page counted where it belongs.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            stored: sum.stored + one.stored,
            waiting: sum.waiting + one.waiting,
            gone: sum.gone + one.gone,
            refused: sum.refused + one.refused,
            traps: sum.traps + one.traps,
            cut: sum.cut + one.cut,
            outside: sum.outside + one.outside,
        })
    }

    fn of_tally(tally: &Tally, refused: u64) -> Self {
        let traps = tally.classes.get("trap").copied().unwrap_or(0);
        Self {
            traps: traps.min(refused),
            cut: tally.cut_fetches,
            outside: tally.outside_pages,
            ..Self::default()
        }
    }
}

impl<'a> Stand<'a> {
    /// Where a crawl stands that has just ended.
    pub(crate) fn of(summary: &'a Summary) -> Self {
        Self {
            command: "crawl",
            counts: Counts {
                stored: summary.pages,
                waiting: summary.waiting,
                gone: summary.gone,
                refused: summary.refused,
                ..Counts::of_tally(&summary.tally, summary.refused)
            },
            coverage: summary.coverage,
            waited: &summary.waited,
            end: End::Stopped(summary.stop.name()),
        }
    }

    /// The sentence.
    pub(crate) fn sentence(&self) -> String {
        if self.command != "crawl" {
            return self.of_round();
        }
        let Counts {
            stored, waiting, ..
        } = self.counts;
        if waiting == 0 && stored > 0 {
            return self.complete();
        }
        let pages = plural(stored, "page");
        let left = plural(waiting, "known page");
        match self.end {
            End::Running => format!("The crawl is running: {pages} stored, {left} left."),
            End::Killed => format!(
                "The last crawl was interrupted: {pages} stored, {left} left. The same command goes on \
                 where it was."
            ),
            End::Never => {
                format!("Nobody has crawled here yet: {pages} stored, {left} to ask for.")
            }
            End::Stopped(why) => match Stop::named(why) {
                Some(stop) => self.stopped(stop),
                None => format!("The crawl has stopped ({why}): {pages} stored, {left} left."),
            },
        }
    }

    /// Why the crawl ended before it had everything.
    fn stopped(&self, stop: Stop) -> String {
        let Counts {
            stored, waiting, ..
        } = self.counts;
        let pages = plural(stored, "page");
        let left = plural(waiting, "known page");
        let were = if waiting == 1 { "was" } else { "were" };
        match stop {
            Stop::Coverage if self.is_only_certified() => format!(
                "Enough is stored, by a sample and not by proof: {pages} reach the goal; {left} {were} not \
                 needed."
            ),
            Stop::Coverage => {
                format!("Enough is stored: {pages} reach the goal; {left} {were} not needed.")
            }
            Stop::OutOfReach => format!(
                "The goal cannot be proven: a limit cut links that nobody has seen, so at most {} can be. \
                 {pages} stored, {left} left.",
                percent(self.coverage.map_or(0.0, provable))
            ),
            Stop::Unreachable => {
                let hosts: Vec<String> = self.waited.iter().map(host).collect();
                let hosts = match hosts.is_empty() {
                    true => "hosts that do not answer".to_owned(),
                    false => hosts.join(", "),
                };
                let wait = if waiting == 1 { "waits" } else { "wait" };
                format!(
                    "Nobody answers any more: {left} {wait} at {hosts}. Run the same command to try again; \
                     {pages} stored."
                )
            }
            Stop::Exhausted if stored == 0 => {
                let but = self.but();
                match but.is_empty() {
                    true => "Nothing is stored, and nothing is left to ask for.".to_owned(),
                    false => format!("Nothing is stored: {}.", but.join(", ")),
                }
            }
            Stop::Told => format!(
                "A signal stopped the crawl: {pages} stored, {left} left. The same command goes on."
            ),
            stop => format!(
                "The crawl stopped because {}: {pages} stored, {left} left.",
                because(stop)
            ),
        }
    }

    /// Whether the goal was met by a certificate and not by the proof.
    fn is_only_certified(&self) -> bool {
        self.coverage
            .is_some_and(|coverage| coverage.guaranteed < coverage.goal)
    }

    /// Everything that exists is stored.
    fn complete(&self) -> String {
        let Counts {
            stored,
            gone,
            refused,
            cut,
            outside,
            ..
        } = self.counts;
        let of_scope = if outside > 0 { " in scope" } else { "" };
        // Some mass is lost to rounding too: that alone tells of no cut.
        let is_cut = |coverage| provable(coverage) < 1.0 - 1e-9;
        if cut > 0 && self.coverage.is_some_and(is_cut) {
            let bodies = match cut {
                1 => "1 page has more".to_owned(),
                _ => format!("{} have more", plural(cut, "page")),
            };
            return format!(
                "You have {} that links led to, but {bodies} links that nobody has seen, because a limit cut \
                 them off. Raise --body-bytes and crawl into a new directory to see them.",
                match stored {
                    1 => "the page".to_owned(),
                    _ => format!("all {}", plural(stored, "page")),
                }
            );
        }
        let all = match (stored, refused) {
            (1, 0) => format!("You have the only page{of_scope} that exists"),
            (1, _) => format!("You have the only page{of_scope} that may be fetched"),
            (_, 0) => format!(
                "You have all {}{of_scope} that exist",
                plural(stored, "page")
            ),
            (_, _) => format!(
                "You have all {}{of_scope} that may be fetched",
                plural(stored, "page")
            ),
        };
        match self.but().as_slice() {
            [] => format!("{all}."),
            [gone_only] if gone > 0 => format!("{all}; {gone_only}."),
            but => format!("{all}; {}.", but.join(", ")),
        }
    }

    /// What is missing and will not come.
    fn but(&self) -> Vec<String> {
        let Counts {
            gone,
            refused,
            traps,
            ..
        } = self.counts;
        let mut but = Vec::new();
        if gone > 0 {
            let are = if gone == 1 { "is" } else { "are" };
            but.push(format!("{} {are} dead", plural(gone, "link")));
        }
        if refused > traps {
            but.push(format!(
                "{} may not be fetched",
                plural(refused - traps, "linked page")
            ));
        }
        // Whoever knows better must learn of our guesses.
        if traps > 0 {
            let (are, look) = if traps == 1 {
                ("was", "its address looks")
            } else {
                ("were", "their addresses look")
            };
            but.push(format!(
                "{} {are} left out because {look} like an endless trap (`turnstone why` names the rule)",
                plural(traps, "linked page")
            ));
        }
        but
    }

    /// A store that a round, a survey or `keep` asks about.
    fn of_round(&self) -> String {
        let Counts {
            stored,
            waiting,
            gone,
            ..
        } = self.counts;
        let mut text = format!("{} stored", plural(stored, "page"));
        if waiting > 0 {
            text += &format!(", {} not", plural(waiting, "known page"));
        }
        if gone > 0 {
            text += &format!(", {} gone", plural(gone, "page"));
        }
        let command = self.command;
        text + &match self.end {
            End::Running => format!("; `turnstone {command}` is running."),
            End::Killed => format!("; `turnstone {command}` was interrupted."),
            End::Never => ".".to_owned(),
            End::Stopped(why) => match Stop::named(why) {
                Some(stop) => format!("; `turnstone {command}` ended because {}.", because(stop)),
                None => format!("; `turnstone {command}` has ended ({why})."),
            },
        }
    }
}

/// The most that can still be proven, whatever is fetched.
pub(crate) fn provable(coverage: Coverage) -> f64 {
    (Coverage::ONE - coverage.stuck.min(Coverage::ONE)) as f64 / Coverage::ONE as f64
}

/// Why a process ended, after "because".
pub(crate) fn because(stop: Stop) -> &'static str {
    match stop {
        Stop::Coverage => "the goal is reached",
        Stop::Pages => "the limit on pages is reached",
        Stop::Requests => "the limit on requests is reached",
        Stop::Bytes => "the limit on bytes is reached",
        Stop::Time => "the time is up",
        Stop::Rounds => "all rounds are done",
        Stop::Exhausted => "nothing is left to ask for",
        Stop::Unreachable => "the hosts that are left do not answer",
        Stop::OutOfReach => "the goal cannot be proven any more",
        Stop::Told => "a signal stopped it",
    }
}

/// A host that did not answer.
fn host(waited: &Waited) -> String {
    match waited.why.as_str() {
        "" => waited.host.clone(),
        why => format!(
            "{} ({why}, tried {})",
            waited.host,
            plural(u64::from(waited.tries), "time")
        ),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn counts(stored: u64, waiting: u64, gone: u64) -> Counts {
        Counts {
            stored,
            waiting,
            gone,
            ..Counts::default()
        }
    }

    fn check(command: &str, counts: Counts, end: End<'_>, expected: Expect) {
        let stand = Stand {
            command,
            counts,
            coverage: None,
            waited: &[],
            end,
        };
        expected.assert_eq(&stand.sentence());
    }

    #[test]
    fn a_crawl_that_has_everything() {
        let end = End::Stopped("coverage");
        check(
            "crawl",
            counts(205, 0, 30),
            end,
            expect!["You have all 205 pages that exist; 30 links are dead."],
        );
        check(
            "crawl",
            counts(1, 0, 0),
            end,
            expect!["You have the only page that exists."],
        );
        let refused = Counts {
            refused: 4,
            traps: 1,
            ..counts(7, 0, 1)
        };
        check(
            "crawl",
            refused,
            end,
            expect![
                "You have all 7 pages that may be fetched; 1 link is dead, 3 linked pages may not be fetched, 1 linked page was left out because its address looks like an endless trap (`turnstone why` names the rule)."
            ],
        );
        let outside = Counts {
            outside: 99,
            ..counts(2, 0, 0)
        };
        check(
            "crawl",
            outside,
            end,
            expect!["You have all 2 pages in scope that exist."],
        );
        check(
            "crawl",
            counts(0, 0, 1),
            End::Stopped("exhausted"),
            expect!["Nothing is stored: 1 link is dead."],
        );
    }

    #[test]
    fn a_crawl_that_has_not() {
        let some = counts(1200, 1, 3);
        for (end, expected) in [
            (
                End::Running,
                expect!["The crawl is running: 1,200 pages stored, 1 known page left."],
            ),
            (
                End::Killed,
                expect![
                    "The last crawl was interrupted: 1,200 pages stored, 1 known page left. The same command goes on where it was."
                ],
            ),
            (
                End::Never,
                expect![
                    "Nobody has crawled here yet: 1,200 pages stored, 1 known page to ask for."
                ],
            ),
            (
                End::Stopped("coverage"),
                expect![
                    "Enough is stored: 1,200 pages reach the goal; 1 known page was not needed."
                ],
            ),
            (
                End::Stopped("pages"),
                expect![
                    "The crawl stopped because the limit on pages is reached: 1,200 pages stored, 1 known page left."
                ],
            ),
            (
                End::Stopped("signal"),
                expect![
                    "A signal stopped the crawl: 1,200 pages stored, 1 known page left. The same command goes on."
                ],
            ),
            (
                End::Stopped("unreachable"),
                expect![
                    "Nobody answers any more: 1 known page waits at hosts that do not answer. Run the same command to try again; 1,200 pages stored."
                ],
            ),
        ] {
            check("crawl", some, end, expected);
        }
    }

    #[test]
    fn rounds_and_keeping() {
        check(
            "keep",
            counts(10, 2, 1),
            End::Running,
            expect![
                "10 pages stored, 2 known pages not, 1 page gone; `turnstone keep` is running."
            ],
        );
        check(
            "refresh",
            counts(10, 0, 0),
            End::Stopped("exhausted"),
            expect![
                "10 pages stored; `turnstone refresh` ended because nothing is left to ask for."
            ],
        );
    }
}
