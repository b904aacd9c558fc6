//! `turnstone refresh DIR`

use std::path::PathBuf;
use std::rc::Rc;

use clap::Args;
use serde_json::json;
use turnstone_events::{DiffLine, diff_json, diff_text};
use turnstone_fetch::urls::{UrlLimits, parse};
use turnstone_frontier::{Change, Fault, PageId};
use turnstone_lab::freshness::{Freshness, Looks};
use turnstone_lab::number::{percent, plural, whole};
use turnstone_ledger::{Past, Until};
use turnstone_pagestore::{Entry, Facts, Fold, Onward, Outcome, Position, Settled, Store, Written};
use turnstone_policy::{Question, Spec};
use turnstone_questions::Asked;

use super::copies::Copies;
use super::crawl;
use super::crawl::config::Config;
use super::diff;
use super::live::news::News;
use super::live::{ExploreShare, LiveOptions, RoundOrder, Watch, ask};
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::units::{self, Amount};

/// The most lines of a diff that are shown to people; `turnstone diff` shows all.
const DIFF_LINES_MAX: usize = 20;
/// The longest such line, in characters.
const DIFF_LINE_MAX: usize = 200;
/// The most pages of a round whose texts are compared.
const DIFFS_MAX: usize = 1000;

/// One cycle of change detection: fetch a few stored pages again and find those that changed
///
/// The policy chooses by what this directory's own history tells. Pages are asked for with
/// conditional requests; new versions go into the WARC files, unchanged pages as revisits. At the end what
/// happened to which page is listed; with --json a line for each event as it happens, as in `turnstone
/// events`, and a last line about the round.
#[derive(Debug, Args)]
pub(crate) struct Refresh {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// How many pages to fetch: a number, or a share of the stored pages such as 5%
    #[arg(long, default_value = "5%")]
    budget: String,
    /// How to choose them (see `turnstone policies changes`)
    #[arg(long, default_value = "cohorts:ahead=16", value_name = "SPEC")]
    policy: String,
    /// Leave this share of the round to pages drawn at random, each with its chance in the journal, so
    /// that `turnstone advise` can tell what the policy passes over: a share such as 10%
    #[arg(long, default_value = "0", value_name = "SHARE", value_parser = str::parse::<ExploreShare>)]
    explore: ExploreShare,
    /// Show what changed: title, size of the text, links gained and lost, and the visible text by words, as
    /// `turnstone diff` does (of the first 1,000 changed pages)
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    options: LiveOptions,
}

/// A page that is not as it was.
struct Changed {
    page: PageId,
    url: String,
    what: &'static str,
    words: Vec<String>,
    /// What differs in the visible text, where both copies could be read.
    hunks: Option<Vec<Vec<DiffLine>>>,
}

impl Changed {
    /// The diff in lines, no more than people read in a table.
    fn shown(&self) -> Vec<String> {
        let text = self.hunks.as_ref().map(|hunks| diff_text(hunks));
        let text = text.unwrap_or_default();
        let mut lines = text.lines();
        let mut shown: Vec<String> = lines.by_ref().take(DIFF_LINES_MAX).map(cut).collect();
        let rest = lines.count();
        if rest > 0 {
            shown.push(format!("… {} more", plural(rest as u64, "line")));
        }
        shown
    }
}

