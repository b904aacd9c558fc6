//! The guesser: which address next, of all that may be there.
//!
//! Four sources name addresses ([`Kind`]): a sequence that steps, a folder that follows its sister, names that come
//! to several folders in one round, and the sister's names once a folder has begun. A guess that hits costs
//! nothing, for a new page must be fetched anyway; one that misses costs a request. So a guess with
//! chance p that brings n pages brings p · n / (1 − p) for each request it wastes, and that orders them all.
//!
//! The chances are rough, so each source keeps a ledger of what it promised and what came, and its
//! promises are corrected by that.
//!
//! Cost: O(names with numbers + pairs of sisters) when a round begins, O(segments² · log pages) for a page that
//! becomes known, O([`PROBES_MAX`] + folders being filled) for each guess.

use std::collections::{BTreeMap, BTreeSet};

use crate::fill::{Fill, Name};
use crate::sequences::Sequences;
use crate::sisters::{Sisters, near};
use crate::tree::{NodeId, Tree};

/// How many addresses are looked at in a round beside those that its answers suggest.
const PROBES_MAX: usize = 64;
/// Of a pair of sisters so many names must be the same.
const SHARED_LEAST: u32 = 3;
/// Of the second sister's names the first must have this share.
const ALIKE_LEAST: f64 = 0.2;
/// A folder follows its sister so often in so many rounds, before it was watched.
const FOLLOW_HITS: f64 = 0.4;
const FOLLOW_ROUNDS: f64 = 12.0;
/// The same for folders to which nothing ever came.
const IDLE: f64 = 0.02;
/// The share of the names it lacks that a folder then gets, before that was seen.
const FOLLOW_SHARE: f64 = 0.3;
/// That a folder, once it follows, has the next name too.
const FOLLOW_START: f64 = 0.8;
/// That the most common name of a sequence's folders is in its next.
const INDEX_CHANCE: f64 = 0.9;
/// How much of a folder its next has, before that was seen.
const KEPT_SHARE: f64 = 0.6;
/// Names that may come to several folders at once: remembered, at most.
const TOGETHER_MAX: usize = 1_024;
/// Folders that are filled side by side.
const FILLS_MAX: usize = 512;
/// Pages compared to see whether two folders are alike.
const COMPARED_MAX: u32 = 400;
/// After so many misses the chance of an address is half of what it was.
const FADES_AFTER: f64 = 5.0;
/// Addresses whose misses are remembered.
const MISSED_MAX: usize = 50_000;
/// How much a ledger leans on the promise.
const LEDGER_LEAN: f64 = 1.0;
/// Nothing is certain.
const CHANCE_MAX: f64 = 0.98;

/// Why an address is guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The next of a sequence.
    Step,
    /// A name that the folder's sister has had for some time.
    Follow,
    /// A name that came to the folder's sister in this round.
    Together,
    /// A name of the sister of a folder that began in this round.
    Fill,
}

/// An address that may be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// The address, from its first slash.
    pub url: String,
    /// That it is there, from 0 to 1.
    pub chance: f64,
    /// New pages that are expected with it, itself included.
    pub brings: f64,
    /// Where it comes from.
    pub kind: Kind,
}

impl Guess {
    /// New pages for each request wasted.
    pub fn index(&self) -> f64 {
        self.chance * self.brings / (1.0 - self.chance)
    }
}

/// What a source promised and what came.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    promised: f64,
    came: f64,
}

impl Ledger {
    fn correct(&self, chance: f64) -> f64 {
        let correction = (self.came + LEDGER_LEAN) / (self.promised + LEDGER_LEAN);
        (chance * correction).min(CHANCE_MAX)
    }
}

/// An address worth trying in this round.
#[derive(Clone, Debug)]
struct Probe {
    guess: Guess,
    /// For a folder that may follow its sister: both, and the sister's page that is tried.
    pair: Option<Pair>,
}

/// A folder that may follow its sister.
#[derive(Clone, Copy, Debug)]
struct Pair {
    from: NodeId,
    to: NodeId,
    /// The sister's page that is tried.
    page: NodeId,
}

