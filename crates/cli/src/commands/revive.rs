//! `turnstone revive DIR|URLS|WEB`

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use serde_json::{Value, json};
use turnstone_crawl::ALIVE;
use turnstone_fetch::soft404::SoftOptions;
use turnstone_fetch::urls::host_of;
use turnstone_frontier::{Chance, Event, Fault, Links, PageId, Policy, Ranking, Tick};
use turnstone_lab::number::{percent, whole};
use turnstone_ledger::{Stop, Until};
use turnstone_pagestore::{Entry, Fold, Onward, Outcome, Settled, Store, StoreError, Written};
use turnstone_policy::liveness::{
    self, AliveEstimate, Confidence, Enough, LivenessPolicy, SampleSize,
};
use turnstone_policy::{Question, Spec};
use turnstone_questions::{Asked, begin_survey, end_survey, last_survey};

use super::crawl;
use super::crawl::config::Config;
use super::crawl::verdict;
use super::import::{Import, Other};
use super::live::news::News;
use super::live::{LiveOptions, RoundOrder, Watch, ask};
use crate::exit::{Exit, Usage};
use crate::files::write_whole;
use crate::output::Output;

/// Find what is still alive of an old crawl, with the fewest requests
///
/// Asks for heads, and for bodies only where a verdict needs one; tells pages that are gone although
/// the server says 200 by comparing with a random sibling. A survey that was stopped goes on where
/// it was. An old crawl that is no crawl directory yet is imported into one first. At the end the first
/// verdicts are listed, and all are in a file; with --json a line for each as it comes, as in
/// `turnstone events`, and a last line about the survey.
#[derive(Debug, Args)]
pub(crate) struct Revive {
    /// A crawl directory, or an old crawl as `turnstone import` takes it: a list of URLs, WARC files, CDX,
    /// a graph with URLs, a site history, or a folder of them
    #[arg(value_name = "DIR|URLS|WEB")]
    old: PathBuf,
    /// The crawl directory that an old crawl is imported into, made if it is not there
    /// [default: its name with -revive, in this folder]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// In which order to ask (see `turnstone policies liveness`)
    #[arg(long, default_value = "tree", value_name = "SPEC")]
    policy: String,
    /// How many pages are tested first, at random, by policies that learn from a sample: a number or
    /// a share such as 2%
    #[arg(long, default_value = "2%", value_name = "SIZE")]
    sample: SampleSize,
    /// When to stop: alive=0.9 (this share of all pages alive is found, at the confidence asked
    /// for), requests=N; whichever comes first [default: when every page was tested]
    #[arg(long, value_name = "GOAL,…", value_delimiter = ',')]
    until: Vec<String>,
    /// The confidence of estimates
    #[arg(long, default_value_t = 0.95)]
    confidence: f64,
    /// Where the verdicts go, a line a page [default: DIR/revived.tsv]
    #[arg(long, value_name = "FILE")]
    verdicts: Option<PathBuf>,
    #[command(flatten)]
    options: LiveOptions,
}

/// What the policy knows, for those who look on.
#[derive(Clone, Debug, Default)]
struct Known {
    alive: u64,
    gone: u64,
    estimate: Option<AliveEstimate>,
}

impl Known {
    /// About how many of all pages are alive, at least and at most: by the sample, within what is
    /// known of the others.
    fn estimated(&self, pages: u64, confidence: Confidence) -> Option<(f64, u64, u64)> {
        let (least, most) = (self.alive, pages.saturating_sub(self.gone).max(self.alive));
        let estimate = self.estimate.as_ref()?;
        let (low, high) = estimate.interval(confidence);
        let about = estimate.alive().clamp(least as f64, most as f64);
        Some((about, low.clamp(least, most), high.clamp(least, most)))
    }
}

/// A policy that lets others look on.
struct Watched {
    inner: Box<dyn LivenessPolicy>,
    known: Arc<Mutex<Known>>,
}

