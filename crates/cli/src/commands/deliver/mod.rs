//! `turnstone deliver DIR`

mod receivers;

pub(crate) use receivers::DeliverOptions;

use std::path::PathBuf;

use crate::table::Table;
use clap::Args;
use serde_json::{Value, json};
use turnstone_deliver::{Courier, Cursor, Receiver, Said, Sender, When};
use turnstone_lab::number::{plural, whole};
use turnstone_pagestore::Store;

use super::crawl::config::Config;
use super::live::{self, StorePen, begin, said_in_words};
use crate::exit::{Exit, Usage};
use crate::moment::{now_ms, utc};
use crate::output::Output;

/// Deliver events to webhooks, commands, files and e-mail
///
/// Sends what is due to the receivers of turnstone.toml ([[deliver]]) and of --deliver, and ends. While a crawl
/// runs in the directory it delivers by itself. Every event comes at least once, in order, with an id
/// that never changes; how far a receiver is stands in the journal. A receiver that was never seen
/// begins where the journal ends now. Ends with code 1 if somebody did not take what was sent.
#[derive(Debug, Args)]
pub(crate) struct Deliver {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    options: DeliverOptions,
    /// Send digests before their time
    #[arg(long)]
    now: bool,
    /// Send nothing; tell how far each receiver is and what waits for it
    #[arg(long, conflicts_with = "now")]
    list: bool,
}

impl Deliver {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        super::shards::refuse(&self.directory, "deliver")?;
        let config = Config::read(&self.directory)?.unwrap_or_default();
        let mut receivers = self.options.receivers(&config, &self.directory)?;
        if receivers.is_empty() {
            let what = "no receiver of events is named; name one here or with [[deliver]] in turnstone.toml";
            return Err(Usage::of("--deliver", what).into());
        }
        if self.list {
            return self.list(receivers, output);
        }
        if self.now {
            for receiver in &mut receivers {
                receiver.when = When::AtOnce;
            }
        }
        anyhow::ensure!(
            self.directory.join("store/journal").exists(),
            "{}: not a crawl directory; make one with `turnstone crawl` or `turnstone import`",
            self.directory.display()
        );
        let mut store = live::open(&self.directory)?;
        let lines = known_or_first(&mut store, receivers)?;
        // Whoever wrote it last may have been killed.
        store.syncer().sync()?;
        let durable = store.end();
        let mut courier = Courier::open(&self.directory, lines)?;
        courier.read()?;
        let said = courier.send(now_ms(), durable, &Sender, &mut StorePen(&mut store))?;
        store.syncer().sync()?;
        for line in said.iter().filter_map(said_in_words) {
            output.note(&format!("turnstone: {line}"));
        }
        self.print(&courier, &said, output)?;
        let failed = said.iter().any(|said| matches!(said, Said::Failed { .. }));
        Ok(if failed { Exit::Failed } else { Exit::Done })
    }

    fn list(&self, receivers: Vec<Receiver>, output: &Output) -> anyhow::Result<Exit> {
        let store = Store::look(&self.directory)?;
        let mut lines = Vec::new();
        for receiver in receivers {
            let cursor = Cursor::find(&store, &receiver)?;
            let cursor = cursor.unwrap_or_else(|| Cursor::first(&store, &receiver, now_ms()));
            lines.push((receiver, cursor));
        }
        let mut courier = Courier::open(&self.directory, lines)?;
        courier.read()?;
        self.print(&courier, &[], output)?;
        Ok(Exit::Done)
    }

    fn print(&self, courier: &Courier, said: &[Said], output: &Output) -> anyhow::Result<()> {
        let rows: Vec<Value> = courier
            .waiting()
            .map(|(receiver, cursor, waiting)| {
                let (mut taken, mut skipped, mut failed) = (0, 0, None);
                for said in said {
                    match said {
                        Said::Took {
                            receiver: name,
                            events,
                        } if *name == receiver.name => taken += events,
                        Said::Skipped {
                            receiver: name,
                            events,
                        } if *name == receiver.name => {
                            skipped += events;
                        }
                        Said::Failed {
                            receiver: name,
                            why,
                            ..
                        } if *name == receiver.name => {
                            failed = Some(why);
                        }
                        _ => {}
                    }
                }
                json!({
                    "name": receiver.name,
                    "way": receiver.to.way(),
                    "to": receiver.to.shown(),
                    "taken": taken,
                    "left_out": skipped,
                    "waiting": waiting,
                    "failed": failed,
                    "position": cursor.at.0,
                    "last": utc(cursor.sent_ms),
                })
            })
            .collect();
        let document = json!({
            "directory": self.directory.display().to_string(),
            "receivers": rows,
        });
        output.result(&document, || {
            let mut table = Table::new(&["receiver", "way", "to", "taken", "waiting"]);
            for row in &rows {
                let text = |key: &str| row[key].as_str().unwrap_or("").to_owned();
                let number = |key: &str| row[key].as_u64().unwrap_or(0);
                table.row([
                    text("name"),
                    text("way"),
                    text("to"),
                    plural(number("taken"), "event"),
                    whole(number("waiting")),
                ]);
            }
            table.text()
        })
    }
}

/// How far each receiver is; where new ones begin is written down.
fn known_or_first(
    store: &mut Store,
    receivers: Vec<Receiver>,
) -> anyhow::Result<Vec<(Receiver, Cursor)>> {
    let mut notes = Notes::default();
    let lines = begin(store, receivers, &mut notes)?;
    for (kind, bytes) in notes.0 {
        turnstone_deliver::Pen::note(&mut StorePen(store), &kind, &bytes)?;
    }
    Ok(lines)
}

/// Notes that are written in a moment.
#[derive(Default)]
struct Notes(Vec<(String, Vec<u8>)>);

impl turnstone_deliver::Pen for Notes {
    fn note(&mut self, kind: &str, bytes: &[u8]) -> Result<(), turnstone_pagestore::StoreError> {
        self.0.push((kind.to_owned(), bytes.to_owned()));
        Ok(())
    }
}
