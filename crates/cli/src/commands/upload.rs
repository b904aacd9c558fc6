//! `turnstone upload DIR`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use turnstone_deliver::depot::{Brought, Depot, Keep, Load, State, back, bring};
use turnstone_fetch::AllowPrivate;
use turnstone_lab::number::{plural, whole};

use super::crawl::config::{Config, UploadConfig};
use crate::exit::{Exit, Usage};
use crate::moment::now_ms;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::Table;
use crate::units;

/// Bring closed WARC files, their index and the reports of a crawl to an object store, once each
///
/// Anything that speaks S3, or a folder of another disk. The server and the credentials are in the environment
/// (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION). A note beside each file says where it
/// lies; killed at any moment, the same command goes on. `turnstone crawl --upload` does it while it crawls.
#[derive(Debug, Args)]
pub(crate) struct Upload {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Where: s3://BUCKET/PREFIX or file:///FOLDER [default: as in turnstone.toml]
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Which local copies stay: all, none, those of a time (2d) or the newest of a size (10GB) [default: all]
    #[arg(long, value_name = "RULE")]
    keep: Option<String>,
    /// Private networks in which the server may be: all, or such as 10.0.0.0/8,127.0.0.1
    #[arg(long, value_name = "CIDR,…", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    allow_private: Option<String>,
    /// Bring back the WARC files whose local copies were dropped
    #[arg(long, conflicts_with = "keep")]
    back: bool,
}

/// Where the files of a crawl are brought while it runs.
#[derive(Debug, Args)]
pub(crate) struct UploadOptions {
    /// Bring closed WARC files and reports to a store while crawling: s3://BUCKET/PREFIX or file:///FOLDER
    #[arg(long = "upload", value_name = "URL")]
    to: Option<String>,
    /// Which local copies stay then: all, none, those of a time (2d) or the newest of a size (10GB) [default: all]
    #[arg(long = "upload-keep", value_name = "RULE")]
    keep: Option<String>,
    /// Private networks in which the server of --upload may be
    #[arg(long = "upload-private", value_name = "CIDR,…")]
    private: Option<String>,
}

impl UploadOptions {
    /// What is asked now, over what was asked before.
    pub(crate) fn over(&self, config: &mut UploadConfig) {
        let pairs = [
            (&mut config.to, &self.to),
            (&mut config.keep, &self.keep),
            (&mut config.allow_private, &self.private),
        ];
        for (value, flag) in pairs {
            if flag.is_some() {
                value.clone_from(flag);
            }
        }
    }
}

/// A store, and the rule by which local copies stay.
#[derive(Debug)]
pub(crate) struct Plan {
    depot: Depot,
    keep: Keep,
}

impl Plan {
    /// Opens the store that a configuration names; nothing if it names none.
    pub(crate) fn of(config: &UploadConfig) -> Result<Option<Self>, Usage> {
        let keep = config.keep.as_deref().map_or(Ok(Keep::All), keep)?;
        let Some(to) = &config.to else {
            return Ok(None);
        };
        let private = config.allow_private.as_deref();
        let private: AllowPrivate = private
            .map_or(Ok(AllowPrivate::None), str::parse)
            .map_err(|error| Usage::of("--upload-private", error))?;
        let depot = Depot::open(to, &private).map_err(|error| Usage::of("--upload", error))?;
        Ok(Some(Self { depot, keep }))
    }

    /// Brings what is to be brought now.
    pub(crate) fn carry_out(
        &self,
        directory: &Path,
        tell: impl FnMut(&Brought),
    ) -> anyhow::Result<Vec<Brought>> {
        let load = Load {
            directory,
            keep: self.keep,
            now_ms: now_ms(),
        };
        Ok(bring(&self.depot, load, tell)?)
    }
}