impl Policy for Watched {
    fn observe(&mut self, event: &Event<'_>, now: Tick, links: &dyn Links, ranking: &mut Ranking) {
        self.inner.observe(event, now, links, ranking);
        let tally = self.inner.tally();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known {
            alive: tally.alive,
            gone: tally.gone,
            estimate: self.inner.estimate(),
        };
    }

    fn chance(&self, page: PageId, ranking: &Ranking) -> Chance {
        self.inner.chance(page, ranking)
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.inner.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        self.inner.restore(saved)
    }
}

impl Revive {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let spec: Spec = self.policy.parse()?;
        spec.find(Question::Liveness)?;
        liveness::check(&spec)?;
        let confidence = Confidence::new(self.confidence)
            .ok_or_else(|| Usage::of("--confidence", "must be above 0.5 and below 1"))?;
        let (enough, requests) = self.goals(confidence)?;
        self.need_contact()?;
        let (directory, imported) = self.bring_in(output)?;
        let stored = Store::look(&directory)?.index().copied_count();
        anyhow::ensure!(
            stored > 0,
            "{}: no page is stored, so none can be revived; crawl or import first",
            directory.display()
        );
        let known = Arc::new(Mutex::new(Known::default()));
        let look = {
            let known = known.clone();
            move || {
                let known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.clone()
            }
        };
        let (line, met) = (look.clone(), look.clone());
        let watch = Watch {
            line: Some(Arc::new(move || told(&line(), stored, confidence))),
            slice: None,
            news: None,
            enough: enough.map(|enough| -> Arc<dyn Fn() -> bool + Send + Sync> {
                Arc::new(move || {
                    let known = met();
                    let estimate = known.estimate.as_ref();
                    estimate.is_some_and(|estimate| enough.met(known.alive, estimate))
                })
            }),
            ..Watch::default()
        };
        let mark = format!("{} sample {}", self.policy, self.sample);
        let before = Store::look(&directory)?.index().tally().requests;
        let order = RoundOrder {
            directory: &directory,
            options: &self.options,
            asked: Asked {
                sample: self.sample,
                ..Asked::new(Question::Liveness, spec)
            },
            budget: requests.unwrap_or(u64::MAX),
            past: Box::new(move |store, tick| Ok(begin_survey(store, tick, &mark)?)),
            until: Until {
                requests: requests.map(|requests| before + requests),
                ..Until::default()
            },
            survey: Some(SoftOptions::default()),
            watch,
            lines: !output.is_text(),
        };
        let answered = ask(order, |asked, store| {
            Ok(Box::new(Watched {
                inner: asked.survey(store)?,
                known: known.clone(),
            }))
        })?;
        let known = look();
        let told_enough = enough.zip(known.estimate.as_ref());
        let met = told_enough.is_some_and(|(enough, estimate)| enough.met(known.alive, estimate));
        let finished = met || answered.summary.stop == Stop::Exhausted;
        let store = finish(&directory, finished)?;
        let file = self
            .verdicts
            .clone()
            .unwrap_or_else(|| directory.join("revived.tsv"));
        let mut verdicts = Verdicts::of(&store);
        let mut news = News::since(&store, answered.began, output);
        store.try_fold::<anyhow::Error>(&mut (
            Onward(last_survey(&store)?, &mut verdicts),
            &mut news,
        ))?;
        write_whole(&file, |out| out.write_all(verdicts.lines.as_bytes()))?;
        let requests = answered.summary.tally.requests - before;
        let cost = verdicts.requests as f64 / known.alive.max(1) as f64;
        let stopped_by = if met {
            "alive"
        } else {
            answered.summary.stop.name()
        };
        let because = match met {
            true => "enough of the alive pages are found",
            false => verdict::because(answered.summary.stop),
        };
        let estimated = known.estimated(stored, confidence);
        let document = json!({
            "directory": directory.display().to_string(),
            "imported": imported,
            "policy": self.policy,
            "pages": stored,
            "requests": requests,
            "survey_requests": verdicts.requests,
            "alive": known.alive,
            "gone": known.gone,
            "alive_estimate": estimated.map(|(about, ..)| about),
            "alive_interval": estimated.map(|(_, low, high)| (low, high)),
            "looks": known.estimate.as_ref().map(AliveEstimate::looks),
            "cost": cost,
            "stopped_by": stopped_by,
            "verdicts": verdicts.count,
            "file": file.display().to_string(),
        });
        output.last(&document, || {
            format!(
                "{}: {} alive and {} gone of {} pages, {} requests ({cost:.2} for each alive page of \
                 the survey); it ended because {because}\n{}\n{} verdicts in {}\n",
                directory.display(),
                whole(known.alive),
                whole(known.gone),
                whole(stored),
                whole(requests),
                told(&known, stored, confidence),
                whole(verdicts.count),
                file.display(),
            ) + &news.table(|_| Vec::new())
        })?;
        let short = enough.is_some() && !met && answered.summary.stop != Stop::Exhausted;
        Ok(if short { Exit::Limit } else { Exit::Done })
    }

    /// Before anything is imported: who asks strangers says who asks.
    fn need_contact(&self) -> anyhow::Result<()> {
        let place = self.place();
        let mut config = Config::read(&place)?.unwrap_or_default();
        self.options.over(&mut config);
        let is_named = config.contact.is_some() || config.hosts_file.is_some();
        if is_named || self.old.join("store/journal").exists() {
            return Ok(());
        }
        let import = Import::of(self.old.clone(), place);
        match import.look_for(crawl::is_here)? {
            Some(Other::Page(url)) => Err(crawl::wants_contact(host_of(&url)).into()),
            // Private addresses may be all there is in it.
            Some(Other::Unread(file)) if config.allow_private.is_none() => {
                let whom = format!("what {} holds", file.display());
                Err(crawl::wants_contact(&whom).into())
            }
            Some(Other::Unread(_)) | None => Ok(()),
        }
    }

    /// The crawl directory that is surveyed, whether or not it is there yet.
    fn place(&self) -> PathBuf {
        if self.old.join("store/journal").exists() {
            return self.old.clone();
        }
        self.output.clone().unwrap_or_else(|| beside(&self.old))
    }

    /// The crawl directory: the one that was named, or one made of the old crawl that was. An import
    /// that was killed goes on, and one that is done is not made again.
    fn bring_in(&self, output: &Output) -> anyhow::Result<(PathBuf, Option<Value>)> {
        super::shards::refuse(&self.old, "revive")?;
        if self.old.join("store/journal").exists() {
            if self.output.is_some() {
                let what =
                    "is for an old crawl to be imported; a crawl directory is surveyed where it is";
                return Err(Usage::of("--output", what).into());
            }
            return Ok((self.old.clone(), None));
        }
        let directory = self.place();
        output.note(&format!(
            "turnstone: importing {} into {}",
            self.old.display(),
            directory.display()
        ));
        let imported = Import::of(self.old.clone(), directory.clone()).carry_out()?;
        Ok((directory, Some(imported.json())))
    }

    fn goals(&self, confidence: Confidence) -> anyhow::Result<(Option<Enough>, Option<u64>)> {
        let (mut enough, mut requests) = (None, None);
        for goal in &self.until {
            let wrong = |what: &str| Usage::of("--until", format!("'{goal}': {what}"));
            match goal.split_once('=') {
                Some(("alive", share)) => {
                    let share: Option<f64> = share.parse().ok();
                    let found = share.and_then(|share| Enough::new(share, confidence));
                    enough =
                        Some(found.ok_or_else(|| wrong("give a share above 0 and at most 1"))?);
                }
                Some(("requests", count)) => {
                    let count: Option<u64> = count.parse().ok();
                    let count = count.filter(|count| *count > 0);
                    requests = Some(count.ok_or_else(|| wrong("give a whole number above 0"))?);
                }
                _ => return Err(wrong("give alive=SHARE or requests=N").into()),
            }
        }
        Ok((enough, requests))
    }
}