/// Who named an address.
#[derive(Clone, Debug)]
enum Source {
    Probe(Option<Pair>),
    Together,
    Fill(usize, Name),
}

/// Guesses the addresses of one site.
#[derive(Clone, Debug)]
pub struct Guesser {
    tree: Tree,
    sequences: Sequences,
    sisters: Sisters,
    /// 0 until the first round begins.
    round: u32,
    today: i64,
    ledgers: [Ledger; 4],
    /// Best first.
    probes: Vec<Probe>,
    together: BTreeMap<String, f64>,
    /// Folders that began in this round and are not being filled yet.
    begun: Vec<NodeId>,
    fills: Vec<(Fill, Option<Name>)>,
    asked: BTreeSet<String>,
    /// How often an address was asked for in vain.
    missed: BTreeMap<String, u32>,
    /// What was named and not answered: the source, and the chance before correction.
    named: BTreeMap<String, (Source, Kind, f64)>,
}

impl Default for Guesser {
    fn default() -> Self {
        Self::new()
    }
}

impl Guesser {
    /// Knows no address yet.
    pub fn new() -> Self {
        Self {
            tree: Tree::new(),
            sequences: Sequences::new(),
            sisters: Sisters::default(),
            round: 0,
            today: 0,
            ledgers: [Ledger::default(); 4],
            probes: Vec::new(),
            together: BTreeMap::new(),
            begun: Vec::new(),
            fills: Vec::new(),
            asked: BTreeSet::new(),
            missed: BTreeMap::new(),
            named: BTreeMap::new(),
        }
    }

    /// A round begins on a day, counted from 1970-01-01. What is added before the first is the site as it was found.
    pub fn begin(&mut self, day: i64) {
        self.round += 1;
        self.today = day;
        self.together.clear();
        self.begun.clear();
        self.fills.clear();
        self.asked.clear();
        self.named.clear();
        self.look_around();
    }

    /// A page of the site is known: its address from the first slash.
    pub fn add(&mut self, url: &str) {
        let Some(added) = self.tree.add(url, self.round) else {
            return;
        };
        let path = &added.path;
        let first_new = path.len() - added.fresh;
        for at in first_new..path.len() {
            let parent = if at == 0 {
                crate::tree::ROOT
            } else {
                path[at - 1]
            };
            let child = (path[at], self.tree.segment(path[at]));
            self.sequences.add(parent, child, self.round, self.today);
        }
        self.sisters.add(&self.tree, path, self.round);
        if self.round == 0 {
            return;
        }
        if added.fresh > 1 {
            let above = &path[..first_new];
            let is_first = above
                .iter()
                .all(|node| self.tree.node(*node).since < self.round);
            if is_first && self.fills.len() + self.begun.len() < FILLS_MAX {
                self.begun.push(path[first_new]);
            }
        }
        self.name_together(path);
    }

    /// The best guesses of this round, at most one of each source, best first.
    pub fn best(&mut self, count: usize) -> Vec<Guess> {
        self.start_fills();
        let mut all: Vec<(Guess, Source)> = Vec::new();
        let probes = self
            .probes
            .iter()
            .filter(|probe| self.is_open(&probe.guess.url));
        for probe in probes.take(count) {
            all.push((probe.guess.clone(), Source::Probe(probe.pair)));
        }
        let together = self.together.iter().filter(|(url, _)| self.is_open(url));
        let mut together: Vec<(&String, &f64)> = together.collect();
        together.sort_by(|a, b| b.1.total_cmp(a.1));
        for (url, chance) in together.into_iter().take(count) {
            let guess = Guess {
                url: url.clone(),
                chance: *chance,
                brings: 1.0,
                kind: Kind::Together,
            };
            all.push((guess, Source::Together));
        }
        self.best_of_fills(&mut all);
        for (guess, source) in &mut all {
            let named = (source.clone(), guess.kind, guess.chance);
            self.named.insert(guess.url.clone(), named);
            guess.chance = self.ledgers[guess.kind as usize].correct(guess.chance);
        }
        all.sort_by(|a, b| b.0.index().total_cmp(&a.0.index()));
        let mut urls = BTreeSet::new();
        all.retain(|(guess, _)| urls.insert(guess.url.clone()));
        all.truncate(count);
        all.into_iter().map(|(guess, _)| guess).collect()
    }

