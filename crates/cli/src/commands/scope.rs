//! `turnstone scope DIR`: what belongs to a crawl, told and changed without asking anybody.
//!
//! A change is the next plan in the journal, with the pages that change sides, and the same rules in
//! `turnstone.toml`: whatever runs next goes by it. The journal comes first: a process that dies between the two
//! leaves the older rules, which the next run takes up again.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use turnstone_crawl::Clock;
use turnstone_lab::number::plural;
use turnstone_ledger::rescope;
use turnstone_pagestore::Lock;

use super::crawl;
use super::crawl::config::Config;
use super::live;
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// Tell what belongs to a crawl, or change it: rules are added to those there are
///
/// The crawl must not run. What leaves the scope is not asked for any more and does not count, what was fetched stays;
/// what comes into it waits for the next `turnstone crawl`. Without options the rules are told.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also let in these hosts
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    hosts: Vec<String>,
    /// Also let in these registrable domains, with all their hosts
    #[arg(long, value_name = "DOMAIN,…", value_delimiter = ',')]
    sites: Vec<String>,
    /// Also let in what is below this URL; may be given several times
    #[arg(long, value_name = "URL")]
    prefix: Vec<String>,
    /// Also let in URLs that match this regular expression; may be given several times
    #[arg(long, value_name = "REGEX")]
    include: Vec<String>,
    /// Also keep out URLs that match this regular expression; may be given several times
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<String>,
    /// Take back a rule, spelt as it was given; may be given several times
    #[arg(long, value_name = "RULE")]
    drop: Vec<String>,
    /// The most links from a seed
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
}

impl Scope {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = self.directory.as_path();
        let before = Config::read(directory)?.with_context(|| {
            format!(
                "{}: not a crawl directory; make one with `turnstone crawl`",
                directory.display()
            )
        })?;
        let config = self.changed(before.clone())?;
        let scope = |config: &Config| -> anyhow::Result<_> {
            Ok(crawl::plan(config, &crawl::seeds(config)?, false)?.scope)
        };
        let now = scope(&config)?;
        if config == before {
            let rules = now.to_string();
            output.result(&json!({"scope": rules}), || {
                format!("{}\n", rules.trim_end())
            })?;
            return Ok(Exit::Done);
        }
        if let Some(holder) = Lock::holder(directory) {
            anyhow::bail!(
                "{}: {holder} works in it; end that one (Ctrl-C), change the scope, and start it again: it goes on \
                 where it was",
                directory.display()
            );
        }
        let mut store = live::open(directory)?;
        if store.index().shard().is_some() {
            let what = "a crawl that is cut into shards keeps its scope";
            return Err(Usage::of("DIR", what).into());
        }
        let tick = Clock::resume(store.index(), 1).now();
        let flips = rescope(&mut store, &now, tick)?.unwrap_or_default();
        store.write()?;
        store.syncer().sync()?;
        config.write(directory)?;
        let (came, left) = (flips.inside.len() as u64, flips.outside.len() as u64);
        let rules = now.to_string();
        let document = json!({"scope": rules, "came": came, "left": left});
        output.result(&document, || {
            format!(
                "{} came into the scope, {} left it; the next `turnstone crawl -o {}` goes by it\n{}\n",
                plural(came, "known page"),
                plural(left, "known page"),
                directory.display(),
                rules.trim_end(),
            )
        })?;
        Ok(Exit::Done)
    }

    /// A configuration with the rules added, and others taken back.
    fn changed(&self, mut config: Config) -> anyhow::Result<Config> {
        let lets_in = [&self.hosts, &self.sites, &self.prefix, &self.include];
        let adds = lets_in.iter().any(|rules| !rules.is_empty());
        let asked = &config.scope;
        let bare = asked.hosts.is_empty()
            && asked.sites.is_empty()
            && asked.prefixes.is_empty()
            && asked.include.is_empty()
            && config.lists.include.is_empty()
            && !asked.everywhere.unwrap_or(false);
        if adds && bare {
            // The hosts of the seeds are let in as long as nothing else is said: they stay.
            let seeds = crawl::seeds(&config)?;
            config.scope.hosts = seeds
                .iter()
                .map(|url| turnstone_fetch::urls::host_of(url).to_owned())
                .collect();
            config.scope.hosts.sort();
            config.scope.hosts.dedup();
        }
        let scope = &mut config.scope;
        let lists = [
            (&mut scope.hosts, &self.hosts),
            (&mut scope.sites, &self.sites),
            (&mut scope.prefixes, &self.prefix),
            (&mut scope.include, &self.include),
            (&mut scope.exclude, &self.exclude),
        ];
        let mut dropped = vec![false; self.drop.len()];
        for (rules, more) in lists {
            for (rule, dropped) in self.drop.iter().zip(&mut dropped) {
                let before = rules.len();
                rules.retain(|it| it != rule);
                *dropped |= rules.len() < before;
            }
            for rule in more {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
        if let Some(at) = dropped.iter().position(|dropped| !dropped) {
            let what = format!(
                "'{}': there is no such rule; without options the rules are told",
                self.drop[at]
            );
            return Err(Usage::of("--drop", what).into());
        }
        scope.depth = self.depth.or(scope.depth);
        Ok(config)
    }
}
