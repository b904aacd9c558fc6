//! `turnstone why DIR URL`: why this page, or why not, or why not yet.

mod past;
mod rank;
mod stranger;
mod waits;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use turnstone_fetch::Url;
use turnstone_fetch::urls::{UrlLimits, canonical_key, parse, shown};
use turnstone_frontier::{Arm, Chance, PageId};
use turnstone_lab::number::whole;
use turnstone_pagestore::{FORGET_NOTE, Forgotten, PageState, Settled, Store};
use turnstone_policy::Question;

use self::past::{Past, Search};
use self::rank::RankParts;
use crate::commands::directory::Directory;
use crate::commands::shards;
use crate::exit::{Exit, Usage};
use crate::lines::aligned;
use crate::output::Output;
use crate::progress::Progress;

/// How many linking pages and how many past outcomes are told.
const TOLD_MAX: usize = 20;

/// Tell why a page is fetched, waits or was refused
///
/// Its state, its rank and the parts of the rank, who links to it, what it waits for, or the very
/// rule that refused it. Judges a URL that the crawl has not met as if a page linked to it now.
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The page
    #[arg(value_name = "URL")]
    url: String,
}

impl Why {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let progress = Progress::busy("reading the journal");
        let (json, text) = tell(&super::cluster::looked_at(&self.directory)?, &self.url)?;
        drop(progress);
        output.result(&json, || text)?;
        Ok(Exit::Done)
    }
}

/// Everything there is to say of a URL: as JSON, and in words.
pub(crate) fn tell(whole: &Path, url: &str) -> anyhow::Result<(Value, String)> {
    let mut url = parse(url, &UrlLimits::default()).map_err(|error| {
        let what = format!(
            "{}: {error}; give a URL like https://example.org/",
            shown(url)
        );
        Usage::of("URL", what)
    })?;
    url.set_fragment(None);
    let folder = shards::folder_of(whole, &url)?;
    let directory = Directory::look(&folder)?;
    let key = canonical_key(&url, &directory.plan.keys);
    let key = directory.store.keyer().key(&key);
    let Some(page) = directory.store.index().find(key) else {
        return stranger::judge(&directory, &url);
    };
    let mut told = Told::of(&directory, page)?;
    for other in shards::folders(whole)? {
        if other != folder {
            let store = Store::look(&other)?;
            if let Some(page) = store.index().find(key) {
                let mut search = Search::new(page);
                store.fold(&mut search)?;
                told.past.linked_from_others(Past::found(&store, search)?);
            }
        }
    }
    Ok((told.json(&directory), told.text(&directory)))
}

/// Everything there is to say of a known page.
struct Told {
    page: PageId,
    url: String,
    state: PageState,
    class: String,
    reason: String,
    rank: Option<RankParts>,
    waits: Vec<String>,
    past: Past,
    stored_at: Option<StoredAt>,
}

/// Where the last answer of a page is.
struct StoredAt {
    file: String,
    offset: u64,
    length: u64,
    /// The page whose body it refers to, if it holds none of its own.
    same_as: Option<String>,
}

impl Told {
    fn of(directory: &Directory, page: PageId) -> anyhow::Result<Self> {
        let store = &directory.store;
        let text = store.url(page)?;
        let url = Url::parse(&text).with_context(|| shown(&text))?;
        let state = store.index().state(page);
        let mut search = Search::new(page);
        let (rank, waits) = match directory.asked.question {
            Question::Importance => {
                let make = || Ok(directory.asked.estimator()?);
                let folded = directory.fold_with(make, &mut search)?;
                let rank = folded.view.inner(page).map(|number| {
                    let rank = RankParts::of(&folded.scheduler, directory, (page, number));
                    let scheduler = &folded.scheduler;
                    rank.with_importance(&**scheduler.policy(), scheduler.ranking(), number)
                });
                (rank, waits::of(&folded, directory, page, &url)?)
            }
            _ => match directory.fold(&mut search)? {
                Some(folded) => (
                    folded
                        .view
                        .inner(page)
                        .map(|number| RankParts::of(&folded.scheduler, directory, (page, number))),
                    waits::of(&folded, directory, page, &url)?,
                ),
                None => (None, Vec::new()),
            },
        };
        let past = Past::found(store, search)?;
        let (class, reason) = reason(directory, page, state, &past, &waits)?;
        Ok(Self {
            page,
            url: shown(&text),
            state,
            class,
            reason,
            rank,
            waits,
            stored_at: stored_at(directory, page, &past)?,
            past,
        })
    }