/// The beginning of a line that is too long for a table.
fn cut(line: &str) -> String {
    match line.char_indices().nth(DIFF_LINE_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl Refresh {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let spec: Spec = self.policy.parse()?;
        spec.find(Question::Changes)?;
        if spec.name() == "cluster-neighbours" {
            let what = "a crawl directory does not keep the words that clusters are made of; \
                        choose another policy";
            return Err(Usage::of("--policy", what).into());
        }
        super::shards::refuse(&self.directory, "refresh")?;
        let stored = Store::look(&self.directory)?.index().copied_count();
        let budget = budget(&self.budget, stored)?;
        let order = RoundOrder {
            directory: &self.directory,
            options: &self.options,
            asked: Asked {
                explore: self.explore.0,
                ..Asked::new(Question::Changes, spec)
            },
            budget,
            past: Box::new(|_, _| Ok(Past::Stored)),
            until: Until::default(),
            survey: None,
            watch: Watch::default(),
            lines: !output.is_text(),
        };
        let answered = ask(order, Asked::make)?;
        let store = Rc::new(Store::look(&self.directory)?);
        let began = answered.began;
        let mut found = Refreshed::new(&self, &store);
        let mut looks = Looks::default();
        let mut news = News::since(&store, began, output);
        let round = Onward(began, (&mut found, &mut looks));
        store.try_fold::<anyhow::Error>(&mut (round, &mut news))?;
        let freshness = looks.freshness(stored);
        let (fetched, changed) = (found.fetched, found.changed.len() as u64);
        let ratio = changed as f64 / (fetched.max(1)) as f64;
        let document = json!({
            "directory": self.directory.display().to_string(),
            "policy": self.policy,
            "budget": budget,
            "requests": found.requests,
            "fetched": fetched,
            "changed": changed,
            "change_ratio": ratio,
            "new_links": found.new_pages,
            "freshness": freshness.share,
            "freshness_low": freshness.low,
            "freshness_high": freshness.high,
            "drawn": freshness.drawn,
            "effective_looks": freshness.effective,
            "stopped_by": answered.summary.stop.name(),
            "pages": found.changed.iter().map(|page| json!({
                "url": page.url, "page": page.page.0, "what": page.what, "diff": page.words,
                "hunks": page.hunks.as_ref().map(|hunks| diff_json(hunks)),
            })).collect::<Vec<_>>(),
        });
        output.last(&document, || {
            let mut text = format!(
                "{}: {} of {} pages fetched had changed ({}); {} new pages are known\n",
                self.directory.display(),
                whole(changed),
                whole(fetched),
                percent(ratio),
                whole(found.new_pages),
            );
            text += &current(&freshness);
            text + &news.table(|event| {
                let of_page = found.changed.iter().find(|page| page.page == event.page);
                let mut lines = of_page.map_or_else(Vec::new, |page| page.words.clone());
                lines.extend(of_page.iter().flat_map(|page| page.shown()));
                lines
            })
        })?;
        Ok(Exit::Done)
    }
}

/// What a round found. A fold of what it wrote.
struct Refreshed<'a> {
    refresh: &'a Refresh,
    store: &'a Rc<Store>,
    requests: u64,
    fetched: u64,
    new_pages: u64,
    changed: Vec<Changed>,
}

impl<'a> Refreshed<'a> {
    fn new(refresh: &'a Refresh, store: &'a Rc<Store>) -> Self {
        Self {
            refresh,
            store,
            requests: 0,
            fetched: 0,
            new_pages: 0,
            changed: Vec::new(),
        }
    }

    fn settled(&mut self, outcome: &Outcome<'_>) -> anyhow::Result<()> {
        self.requests += u64::from(outcome.facts.requests);
        let what = match outcome.settled {
            Settled::Fetched(Change::Changed) => "changed",
            Settled::Moved(_) => "moved",
            Settled::Failed(Fault::Gone) => "gone",
            Settled::Fetched(_) => {
                self.fetched += 1;
                return Ok(());
            }
            Settled::Failed(_) => return Ok(()),
        };
        self.fetched += 1;
        let (page, url) = (outcome.page, self.store.url(outcome.page)?);
        let (mut words, mut hunks) = (Vec::new(), None);
        if self.refresh.diff && what == "changed" {
            words = difference(self.store, outcome.before, outcome)?;
            if self.changed.len() < DIFFS_MAX {
                hunks = self.refresh.hunks(self.store, (&url, page), &outcome.facts);
            }
        }
        self.changed.push(Changed {
            page,
            url,
            what,
            words,
            hunks,
        });
        Ok(())
    }
}

