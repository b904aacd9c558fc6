//! `turnstone keep DIR`

mod forecast;
mod pace;
pub(crate) mod slice;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use turnstone_crawl::{Clock, Lists, Parts, Plan, Round, Summary};
use turnstone_fetch::Client;
use turnstone_lab::number::{duration, whole};
use turnstone_ledger::{Ledger, Past, Slice, SliceNote, Until, flips};
use turnstone_pagestore::{Each, Entry, Onward, Position, Store};
use turnstone_policy::{Question, Spec, keep};
use turnstone_questions::Asked;

use super::crawl;
use super::crawl::config::{Config, KeepConfig};
use super::live::news::News;
use super::live::{self, LiveOptions, Watch};
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// What the journal calls these rounds.
pub(crate) const QUESTION: &str = "keep";

/// Keep a store current for ever: one budget for new, changed, undiscovered and lost pages
///
/// Time is cut into slices, each with its budget of requests. The budget of a slice is divided among pages
/// never fetched, stored pages that may have changed, stored pages that may lead to new ones, and pages
/// that were not there, by what a request of each kind has brought in this directory; `turnstone status`
/// shows the split and its reasons. Sitemaps and feeds are pages like any others, and what they say of changes
/// counts for as much as it has proved to be true. Goes on where it was, after a kill too. A line for each
/// slice; when it stops, what happened to which page is listed. With --json a line for each event as it
/// happens, as in `turnstone events`, and a last line about the run. Keys of [keep] in turnstone.toml have the
/// names of the options.
#[derive(Debug, Args)]
pub(crate) struct Keep {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The most requests in a second, as 0.5/s; they are sent that far apart [default: no limit]
    #[arg(long, value_name = "N/s")]
    rate: Option<String>,
    /// The most requests in a day, robots.txt included, as 5000/day; if a rate is given too, the
    /// stricter of both counts [default: 10000/day, or none if a rate is given]
    #[arg(long, value_name = "N/day")]
    budget: Option<String>,
    /// The most requests to one host in a day [default: no limit]
    #[arg(long, value_name = "N/day")]
    host_budget: Option<String>,
    /// How long a slice is; what is left of its budget is not saved up [default: 1h]
    #[arg(long, value_name = "TIME")]
    slice: Option<String>,
    /// The least share of requests for an arm, whatever it brings: coverage, refresh, discovery or retest,
    /// as refresh=20%; several with commas [default: those of the policy]
    #[arg(long, value_name = "ARM=SHARE,…", value_delimiter = ',')]
    floor: Vec<String>,
    /// When to stop, counted from this start: time=8h, requests=N, rounds=N (slices); several with
    /// commas, whichever comes first [default: never]
    #[arg(long, value_name = "WHEN,…", value_delimiter = ',')]
    until: Vec<String>,
    /// How to choose pages (see `turnstone policies keep`) [default: keep]
    #[arg(long, value_name = "SPEC")]
    policy: Option<String>,
    /// Send no request; predict what this budget will bring, from the changes in the directory's history
    #[arg(long)]
    forecast: bool,
    #[command(flatten)]
    options: LiveOptions,
}

