//! Names that count: releases, issues, pages of a list, years, months, days.
//!
//! The children of a folder whose names differ in their numbers alone are a sequence. What comes next is one of
//! a few steps: the newest name or the largest grows by one in its last number, in an earlier one, or one of
//! its older lines does (1.8.4 becomes 1.8.5 though there is 1.9); and if the numbers are a date, the
//! date of today, or the last date and the usual gap. How often a site takes each kind of step is counted; a sequence
//! that stepped often steps soon.
//!
//! Cost: O(log sequences + members) for a new name; 60 bytes a name with a number.

use std::collections::BTreeMap;

use crate::calendar::{Date, is_calendar};
use crate::numbers::{Numbered, grown, write};
use crate::tree::NodeId;

/// How a sequence goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The last number of the newest name.
    Newest,
    /// The last number of the largest name.
    Largest,
    /// The number before the last.
    Middle,
    /// The first number.
    First,
    /// The last number of an older line.
    Line,
    /// A date that is due.
    Due,
}

const STEPS: usize = 6;
/// Before anything was seen: the share of steps of each kind, as if so many had been seen.
const PRIOR_SHARES: [f64; STEPS] = [0.5, 0.5, 0.3, 0.15, 0.15, 0.4];
const PRIOR_STEPS: f64 = 4.0;
/// A sequence steps so often in so many rounds before it was watched; one name alone hardly does.
const PRIOR_HITS: f64 = 0.3;
const PRIOR_ROUNDS: f64 = 10.0;
const ALONE: f64 = 0.1;
/// How many members are looked at for gaps and lines.
const RECENT: usize = 8;
/// How many next names a sequence is given.
const NEXT_MAX: usize = 4;
/// Members of a sequence that are kept.
const MEMBERS_MAX: usize = 5_000;

/// A name with its numbers.
#[derive(Clone, Debug)]
struct Member {
    numbers: Vec<u32>,
    node: NodeId,
}

/// Names of one folder that differ in numbers alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    /// By numbers.
    members: Vec<Member>,
    /// By number: with how many digits it is written where zeros are put before it.
    widths: Vec<usize>,
    /// The one that came last.
    newest: usize,
    /// Rounds in which a member came.
    stepped: u32,
    /// The last of these.
    stepped_at: u32,
    since: u32,
}

/// A name that a sequence may have next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Next {
    /// The name.
    pub(crate) segment: String,
    /// The member it is made of.
    pub(crate) from: NodeId,
    /// That the sequence steps in a round, and to this name.
    pub(crate) chance: f64,
    /// Whether it is a date: one that was passed over does not come later.
    pub(crate) fades: bool,
}

/// All sequences of a site.
#[derive(Clone, Debug)]
pub(crate) struct Sequences {
    by_name: BTreeMap<(NodeId, String), Sequence>,
    hits: [f64; STEPS],
    steps: f64,
}

impl Sequence {
    /// The members beside the one with these numbers: the next smaller, else the next larger.
    fn beside(&self, numbers: &[u32]) -> Option<NodeId> {
        let at = self
            .members
            .partition_point(|member| member.numbers.as_slice() < numbers);
        let before = at.checked_sub(1).map(|at| &self.members[at]);
        let after = self.members[at..]
            .iter()
            .find(|member| member.numbers != numbers);
        before.or(after).map(|member| member.node)
    }

    /// What may come next, by kind of step; a name may come up twice.
    fn steps(&self, today: i64) -> Vec<(Step, Vec<u32>, &Member)> {
        let (Some(largest), Some(newest)) = (self.members.last(), self.members.get(self.newest))
        else {
            return Vec::new();
        };
        let last = largest.numbers.len() - 1;
        if last == 2 && is_calendar(&largest.numbers) {
            // Days keep their gap; the next day is no likelier than any other.
            let mut steps = Vec::new();
            self.due(today, largest, &mut steps);
            return steps;
        }
        let mut steps = vec![
            (Step::Newest, grown(&newest.numbers, last, 0), newest),
            (Step::Largest, grown(&largest.numbers, last, 0), largest),
        ];
        if last > 0 {
            let first = u32::from(is_calendar(&largest.numbers));
            if last > 1 {
                steps.push((
                    Step::Middle,
                    grown(&largest.numbers, last - 1, first),
                    largest,
                ));
            }
            steps.push((Step::First, grown(&largest.numbers, 0, first), largest));
            let line = &largest.numbers[..last];
            let below = self
                .members
                .partition_point(|member| &member.numbers[..last] < line);
            if let Some(member) = below.checked_sub(1).map(|at| &self.members[at]) {
                steps.push((Step::Line, grown(&member.numbers, last, 0), member));
            }
        }
        if is_calendar(&largest.numbers) {
            self.due(today, largest, &mut steps);
        }
        steps
    }