    fn json(&self, directory: &Directory) -> Value {
        let index = directory.store.index();
        let stored = self.stored_at.as_ref().map(|at| {
            json!({
                "filename": at.file,
                "offset": at.offset,
                "length": at.length,
                "same_as": at.same_as,
            })
        });
        let asked = self.past.last_asked();
        json!({
            "url": self.url,
            "known": true,
            "page": self.page.0,
            "state": self.state.name(),
            "class": self.class,
            "reason": self.reason,
            "seed": index.seeds().contains(&self.page),
            "depth": index.depth(self.page),
            "listed": index.is_listed(self.page),
            "host": index.host_name(index.host(self.page)),
            "rank": self.rank.as_ref().map(|rank| rank.rank),
            "rank_parts": self.rank,
            "waits_for": self.waits,
            "arm": asked.and_then(|(arm, _)| arm).map(Arm::name),
            "chance": asked.map(|(_, chance)| chance.number()),
            "linked_from": self.past.linked_from,
            "linked_from_count": self.past.linked_from_count,
            "redirected_from": self.past.redirected_from,
            "history": self.past.json(directory),
            "warc": stored,
            "preferences": self.past.preferences(),
        })
    }

    fn text(&self, directory: &Directory) -> String {
        let index = directory.store.index();
        let mut facts = vec![("state", format!("{}: {}", self.state.name(), self.reason))];
        if let Some(rank) = &self.rank {
            facts.push(("rank", rank.text()));
        }
        if !self.waits.is_empty() {
            facts.push(("waits for", self.waits.join("\n")));
        }
        let found = if index.seeds().contains(&self.page) {
            "as a seed".to_owned()
        } else {
            match index.depth(self.page) {
                _ if index.is_listed(self.page) => {
                    "by way of a sitemap or a feed, or as one that a robots.txt or a page names; nothing else led here"
                        .to_owned()
                }
                1 => "one link from a seed".to_owned(),
                depth => format!("{depth} links from a seed"),
            }
        };
        facts.push(("found", found));
        facts.push(("linked from", self.past.links_text()));
        if !self.past.redirected_from.is_empty() {
            facts.push(("redirected from", self.past.redirected_from.join("\n")));
        }
        if let Some(at) = &self.stored_at {
            let mut text = format!(
                "{} at byte {}, {} bytes",
                at.file,
                whole(at.offset),
                whole(at.length)
            );
            if let Some(same) = &at.same_as {
                text += &format!("\nthe same body as {same}");
            }
            facts.push(("archived in", text));
        }
        let said = self.past.preferences();
        if !said.is_empty() {
            facts.push((
                "its publisher",
                format!("said when it was fetched:\n{}", said.join("\n")),
            ));
        }
        if let Some((arm, chance)) = self.past.last_asked() {
            let whom = match arm {
                Some(arm) => format!("for {arm}; "),
                None => String::new(),
            };
            let how = match chance {
                Chance::CERTAIN => "chosen for certain".to_owned(),
                drawn => format!("drawn with chance {drawn}"),
            };
            facts.push(("last asked", whom + &how));
        }
        facts.push(("history", self.past.text(directory)));
        format!("{}\n{}", self.url, aligned(&facts))
    }
}

