//! A crawl directory that is cut into shards, as those see it who only look: all its shards, each a crawl
//! directory within it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use turnstone_cluster::shard::Cut;
use turnstone_fetch::Url;
use turnstone_fetch::urls::site_of;
use turnstone_frontier::{Coverage, HostId, Policy, Scheduler};
use turnstone_lab::number::whole;
use turnstone_ledger::Folded;
use turnstone_pagestore::{Fold, Index, PageState, Store, Tally, shard_folders};

use super::crawl::verdict::{Counts, End, Stand};
use super::directory::{Directory, Standing, dead_counted, live};
use crate::exit::Usage;

/// Where the shards of a crawl are, in its directory.
pub(crate) const FOLDER: &str = "shards";

/// Where the journals of all shards are, in the directory of a machine that shares a crawl with others.
pub(crate) const COPY: &str = "copy";

/// In a copy: the machines that worked on the crawl when it was made.
pub(crate) const RUNNING: &str = "store/running";

/// The folders of the shards of a crawl, in order; none for a crawl in one piece, or where there is no crawl.
pub(crate) fn folders(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folders = shard_folders(directory);
    let first = directory.join(FOLDER).join("0");
    anyhow::ensure!(
        !folders.is_empty() || !first.exists(),
        "{}: the journal of this shard is missing; put it back, the others cannot go on without",
        first.display()
    );
    Ok(folders)
}

/// The folder in which the page of a URL is: that of its shard, or the directory of a crawl in one piece.
pub(crate) fn folder_of(directory: &Path, url: &Url) -> anyhow::Result<PathBuf> {
    let folders = folders(directory)?;
    let Some(first) = folders.first() else {
        return Ok(directory.to_owned());
    };
    let store = Store::look(first)?;
    let count = u32::try_from(folders.len()).unwrap_or(u32::MAX);
    let shard = Cut::new(store.secret(), count).shard_of(site_of(url));
    Ok(folders[shard.0 as usize].clone())
}

/// What the journals of a crawl lead to.
#[derive(Default)]
pub(crate) struct WholeFolded {
    /// By shard; nothing where nothing can be decided.
    pub(crate) shards: Vec<Option<Folded<Box<dyn Policy>>>>,
    /// What is proven, as the journals say; nothing where nothing is.
    pub(crate) coverage: Option<Coverage>,
    /// The same with links to dead pages counted; of shards nobody can say.
    pub(crate) with_dead: Option<Coverage>,
}

/// A crawl, looked at: its shards in order, or itself where it is in one piece.
pub(crate) struct Whole {
    pub(crate) path: PathBuf,
    /// Who worked on it when it was copied from the servers through which machines share it.
    running: Option<String>,
    pub(crate) shards: Vec<Directory>,
}

impl Whole {
    pub(crate) fn look(path: &Path) -> anyhow::Result<Self> {
        let folders = folders(path)?;
        let shards = match folders.is_empty() {
            true => vec![Directory::look(path)?],
            false => folders
                .iter()
                .map(|folder| Directory::look(folder))
                .collect::<Result<_, _>>()?,
        };
        let path = path.to_owned();
        let running = std::fs::read_to_string(path.join(RUNNING)).ok();
        Ok(Self {
            path,
            running,
            shards,
        })
    }

    /// Whether it is cut into shards.
    pub(crate) fn is_cut(&self) -> bool {
        self.first().store.index().shard().is_some() && self.first().path != self.path
    }

    /// What was asked is the same of all.
    pub(crate) fn first(&self) -> &Directory {
        &self.shards[0]
    }

    fn indexes(&self) -> impl Iterator<Item = &Index> {
        self.shards.iter().map(|shard| shard.store.index())
    }

    /// How many pages are in a state. Those of other shards count where they belong.
    pub(crate) fn count(&self, state: PageState) -> u64 {
        if self.is_cut() && state == PageState::Away {
            return 0;
        }
        self.indexes().map(|index| index.count(state)).sum()
    }

    pub(crate) fn known_count(&self) -> u64 {
        self.indexes().map(Index::known_count).sum()
    }

    pub(crate) fn had_count(&self) -> u64 {
        self.indexes().map(Index::had_count).sum()
    }

    /// Pages that came through sitemaps and feeds alone: known, and stored.
    pub(crate) fn listed_counts(&self) -> (u64, u64) {
        let all = self.indexes().map(Index::listed_counts);
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Hosts known, each once.
    pub(crate) fn host_count(&self) -> u64 {
        let count = |index: &Index| {
            let hosts = (0..index.host_count()).map(HostId::from_index);
            hosts.filter(|host| index.away(*host).is_none()).count() as u64
        };
        self.indexes().map(count).sum()
    }

    /// Hosts with pages.
    pub(crate) fn hosts_met(&self) -> u64 {
        self.indexes()
            .map(|index| index.hosts_met().count() as u64)
            .sum()
    }

    /// What was done, by all.
    pub(crate) fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        for index in self.indexes() {
            sum.add(index.tally());
        }
        sum
    }

