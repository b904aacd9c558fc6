//! The rule that turns figures into a recommendation.

use serde::Serialize;
use turnstone_policy::Question;

/// The least difference that matters, as a share of the lesser figure.
pub const LEAST_SHARE: f64 = 0.02;

/// The largest share of unknown answers with which a policy is judged.
pub const UNKNOWN_MAX: f64 = 0.5;

/// The fewest answers with which a policy is judged.
pub const ANSWERS_MIN: f64 = 30.0;

/// Which of two figures is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// The larger one.
    Higher,
    /// The smaller one.
    Lower,
}

/// What came of one policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tried {
    /// Its spec.
    pub policy: String,
    /// Its figure, on the answers there are.
    pub figure: f64,
    /// The standard error of the figure over seeds; 0 where nothing hangs on chance.
    pub error: f64,
    /// The figure in each half of the history; empty where it has none.
    pub halves: Vec<f64>,
    /// The figure if all unknown answers were the worse, and if all were the better ones.
    pub between: Option<(f64, f64)>,
    /// The figure by logged chances, where enough was looked at by chance.
    pub by_chance: Option<f64>,
    /// Answers that the figure rests on, in one run.
    pub answers: f64,
    /// The share of requests that the record could not answer.
    pub unknown_share: f64,
    /// Whether the live command can use what the policy learnt from; if not it is only compared.
    pub usable: bool,
    /// Seconds of computing.
    pub seconds: f64,
}

/// What comes of all figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Conclusion {
    /// The default is as good as any.
    Keep {
        /// Policies whose figures do not differ from the default's by more than noise.
        ties: Vec<String>,
        /// Policies that do better on the answers there are, but what is unknown could turn that
        /// round.
        unsure: Vec<String>,
    },
    /// Another policy is better.
    Change {
        /// Which.
        policy: String,
        /// The best of the others.
        runner_up: String,
    },
    /// The history does not tell.
    TooThin {
        /// Why not.
        why: String,
        /// What would help.
        remedy: String,
    },
}

impl Better {
    /// By how much one figure is better than another.
    fn gain(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Higher => a - b,
            Self::Lower => b - a,
        }
    }
}

impl Tried {
    /// The figure if all unknown answers were the worst, and if all were the best.
    fn extremes(&self, better: Better) -> (f64, f64) {
        let (low, high) = self.between.unwrap_or((self.figure, self.figure));
        match better {
            Better::Higher => (low, high),
            Better::Lower => (high, low),
        }
    }
}

/// Whether one policy is better than another, beyond what noise explains, whatever is unknown: by
/// logged chances where both have a figure by them, else at worst against the other's best.
fn is_better(a: &Tried, b: &Tried, better: Better) -> bool {
    let surely = match (a.by_chance, b.by_chance) {
        (Some(a), Some(b)) => better.gain(a, b) > 0.0,
        _ => better.gain(a.extremes(better).0, b.extremes(better).1) > 0.0,
    };
    surely && looks_better(a, b, better)
}

/// Whether one policy is better than another on the answers there are, beyond what noise explains.
fn looks_better(a: &Tried, b: &Tried, better: Better) -> bool {
    let gain = |a: f64, b: f64| better.gain(a, b);
    let difference = gain(a.figure, b.figure);
    let least = LEAST_SHARE * a.figure.abs().min(b.figure.abs());
    let noise = 2.0 * a.error.hypot(b.error);
    let mut halves = a.halves.iter().zip(&b.halves);
    // Something never reached is worse than anything reached.
    difference > 0.0
        && (difference.is_infinite() || difference >= least && difference > noise)
        && halves.all(|(a, b)| gain(*a, *b) > 0.0)
}

