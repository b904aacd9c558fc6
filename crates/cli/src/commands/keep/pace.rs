//! `--rate`, `--budget`, `--host-budget`, `--slice` and `--until` of `turnstone keep`.

use std::time::Duration;

use turnstone_ledger::Pace;

use crate::commands::crawl::config::KeepConfig;
use crate::exit::Usage;
use crate::units::{DAY_MS, count, rate, span_ms};

/// Requests a day when nothing is said: one every nine seconds, over all hosts.
const PER_DAY: u64 = 10_000;
/// How long a slice is when nothing is said.
const SLICE: &str = "1h";
/// The shortest slice: shorter ones would be all beginnings and ends.
const SLICE_MS_MIN: u64 = 1000;

/// How fast the crawl may go.
pub(super) fn pace(asked: &KeepConfig) -> Result<Pace, Usage> {
    let slice = asked.slice.as_deref().unwrap_or(SLICE);
    let slice_ms = span_ms(slice).map_err(|error| Usage::of("--slice", error))?;
    if slice_ms < SLICE_MS_MIN {
        return Err(Usage::of("--slice", "at least 1s"));
    }
    let per_second = match &asked.rate {
        None => None,
        Some(text) => {
            let rate = rate(text, "s").map_err(|error| Usage::of("--rate", error))?;
            Some(rate.per(1000.0))
        }
    };
    let per_day = |option: &str, text: &str| {
        let rate = rate(text, "day").map_err(|error| Usage::of(option, error))?;
        let number = rate.per(DAY_MS);
        if number.fract() != 0.0 {
            return Err(Usage::of(
                option,
                format!("'{text}': give a whole number a day, as 5000/day"),
            ));
        }
        Ok(number as u64)
    };
    let budget = asked.budget.as_deref();
    let host_budget = asked.host_budget.as_deref();
    Ok(Pace {
        slice_ms,
        per_second,
        per_day: match budget {
            Some(text) => Some(per_day("--budget", text)?),
            None if per_second.is_some() => None,
            None => Some(PER_DAY),
        },
        host_per_day: host_budget
            .map(|text| per_day("--host-budget", text))
            .transpose()?,
        rounds: None,
    })
}

/// When to stop, counted from this start.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Goals {
    pub(super) time: Option<Duration>,
    pub(super) requests: Option<u64>,
    pub(super) rounds: Option<u64>,
}

/// Reads goals like `rounds=24`.
pub(super) fn goals(asked: &[String]) -> Result<Goals, Usage> {
    let mut goals = Goals::default();
    for goal in asked {
        let wrong = |what: &str| Usage::of("--until", format!("'{goal}': {what}"));
        let (name, value) = goal
            .split_once('=')
            .ok_or_else(|| wrong("give time=8h, requests=N or rounds=N"))?;
        let number = || count(value).map_err(|error| wrong(&error));
        match name {
            "requests" => goals.requests = Some(number()?),
            "rounds" => goals.rounds = Some(number()?),
            "time" => {
                let ms = span_ms(value).map_err(|error| wrong(&error))?;
                goals.time = Some(Duration::from_millis(ms));
            }
            _ => return Err(wrong("there are time, requests and rounds")),
        }
    }
    Ok(goals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rate: &str, budget: &str, slice: &str, expected: &str) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let asked = KeepConfig {
            rate: some(rate),
            budget: some(budget),
            slice: some(slice),
            ..KeepConfig::default()
        };
        let said = match pace(&asked) {
            Ok(pace) => format!("{} in {} s", pace.budget(0), pace.slice_ms / 1000),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn the_stricter_binds_and_nonsense_is_refused() {
        check("", "", "", "416 in 3600 s");
        check("2/s", "", "", "7200 in 3600 s");
        check("0.5/s", "", "10m", "300 in 600 s");
        check("2/s", "24000/day", "", "1000 in 3600 s");
        check("6/min", "1000/hour", "", "360 in 3600 s");
        check("", "100/hour", "", "100 in 3600 s");
        check("0.1/s", "24000/d", "", "360 in 3600 s");
        check("", "48_000", "30m", "1000 in 1800 s");
        let rate = "--rate: 'fast' is not a rate; give one like 0.5/s, 100/hour or 5000/day";
        check("fast", "", "", rate);
        let budget = "--budget: '0/day' is not a rate; give one like 0.5/s, 100/hour or 5000/day";
        check("", "0/day", "", budget);
        let part = "--budget: '1.5/day': give a whole number a day, as 5000/day";
        check("", "1.5/day", "", part);
        check("", "", "5ms", "--slice: at least 1s");
    }

    #[test]
    fn goals_are_read() {
        let texts = ["rounds=3", "requests=1_000", "time=2h"].map(str::to_owned);
        let expected = Goals {
            time: Some(Duration::from_secs(7200)),
            requests: Some(1000),
            rounds: Some(3),
        };
        assert_eq!(goals(&texts).unwrap(), expected);
        for text in ["rounds", "rounds=0", "pages=3", "time=soon"] {
            assert!(goals(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
