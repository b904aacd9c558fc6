//! What advice says to people.

use std::path::Path;

use crate::table::Table;
use turnstone_lab::advise::{ANSWERS_MIN, Advice, Conclusion, LEAST_SHARE, Tried, UNKNOWN_MAX};
use turnstone_lab::number::{duration, percent, whole};
use turnstone_policy::Question;

/// A question in words.
pub(super) fn title(question: Question) -> &'static str {
    match question {
        Question::Coverage => "Coverage: in which order to crawl what matters to the seeds",
        Question::Importance => "Importance: how to learn what matters while crawling",
        Question::Liveness => "Liveness: in which order to look for what is still there",
        Question::Discovery => "Discovery: which known pages to fetch again for the new ones",
        Question::Changes => "Changes: which stored pages to fetch again",
        Question::Keep => "Keep: how to split one budget",
    }
}

/// A figure as its question counts.
fn figure(question: Question, figure: f64) -> String {
    match question {
        _ if !figure.is_finite() => "never".to_owned(),
        Question::Coverage => whole(figure.round() as u64),
        Question::Importance => format!("{figure:.2} %"),
        Question::Liveness => format!("{figure:.2}"),
        Question::Discovery | Question::Changes | Question::Keep => percent(figure),
    }
}

/// What comes of it, in a sentence or two.
pub(super) fn says(advice: &Advice) -> String {
    let shown = |policy: &str| {
        let tried = advice.of(policy);
        tried.map_or_else(String::new, |tried| figure(advice.question, tried.figure))
    };
    let unknown = |policy: &str| {
        let share = advice.of(policy).map_or(0.0, |tried| tried.unknown_share);
        if share > 0.0 {
            format!(" {} of its requests were unknown.", percent(share))
        } else {
            String::new()
        }
    };
    let default = advice.default;
    let mut text = match &advice.verdict {
        Conclusion::Keep { ties, unsure } => {
            let why = match (ties.as_slice(), unsure.as_slice()) {
                ([], []) => "no other does as well".to_owned(),
                ([], _) => "nothing is surely better".to_owned(),
                (ties, _) => format!("no better beyond noise: {}", ties.join(", ")),
            };
            let unsure: Vec<String> = unsure
                .iter()
                .map(|policy| format!("{policy} ({})", shown(policy)))
                .collect();
            let unsure = match unsure.as_slice() {
                [] => String::new(),
                unsure => format!(
                    " Better on the answers there are, but what is unknown could turn that round \
                     (explore to know): {}.",
                    unsure.join(", ")
                ),
            };
            format!(
                "keep {default}, the default ({}): {why}.{unsure}{}",
                shown(default),
                unknown(default)
            )
        }
        Conclusion::Change { policy, runner_up } => {
            let next = if runner_up == default {
                String::new()
            } else {
                format!(", runner-up {runner_up} {}", shown(runner_up))
            };
            format!(
                "use {policy} ({}; the default {default} {}{next}).{}",
                shown(policy),
                shown(default),
                unknown(policy)
            )
        }
        Conclusion::TooThin { why, remedy } => {
            format!("too thin to tell: {why}. To know more, {remedy}.")
        }
    };
    let compared: Vec<&str> = advice
        .tried
        .iter()
        .filter(|tried| !tried.usable)
        .map(|tried| tried.policy.as_str())
        .collect();
    if !compared.is_empty() {
        text += &format!(
            " Only compared: {}, which learn from full recrawls, not from rounds.",
            compared.join(", ")
        );
    }
    if !advice.untried.is_empty() {
        text += &format!(
            " No time for {}; give more with --seconds-max.",
            advice.untried.join(", ")
        );
    }
    text
}

/// The command that follows the advice, if there is any.
pub(super) fn command(advice: &Advice, directory: &Path) -> Option<String> {
    let policy = advice.policy()?;
    let directory = directory.display();
    Some(match advice.question {
        Question::Coverage => format!("turnstone crawl -o {directory} --policy {policy}"),
        Question::Importance => {
            format!("turnstone crawl -o {directory} --policy {policy} --until pages=N")
        }
        Question::Liveness => format!("turnstone revive {directory} --policy {policy}"),
        Question::Discovery => format!("turnstone discover {directory} --policy {policy}"),
        Question::Changes => format!("turnstone refresh {directory} --policy {policy}"),
        Question::Keep => format!("turnstone keep {directory} --policy {policy}"),
    })
}

/// The figures of all that was tried.
pub(super) fn table(advice: &Advice) -> Table {
    let (question, tried) = (advice.question, &advice.tried);
    let has = |what: fn(&Tried) -> bool| tried.iter().any(what);
    let seeds = has(|one| one.error > 0.0);
    let halves = has(|one| !one.halves.is_empty());
    let unknown = has(|one| one.unknown_share > 0.0);
    let chance = has(|one| one.by_chance.is_some());
    let mut titles = vec!["policy", "#figure"];
    titles.extend(seeds.then_some("#±"));
    titles.extend(halves.then_some("#in each half"));
    titles.push("#answers");
    titles.extend(unknown.then_some("#unknown"));
    titles.extend(unknown.then_some("#from to"));
    titles.extend(chance.then_some("#by chance"));
    titles.push("#computing");
    let mut table = Table::new(&titles);
    let show = |number: f64| figure(question, number);
    let dash = || "-".to_owned();
    for one in tried {
        let mut row = vec![one.policy.clone(), show(one.figure)];
        row.extend(seeds.then(|| show(one.error)));
        row.extend(halves.then(|| match one.halves.as_slice() {
            [first, second] => format!("{}, {}", show(*first), show(*second)),
            _ => dash(),
        }));
        row.push(whole(one.answers.round() as u64));
        if unknown {
            row.push(percent(one.unknown_share));
            row.push(one.between.map_or_else(dash, |(low, high)| {
                format!("{} to {}", show(low), show(high))
            }));
        }
        row.extend(chance.then(|| one.by_chance.map_or_else(dash, show)));
        row.push(duration(one.seconds));
        table.row(row);
    }
    table
}

/// The rule in words.
pub(super) fn rule() -> String {
    format!(
        "A policy is better than another if its figure is better by at least {} of the lesser one, \
         by more than twice the standard error of the difference over seeds, in both halves of the \
         history, and whatever the unknown answers are: by logged chances where there are enough, \
         else at its worst against the other's best. If none is better than the default, which \
         stands first, it is kept; else the first of the table of those better than it, than which \
         none of them is better. With fewer than {ANSWERS_MIN} answers, or more than {} of the \
         requests unknown, a policy is not judged.",
        percent(LEAST_SHARE),
        percent(UNKNOWN_MAX),
    )
}