/// What to do about a question, given what was tried: the default first.
pub fn decide(tried: &[Tried], better: Better, question: Question) -> Conclusion {
    let Some(default) = tried.first() else {
        return thin("nothing was tried", question);
    };
    if default.answers < ANSWERS_MIN {
        let why = format!(
            "the record answers only {} of the requests that {} would make, and fewer than {} \
             tell nothing",
            default.answers.round(),
            default.policy,
            ANSWERS_MIN
        );
        return thin(&why, question);
    }
    if default.unknown_share > UNKNOWN_MAX {
        let why = format!(
            "{:.0} % of what {} asks for was never looked at when it asks",
            100.0 * default.unknown_share,
            default.policy
        );
        return thin(&why, question);
    }
    let fit: Vec<&Tried> = tried
        .iter()
        .filter(|one| one.usable && one.answers >= ANSWERS_MIN && one.unknown_share <= UNKNOWN_MAX)
        .collect();
    let better_ones = fit.iter().filter(|one| is_better(one, default, better));
    let better_ones: Vec<&&Tried> = better_ones.collect();
    let unbeaten = |one: &&&&Tried| {
        let mut others = better_ones.iter();
        !others.any(|other| is_better(other, one, better))
    };
    // The best figure is beaten by none, so there is one if any is better.
    let Some(chosen) = better_ones.iter().find(unbeaten) else {
        let named = |wanted: &dyn Fn(&Tried) -> bool| {
            let others = fit.iter().filter(|other| other.policy != default.policy);
            let wanted = others.filter(|other| wanted(other));
            wanted.map(|other| other.policy.clone()).collect()
        };
        return Conclusion::Keep {
            ties: named(&|other| {
                !looks_better(default, other, better) && !looks_better(other, default, better)
            }),
            unsure: named(&|other| looks_better(other, default, better)),
        };
    };
    let others = fit.iter().filter(|other| other.policy != chosen.policy);
    let runner_up = others.max_by(|a, b| match better {
        Better::Higher => a.figure.total_cmp(&b.figure),
        Better::Lower => b.figure.total_cmp(&a.figure),
    });
    Conclusion::Change {
        policy: chosen.policy.clone(),
        runner_up: runner_up.map_or_else(String::new, |one| one.policy.clone()),
    }
}

