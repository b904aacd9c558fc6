//! What a server asks of the commands: `why`, `diff` and `report`, and the budgets of `turnstone.toml`.

use std::path::Path;

use turnstone_server::{Answers, Compared, Limits, Told};

use crate::commands::crawl::config::Config;
use crate::commands::{diff, report, why};
use crate::units::span_ms;

/// Answers as the commands do.
pub(crate) struct Answering;

impl Answers for Answering {
    fn limits(&self, directory: &Path) -> Limits {
        let config = Config::read(directory).ok().flatten().unwrap_or_default();
        let until = config.until;
        Limits {
            pages: until.pages,
            requests: until.requests,
            bytes: until.bytes,
            seconds: until
                .time
                .and_then(|time| Some(span_ms(&time).ok()? / 1000)),
        }
    }

    fn why(&self, directory: &Path, url: &str) -> Result<Told, String> {
        let told = why::tell(directory, url);
        told.map(|(json, text)| Told { json, text })
            .map_err(|error| format!("{error:#}"))
    }

    fn diff(&self, directory: &Path, url: &str, at_ms: Option<u64>) -> Result<Compared, String> {
        diff::last(directory, url, at_ms).map_err(|error| format!("{error:#}"))
    }

    fn report(&self, directory: &Path) -> Result<String, String> {
        report::html(directory).map_err(|error| format!("{error:#}"))
    }
}