impl Fold<anyhow::Error> for Refreshed<'_> {
    fn see(&mut self, _: Written, entry: &Entry<'_>) -> anyhow::Result<()> {
        match entry {
            Entry::Outcome(outcome) => self.settled(outcome),
            Entry::Page { .. } => {
                self.new_pages += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Refresh {
    /// What differs between the copy that came and the one before it; nothing where one is not in
    /// the WARC files, or is no text.
    fn hunks(
        &self,
        store: &Rc<Store>,
        (url, page): (&str, PageId),
        new: &Facts,
    ) -> Option<Vec<Vec<DiffLine>>> {
        let url = parse(url, &UrlLimits::default()).ok()?;
        let config = Config::read(&self.directory).ok()?.unwrap_or_default();
        let ignored = crawl::ignored(&config.ignore).ok()?;
        let copies = Copies::in_store(store, ignored, (url, page)).ok()?;
        let old = diff::before(&copies, new).ok()?;
        Some(diff::compare(&copies, old, new).ok()?.hunks)
    }
}

/// How fresh the store is, in a sentence that says what it rests on.
fn current(freshness: &Freshness) -> String {
    let (low, high) = (percent(freshness.low), percent(freshness.high));
    let pages = whole(freshness.pages);
    let drawn = match freshness.drawn {
        1 => "1 page".to_owned(),
        count => format!("{} pages", whole(count)),
    };
    match (freshness.share, freshness.drawn) {
        (Some(_), _) if freshness.low >= 1.0 => {
            format!("all {pages} stored pages were looked at and are current\n")
        }
        (Some(share), _) => format!(
            "about {} of the {pages} stored pages are current ({low} to {high} at 95 %, from {drawn} \
             drawn at random)\n",
            percent(share)
        ),
        (None, 0) => format!(
            "at least {low} of the {pages} stored pages are current; the pages looked at were chosen and \
             tell nothing of the others: --explore 10% or --policy rns does\n"
        ),
        (None, _) => format!(
            "{low} to {high} of the {pages} stored pages are current (at 95 %): only {drawn} drawn at \
             random; --explore 10% or --policy rns tells more\n"
        ),
    }
}

/// How many pages a budget means.
pub(super) fn budget(text: &str, stored: u64) -> anyhow::Result<u64> {
    Ok(match units::amount(text) {
        Ok(Amount::Count(pages)) => pages,
        Ok(Amount::Share(share)) => ((stored as f64 * share).round() as u64).max(1),
        Err(error) => return Err(Usage::of("--budget", error).into()),
    })
}

/// What changed between two fetches of a page, in words.
fn difference(store: &Store, before: Position, after: &Outcome<'_>) -> anyhow::Result<Vec<String>> {
    let Some((old, old_links)) = copy_before(store, before)? else {
        return Ok(vec!["it was not stored before".into()]);
    };
    let new = &after.facts;
    let mut words = Vec::new();
    if old.title != new.title {
        words.push(format!("title: \"{}\", was \"{}\"", new.title, old.title));
    }
    if old.words != new.words {
        let more = i64::from(new.words) - i64::from(old.words);
        words.push(format!(
            "text: {} words ({more:+})",
            whole(u64::from(new.words))
        ));
    }
    let mut links = Vec::new();
    after.links.read(&mut links);
    let gained = links
        .iter()
        .filter(|link| !old_links.contains(link))
        .count();
    let lost = old_links
        .iter()
        .filter(|link| !links.contains(link))
        .count();
    if gained + lost > 0 {
        words.push(format!("links: {} (+{gained}, -{lost})", links.len()));
    }
    if words.is_empty() {
        words.push("its text reads differently".into());
    }
    Ok(words)
}

/// The last copy before an outcome, with its links.
fn copy_before(
    store: &Store,
    mut at: Position,
) -> anyhow::Result<Option<(Facts, std::collections::HashSet<PageId>)>> {
    while at != Position(0) {
        let outcome = store.outcome_at(at)?;
        if let Settled::Fetched(_) = outcome.settled {
            let mut links = Vec::new();
            let known = store.links_before(Position(at.0 + 1));
            let links = turnstone_frontier::Links::links_of(&known, outcome.page, &mut links);
            return Ok(Some((outcome.facts, links.iter().copied().collect())));
        }
        at = outcome.before;
    }
    Ok(None)
}
