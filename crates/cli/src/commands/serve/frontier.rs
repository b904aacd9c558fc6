//! `--frontier`: what is asked of the server for other crawlers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use turnstone_policy::{Question, Spec};
use turnstone_questions::Asked;
use turnstone_urlfrontier::{Frontier, MakePolicy, Settings};

use super::listen::Listen;
use crate::exit::Usage;
use crate::units::span_ms;

/// The policy that needs no policy.
const OLDEST: &str = "oldest";

/// The frontier for other crawlers.
#[derive(Clone, Debug, Args)]
pub(crate) struct FrontierOptions {
    /// Lend pages to other crawlers there, by the URLFrontier protocol (gRPC), and keep their crawls in DIR: a port
    /// of this machine alone, or ADDRESS:PORT; others take 7071
    #[arg(long, value_name = "ADDR")]
    frontier: Option<String>,
    /// Which of the pages that are due is lent first: oldest (due longest), or a policy of importance, such as opic
    #[arg(long, value_name = "SPEC", default_value = OLDEST, requires = "frontier")]
    policy: String,
    /// How long a host rests after pages of it were lent, in whole seconds; clients may change it
    #[arg(long, value_name = "SPAN", default_value = "1s", requires = "frontier")]
    delay: String,
}

/// What was asked for.
pub(crate) struct FrontierAsked {
    pub(crate) listen: Listen,
    directory: PathBuf,
    settings: Settings,
}

impl FrontierOptions {
    /// What is asked for, if anything.
    pub(crate) fn asked(
        &self,
        directories: &[PathBuf],
        token_file: Option<&std::path::Path>,
    ) -> anyhow::Result<Option<FrontierAsked>> {
        let Some(address) = &self.frontier else {
            return Ok(None);
        };
        let [directory] = directories else {
            let what = "one directory keeps all crawls of a frontier; name one";
            return Err(Usage::of("--frontier", what).into());
        };
        let delay_ms = span_ms(&self.delay).map_err(|what| Usage::of("--delay", what))?;
        let delay_s = u32::try_from(delay_ms.div_ceil(1000));
        let (make, policy) = policy(&self.policy)?;
        Ok(Some(FrontierAsked {
            listen: Listen::asked_by("--frontier", address, token_file)?,
            directory: directory.clone(),
            settings: Settings {
                make,
                policy,
                delay_s: delay_s.map_err(|_| Usage::of("--delay", "too long"))?,
            },
        }))
    }
}

impl FrontierAsked {
    /// Takes the directory over.
    pub(crate) fn open(&self) -> anyhow::Result<Frontier> {
        let token = self.listen.token();
        Ok(Frontier::open(
            &self.directory,
            self.settings.clone(),
            token,
        )?)
    }

    /// The crawls that are there now, as directories.
    pub(crate) fn crawls(&self) -> Vec<PathBuf> {
        let folder = std::fs::read_dir(self.directory.join("crawls"));
        let paths = folder
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut crawls: Vec<PathBuf> = paths
            .filter(|path| path.join("store").join("journal").exists())
            .collect();
        crawls.sort();
        crawls
    }

    /// What is said of a server that listens.
    pub(crate) fn said(address: SocketAddr) -> String {
        format!("frontier: {address}")
    }
}

/// The policy of a spec, and what the journal calls it.
fn policy(spec: &str) -> anyhow::Result<(MakePolicy, String)> {
    if spec == OLDEST {
        return Ok((Arc::new(|_| Ok(None)), OLDEST.to_owned()));
    }
    let wrong = |what: &dyn std::fmt::Display| Usage::of("--policy", what);
    let spec: Spec = spec.parse().map_err(|error| wrong(&error))?;
    if let Err(error) = spec.find(Question::Importance) {
        let what = format!(
            "{error}; a frontier lends what is `{OLDEST}`, or by a policy of importance: other policies ask which \
             pages are trusted, or what is stored, and nobody tells a frontier"
        );
        return Err(wrong(&what).into());
    }
    let asked = Asked::new(Question::Importance, spec);
    let name = asked.to_string();
    let make: MakePolicy = Arc::new(move |_| {
        let policy = asked.estimator().map_err(|error| error.to_string())?;
        Ok(Some(Box::new(policy)))
    });
    Ok((make, name))
}
