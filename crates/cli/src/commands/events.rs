//! `turnstone events DIR`

use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use turnstone_events::{Filter, Kind, Since, SiteEvent, Stream, atom, json, plain};
use turnstone_fetch::urls::shown;
use turnstone_pagestore::Position;

use crate::commands::shards::folders;
use crate::exit::{Exit, Usage};
use crate::moment::{now_ms, utc};
use crate::output::Output;
use crate::units::span_ms;

/// How often the journal is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The most entries of a feed.
const FEED_MAX: usize = 1000;

/// Tell what happened to the pages of a crawl: new, changed, gone, moved, refused, back
///
/// One stream out of the journal, oldest first, also while a crawl runs. A page that is as it was is no
/// event. Each event has an id that never changes. With --json a line for each.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Go on when the journal ends, and tell what is added to it
    #[arg(long)]
    follow: bool,
    /// Only what happened from here on: a moment (2026-11-18, 2026-11-18T08:30:00Z), an age (90m, 12h, 2d) or
    /// a position, as `next` of the last event read
    #[arg(long, value_name = "TIME|AGE|POSITION")]
    since: Option<String>,
    /// Only these kinds: new, changed, gone, moved, refused, back; and alive, what a survey found as it was
    /// [default: all but alive]
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    kind: Vec<String>,
    /// Only pages of these hosts and of those below them [default: all]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    host: Vec<String>,
    /// Write an Atom feed of the last 1,000 events
    #[arg(long, conflicts_with = "follow")]
    atom: bool,
}

impl Events {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let filter = self.filter()?;
        let from = match filter.since {
            Some(Since::Position(at)) => at,
            _ => Position::default(),
        };
        let directory = crate::commands::cluster::looked_at(&self.directory)?;
        let folders = folders(&directory)?;
        let is_cut = !folders.is_empty();
        if is_cut && let Some(Since::Position(_)) = filter.since {
            let what = "a position is one of a single journal, and a crawl in shards has several; give a moment";
            return Err(Usage::of("--since", what).into());
        }
        let folders = if is_cut { folders } else { vec![directory] };
        let mut streams = Vec::new();
        for folder in &folders {
            let stream = Stream::open(folder)?;
            let alive = filter.kinds.contains(&Kind::Alive);
            streams.push(if alive { stream.with_alive() } else { stream });
        }
        let mut feed: Vec<SiteEvent> = Vec::new();
        // Whether the reader went away: then there is nobody to follow the crawl for.
        let gone = Cell::new(false);
        let take = |event: SiteEvent, feed: &mut Vec<SiteEvent>| -> anyhow::Result<()> {
            if !self.atom {
                let told = output.told(|| json(&event), || line(&event))?;
                gone.set(gone.get() || !told);
                return Ok(());
            }
            if feed.len() == 2 * FEED_MAX {
                feed.drain(..FEED_MAX);
            }
            feed.push(event);
            Ok(())
        };
        loop {
            // Journals of shards are put in order by time: what was written since the last look is held.
            let mut together: Vec<SiteEvent> = Vec::new();
            for stream in &mut streams {
                stream.pull(from, |event| -> anyhow::Result<()> {
                    if !filter.wants(&event) {
                        return Ok(());
                    }
                    if is_cut {
                        together.push(event);
                        return Ok(());
                    }
                    take(event, &mut feed)
                })?;
            }
            together.sort_by(|a, b| (a.when_ms, &a.id).cmp(&(b.when_ms, &b.id)));
            for event in together {
                take(event, &mut feed)?;
            }
            if !self.follow || gone.get() {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        if self.atom {
            let title = format!("Pages of {}", self.directory.display());
            let last = feed.len().saturating_sub(FEED_MAX);
            output.raw(&atom(streams[0].name(), &title, &feed[last..]))?;
        }
        Ok(Exit::Done)
    }

    fn filter(&self) -> anyhow::Result<Filter> {
        let from = |text: &String| {
            since(text).ok_or_else(|| {
                let what = format!(
                    "'{text}' is no moment such as 2026-11-18T08:30:00Z, no age such as 2d, and no position"
                );
                Usage::of("--since", what)
            })
        };
        Ok(Filter {
            kinds: self
                .kind
                .iter()
                .map(|name| kind("--kind", name))
                .collect::<Result<_, _>>()?,
            hosts: self.host.iter().map(|host| host.to_lowercase()).collect(),
            since: self.since.as_ref().map(from).transpose()?,
        })
    }
}

/// A kind by its name.
pub(crate) fn kind(option: &str, name: &str) -> Result<Kind, Usage> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let what =
            format!("'{name}': there are new, changed, gone, moved, refused, back and alive");
        Usage::of(option, what)
    })
}

/// A moment, a position, or an age before now.
fn since(text: &str) -> Option<Since> {
    Since::parse(text).or_else(|| {
        let age_ms = span_ms(text).ok()?;
        Some(Since::Moment(now_ms().saturating_sub(age_ms)))
    })
}

/// An event in a line.
pub(crate) fn line(event: &SiteEvent) -> String {
    let url = |url: &str| plain(&shown(url));
    let mut text = format!(
        "{}  {:7}  {}",
        utc(event.when_ms),
        event.kind.name(),
        url(&event.url)
    );
    if let Some(to) = &event.moved_to {
        text += &format!(" -> {}", url(to));
    }
    match event.kind {
        Kind::Gone | Kind::Refused if !event.class.is_empty() => {
            text += &format!("  ({})", plain(&event.class));
        }
        _ if !event.title.is_empty() => text += &format!("  \"{}\"", plain(&event.title)),
        _ => {}
    }
    text + "\n"
}
