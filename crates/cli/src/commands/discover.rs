//! `turnstone discover DIR`

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::table::Table;
use clap::Args;
use serde_json::json;
use turnstone_frontier::PageId;
use turnstone_lab::number::{percent, plural, whole};
use turnstone_ledger::{Past, Until};
use turnstone_pagestore::{Entry, Fold, Index, Onward, Settled, Store, Written};
use turnstone_policy::{Question, Spec};
use turnstone_questions::Asked;

use super::live::news::News;
use super::live::{ExploreShare, LiveOptions, RoundOrder, Watch, ask};
use crate::exit::Exit;
use crate::output::Output;

/// The most pages that are listed for people.
const LISTED_MAX: usize = 20;

/// One discovery round: fetch a few known pages again, and every new page they lead to
///
/// The policy chooses by where this directory's own history found new pages before. Feeds and
/// sitemaps are candidates like any page. New pages had to be fetched anyway: they are counted
/// apart, and overhead is what was fetched without being new. At the end what happened to which page is
/// listed; with --json a line for each event as it happens, as in `turnstone events`, and a last line about
/// the round.
#[derive(Debug, Args)]
pub(crate) struct Discover {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// How many known pages to fetch again: a number, or a share of the stored pages such as 1%
    #[arg(long, default_value = "1%")]
    budget: String,
    /// How to choose them (see `turnstone policies discovery`)
    #[arg(long, default_value = "bandit:hubs=0.5", value_name = "SPEC")]
    policy: String,
    /// Leave this share of the round to pages drawn at random, each with its chance in the journal, so
    /// that `turnstone advise` can tell what the policy passes over: a share such as 10%
    #[arg(long, default_value = "0", value_name = "SHARE", value_parser = str::parse::<ExploreShare>)]
    explore: ExploreShare,
    #[command(flatten)]
    options: LiveOptions,
}

impl Discover {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let spec: Spec = self.policy.parse()?;
        spec.find(Question::Discovery)?;
        super::shards::refuse(&self.directory, "discover")?;
        let before = Store::look(&self.directory)?;
        let stored = before.index().copied_count();
        let budget = super::refresh::budget(&self.budget, stored)?;
        let order = RoundOrder {
            directory: &self.directory,
            options: &self.options,
            asked: Asked {
                explore: self.explore.0,
                ..Asked::new(Question::Discovery, spec)
            },
            budget,
            past: Box::new(|_, _| Ok(Past::All)),
            until: Until::default(),
            survey: None,
            watch: Watch::default(),
            lines: !output.is_text(),
        };
        let answered = ask(order, Asked::make)?;
        let store = Store::look(&self.directory)?;
        let mut found = Discovered::new(before.index());
        let mut news = News::since(&store, answered.began, output);
        store.fold(&mut (Onward(answered.began, &mut found), &mut news))?;
        let overhead = (found.new > 0).then(|| found.asked as f64 / found.new as f64);
        let mut givers: Vec<(PageId, u64)> = found.givers.into_iter().collect();
        givers.sort_by_key(|(page, count)| (std::cmp::Reverse(*count), *page));
        let urls: Vec<(String, u64)> = givers
            .iter()
            .map(|(page, count)| Ok((store.url(*page)?, *count)))
            .collect::<anyhow::Result<_>>()?;
        let document = json!({
            "directory": self.directory.display().to_string(),
            "policy": self.policy,
            "budget": budget,
            "requests": found.requests,
            "asked": found.asked,
            "new": found.new,
            "known_before": found.known_before,
            "failed": found.failed,
            "overhead": overhead,
            "stopped_by": answered.summary.stop.name(),
            "from": urls.iter().map(|(url, count)| json!({"url": url, "new": count})).collect::<Vec<_>>(),
        });
        output.last(&document, || {
            let mut text = format!(
                "{}: {} found by fetching {} known ones again{}; {} did not come\n",
                self.directory.display(),
                plural(found.new, "new page"),
                whole(found.asked),
                overhead.map_or_else(String::new, |share| format!(
                    " (overhead {})",
                    percent(share)
                )),
                plural(found.failed, "new URL"),
            );
            if found.known_before > 0 {
                text += &format!(
                    "{} known before and fetched now for the first time\n",
                    match found.known_before {
                        1 => "1 of them was".to_owned(),
                        count => format!("{} of them were", whole(count)),
                    }
                );
            }
            if urls.is_empty() {
                return text + &news.table(|_| Vec::new());
            }
            let mut table = Table::new(&["new pages", "found through"]);
            for (url, count) in urls.iter().take(LISTED_MAX) {
                table.row([whole(*count), url.clone()]);
            }
            text += "\n";
            text += &table.text();
            text + &news.table(|_| Vec::new())
        })?;
        Ok(Exit::Done)
    }
}

/// What a round found: every page that was not stored before is new. A fold of what it wrote.
struct Discovered<'a> {
    /// The index before the round.
    before: &'a Index,
    requests: u64,
    /// Known pages fetched again.
    asked: u64,
    /// New pages fetched.
    new: u64,
    /// Of these, known before the round.
    known_before: u64,
    /// New pages that were known of but did not come.
    failed: u64,
    /// By known page: new pages that it led to, itself or through other new ones.
    givers: BTreeMap<PageId, u64>,
    /// New pages: the known page whose fetch first led to them.
    through: BTreeMap<PageId, PageId>,
}

impl<'a> Discovered<'a> {
    fn new(before: &'a Index) -> Self {
        Self {
            before,
            requests: 0,
            asked: 0,
            new: 0,
            known_before: 0,
            failed: 0,
            givers: BTreeMap::new(),
            through: BTreeMap::new(),
        }
    }
}

impl<E> Fold<E> for Discovered<'_> {
    fn see(&mut self, _: Written, entry: &Entry<'_>) -> Result<(), E> {
        let Entry::Outcome(outcome) = entry else {
            return Ok(());
        };
        let before = self.before;
        let is_new = |page: PageId| page.index() >= before.page_count() || !before.is_copied(page);
        let (page, new) = (outcome.page, is_new(outcome.page));
        self.requests += u64::from(outcome.facts.requests);
        let giver = if new {
            self.through.get(&page).copied()
        } else {
            Some(page)
        };
        match outcome.settled {
            Settled::Fetched(_) if new => {
                self.new += 1;
                match giver {
                    Some(giver) => *self.givers.entry(giver).or_default() += 1,
                    None => self.known_before += 1,
                }
            }
            Settled::Fetched(_) => self.asked += 1,
            Settled::Moved(to) => {
                self.asked += u64::from(!new);
                if let (true, Some(giver)) = (is_new(to), giver) {
                    self.through.entry(to).or_insert(giver);
                }
            }
            Settled::Failed(_) if outcome.facts.requests > 0 => {
                self.asked += u64::from(!new);
                self.failed += u64::from(new);
            }
            Settled::Failed(_) => {}
        }
        if let Some(giver) = giver {
            outcome.links.each(|link| {
                if is_new(link) {
                    self.through.entry(link).or_insert(giver);
                }
            });
        }
        Ok(())
    }
}