    pub(crate) fn latest_ms(&self) -> u64 {
        self.shards
            .iter()
            .map(Directory::latest_ms)
            .max()
            .unwrap_or(0)
    }

    /// Who works on it now.
    pub(crate) fn holder(&self) -> Option<&str> {
        let here = self.shards.iter().find_map(|shard| shard.holder.as_deref());
        here.or(self.running.as_deref())
    }

    pub(crate) fn live(&self) -> Option<Value> {
        self.holder()?;
        live(&self.path)
    }

    /// Whether it goes on: all together, so the one that was killed tells.
    pub(crate) fn standing(&self) -> anyhow::Result<Standing> {
        if self.running.is_some() {
            return Ok(Standing::Running);
        }
        let mut whole = self.first().standing()?;
        for shard in &self.shards {
            match (shard.standing()?, &whole) {
                (Standing::Running, _) => return Ok(Standing::Running),
                (Standing::Interrupted, _) => whole = Standing::Interrupted,
                (Standing::Stopped(_) | Standing::Untouched, _) => {}
            }
        }
        Ok(whole)
    }

    /// Where it stands, in a sentence for everybody.
    pub(crate) fn sentence(&self, coverage: Option<Coverage>) -> anyhow::Result<String> {
        let standing = self.standing()?;
        let stand = Stand {
            command: self.first().asked.name(),
            counts: Counts::sum(self.indexes().map(Counts::of)),
            coverage,
            waited: &[],
            end: match &standing {
                Standing::Running => End::Running,
                Standing::Interrupted => End::Killed,
                Standing::Untouched => End::Never,
                Standing::Stopped(why) => End::Stopped(why),
            },
        };
        Ok(stand.sentence())
    }

    /// Reads every journal once: for what is proven, and for what looks at it beside, one for each shard.
    pub(crate) fn fold<F: Fold<anyhow::Error>>(
        &self,
        beside: impl IntoIterator<Item = F>,
    ) -> anyhow::Result<WholeFolded> {
        // What counts links to dead pages has no account between shards.
        let mut counting = match self.is_cut() {
            true => None,
            false => self.first().counting_dead()?,
        };
        let mut shards = Vec::new();
        for (shard, mut beside) in self.shards.iter().zip(beside) {
            shards.push(shard.fold(&mut (&mut counting, &mut beside))?);
        }
        Ok(WholeFolded {
            coverage: self.coverage_of(&shards),
            with_dead: dead_counted(counting)?,
            shards,
        })
    }

    fn coverage_of<P: Policy>(&self, folded: &[Option<Folded<P>>]) -> Option<Coverage> {
        let all = || folded.iter().flatten().map(|folded| &folded.scheduler);
        let first = all().find_map(Scheduler::coverage)?;
        if !self.is_cut() {
            return Some(first);
        }
        let masses = all().filter_map(|scheduler| Some(scheduler.shard()?.masses()));
        Some(Coverage::of_shards(masses, first.goal))
    }

    /// What each shard has.
    pub(crate) fn shards_text(&self) -> String {
        let pages = self.indexes().map(|index| whole(index.had_count()));
        let pages: Vec<String> = pages.collect();
        format!(
            "{}; pages stored by each: {}",
            self.shards.len(),
            pages.join(", ")
        )
    }
}

/// Refuses to go on with one shard alone.
pub(crate) fn refuse_one(directory: &Path) -> Result<(), Usage> {
    let folder = directory.parent().filter(|folder| folder.ends_with(FOLDER));
    match folder.and_then(Path::parent) {
        Some(whole) if directory.join("store/journal").exists() => Err(Usage(format!(
            "{} is one shard of a crawl; go on with all of them: -o {}",
            directory.display(),
            whole.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses, in one line, what cannot be done with a crawl in shards yet.
pub(crate) fn refuse(directory: &Path, command: &str) -> anyhow::Result<()> {
    if super::cluster::is_shared(directory)? {
        let what = format!(
            "{}: `turnstone {command}` cannot work on a crawl that machines share yet; crawl, status, why, events, \
             report, export and audit can",
            directory.display()
        );
        return Err(Usage(what).into());
    }
    match folders(directory)?.len() {
        0 => Ok(()),
        count => {
            let what = format!(
                "{}: `turnstone {command}` cannot work on a crawl in {count} shards yet; crawl, status, why, events, \
                 show, diff, report, export and audit can",
                directory.display()
            );
            Err(Usage(what).into())
        }
    }
}
