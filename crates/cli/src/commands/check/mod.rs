//! `turnstone check URL|DIR`: which links of a site are broken.
//!
//! Three crawls, each in a crawl directory, so that all of them are polite, survive a kill, and ask conditionally the
//! next time: the pages of the site; what they link to beside (other hosts, pictures, styles), asked once and not
//! followed; and random siblings of pages, to find servers that say 200 to anything. Then the pages are read again
//! out of the WARC files, for fragments, words and lines.
//!
//! Cost: each page is parsed twice; some 500 bytes a page, 100 a link target, 8 an id.
//! Limit: [`TARGETS_MAX`] links beside the pages.

mod book;
mod judge;
mod print;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use turnstone_fetch::Url;
use turnstone_fetch::urls::{UrlLimits, host_of, parse, shown};
use turnstone_lab::number::{plural, whole};

use self::book::{Book, Kind};
use self::judge::{Finding, Site};
use super::crawl::config::{
    Config, FILE, LimitsConfig, PolitenessConfig, ScopeConfig, UntilConfig,
};
use super::crawl::{self, Order};
use super::directory::{Directory, Standing};
use super::live::{self, IdentityOptions};
use crate::exit::{Exit, Usage};
use crate::files::write_whole;
use crate::output::Output;

/// The most links beside the pages that are asked for.
const TARGETS_MAX: usize = 100_000;
/// What is read of a page that is only linked to.
const TARGET_BYTES: usize = 1 << 20;
/// Directories of a host whose random sibling is asked for before its word is taken.
const PROBES_FIRST: usize = 5;

/// Check the links of a site: which are broken, and on which page and line they stand
///
/// Crawls the site politely and asks each other host once for what is linked, without following it. Tells dead
/// links from blocked ones, finds pages that are gone although the server says 200, and checks fragments. All is
/// kept in DIR: the next run asks conditionally. Exit code 1 if a link is broken.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A page to begin at, or the directory of an earlier check, which is checked again
    #[arg(value_name = "URL|DIR")]
    target: String,
    /// Where everything is kept [default: the host with -check, in this folder]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Ask nothing: tell what was found last, in a directory of `check` or of a crawl that is done
    #[arg(long)]
    offline: bool,
    /// Do not ask other hosts
    #[arg(long)]
    no_external: bool,
    /// Send no requests for random names, so do not find pages that are gone although the server says 200
    #[arg(long)]
    no_probes: bool,
    /// Stay below this URL; may be given several times [default: the host of URL]
    #[arg(long, value_name = "URL")]
    prefix: Vec<String>,
    /// Do not ask for URLs that match this regular expression; may be given several times
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<String>,
    /// The most requests of each of the three crawls
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// The least time between two requests to a host [default: 1s]
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// The most requests open at a host [default: 1]
    #[arg(long, value_name = "N")]
    open: Option<u32>,
    /// An e-mail address or URL where site owners can reach you; needed for anything but loopback
    #[arg(long, value_name = "ADDRESS")]
    contact: Option<String>,
    /// Also ask private addresses: all, or only those in networks such as 10.0.0.0/8,127.0.0.1
    #[arg(long, value_name = "CIDR,…", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    allow_private: Option<String>,
    /// Also ask these ports of public addresses, beside 80, 443, 8080 and 8443
    #[arg(long, value_name = "PORT,…", value_delimiter = ',')]
    allow_ports: Vec<u16>,
    /// Trust the certificate authorities of this PEM file too [default: that of SSL_CERT_FILE, if set]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    identity: IdentityOptions,
    /// Take the addresses of host names from a file of `name<TAB>address` lines, not from DNS
    #[arg(long, value_name = "FILE")]
    hosts_file: Option<PathBuf>,
    /// Write the result as JUnit XML too, for CI
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the result as Markdown too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Let the crawl's clock run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    clock_scale: u32,
}

/// What came of a check.
struct Checked {
    directory: PathBuf,
    pages: u64,
    links: u64,
    requests: u64,
    /// By page.
    findings: BTreeMap<String, Vec<Finding>>,
}

