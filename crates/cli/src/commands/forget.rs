//! `turnstone forget DIR PATTERN…`: what a site's owner or a lawyer asks for.
//!
//! Pages that fall under a pattern leave the crawl for good: they go out of its scope, a note in the journal
//! names them, what the journal says of their content is overwritten, and so are their records in the WARC
//! files with the lines of the index. Nothing moves, so every other copy stays where it was. `docs/forget.md`
//! says what is left.
//!
//! In this order: the configuration first, so that no run asks again; then the plan and the note, made durable;
//! then the bytes. A process that dies in between is followed by the same command, which does all of it once
//! more.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use turnstone_crawl::Clock;
use turnstone_fetch::Url;
use turnstone_fetch::list::{ListLine, UrlList};
use turnstone_fetch::urls::shown;
use turnstone_frontier::PageId;
use turnstone_lab::number::{plural, whole};
use turnstone_ledger::rescope;
use turnstone_pagestore::{Forgotten, Lock, Store, warc};

use super::crawl;
use super::crawl::config::Config;
use super::crawl::summary::bytes;
use super::live;
use crate::exit::{Exit, Usage};
use crate::moment::utc;
use crate::output::Output;

/// The most pages that are named.
const NAMED_MAX: usize = 20;
/// How much memory sorting the index may take.
const SORT_BYTES_MAX: usize = 256 << 20;

/// Take pages out of a crawl for good: out of the store, the index, tables, events and replay, never asked for again
///
/// The crawl must not run. Their bodies are overwritten in the WARC files. A note in the journal says what was
/// asked and which pages it were; their addresses stay, so that nobody asks for them again.
#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// What to forget: a URL, with everything that begins with it, or a host, with those below it
    #[arg(value_name = "PATTERN", required = true)]
    patterns: Vec<String>,
    /// Only tell what would be forgotten
    #[arg(long)]
    dry_run: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// What a pattern falls on.
struct Found {
    /// Every page, with those that were forgotten before.
    pages: BTreeSet<PageId>,
    /// Those that are not.
    fresh: u64,
    /// Of them, those with a copy.
    stored: u64,
    /// The first few.
    named: Vec<String>,
    /// Other pages whose copies refer to the body of one of them.
    sharing: Vec<String>,
}