/// Where an old crawl goes if nothing else is asked: `urls.txt` into `urls-revive`.
fn beside(old: &Path) -> PathBuf {
    let name = old.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').find(|part| !part.is_empty());
    PathBuf::from(format!("{}-revive", stem.unwrap_or("old")))
}

/// Notes that a survey is over, so that the next one begins anew.
fn finish(directory: &Path, finished: bool) -> anyhow::Result<Store> {
    if !finished {
        return Ok(Store::look(directory)?);
    }
    let mut store = super::live::open(directory)?;
    end_survey(&mut store);
    store.write()?;
    store.syncer().sync()?;
    Ok(store)
}

/// How far it is, in one line.
fn told(known: &Known, pages: u64, confidence: Confidence) -> String {
    let mut text = format!("{} alive, {} gone", whole(known.alive), whole(known.gone));
    let all_known = known.alive + known.gone == pages;
    if let (Some((about, low, high)), false) = (known.estimated(pages, confidence), all_known) {
        let _ = write!(
            text,
            "; about {} of all pages are alive ({} to {} at {}, by {} looks at random)",
            whole(about.round() as u64),
            whole(low),
            whole(high),
            percent(confidence.number()),
            whole(known.estimate.as_ref().map_or(0, AliveEstimate::looks)),
        );
    }
    text
}

