//! `turnstone keep DIR --forecast`: what a budget will bring.

use std::path::Path;

use serde_json::json;
use turnstone_events::ChangeHistory;
use turnstone_lab::number::{duration, short, whole};
use turnstone_ledger::Pace;
use turnstone_pagestore::Store;

use crate::exit::Usage;
use crate::lines::aligned;
use crate::output::Output;

const DAY_S: f64 = 86_400.0;

pub(super) fn print(directory: &Path, pace: &Pace, output: &Output) -> anyhow::Result<()> {
    let store = Store::look(directory)?;
    let hosts = store.index().host_count() as f64;
    let limits = [
        pace.per_day.map(|per_day| per_day as f64),
        pace.per_second.map(|rate| rate * DAY_S),
        pace.host_per_day.map(|per_day| per_day as f64 * hosts),
    ];
    let per_day = limits.into_iter().flatten().reduce(f64::min);
    let nothing = || Usage::of("--budget", "at least 1/day, for a forecast");
    let per_day = per_day
        .filter(|per_day| *per_day > 0.0)
        .ok_or_else(nothing)?;
    let forecast = ChangeHistory::of(&store)?.forecast(per_day);
    let document = json!({
        "directory": directory.display().to_string(),
        "pages": forecast.pages,
        "looked_twice": forecast.looked_twice,
        "requests_per_day": forecast.requests_per_day,
        "turn_days": forecast.turn_days,
        "changes_per_day": forecast.changes_per_day,
        "seen_per_day": forecast.seen_per_day,
        "delay_days": forecast.delay_days,
    });
    output.result(&document, || {
        let amount = |number: Option<f64>| match number {
            Some(number) => format!("{} a day", short(number)),
            None => "unknown: no page was fetched twice".to_owned(),
        };
        aligned(&[
            (
                "requests",
                format!("{} a day at most", whole(per_day as u64)),
            ),
            (
                "pages",
                format!(
                    "{} stored, {} of them fetched more than once",
                    whole(forecast.pages),
                    whole(forecast.looked_twice)
                ),
            ),
            ("even turn", duration(forecast.turn_days * DAY_S)),
            ("changes", amount(forecast.changes_per_day)),
            ("seen", amount(forecast.seen_per_day)),
            (
                "delay",
                format!("{} on the average", duration(forecast.delay_days * DAY_S)),
            ),
        ])
    })
}