/// What happened last, in one word and in a sentence.
fn reason(
    directory: &Directory,
    page: PageId,
    state: PageState,
    past: &Past,
    waits: &[String],
) -> anyhow::Result<(String, String)> {
    if directory.store.index().is_forgotten(page) {
        return Ok(("forgotten".to_owned(), forgotten(directory)?));
    }
    let (class, said) = directory.fate(page)?;
    let said = if said.is_empty() {
        "not fetched yet".to_owned()
    } else {
        said
    };
    let reason = match state {
        PageState::Waiting => match waits.first() {
            Some(first) => format!("{said}; {first}"),
            None => said,
        },
        PageState::InFlight if directory.holder.is_some() => {
            "handed out, the answer has not come yet".to_owned()
        }
        PageState::InFlight => {
            "was in flight when the last process ended; the next one asks for it again".to_owned()
        }
        PageState::Fetched => "in the store".to_owned(),
        PageState::Moved => match past.outcomes.last().map(|(_, outcome)| outcome.settled) {
            Some(Settled::Moved(to)) => format!("redirects to {}", directory.url(to)?),
            _ => said,
        },
        PageState::Gone | PageState::Unknown | PageState::Refused => said,
        PageState::Outside => outside(directory, page, past)?,
        PageState::Away => "another shard of the crawl has it".to_owned(),
    };
    let left = state != PageState::Outside && directory.store.index().is_outside(page);
    let reason = match left {
        true => format!("{reason}; {}", outside(directory, page, past)?),
        false => reason,
    };
    Ok((class, reason))
}

/// That a page was forgotten, when and why.
fn forgotten(directory: &Directory) -> anyhow::Result<String> {
    let note = directory.store.note(FORGET_NOTE)?;
    let last = note.as_deref().and_then(Forgotten::read);
    let asked = last.and_then(|note| serde_json::from_str::<Value>(&note.asked).ok());
    let asked = asked.unwrap_or_default();
    let word = |key: &str| asked[key].as_str().unwrap_or_default();
    let mut text =
        "forgotten on request: nothing of it is kept, and it is never asked for again".to_owned();
    if !word("time").is_empty() {
        text += &format!("; the last such request was of {}", word("time"));
    }
    if !word("reason").is_empty() {
        text += &format!(" ({})", shown(word("reason")));
    }
    Ok(text)
}

/// Why a page is out of scope, and since when.
fn outside(directory: &Directory, page: PageId, past: &Past) -> anyhow::Result<String> {
    let store = &directory.store;
    let depth = u32::from(store.index().depth(page));
    let rule = match Url::parse(&store.url(page)?) {
        Ok(url) => match directory.plan.scope.check(&url, depth) {
            Err(rule) => rule.to_string(),
            Ok(()) => "turnstone.toml lets it in now; the next `turnstone crawl` will".to_owned(),
        },
        Err(_) => "it is no URL that can be asked for".to_owned(),
    };
    Ok(format!(
        "out of scope since {} ({rule})",
        directory.utc(past.outside_since)
    ))
}

/// The last answer that was archived, whatever it said.
fn stored_at(directory: &Directory, page: PageId, past: &Past) -> anyhow::Result<Option<StoredAt>> {
    if directory.store.index().is_forgotten(page) {
        return Ok(None);
    }
    let facts = past
        .outcomes
        .iter()
        .rev()
        .map(|(_, outcome)| &outcome.facts);
    let archived = facts
        .filter_map(|facts| Some((facts, facts.capture?)))
        .next();
    let Some((facts, capture)) = archived else {
        return Ok(None);
    };
    let same_as = facts.duplicate_of.filter(|other| *other != page);
    let settings = directory.store.archive();
    Ok(Some(StoredAt {
        file: match directory.store.index().shard() {
            Some((shard, _)) => format!("shards/{shard}/warc/{}", settings.file_name(capture.file)),
            None => settings.file_name(capture.file),
        },
        offset: capture.offset,
        length: capture.length,
        same_as: same_as.map(|other| directory.url(other)).transpose()?,
    }))
}