/// The history does not tell, and what would help.
pub(super) fn thin(why: &str, question: Question) -> Conclusion {
    let remedy = match question {
        Question::Coverage | Question::Importance => {
            "crawl more of what is known with `turnstone crawl`"
        }
        Question::Liveness => "look again at more pages with `turnstone revive`",
        Question::Discovery => {
            "run `turnstone discover` a few times with some days between, with `--explore 20%` so \
             that pages are tried that the policy would pass over"
        }
        Question::Changes => {
            "run `turnstone refresh` a few times with some days between, with `--explore 20%` so \
             that pages are tried that the policy would pass over"
        }
        Question::Keep => "try policies on recorded sites with `turnstone backtest keep`",
    };
    Conclusion::TooThin {
        why: why.to_owned(),
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(policy: &str, figure: f64, error: f64, halves: &[f64]) -> Tried {
        Tried {
            policy: policy.to_owned(),
            figure,
            error,
            halves: halves.to_vec(),
            answers: 100.0,
            usable: true,
            ..Tried::default()
        }
    }

    fn check(tried: &[Tried], better: Better, expected: &str) {
        let told = match decide(tried, better, Question::Changes) {
            Conclusion::Keep { ties, unsure } => {
                format!(
                    "keep, as good: {}{}",
                    ties.join(" "),
                    unsure.join(" perhaps ")
                )
            }
            Conclusion::Change { policy, runner_up } => format!("{policy} before {runner_up}"),
            Conclusion::TooThin { why, .. } => format!("thin: {why}"),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn only_what_is_more_than_noise_is_better() {
        let default = tried("d", 0.5, 0.0, &[]);
        let better = tried("b", 0.6, 0.0, &[]);
        check(
            &[default.clone(), better.clone()],
            Better::Higher,
            "b before d",
        );
        check(&[default.clone(), better], Better::Lower, "keep, as good: ");
        // Too little, within the noise of seeds, or in one half only.
        for other in [
            tried("o", 0.509, 0.0, &[]),
            tried("o", 0.6, 0.06, &[]),
            tried("o", 0.6, 0.0, &[0.4, 0.8]),
        ] {
            let mut default = default.clone();
            default.halves = if other.halves.is_empty() {
                Vec::new()
            } else {
                vec![0.5, 0.5]
            };
            check(&[default, other], Better::Higher, "keep, as good: o");
        }
    }

    #[test]
    fn of_equals_the_one_named_first_is_taken() {
        let all = [
            tried("d", 0.4, 0.0, &[]),
            tried("cheap", 0.6, 0.01, &[]),
            tried("dear", 0.61, 0.01, &[]),
        ];
        check(&all, Better::Higher, "cheap before dear");
        let mut only_compared = all.clone();
        only_compared[1].usable = false;
        check(&only_compared, Better::Higher, "dear before d");
    }

    #[test]
    fn what_never_got_there_is_worse_than_what_did() {
        let all = [
            tried("d", f64::INFINITY, 0.0, &[]),
            tried("b", 700.0, 0.0, &[]),
        ];
        check(&all, Better::Lower, "b before d");
    }

    #[test]
    fn what_is_unknown_may_not_turn_it_round() {
        let between = |tried: Tried, low, high| Tried {
            between: Some((low, high)),
            ..tried
        };
        let default = between(tried("d", 0.4, 0.0, &[]), 0.3, 0.5);
        let better = tried("b", 0.6, 0.0, &[]);
        let surely = between(better.clone(), 0.55, 0.7);
        check(
            &[default.clone(), surely.clone()],
            Better::Higher,
            "b before d",
        );
        let unsure = between(better, 0.45, 0.7);
        let verdict = decide(
            &[default.clone(), unsure.clone()],
            Better::Higher,
            Question::Changes,
        );
        let kept = Conclusion::Keep {
            ties: Vec::new(),
            unsure: vec!["b".to_owned()],
        };
        assert_eq!(verdict, kept);
        // By chance it is known better, or not.
        for (chance, expected) in [(0.6, true), (0.3, false)] {
            let by_chance = |tried: &Tried, chance| Tried {
                by_chance: Some(chance),
                ..tried.clone()
            };
            let tried = [by_chance(&default, 0.4), by_chance(&unsure, chance)];
            let verdict = decide(&tried, Better::Higher, Question::Changes);
            assert_eq!(matches!(verdict, Conclusion::Change { .. }), expected);
        }
    }

    #[test]
    fn at_worst_is_at_most_where_lower_is_better() {
        let between = |tried: Tried, low, high| Tried {
            between: Some((low, high)),
            ..tried
        };
        let default = between(tried("d", 10.0, 0.0, &[]), 8.0, 12.0);
        for (high, expected) in [(7.0, true), (9.0, false)] {
            let other = between(tried("b", 6.0, 0.0, &[]), 5.0, high);
            let verdict = decide(&[default.clone(), other], Better::Lower, Question::Changes);
            assert_eq!(
                matches!(verdict, Conclusion::Change { .. }),
                expected,
                "{high}"
            );
        }
    }

    #[test]
    fn the_best_of_the_better_ones_is_taken_and_named_with_the_next() {
        let all = [("d", 10.0), ("good", 7.0), ("best", 5.0), ("worse", 12.0)];
        let lower = all.map(|(policy, figure)| tried(policy, figure, 0.0, &[]));
        check(&lower, Better::Lower, "best before good");
        let higher = all.map(|(policy, figure)| tried(policy, 20.0 - figure, 0.0, &[]));
        check(&higher, Better::Higher, "best before good");
    }

    #[test]
    fn others_of_which_little_is_known_are_not_taken() {
        let default = tried("d", 0.5, 0.0, &[]);
        let better = tried("b", 0.9, 0.0, &[]);
        let few = Tried {
            answers: 12.0,
            ..better.clone()
        };
        let unknown = Tried {
            unknown_share: 0.8,
            ..better
        };
        for other in [few, unknown] {
            check(&[default.clone(), other], Better::Higher, "keep, as good: ");
        }
    }

    #[test]
    fn too_few_answers_tell_nothing() {
        let mut few = tried("d", 0.5, 0.0, &[]);
        few.answers = 12.0;
        let why = "thin: the record answers only 12 of the requests that d would make, and fewer \
                   than 30 tell nothing";
        check(
            &[few.clone(), tried("b", 0.9, 0.0, &[])],
            Better::Higher,
            why,
        );
        few.answers = 100.0;
        few.unknown_share = 0.8;
        let why = "thin: 80 % of what d asks for was never looked at when it asks";
        check(&[few], Better::Higher, why);
    }
}
