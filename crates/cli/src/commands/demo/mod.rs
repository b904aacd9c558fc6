//! `turnstone demo`: a real crawl in one command, without a network.
//!
//! A made-up web is served on loopback by threads of this process, and crawled by the crawl that
//! `turnstone crawl` is, through nothing but HTTP. Both sides speak at the end: the crawl says what it
//! proved, the server whether it was asked politely.

mod folder;
mod web;

/// What tells the folder of a demo.
pub(crate) use folder::NOTE as MARK;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use turnstone_crawl::Summary;
use turnstone_frontier::PageId;
use turnstone_lab::number::{percent, whole};
use turnstone_lab::serve::{Handle, Summary as Served};

use self::web::DemoWeb;
use super::crawl::config::{Config, PolitenessConfig, ScopeConfig, UntilConfig};
use super::crawl::{self, Order, summary};
use super::directory::Directory;
use super::live;
use super::serve::ListenOptions;
use crate::exit::Exit;
use crate::output::Output;

/// The share of the personalised PageRank that is to be proven.
const COVERAGE: f64 = 0.9;
/// The least time between two requests to a host, for the crawl and for the judge.
const DELAY_MS: u64 = 50;
/// Longer than this nobody watches.
const TIME_MAX: &str = "60s";
/// Impolite requests that are shown.
const VIOLATIONS_SHOWN: usize = 5;

/// Serve a made-up web on loopback, crawl it live, and show the result
///
/// The web has dead links, redirects, a directory that robots.txt forbids and a slow host; the
/// server judges whether it is asked politely. The crawl runs until 90 % of the personalised
/// PageRank around its seeds is proven to be in the store, some twenty seconds. Nothing leaves this
/// machine.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The crawl directory; an earlier demo there is replaced
    #[arg(short, long, value_name = "DIR", default_value = "demo")]
    output: PathBuf,
    /// How many pages the web has
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(100..=20_000))]
    pages: u32,
    /// Replace the crawl in DIR even if it is not a demo's
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    listen: ListenOptions,
}

impl Demo {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        self.listen.begin_log();
        let directory = self.output.as_path();
        folder::make_ready(directory, self.force)?;
        let web = DemoWeb::make(self.pages)?;
        web.write(directory)?;
        let handle = web.serve(DELAY_MS)?;
        folder::write_hosts(directory, &handle)?;
        let mut config = config(web.seeds(&handle));
        config.hosts_file = Some(live::absolute(&directory.join(folder::HOSTS)));
        output.note(&format!(
            "{} pages with {} links on {} hosts, 127.1.0.1 and up; crawling them politely ({DELAY_MS} ms \
             between two requests to a host) until {} is proven",
            whole(web.pages()),
            whole(web.links()),
            whole(handle.site_count() as u64),
            percent(COVERAGE),
        ));
        let order = Order {
            directory,
            config: &config,
            clock_scale: 1,
            receivers: Vec::new(),
            listen: self.listen.asked()?,
            again: false,
            tries: None,
        };
        let (summary, until) = crawl::carry_out(order, output)?;
        let shown = Shown {
            directory,
            summary: &summary,
            served: handle.summary(),
            report: Some(directory.join("reports/crawl.html")).filter(|file| file.exists()),
            puzzle: puzzle(directory)?,
        };
        output.result(&shown.json(&web, &handle), || shown.text())?;
        for violation in handle.violations().iter().take(VIOLATIONS_SHOWN) {
            output.note(&format!("turnstone: {violation}"));
        }
        if shown.served.violations > 0 {
            return Ok(Exit::Failed);
        }
        Ok(crawl::exit(&summary, until.coverage, output))
    }
}

/// What is asked of the crawl. No contact: so only loopback may be asked.
fn config(seeds: Vec<String>) -> Config {
    Config {
        seeds,
        policy: Some("rankmass".to_owned()),
        // This machine alone, on whatever port was free.
        allow_private: Some("127.0.0.0/8".to_owned()),
        until: UntilConfig {
            coverage: Some(COVERAGE),
            time: Some(TIME_MAX.to_owned()),
            ..UntilConfig::default()
        },
        politeness: PolitenessConfig {
            delay: Some(format!("{DELAY_MS}ms")),
            open: Some(1),
            ..PolitenessConfig::default()
        },
        scope: ScopeConfig {
            everywhere: Some(true),
            ..ScopeConfig::default()
        },
        ..Config::default()
    }
}

/// A page that makes one ask why: the first that robots.txt forbids, else the first of all.
fn puzzle(directory: &Path) -> anyhow::Result<String> {
    let looked = Directory::look(directory)?;
    let pages = looked.store.index().page_count();
    for page in (0..pages).map(PageId::from_index) {
        if looked.fate(page)?.0 == "robots" {
            return looked.url(page);
        }
    }
    looked.url(PageId(0))
}

/// What is shown at the end.
struct Shown<'a> {
    directory: &'a Path,
    summary: &'a Summary,
    served: Served,
    /// None if it was interrupted.
    report: Option<PathBuf>,
    puzzle: String,
}

impl Shown<'_> {
    fn json(&self, web: &DemoWeb, handle: &Handle) -> Value {
        json!({
            "web": {"pages": web.pages(), "links": web.links(), "hosts": handle.site_count()},
            "goal": COVERAGE,
            "crawl": summary::document(self.summary, self.directory),
            "server": {
                "requests": self.served.requests,
                "by_status": self.served.by_status,
                "violations": self.served.violations,
            },
            "report": self.report.as_ref().map(|file| file.display().to_string()),
            "puzzle": self.puzzle,
        })
    }

    fn text(&self) -> String {
        let program = crate::caller::arguments().into_iter().next();
        let program = program.unwrap_or_else(|| "turnstone".to_owned());
        let directory = self.directory.display();
        let open = self.report.as_ref().map_or_else(String::new, |file| {
            format!("Open {} to see the crawl.\n", file.display())
        });
        format!(
            "{}\nThe server saw {} requests, {} of them impolite.\n{open}\n\
             Try next:\n  {program} status {directory}\n  {program} why {directory} {}\n  \
             {program} crawl https://example.org/ -o mycrawl --contact you@example.org\n",
            summary::text(self.summary, None, self.directory),
            whole(self.served.requests),
            whole(self.served.violations),
            self.puzzle,
        )
    }
}