    /// A guess was asked for, and is there or not. A page that is there need not be added.
    pub fn told(&mut self, url: &str, is_there: bool) {
        self.asked.insert(url.to_owned());
        if is_there {
            self.missed.remove(url);
            self.add(url);
        } else if self.missed.len() < MISSED_MAX || self.missed.contains_key(url) {
            *self.missed.entry(url.to_owned()).or_default() += 1;
        }
        let Some((source, kind, chance)) = self.named.remove(url) else {
            return;
        };
        let ledger = &mut self.ledgers[kind as usize];
        ledger.promised += chance;
        ledger.came += f64::from(u8::from(is_there));
        match source {
            Source::Probe(Some(pair)) if is_there && self.fills.len() < FILLS_MAX => {
                let to = (self.tree.url(pair.to), Some(pair.to));
                let sister = (pair.from, Some(pair.page));
                let fill = Fill::new(&self.tree, sister, to, FOLLOW_START);
                let best = fill.best();
                self.fills.push((fill, best));
            }
            Source::Fill(at, name) => {
                let (fill, best) = &mut self.fills[at];
                fill.told(name, is_there);
                *best = fill.best();
            }
            Source::Probe(_) | Source::Together => {}
        }
    }

    /// A chance after the times that the address was asked for in vain.
    fn faded(&self, url: &str, chance: f64) -> f64 {
        let missed = self.missed.get(url).copied().unwrap_or(0);
        chance * FADES_AFTER / (FADES_AFTER + f64::from(missed))
    }

    fn is_open(&self, url: &str) -> bool {
        !self.asked.contains(url) && !self.tree.has(url)
    }

    /// The best name of each folder that is being filled; names that became known are struck off.
    fn best_of_fills(&mut self, all: &mut Vec<(Guess, Source)>) {
        for at in 0..self.fills.len() {
            while let (fill, Some(name)) = &self.fills[at] {
                let (name, from) = (*name, fill.from);
                let url = self.tree.moved(name.page, from, &fill.to);
                if self.is_open(&url) {
                    let guess = Guess {
                        url,
                        chance: name.chance.min(CHANCE_MAX),
                        brings: 1.0,
                        kind: Kind::Fill,
                    };
                    all.push((guess, Source::Fill(at, name)));
                    break;
                }
                let is_there = self.tree.has(&url);
                let (fill, best) = &mut self.fills[at];
                fill.told(name, is_there);
                *best = fill.best();
            }
        }
    }

    /// A page came: its name may come to the sisters of the folders it is in.
    fn name_together(&mut self, path: &[NodeId]) {
        for at in 0..path.len().saturating_sub(1) {
            let (folder, rest) = (path[at], &path[at + 1..]);
            if self.tree.node(folder).since == self.round {
                break;
            }
            for sister in near(&self.tree, folder) {
                let pair = self.sisters.pair(folder, sister);
                if pair.together == 0 || self.together.len() >= TOGETHER_MAX {
                    continue;
                }
                let twin = self.tree.follow(rest, sister);
                if twin.is_some_and(|twin| self.tree.node(twin).page().is_some()) {
                    continue;
                }
                let page = path[path.len() - 1];
                let url = self.tree.moved(page, folder, &self.tree.url(sister));
                let came = f64::from(self.tree.node(folder).came);
                let chance = (f64::from(pair.together) / (came + 1.0)).min(CHANCE_MAX);
                let known = self.together.entry(url).or_insert(chance);
                *known = known.max(chance);
            }
        }
    }