/// A survey so far, over all its runs: the verdict of every page that has one. A fold of what it wrote.
struct Verdicts<'a> {
    store: &'a Store,
    /// A line for each, below a line of names.
    lines: String,
    /// Pages with a verdict.
    count: u64,
    /// All that was asked for: pages, probes, robots.txt.
    requests: u64,
}

impl<'a> Verdicts<'a> {
    fn of(store: &'a Store) -> Self {
        Self {
            store,
            lines: String::from("url\tverdict\tevidence\tfinal_url\ttime_ms\n"),
            count: 0,
            requests: 0,
        }
    }

    fn settled(&mut self, outcome: &Outcome<'_>) -> Result<(), StoreError> {
        let facts = &outcome.facts;
        self.requests += u64::from(facts.requests);
        let verdict = match outcome.settled {
            Settled::Fetched(_) if facts.class == ALIVE => "alive",
            Settled::Failed(Fault::Gone) => "gone",
            Settled::Failed(Fault::Refused) => "undecided",
            _ => return Ok(()),
        };
        let (evidence, landed) = facts
            .detail
            .rsplit_once("; at ")
            .unwrap_or((&facts.detail, ""));
        let evidence = match (facts.class.as_str(), evidence) {
            (ALIVE | "soft-404", evidence) => evidence.to_owned(),
            (class, "") => class.to_owned(),
            (class, evidence) => format!("{class}: {evidence}"),
        };
        let _ = writeln!(
            self.lines,
            "{}\t{verdict}\t{}\t{landed}\t{}",
            self.store.url(outcome.page)?,
            evidence.replace(['\t', '\n'], " "),
            facts.wall_ms,
        );
        self.count += 1;
        Ok(())
    }
}

impl<E: From<StoreError>> Fold<E> for Verdicts<'_> {
    fn see(&mut self, _: Written, entry: &Entry<'_>) -> Result<(), E> {
        match entry {
            Entry::Outcome(outcome) => self.settled(outcome)?,
            Entry::Robots { requests, .. } => self.requests += u64::from(*requests),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_does_not_contradict_what_is_known() {
        let confidence = Confidence::new(0.95).unwrap();
        let known = |alive, gone| Known {
            alive,
            gone,
            estimate: AliveEstimate::new(100, 3, 0),
        };
        assert!(told(&known(5, 1), 100, confidence).contains("about 99 of all pages"));
        assert_eq!(told(&known(90, 10), 100, confidence), "90 alive, 10 gone");
        assert_eq!(
            known(90, 10).estimated(100, confidence),
            Some((90.0, 90, 90))
        );
        assert_eq!(Known::default().estimated(100, confidence), None);
    }
}