impl Checked {
    /// How many findings are of a kind.
    fn count(&self, kind: Kind) -> usize {
        let all = self.findings.values().flatten();
        all.filter(|finding| finding.kind == kind).count()
    }
}

impl Check {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let (directory, config) = self.place()?;
        let mut requests = 0;
        if !self.offline {
            requests += self.crawl(&directory, &config, output)?;
        }
        let pages = Book::look(&directory)?;
        let Some(pages) = pages else {
            anyhow::bail!("{}: not a crawl directory", directory.display());
        };
        let mut site = Site::read(pages)?;
        let beside = directory.join("targets");
        if !self.offline {
            requests += self.ask_beside(&mut site, &beside, &config, output)?;
        }
        site.beside(Book::look(&beside)?)?;
        let probes = directory.join("probes");
        for round in 0..2 {
            site.learn(Book::look(&probes)?)?;
            let wanted = match round {
                0 => site.probes(PROBES_FIRST),
                _ => site.probes(usize::MAX),
            };
            if self.offline || self.no_probes || wanted.is_empty() {
                break;
            }
            let wanted: Vec<String> = wanted.iter().map(Url::to_string).collect();
            let order = self.single(&config, wanted);
            requests += self.carry_out(&probes, &order, false, output)?;
        }
        site.learn(Book::look(&probes)?)?;
        let checked = Checked {
            directory,
            pages: site.page_count(),
            links: site.target_count(),
            requests,
            findings: site.findings()?,
        };
        if let Some(file) = &self.junit {
            write_whole(file, |out| out.write_all(print::junit(&checked).as_bytes()))?;
        }
        if let Some(file) = &self.markdown {
            write_whole(file, |out| {
                out.write_all(print::markdown(&checked).as_bytes())
            })?;
        }
        output.result(&print::json(&checked), || print::text(&checked))?;
        Ok(if checked.count(Kind::Broken) > 0 {
            Exit::Failed
        } else {
            Exit::Done
        })
    }

    /// The directory, and what is asked there.
    fn place(&self) -> anyhow::Result<(PathBuf, Config)> {
        let given = Path::new(&self.target);
        if given.join(FILE).exists() {
            let config = Config::read(given)?.unwrap_or_default();
            if !self.offline && config.until.all != Some(true) {
                let what = format!(
                    "{}: a crawl that is no check; --offline tells of its links without asking anybody",
                    given.display()
                );
                return Err(Usage::of("DIR", what).into());
            }
            return Ok((given.to_owned(), self.over(config)));
        }
        let url = parse(&self.target, &UrlLimits::default()).map_err(|error| {
            let what = format!(
                "{}: {error}; give a URL like https://example.org/, or the directory of an earlier check",
                shown(&self.target)
            );
            Usage::of("URL|DIR", what)
        })?;
        let directory = self
            .output
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("{}-check", host_of(&url))));
        let before = Config::read(&directory)?;
        let mut config = self.over(before.unwrap_or_default());
        if !config.seeds.contains(&self.target) {
            config.seeds.push(self.target.clone());
        }
        Ok((directory, config))
    }

    /// A configuration with what is asked now.
    fn over(&self, mut config: Config) -> Config {
        if let Some(file) = &self.hosts_file {
            config.hosts_file = Some(live::absolute(file));
        }
        config.policy = Some("breadth-first".to_owned());
        config.until = UntilConfig {
            all: Some(true),
            requests: self.requests,
            ..UntilConfig::default()
        };
        if self.contact.is_some() {
            config.contact.clone_from(&self.contact);
        }
        if self.allow_private.is_some() {
            config.allow_private.clone_from(&self.allow_private);
        }
        if !self.allow_ports.is_empty() {
            config.allow_ports.clone_from(&self.allow_ports);
        }
        if let Some(ca) = &self.ca {
            config.ca = Some(live::absolute(ca));
        }
        self.identity.over(&mut config.identity);
        // What is told of a page here rests on probes of our own.
        config.soft_404 = Some(false);
        if self.delay.is_some() {
            config.politeness.delay.clone_from(&self.delay);
        }
        config.politeness.open = self.open.or(config.politeness.open);
        if !self.prefix.is_empty() {
            config.scope.prefixes.clone_from(&self.prefix);
        }
        if !self.exclude.is_empty() {
            config.scope.exclude.clone_from(&self.exclude);
        }
        config
    }

    /// A crawl of these URLs alone.
    fn single(&self, config: &Config, seeds: Vec<String>) -> Config {
        Config {
            seeds,
            policy: config.policy.clone(),
            contact: config.contact.clone(),
            identity: config.identity.clone(),
            ca: config.ca.clone(),
            allow_private: config.allow_private.clone(),
            allow_ports: config.allow_ports.clone(),
            hosts_file: config.hosts_file.clone(),
            soft_404: config.soft_404,
            until: config.until.clone(),
            sitemaps: Some(false),
            politeness: PolitenessConfig {
                ..config.politeness.clone()
            },
            scope: ScopeConfig {
                everywhere: Some(true),
                depth: Some(0),
                exclude: config.scope.exclude.clone(),
                ..ScopeConfig::default()
            },
            limits: LimitsConfig {
                body_bytes: Some(TARGET_BYTES),
                ..config.limits.clone()
            },
            ..Config::default()
        }
    }

    /// Asks for all pages, again if the last check came to its end.
    fn crawl(&self, directory: &Path, config: &Config, output: &Output) -> anyhow::Result<u64> {
        let again = is_done(directory)?;
        self.carry_out(directory, config, again, output)
    }

    /// Asks for what pages link to beside them.
    fn ask_beside(
        &self,
        site: &mut Site,
        beside: &Path,
        config: &Config,
        output: &Output,
    ) -> anyhow::Result<u64> {
        let mut plan = crawl::plan(config, &crawl::seeds(config)?, false)?;
        let client = live::client_config(config, &mut plan)?;
        let (mut seeds, mut left) = (Vec::new(), 0);
        for url in site.strangers() {
            let own = site.is_own(&url);
            let why = if self.no_external && !own {
                Some("another host (--no-external)".to_owned())
            } else if let Err(refusal) =
                live::check_seeds(&client.guard, std::slice::from_ref(&url))
            {
                Some(refusal.to_string())
            } else if config.contact.is_none()
                && config.hosts_file.is_none()
                && let Err(what) = crawl::need_contact(std::slice::from_ref(&url))
            {
                Some(what.to_string())
            } else if seeds.len() == TARGETS_MAX {
                Some(format!("more than {} links", whole(TARGETS_MAX as u64)))
            } else {
                None
            };
            match why {
                None => seeds.push(url.to_string()),
                Some(why) => {
                    left += 1;
                    site.leave(&url, why);
                }
            }
        }
        if left > 0 {
            output.note(&format!("{} not asked for", plural(left, "link target")));
        }
        if seeds.is_empty() {
            return Ok(0);
        }
        let again = is_done(beside)?;
        self.carry_out(beside, &self.single(config, seeds), again, output)
    }

    /// Crawls. Returns how many requests that took.
    fn carry_out(
        &self,
        directory: &Path,
        config: &Config,
        again: bool,
        output: &Output,
    ) -> anyhow::Result<u64> {
        let before = match Book::look(directory)? {
            Some(book) => book.requests(),
            None => 0,
        };
        let order = Order {
            directory,
            config,
            clock_scale: self.clock_scale,
            receivers: Vec::new(),
            listen: None,
            again,
            tries: Some(1),
        };
        let (summary, _) = crawl::carry_out(order, output)?;
        Ok(summary.tally.requests.saturating_sub(before))
    }
}

/// Whether a directory is there whose crawl came to its end.
fn is_done(directory: &Path) -> anyhow::Result<bool> {
    if !directory.join("store/journal").exists() {
        return Ok(false);
    }
    let standing = Directory::look(directory)?.standing()?;
    let ends = ["exhausted", "unreachable"];
    Ok(matches!(standing, Standing::Stopped(why) if ends.contains(&why.as_str())))
}