    /// Sets out to fill the folders that began, each like the sister it is most like.
    fn start_fills(&mut self) {
        for folder in std::mem::take(&mut self.begun) {
            let Some((sister, start)) = self.most_alike(folder) else {
                continue;
            };
            let to = (self.tree.url(folder), Some(folder));
            let fill = Fill::new(&self.tree, (sister, None), to, start);
            let best = fill.best();
            self.fills.push((fill, best));
        }
    }

    /// The sister that has most of a new folder's names, and the chance that it has another.
    fn most_alike(&self, folder: NodeId) -> Option<(NodeId, f64)> {
        let parent = self.tree.node(folder).parent;
        let beside = self.sequences.beside(parent, self.tree.segment(folder));
        let beside = beside.filter(|node| self.tree.is_folder(*node));
        let mut best: Option<(u32, NodeId)> = None;
        let others = near(&self.tree, folder);
        // Of equals the first: the one before it in its sequence, then the last that came, then the parent.
        for sister in beside.into_iter().chain(others.into_iter().rev()) {
            let (both, _) = self.tree.shared(folder, sister, COMPARED_MAX);
            let enough = if sister == parent { 2 } else { 1 };
            if both >= enough && best.is_none_or(|(most, _)| both > most) {
                best = Some((both, sister));
            }
        }
        let (both, sister) = best?;
        let seen = f64::from(self.tree.node(folder).below.min(COMPARED_MAX));
        let (kept, of) = self.kept(sister, parent);
        let start = (f64::from(both) + f64::from(kept) + KEPT_SHARE) / (seen + f64::from(of) + 1.0);
        Some((sister, start.min(CHANCE_MAX)))
    }

    /// Of the names of the folder before this one, how many this one has; and how many there are.
    fn kept(&self, folder: NodeId, parent: NodeId) -> (u32, u32) {
        if folder == parent {
            return (0, 0);
        }
        let beside = self.sequences.beside(parent, self.tree.segment(folder));
        let before = beside.filter(|node| self.tree.is_folder(*node));
        let before = before.or_else(|| near(&self.tree, folder).get(1).copied());
        before.map_or((0, 0), |before| {
            self.tree.shared(before, folder, COMPARED_MAX)
        })
    }

    /// Names what may be there, before anything of the round is known.
    fn look_around(&mut self) {
        let mut rough: Vec<(f64, Rough)> = Vec::new();
        self.sequences.next(self.round, self.today, |parent, next| {
            let from = self.tree.node(next.from);
            let brings = if from.kids.is_empty() {
                1.0
            } else {
                1.0 + f64::from(from.below) * KEPT_SHARE
            };
            let rough_index = next.chance * brings;
            rough.push((rough_index, Rough::Step(parent, next)));
        });
        for (from, to, pair) in self.sisters.each() {
            if let Some((chance, brings)) = self.may_follow(from, to, pair) {
                rough.push((chance * brings, Rough::Follow(from, to, chance, brings)));
            }
        }
        rough.sort_by(|a, b| b.0.total_cmp(&a.0));
        rough.truncate(PROBES_MAX);
        let probes = rough.into_iter().filter_map(|(_, rough)| self.probe(rough));
        let mut probes: Vec<Probe> = probes.collect();
        probes.sort_by(|a, b| b.guess.index().total_cmp(&a.guess.index()));
        self.probes = probes;
    }

