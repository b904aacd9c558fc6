//! The league: every policy, every question, every recorded web, with nothing but defaults.
//!
//! A comparison is only as honest as its settings, and whoever names the settings can favour somebody. So a
//! league has none: each question is asked as its backtest asks when nothing is said, and each policy plays
//! as the catalogue has it. It asks a web the questions that the web can answer, and says of the others why
//! not.
//!
//! A policy's value is the mean over seeds, with the 95 % interval of that mean (Student's t). A policy that
//! draws nothing gives the same with every seed; it is run with two seeds and not with more. Values
//! of two webs cannot be added (requests on one, shares on another), so a table is ordered by *place*: 1 for the
//! best on a web, equal values share the mean of their places, and the mean is taken over webs. A policy
//! without a value (it never proved enough) has the last place.
//!
//! Cost: that of the backtests, times two for those that draw nothing and times the seeds for others.

mod contest;
mod standing;

use std::path::PathBuf;

use serde::Serialize;
use turnstone_policy::{Question, Spec, SpecError, catalog};

use crate::backtest::Watch;
use crate::run::RunError;
use crate::web::{self, RecordedWeb, WebKind};
use contest::{Contest, Played};
use standing::Values;

/// The most seeds that one league plays with.
pub const SEEDS_MAX: u64 = 100;

/// What a league is asked with.
#[derive(Clone, Copy, Debug)]
pub struct League {
    /// The first seed.
    pub seed: u64,
    /// How many, at least 1.
    pub seeds: u64,
}

impl Default for League {
    fn default() -> Self {
        Self { seed: 1, seeds: 5 }
    }
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Tables {
    /// The first seed.
    pub seed: u64,
    /// How many seeds.
    pub seeds: u64,
    /// A table for each question that some web could answer.
    pub questions: Vec<Table>,
    /// What could not be asked, and why.
    pub left_out: Vec<LeftOut>,
}

/// The policies that answer one question.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// The question, as `backtest` names it.
    pub question: &'static str,
    /// What is measured, in words.
    pub measure: &'static str,
    /// Whether a smaller value is better.
    pub less_is_better: bool,
    /// Whether values are shares of 1.
    pub is_share: bool,
    /// The webs.
    pub webs: Vec<WebAsked>,
    /// The policies, the best first.
    pub policies: Vec<Standing>,
}

/// A web that a question was asked of.
#[derive(Clone, Debug, Serialize)]
pub struct WebAsked {
    /// Its file or folder, without what stands before it.
    pub web: String,
    /// What nobody can beat there, where that is known.
    pub bound: Option<f64>,
}

/// Where a policy stands.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// Its name.
    pub policy: String,
    /// The mean of its places; 1 if it is the best everywhere.
    pub place: f64,
    /// What it reached, web by web.
    pub results: Vec<Reached>,
    /// Microseconds of computing for each decision, over all webs and seeds.
    pub microseconds: Option<f64>,
}

/// What a policy reached on a web.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reached {
    /// The mean over seeds; none if it did not get there.
    pub value: Option<f64>,
    /// Half the width of the 95 % interval of the mean; none where nothing was drawn or one seed was played.
    pub half_width: Option<f64>,
    /// With how many seeds it was run.
    pub seeds: u64,
}

/// A question that a web could not be asked.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The question.
    pub question: &'static str,
    /// The web.
    pub web: String,
    /// Why.
    pub why: String,
}

impl League {
    /// Plays all questions on all webs; each place is one web.
    pub fn play(&self, places: &[PathBuf], watch: Watch<'_>) -> Result<Tables, RunError> {
        if places.is_empty() {
            return Err(RunError::wrong("web", "name at least one recorded web"));
        }
        if self.seeds == 0 || self.seeds > SEEDS_MAX {
            return Err(RunError::wrong("seeds", format!("from 1 to {SEEDS_MAX}")));
        }
        let mut webs = Vec::new();
        for place in places {
            // Before anything is played: a wrong name is not found out after an hour.
            webs.push((name_of(place), place, web::recognise(place)?));
        }
        let mut tables = Tables {
            seed: self.seed,
            seeds: self.seeds,
            questions: Vec::new(),
            left_out: Vec::new(),
        };
        for contest in contest::ALL {
            let specs = policies(contest.question)?;
            let mut values = Values::of(&specs, contest.less_is_better);
            for (name, place, kind) in &webs {
                if !contest.fits(kind, place) {
                    continue;
                }
                let mut watch = |what: &str, share: f64| {
                    watch(&format!("{} of {name}: {what}", contest.name), share);
                };
                let web = RecordedWeb::at(std::slice::from_ref(*place));
                match self.on(contest, &web, &specs, &mut watch) {
                    Ok(played) => values.add(name, played),
                    // Too few days, no round, no page that is alive: the web has no answer.
                    Err(RunError::Wrong { option, why }) => tables.left_out.push(LeftOut {
                        question: contest.name,
                        web: name.clone(),
                        why: match option {
                            "web" => why,
                            option => format!("{option}: {why}"),
                        },
                    }),
                    Err(error) => return Err(error),
                }
            }
            tables.questions.extend(values.table(contest));
        }
        Ok(tables)
    }

    /// What each policy reached, seed by seed.
    fn on(
        &self,
        contest: &Contest,
        web: &RecordedWeb,
        specs: &[Spec],
        watch: Watch<'_>,
    ) -> Result<Vec<Vec<Played>>, RunError> {
        let mut runs: Vec<Vec<Played>> = vec![Vec::new(); specs.len()];
        let mut playing: Vec<usize> = (0..specs.len()).collect();
        for number in 0..self.seeds {
            let asked: Vec<Spec> = playing.iter().map(|at| specs[*at].clone()).collect();
            let mut watch = |what: &str, share: f64| {
                watch(
                    &format!("{what}, seed {} of {}", number + 1, self.seeds),
                    share,
                );
            };
            let seed = self.seed.wrapping_add(number);
            let played = (contest.play)(web, &asked, seed, &mut watch)?;
            for (at, played) in playing.iter().zip(played) {
                runs[*at].push(played);
            }
            if number > 0 {
                playing.retain(|at| !is_settled(&runs[*at]));
            }
            if playing.is_empty() || !contest.draws {
                break;
            }
        }
        Ok(runs)
    }
}

/// Whether two seeds gave the same: then nothing is drawn.
fn is_settled(runs: &[Played]) -> bool {
    matches!(runs, [first, second] if first.value == second.value)
}

/// Every policy of the catalogue that answers a question, with its defaults.
fn policies(question: Question) -> Result<Vec<Spec>, SpecError> {
    let fitting = catalog::policies().filter(|info| info.answers(question));
    fitting.map(|info| info.name.parse()).collect()
}

fn name_of(place: &std::path::Path) -> String {
    let name = place.file_name().unwrap_or(place.as_os_str());
    let name = name.to_string_lossy();
    let endings = [".jsonl.zst", ".tsv.zst", ".tsv.gz", ".tsv", ".graph"];
    let short = endings.iter().find_map(|ending| name.strip_suffix(ending));
    short.unwrap_or(&name).to_owned()
}

/// Whether a web has a past.
fn has_past(kind: &WebKind) -> bool {
    matches!(
        kind,
        WebKind::History(_) | WebKind::Histories(_) | WebKind::CrawlDirectory(_)
    )
}