impl Forget {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let directory = self.directory.as_path();
        let mut config = Config::read(directory)?.with_context(|| {
            format!(
                "{}: not a crawl directory; make one with `turnstone crawl`",
                directory.display()
            )
        })?;
        let list = self.list()?;
        if self.dry_run {
            let store = Store::look(directory)?;
            let found = find(&store, &list)?;
            return self.tell(&found, None, output);
        }
        if let Some(holder) = Lock::holder(directory) {
            anyhow::bail!(
                "{}: {holder} works in it; end that one (Ctrl-C), forget, and start it again: it goes on where it was",
                directory.display()
            );
        }
        let mut store = live::open(directory)?;
        if store.index().shard().is_some() {
            let what = "a crawl that is cut into shards keeps its scope; it cannot forget yet";
            return Err(Usage::of("DIR", what).into());
        }
        for pattern in &self.patterns {
            if !config.forgotten.contains(pattern) {
                config.forgotten.push(pattern.clone());
            }
        }
        config.write(directory)?;
        // What a process that died left behind the last capture that counts is cut before anything is looked for.
        drop(live::archive(directory, &store, &config)?);
        let found = find(&store, &list)?;
        let tick = Clock::resume(store.index(), 1).now();
        let scope = crawl::plan(&config, &crawl::seeds(&config)?, false)?.scope;
        rescope(&mut store, &scope, tick)?;
        let asked = json!({
            "patterns": self.patterns,
            "reason": self.reason,
            "time": utc(Clock::resume(store.index(), 1).wall_ms()),
        });
        store.forget(
            tick,
            &Forgotten {
                pages: found.pages.iter().copied().collect(),
                asked: asked.to_string(),
            },
        );
        store.write()?;
        store.syncer().sync()?;
        let erased = erase(directory, &store, &found.pages)?;
        let said = super::report::write(directory, None);
        if let Err(error) = said {
            output.note(&format!(
                "turnstone: the report still tells of them: {error:#}"
            ));
        }
        self.tell(&found, Some(erased), output)
    }

    fn list(&self) -> anyhow::Result<UrlList> {
        let read = |pattern: &String| {
            let line = ListLine::read(pattern);
            let line =
                line.map_err(|error| Usage::of("PATTERN", format!("{}: {error}", shown(pattern))))?;
            line.ok_or_else(|| Usage::of("PATTERN", "is empty".to_owned()))
        };
        Ok(self
            .patterns
            .iter()
            .map(read)
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .collect())
    }

    fn tell(
        &self,
        found: &Found,
        erased: Option<(u64, u64)>,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        let (records, size) = erased.unwrap_or_default();
        let document = json!({
            "directory": self.directory.display().to_string(),
            "done": erased.is_some(),
            "pages": found.pages.len(),
            "new": found.fresh,
            "stored": found.stored,
            "first": found.named,
            "captures": records,
            "bytes": size,
            "same_body": found.sharing,
        });
        output.result(&document, || {
            let mut text = match erased {
                None => format!(
                    "would forget {}, {} of them with a copy\n",
                    plural(found.pages.len() as u64, "page"),
                    whole(found.stored)
                ),
                Some(_) => format!(
                    "forgotten: {}, {} of them with a copy; {} taken out of the WARC files ({}). They are not asked \
                     for again\n",
                    plural(found.pages.len() as u64, "page"),
                    whole(found.stored),
                    plural(records, "capture"),
                    bytes(size),
                ),
            };
            for url in &found.named {
                text += &format!("  {url}\n");
            }
            if found.pages.len() > found.named.len() {
                text += &format!("  and {} more\n", whole((found.pages.len() - found.named.len()) as u64));
            }
            if !found.sharing.is_empty() {
                text += &format!(
                    "{} had the very same body, which is gone with it; `turnstone refresh` fetches them again:\n",
                    plural(found.sharing.len() as u64, "other page")
                );
                for url in found.sharing.iter().take(NAMED_MAX) {
                    text += &format!("  {url}\n");
                }
            }
            text
        })?;
        Ok(Exit::Done)
    }
}

fn find(store: &Store, list: &UrlList) -> anyhow::Result<Found> {
    let index = store.index();
    let mut found = Found {
        pages: BTreeSet::new(),
        fresh: 0,
        stored: 0,
        named: Vec::new(),
        sharing: Vec::new(),
    };
    for page in (0..index.page_count()).map(PageId::from_index) {
        let text = store.url(page)?;
        let falls = Url::parse(&text).is_ok_and(|url| list.find(&url).is_some());
        if falls {
            found.pages.insert(page);
            found.fresh += u64::from(!index.is_forgotten(page));
            found.stored += u64::from(index.is_stored(page));
            if found.named.len() < NAMED_MAX {
                found.named.push(shown(&text));
            }
        }
    }
    if found.pages.is_empty() {
        return Ok(found);
    }
    for page in (0..index.page_count()).map(PageId::from_index) {
        if index.is_stored(page)
            && !found.pages.contains(&page)
            && let Some(copy) = store.copy(page)?
            && copy
                .duplicate_of
                .is_some_and(|of| found.pages.contains(&of))
        {
            found.sharing.push(shown(&store.url(page)?));
        }
    }
    Ok(found)
}

/// Takes the content of pages out of journal, WARC files and index: how many captures, how many bytes.
fn erase(
    directory: &std::path::Path,
    store: &Store,
    pages: &BTreeSet<PageId>,
) -> anyhow::Result<(u64, u64)> {
    store.blank(pages)?;
    let settings = store.archive();
    let captures: Vec<warc::Erased> = store
        .captures_of(pages)?
        .into_iter()
        .map(|capture| warc::Erased {
            file_name: settings.file_name(capture.at.file),
            offset: capture.at.offset,
            end: capture.at.file_end,
        })
        .collect();
    let folder = directory.join("warc");
    let now_ms = Clock::resume(store.index(), 1).wall_ms();
    let size =
        warc::erase(&folder, &captures, (&store.namespace(), now_ms)).with_context(|| {
            format!(
                "{}: not everything was taken out; forget again",
                folder.display()
            )
        })?;
    warc::erase_lines(&folder, &captures, SORT_BYTES_MAX)?;
    Ok((captures.len() as u64, size))
}
