//! `turnstone robots FILE|URL --agent A URL…`

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use turnstone_fetch::robots::Rules;
use turnstone_fetch::urls;

use super::ask::{self, AGENT, Asking};
use crate::exit::Exit;
use crate::output::Output;

/// The longest crawl-delay that is granted here.
const CRAWL_DELAY_CAP: Duration = Duration::from_secs(300);

/// Say which URLs a robots.txt allows, and the line that decides.
#[derive(Debug, Args)]
pub(crate) struct Robots {
    /// A robots.txt file, or the URL of one
    robots: String,
    /// The URLs or paths to check
    urls: Vec<String>,
    /// The crawler's product token
    #[arg(long, default_value = AGENT)]
    agent: String,
    #[command(flatten)]
    asking: Asking,
}

impl Robots {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let bytes = self.read()?;
        let rules = Rules::parse(&bytes, &self.agent);
        let verdicts: Vec<_> = self
            .urls
            .iter()
            .map(|text| {
                let path = path_of(text);
                let verdict = rules.check(&path);
                json!({
                    "url": urls::shown(text),
                    "allowed": verdict.allowed,
                    "line": verdict.line.map(|line| line.number),
                    "text": verdict.line.map(|line| line.text.to_string()),
                    "verdict": verdict.to_string(),
                })
            })
            .collect();
        let delay = rules.crawl_delay(CRAWL_DELAY_CAP);
        let json = json!({
            "robots": self.robots,
            "agent": self.agent,
            "named": rules.names_us(),
            "rules": rules.rule_count(),
            "html": rules.is_html(),
            "crawl_delay_seconds": delay.map(|delay| delay.asked.as_secs_f64()),
            "sitemaps": rules.sitemaps().collect::<Vec<_>>(),
            "verdicts": verdicts,
        });
        output.result(&json, || {
            let group = if rules.names_us() {
                "its own group"
            } else {
                "the group of *"
            };
            let mut text = format!(
                "{} rules for {} ({group})\n",
                rules.rule_count(),
                self.agent
            );
            if rules.is_html() {
                text.push_str("this is an HTML page, not a robots.txt: it has no rules\n");
            }
            if let Some(delay) = delay {
                let capped = if delay.is_capped() {
                    ", more than we grant"
                } else {
                    ""
                };
                text.push_str(&format!(
                    "crawl-delay {} s{capped}\n",
                    delay.asked.as_secs_f64()
                ));
            }
            for sitemap in rules.sitemaps() {
                text.push_str(&format!("sitemap {sitemap}\n"));
            }
            for verdict in &verdicts {
                let part = |name: &str| verdict[name].as_str().unwrap_or("").to_owned();
                text.push_str(&format!("{}: {}\n", part("url"), part("verdict")));
            }
            text
        })?;
        Ok(Exit::Done)
    }

    fn read(&self) -> anyhow::Result<Vec<u8>> {
        let Some(url) = ask::web_address(&self.robots) else {
            return fs::read(&self.robots)
                .with_context(|| format!("{}: cannot be read", self.robots));
        };
        ask::run(async {
            let (client, _) = self.asking.client(&url)?;
            let (url, response) = ask::landed(ask::follow(&client, url).await)?;
            anyhow::ensure!(
                (200..300).contains(&response.status),
                "{url}: the server answered {}; with 4xx everything may be fetched, with 5xx nothing",
                response.status
            );
            Ok(response.decoded(client.limits()).body.into_owned())
        })
    }
}

/// The path and query of a URL; a path is taken as it is.
fn path_of(text: &str) -> String {
    ask::web_address(text).map_or_else(
        || text.to_owned(),
        |url| match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        },
    )
}