    /// The chance that a folder gets names of its sister in a round, and how many.
    fn may_follow(
        &self,
        from: NodeId,
        to: NodeId,
        pair: &crate::sisters::Pair,
    ) -> Option<(f64, f64)> {
        let (first, second) = (self.tree.node(from), self.tree.node(to));
        // A folder that holds its sister counts without it.
        let of = |node: &crate::tree::Node, id: NodeId, other: &crate::tree::Node| {
            if other.parent == id {
                node.below.saturating_sub(other.below)
            } else {
                node.below
            }
        };
        let (has, had) = (of(first, from, second), of(second, to, first));
        let lacks = has.saturating_sub(pair.shared);
        let alike = f64::from(pair.shared) / f64::from(had.max(1));
        if lacks == 0 || pair.shared < SHARED_LEAST || alike < ALIKE_LEAST {
            return None;
        }
        let lacks = f64::from(lacks);
        let rounds = f64::from(
            self.round
                .saturating_sub(first.since.max(second.since).max(1)),
        );
        let moves = if first.came + second.came > 0 {
            1.0
        } else {
            IDLE
        };
        let bursts = f64::from(pair.bursts);
        let chance = (bursts + FOLLOW_HITS * alike.min(1.0) * moves) / (rounds + FOLLOW_ROUNDS);
        let brings = if pair.bursts > 0 {
            (f64::from(pair.followed) / bursts).min(lacks)
        } else {
            (lacks * FOLLOW_SHARE).max(1.0)
        };
        Some((chance.min(CHANCE_MAX), brings))
    }

    fn probe(&self, rough: Rough) -> Option<Probe> {
        match rough {
            Rough::Step(parent, next) => {
                let folder = format!("{}/{}", self.tree.url(parent), next.segment);
                let from = self.tree.node(next.from);
                let (url, chance, brings) = if from.kids.is_empty() {
                    (folder, next.chance, 1.0)
                } else {
                    let page = self.index_page(next.from, parent)?;
                    let (kept, of) = self.kept(next.from, parent);
                    let share = (f64::from(kept) + KEPT_SHARE) / (f64::from(of) + 1.0);
                    let brings = 1.0 + f64::from(from.below.saturating_sub(1)) * share;
                    (
                        self.tree.moved(page, next.from, &folder),
                        next.chance * INDEX_CHANCE,
                        brings,
                    )
                };
                let guess = Guess {
                    chance: if next.fades {
                        self.faded(&url, chance)
                    } else {
                        chance
                    },
                    url,
                    brings,
                    kind: Kind::Step,
                };
                self.is_open(&guess.url)
                    .then_some(Probe { guess, pair: None })
            }
            Rough::Follow(from, to, chance, brings) => {
                let page = self.newest_lacking(from, to)?;
                let url = self.tree.moved(page, from, &self.tree.url(to));
                let guess = Guess {
                    chance: self.faded(&url, chance),
                    url,
                    brings,
                    kind: Kind::Follow,
                };
                let pair = Some(Pair { from, to, page });
                self.is_open(&guess.url).then_some(Probe { guess, pair })
            }
        }
    }

    /// The page of a folder that the next of its sequence is likeliest to have: one that the folder beside it has too.
    fn index_page(&self, folder: NodeId, parent: NodeId) -> Option<NodeId> {
        let beside = self.sequences.beside(parent, self.tree.segment(folder));
        let (mut first, mut both, mut seen) = (None, None, 0);
        self.tree.each_page(folder, |page, _| {
            seen += 1;
            first = first.or(Some(page));
            let path = self.below(page, folder);
            let twin = beside.and_then(|beside| self.tree.follow(&path, beside));
            if twin.is_some_and(|twin| self.tree.node(twin).page().is_some()) {
                both = Some(page);
            }
            both.is_none() && seen < COMPARED_MAX
        });
        both.or(first)
    }

    /// The nodes from below `folder` to `page`.
    fn below(&self, page: NodeId, folder: NodeId) -> Vec<NodeId> {
        let mut path = Vec::new();
        let mut at = page;
        while at != folder {
            path.push(at);
            at = self.tree.node(at).parent;
        }
        path.reverse();
        path
    }

    /// The page that came to one folder last and is not in the other.
    fn newest_lacking(&self, from: NodeId, to: NodeId) -> Option<NodeId> {
        let fill = Fill::new(
            &self.tree,
            (from, None),
            (String::new(), Some(to)),
            FOLLOW_START,
        );
        fill.pages().max_by_key(|page| self.tree.node(*page).page())
    }
}

/// A probe before its address is worked out.
enum Rough {
    Step(NodeId, crate::sequences::Next),
    Follow(NodeId, NodeId, f64, f64),
}
