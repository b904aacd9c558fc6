//! `--until`: when a crawl stops.

use super::config::UntilConfig;
use crate::exit::Usage;
use crate::units;

/// Reads goals like `coverage=98%` and `time=1h`.
pub(super) fn parse(goals: &[String]) -> anyhow::Result<UntilConfig> {
    let mut until = UntilConfig::default();
    for goal in goals {
        let wrong = |what: &str| Usage::of("--until", format!("'{goal}': {what}"));
        if goal == "all" {
            until.all = Some(true);
            continue;
        }
        let (name, value) = goal
            .split_once('=')
            .ok_or_else(|| wrong("give a goal like coverage=0.98, pages=1000 or time=1h"))?;
        let number = || units::count(value).map_err(|error| wrong(&error));
        match name {
            "coverage" => {
                until.coverage = Some(units::share(value).map_err(|error| wrong(&error))?);
            }
            "confidence" => {
                until.confidence = Some(units::share(value).map_err(|error| wrong(&error))?);
            }
            "pages" => until.pages = Some(number()?),
            "requests" => until.requests = Some(number()?),
            "bytes" => {
                until.bytes = Some(units::bytes(value).map_err(|error| wrong(&error))?);
            }
            "time" => {
                units::span_ms(value).map_err(|error| wrong(&error))?;
                until.time = Some(value.to_owned());
            }
            _ => {
                let what = "there is no such goal; there are all, coverage, confidence, pages, requests, bytes, time";
                return Err(wrong(what).into());
            }
        }
    }
    Ok(until)
}