impl Keep {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        self.options.listen.begin_log();
        super::shards::refuse(&self.directory, "keep")?;
        let mut config = Config::read(&self.directory)?.unwrap_or_default();
        self.options.over(&mut config);
        let asked = self.over(config.keep.clone());
        let spec = spec(&asked)?;
        let mut pace = pace::pace(&asked)?;
        let goals = pace::goals(&self.until)?;
        pace.rounds = goals.rounds;
        anyhow::ensure!(
            self.directory.join("store/journal").exists(),
            "{}: not a crawl directory; make one with `turnstone crawl` or `turnstone import`",
            self.directory.display()
        );
        if self.forecast {
            forecast::print(&self.directory, &pace, output)?;
            return Ok(Exit::Done);
        }
        if config.contact.is_none() && config.hosts_file.is_none() {
            crawl::need_contact(&crawl::seeds(&config)?)?;
        }
        live::refuse_proxy(&config, &crawl::seeds(&config)?)?;
        let mut store = live::open(&self.directory)?;
        anyhow::ensure!(
            store.index().page_count() > 0,
            "{}: no page is known, so there is nothing to keep; crawl or import first",
            self.directory.display()
        );
        let mut plan = plan(&config, &store)?;
        plan.pace = Some(pace);
        plan.round = Some(Round {
            question: QUESTION.to_owned(),
            budget: pace.budget(0),
        });
        plan.until = Until {
            time: goals.time,
            requests: (goals.requests).map(|more| store.index().tally().requests + more),
            ..Until::default()
        };
        let began = store.end();
        store.write()?;
        let summary = self.carry_out((config, spec), plan, (store, began), output)?;
        self.print(&summary, began, output)?;
        Ok(Exit::Done)
    }

    /// What the file asks for, overruled by flags.
    fn over(&self, mut keep: KeepConfig) -> KeepConfig {
        let over = |value: &mut Option<String>, flag: &Option<String>| {
            if flag.is_some() {
                value.clone_from(flag);
            }
        };
        over(&mut keep.rate, &self.rate);
        over(&mut keep.budget, &self.budget);
        over(&mut keep.host_budget, &self.host_budget);
        over(&mut keep.slice, &self.slice);
        over(&mut keep.policy, &self.policy);
        if !self.floor.is_empty() {
            keep.floor.clone_from(&self.floor);
        }
        keep
    }

    fn carry_out(
        &self,
        (config, spec): (Config, Spec),
        mut plan: Plan,
        (store, began): (Store, Position),
        output: &Output,
    ) -> anyhow::Result<Summary> {
        let asked = Asked {
            random_seed: config.random_seed.unwrap_or(1),
            ..Asked::new(Question::Keep, spec)
        };
        let client = live::client_config(&config, &mut plan)?;
        let clock = Clock::resume(store.index(), self.options.clock_scale());
        let runtime = live::runtime()?;
        let summary = runtime.block_on(async {
            let terms = plan.terms(asked.name(), asked.to_string(), Past::All);
            let archive = live::archive(&self.directory, &store, &config)?;
            let (ledger, _) = Ledger::open(
                store,
                terms,
                false,
                clock.now(),
                |store| flips(store, &plan.scope),
                |store| {
                    asked
                        .make(store)
                        .expect("it was looked at when it was read")
                },
            )?;
            let watch = Watch {
                deliver: self.options.deliver.receivers(&config, &self.directory)?,
                listen: self.options.listen.asked()?,
                upload: config.upload.clone(),
                slice: output.is_text().then(teller),
                news: (!output.is_text()).then_some(began),
                ..Watch::default()
            };
            let parts = Parts {
                ledger,
                client: Client::new(client)?,
                clock,
                archive,
                plan,
            };
            live::drive(parts, &self.directory, watch).await
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        summary
    }

    fn print(&self, summary: &Summary, began: Position, output: &Output) -> anyhow::Result<()> {
        let store = Store::look(&self.directory)?;
        // All that was asked for since, as if it were one slice.
        let mut kept = Slice::default();
        let mut news = News::since(&store, began, output);
        let round = Onward(began, Each(|entry: &Entry<'_>| kept.count(entry)));
        store.fold(&mut (round, &mut news))?;
        let all_in_all = slice::json(&SliceNote {
            slice: kept,
            began_s: 0,
            split: None,
        });
        let mut document = crawl::summary::document(summary, &self.directory);
        let (ended, last) = match &summary.slices {
            Some((ended, note)) => (*ended, slice::json(note)),
            None => (0, Value::Null),
        };
        if let Value::Object(all) = &mut document {
            all.insert("slices".into(), json!(ended));
            all.insert("slice".into(), last.clone());
            for key in ["requests", "new", "changed", "unchanged", "gone", "hints"] {
                all.insert(format!("kept_{key}"), all_in_all[key].clone());
            }
        }
        output.last(&document, || {
            format!(
                "{}: {} slices in {}, {} requests: {}; it ended because {}\n\n{}",
                self.directory.display(),
                whole(ended),
                duration(summary.running.as_secs_f64()),
                whole(kept.requests),
                slice::counts(&all_in_all),
                crawl::verdict::because(summary.stop),
                slice::table(&last),
            ) + &news.table(|_| Vec::new())
        })
    }
}

/// The policy with its floors.
fn spec(asked: &KeepConfig) -> anyhow::Result<Spec> {
    let mut text = asked.policy.clone().unwrap_or_else(|| "keep".to_owned());
    for floor in &asked.floor {
        let wrong = |what: &str| Usage::of("--floor", format!("'{floor}': {what}"));
        let (arm, share) = floor
            .split_once('=')
            .ok_or_else(|| wrong("give an arm and a share, as refresh=20%"))?;
        let known = turnstone_frontier::Arm::ALL;
        if !known.iter().any(|known| known.name() == arm) {
            return Err(wrong("there are coverage, refresh, discovery and retest").into());
        }
        let share = crate::units::part(share).map_err(|error| wrong(&error))?;
        text += if text.contains(':') { "," } else { ":" };
        text += &format!("{arm}={share}");
    }
    let spec: Spec = text.parse()?;
    keep::check(&spec)?;
    Ok(spec)
}

/// What belongs to the crawl, and how gently it is asked. A directory that says nothing of it, as after
/// an import, is kept within the hosts it knows.
fn plan(config: &Config, store: &Store) -> anyhow::Result<Plan> {
    let mut config = config.clone();
    let asked = &config.scope;
    let nothing_asked = config.seeds.is_empty()
        && config.lists.seeds.is_empty()
        && config.lists.include.is_empty()
        && asked.hosts.is_empty()
        && asked.sites.is_empty()
        && asked.prefixes.is_empty()
        && asked.include.is_empty()
        && asked.everywhere != Some(true);
    if nothing_asked {
        let index = store.index();
        let hosts = (0..index.host_count()).map(turnstone_frontier::HostId::from_index);
        config.scope.hosts = hosts.map(|host| index.host_name(host).to_owned()).collect();
    }
    let seeds = crawl::seeds(&config)?;
    let mut plan = crawl::plan(&config, &seeds, false)?;
    plan.lists = Lists::Linked;
    // The simulation saw a day's budget of a host passed by one request where random names are asked for.
    if config.keep.host_budget.is_some() {
        plan.soft404 = None;
    }
    Ok(plan)
}

/// Tells of a slice that ended.
fn teller() -> live::TellSlice {
    Arc::new(|note: &SliceNote| slice::line(&slice::json(note)))
}