    /// The dates after the last that are not in the future.
    fn due<'a>(&self, today: i64, last: &'a Member, steps: &mut Vec<(Step, Vec<u32>, &'a Member)>) {
        let now = Date::of(today).parts(last.numbers.len());
        if let [year, month, day] = last.numbers[..] {
            let of = |numbers: &[u32]| Date {
                year: numbers[0],
                month: numbers[1],
                day: numbers[2],
            };
            let recent = &self.members[self.members.len().saturating_sub(RECENT)..];
            let gaps = recent
                .windows(2)
                .map(|two| of(&two[1].numbers).days() - of(&two[0].numbers).days());
            let gap = most_common(gaps.collect()).unwrap_or(7).clamp(1, 366);
            let mut next = Date { year, month, day }.days() + gap;
            for _ in 0..2 {
                if next <= today {
                    steps.push((Step::Due, Date::of(next).parts(3), last));
                }
                next += gap;
            }
        } else if now > last.numbers {
            steps.push((Step::Due, now, last));
        }
    }

    /// The chance that it steps in a round.
    fn rate(&self, round: u32) -> f64 {
        let rounds = f64::from(round.saturating_sub(self.since.max(1)));
        let alone = if self.members.len() > 1 { 1.0 } else { ALONE };
        (f64::from(self.stepped) + PRIOR_HITS * alone) / (rounds + PRIOR_ROUNDS)
    }
}

/// The most common of some numbers, the smallest of equals.
fn most_common(mut numbers: Vec<i64>) -> Option<i64> {
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| a == b);
    let best = runs.max_by_key(|run| (run.len(), -run[0]));
    best.map(|run| run[0])
}

impl Sequences {
    pub(crate) fn new() -> Self {
        Self {
            by_name: BTreeMap::new(),
            hits: PRIOR_SHARES.map(|share| share * PRIOR_STEPS),
            steps: PRIOR_STEPS,
        }
    }

    /// A child came to a folder.
    pub(crate) fn add(&mut self, parent: NodeId, child: (NodeId, &str), round: u32, today: i64) {
        let Some(name) = Numbered::read(child.1) else {
            return;
        };
        let sequence = self.by_name.entry((parent, name.template)).or_default();
        if sequence.members.len() >= MEMBERS_MAX {
            return;
        }
        if sequence.members.is_empty() {
            sequence.since = round;
        } else if round > sequence.since {
            for (step, numbers, _) in sequence.steps(today) {
                if numbers == name.numbers {
                    self.hits[step as usize] += 1.0;
                }
            }
            self.steps += 1.0;
            sequence.stepped += u32::from(sequence.stepped_at != round);
            sequence.stepped_at = round;
        }
        let member = Member {
            numbers: name.numbers,
            node: child.0,
        };
        sequence.widths.resize(member.numbers.len(), 0);
        for (width, filled) in sequence.widths.iter_mut().zip(name.widths) {
            *width = filled.max(*width);
        }
        let members = &mut sequence.members;
        let at = members.partition_point(|other| other.numbers < member.numbers);
        members.insert(at, member);
        // In the first round all came at once, and the largest is taken for the newest.
        sequence.newest = if round > sequence.since {
            at
        } else {
            members.len() - 1
        };
    }

    /// The member before a name of its sequence, or else the one after it.
    pub(crate) fn beside(&self, parent: NodeId, segment: &str) -> Option<NodeId> {
        let name = Numbered::read(segment)?;
        let sequence = self.by_name.get(&(parent, name.template))?;
        sequence.beside(&name.numbers)
    }

    /// What each sequence may have next.
    pub(crate) fn next(&self, round: u32, today: i64, mut each: impl FnMut(NodeId, Next)) {
        for ((parent, template), sequence) in &self.by_name {
            let rate = sequence.rate(round);
            let mut all: Vec<Next> = Vec::new();
            for (step, numbers, from) in sequence.steps(today) {
                if sequence
                    .members
                    .binary_search_by(|member| member.numbers.cmp(&numbers))
                    .is_ok()
                {
                    continue;
                }
                let share = self.hits[step as usize] / self.steps;
                let segment = write(template, &numbers, &sequence.widths);
                match all.iter_mut().find(|next| next.segment == segment) {
                    // Two kinds of step that come to the same are one step.
                    Some(next) => next.chance = next.chance.max(rate * share),
                    None => all.push(Next {
                        segment,
                        from: from.node,
                        chance: rate * share,
                        fades: step == Step::Due,
                    }),
                }
            }
            all.sort_by(|a, b| b.chance.total_cmp(&a.chance));
            all.truncate(NEXT_MAX);
            all.into_iter().for_each(|next| each(*parent, next));
        }
    }
}