/// A rule, as an option names it.
fn keep(text: &str) -> Result<Keep, Usage> {
    match text {
        "all" => return Ok(Keep::All),
        "none" => return Ok(Keep::None),
        _ => {}
    }
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    let span = units::span_ms(text).ok().filter(|_| has_unit);
    let bytes = units::bytes(text).ok().filter(|_| has_unit);
    match (span, bytes) {
        (Some(ms), _) => Ok(Keep::Milliseconds(ms)),
        (None, Some(bytes)) => Ok(Keep::Bytes(bytes)),
        (None, None) => Err(Usage::of(
            "--keep",
            format!(
                "'{text}' is no rule; give all, none, a span of time like 2d or a size like 10GB"
            ),
        )),
    }
}

impl Upload {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let mut config = Config::read(&self.directory)?.unwrap_or_default().upload;
        let asked = UploadOptions {
            to: self.to.clone(),
            keep: self.keep.clone(),
            private: self.allow_private.clone(),
        };
        asked.over(&mut config);
        let plan = Plan::of(&config)?;
        let plan = plan.ok_or_else(|| {
            Usage::of("--to", "name a store: s3://BUCKET/PREFIX or file:///FOLDER")
        })?;
        let progress = Progress::busy("uploading");
        if self.back {
            let found = back(&plan.depot, &self.directory)?;
            drop(progress);
            let bytes = found.iter().map(|file| file.bytes).sum::<u64>();
            let files: Vec<String> = found
                .iter()
                .map(|file| file.file.display().to_string())
                .collect();
            let json = json!({"directory": self.directory, "back": files, "bytes": bytes});
            output.result(&json, || {
                format!(
                    "{} brought back, {} bytes; each has the digest that it had\n",
                    plural(found.len() as u64, "file"),
                    whole(bytes)
                )
            })?;
            return Ok(Exit::Done);
        }
        let found = plan.carry_out(&self.directory, |one| {
            progress.at(&format!("uploaded {}", one.place), 0.0);
        })?;
        drop(progress);
        let count = |state: State| found.iter().filter(|one| one.state == state).count() as u64;
        let json = json!({
            "directory": self.directory,
            "to": plan.depot.url(""),
            "sent": count(State::Sent),
            "there": count(State::There),
            "known": count(State::Known),
            "dropped": found.iter().filter(|one| one.dropped).count(),
            "files": found.iter().map(told).collect::<Vec<Value>>(),
        });
        output.result(&json, || {
            let mut table = Table::new(&["file", "#bytes", "there", "here"]);
            for one in &found {
                table.row([
                    one.file.display().to_string(),
                    whole(one.bytes),
                    word(one.state).to_owned(),
                    here(one).to_owned(),
                ]);
            }
            format!(
                "{} at {}: {} sent now, {} lay there already\n\n{}",
                plural(found.len() as u64, "file"),
                plan.depot.url(""),
                whole(count(State::Sent)),
                whole(count(State::There) + count(State::Known)),
                table.text()
            )
        })?;
        Ok(Exit::Done)
    }
}

fn told(one: &Brought) -> Value {
    json!({
        "file": one.file,
        "place": one.place,
        "bytes": one.bytes,
        "state": word(one.state),
        "local": one.is_here,
    })
}

fn word(state: State) -> &'static str {
    match state {
        State::Sent => "sent",
        State::There => "there",
        State::Known => "known",
    }
}

fn here(one: &Brought) -> &'static str {
    match (one.is_here, one.dropped) {
        (true, _) => "kept",
        (false, true) => "dropped now",
        (false, false) => "dropped",
    }
}

/// Brings what a crawl left when it ended; what fails is said, and the crawl is done either way.
pub(crate) fn rest(directory: &Path, config: &UploadConfig) {
    let done = match Plan::of(config) {
        Ok(None) => return,
        Ok(Some(plan)) => plan.carry_out(directory, |_| ()),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(found) => {
            let sent = found.iter().filter(|one| one.state == State::Sent).count();
            crate::log::info(&format!("{} uploaded", plural(sent as u64, "file")));
        }
        Err(error) => crate::log::warning(&format!(
            "turnstone: not everything was uploaded: {error:#}; `turnstone upload {}` goes on",
            directory.display()
        )),
    }
}

/// How often a running crawl's closed files are looked for.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(2);
