//! The arguments of `turnstone crawl`, and how they meet `turnstone.toml`: flags win.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use turnstone_crawl::limits::{Each, Limit};
use turnstone_crawl::{Lists, Plan};
use turnstone_fetch::Url;
use turnstone_fetch::html::{IgnoreRule, Ignored};
use turnstone_fetch::preferences::Use;
use turnstone_fetch::scope::{Scope, ScopeRules};
use turnstone_fetch::soft404::SoftOptions;
use turnstone_fetch::urls::{UrlLimits, host_of, parse, shown};
use turnstone_frontier::Politeness;
use turnstone_ledger::Until;

use super::config::{Config, IgnoreConfig};
use super::groups::GroupConfig;
use crate::commands::cluster::ClusterOptions;
use crate::commands::deliver::DeliverOptions;
use crate::commands::live::IdentityOptions;
use crate::commands::serve::ListenOptions;
use crate::commands::upload::UploadOptions;
use crate::exit::Usage;
use crate::units::span_ms;

/// Crawl the live web by importance or coverage; goes on where it stopped when DIR exists
///
/// The seeds are the trusted pages: the crawl proves which share of the personalised PageRank
/// around them is in the store, and stops when that is enough. It obeys robots.txt, asks each host
/// gently, survives kill -9, and leaves WARC files.
#[derive(Debug, Args)]
pub(crate) struct Crawl {
    /// Where to start; not needed when DIR is a crawl already
    #[arg(value_name = "SEED")]
    pub(super) seeds: Vec<String>,
    /// The crawl directory, made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: PathBuf,
    /// How to choose pages: a policy of coverage or importance (see `turnstone policies`)
    /// [default: rankmass]
    #[arg(long, value_name = "SPEC")]
    policy: Option<String>,
    /// When to stop: coverage=98%, all (nothing is left to ask for), pages=N, requests=N, bytes=N, time=1h; several with commas,
    /// whichever comes first. With confidence=95% beside coverage a certificate is enough, drawn from a
    /// sample, instead of a proof: it is wrong with a chance of at most 5 %, and needs fewer requests. Pages, requests and bytes count over all runs in DIR, without what was
    /// imported [default: coverage=0.98 where the policy proves it]
    #[arg(long, value_name = "GOAL,…", value_delimiter = ',')]
    until: Vec<String>,
    /// The chance to follow a link rather than to return to a seed [default: 0.85]
    #[arg(long, value_name = "SHARE")]
    damping: Option<f64>,
    /// For policies that draw at random [default: 1]
    #[arg(long = "seed", value_name = "N")]
    random_seed: Option<u64>,
    /// The least time between two requests to a host [default: 1s]
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// The most requests open at a host [default: 1]
    #[arg(long, value_name = "N")]
    open: Option<u32>,
    /// Hosts at one address may be asked at the same time
    #[arg(long)]
    ignore_addresses: bool,
    /// The most requests under way [default: 64]
    #[arg(long, value_name = "N")]
    connections: Option<usize>,
    /// Cut a new crawl into N shards by registrable domain, each with a loop and a journal of its own, in this
    /// one process; for good, and with the policy rankmass only [default: one piece]
    #[arg(long, value_name = "N")]
    shards: Option<u32>,
    #[command(flatten)]
    pub(super) cluster: ClusterOptions,
    /// Keep no WARC files
    #[arg(long)]
    no_warc: bool,
    /// How long a WARC file may become before the next is begun [default: 1GB]
    #[arg(long, value_name = "BYTES", value_parser = crate::units::bytes_as_said)]
    warc_size: Option<String>,
    #[command(flatten)]
    upload: UploadOptions,
    /// Stay on these hosts [default: the hosts of the seeds]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    hosts: Vec<String>,
    /// Stay on these registrable domains, with all their hosts
    #[arg(long, value_name = "DOMAIN,…", value_delimiter = ',')]
    sites: Vec<String>,
    /// Stay below this URL; may be given several times
    #[arg(long, value_name = "URL")]
    prefix: Vec<String>,
    /// Let in URLs that match this regular expression; may be given several times
    #[arg(long, value_name = "REGEX")]
    include: Vec<String>,
    /// Keep out URLs that match this regular expression; may be given several times
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<String>,
    /// More seeds, from a file or - for standard input: a URL or a host a line, # for comments; may be
    /// gzip or zstd; may be given several times
    #[arg(long = "seeds", value_name = "FILE")]
    seed_files: Vec<PathBuf>,
    /// Let in the hosts and URL prefixes of a file, or - for standard input; takes the place of the
    /// list given before
    #[arg(long, value_name = "FILE")]
    include_list: Vec<PathBuf>,
    /// Keep out the hosts and URL prefixes of a file, or - for standard input, seeds too; takes the
    /// place of the list given before
    #[arg(long, value_name = "FILE")]
    exclude_list: Vec<PathBuf>,
    /// Follow links to any host
    #[arg(long)]
    everywhere: bool,
    /// The most links from a seed
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// The most pages stored of one host
    #[arg(long, value_name = "N")]
    host_pages: Option<u32>,
    /// A limit for each host, each site or some hosts together, as host:requests=500, site:bytes=1GB or
    /// a.example,b.example:pages=100,delay=5s; of pages, requests, bytes, depth, delay; may be given several
    /// times
    #[arg(long = "limit", value_name = "WHO:WHAT=N,…")]
    limits: Vec<String>,
    /// The longest body, in bytes [default: 10485760]
    #[arg(long, value_name = "BYTES")]
    body_bytes: Option<usize>,
    /// Pages of one URL pattern fetched before one must have brought anything new; 0 for no limit
    /// [default: 200]
    #[arg(long, value_name = "N")]
    pattern_trust: Option<u32>,
    /// Take URLs that differ only in utm_source, gclid and the like for one page
    #[arg(long)]
    strip_tracking: bool,
    /// Do not read the sitemaps and feeds that robots.txt and pages name, nor ask for pages that only they name
    #[arg(long)]
    no_sitemaps: bool,
    /// Keep nothing of a page whose publisher says no to one of these uses, and do not ask for it where
    /// robots.txt says so: train-ai, ai-input, search, tdm, archive
    #[arg(long, value_name = "USE,…", value_delimiter = ',')]
    respect: Vec<Use>,
    /// Take every answer with status 200 for its page: do not ask for random names beside pages that look as if
    /// they were not there (soft 404)
    #[arg(long)]
    no_soft_404: bool,
    /// An e-mail address or URL where site owners can reach you; needed for anything but loopback
    #[arg(long, value_name = "ADDRESS")]
    contact: Option<String>,
    /// Trust the certificate authorities of this PEM file too [default: that of SSL_CERT_FILE, if set]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Also ask private addresses: all, or only those in networks such as 10.0.0.0/8,127.0.0.1
    #[arg(long, value_name = "CIDR,…", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    allow_private: Option<String>,
    /// Also ask these ports of public addresses, beside 80, 443, 8080 and 8443
    #[arg(long, value_name = "PORT,…", value_delimiter = ',')]
    allow_ports: Vec<u16>,
    /// Take the addresses of host names from a file of `name<TAB>address` lines, not from DNS
    #[arg(long, value_name = "FILE")]
    hosts_file: Option<PathBuf>,
    #[command(flatten)]
    identity: IdentityOptions,
    #[command(flatten)]
    pub(super) deliver: DeliverOptions,
    #[command(flatten)]
    pub(super) listen: ListenOptions,
    /// Let the crawl's clock run this many times faster than time: for tests on loopback only
    #[arg(long, hide = true, default_value_t = 1)]
    pub(super) clock_scale: u32,
}

impl Crawl {
    /// What is asked now: the file of the directory, overruled by flags.
    pub(super) fn merged(&self, file: Option<Config>) -> anyhow::Result<Config> {
        let mut config = file.unwrap_or_default();
        for seed in &self.seeds {
            if !config.seeds.contains(seed) {
                config.seeds.push(seed.clone());
            }
        }
        self.settle_reach(&mut config)?;
        config
            .lists
            .take(&self.seed_files, &self.include_list, &self.exclude_list)?;
        over(&mut config.policy, &self.policy);
        over(&mut config.damping, &self.damping);
        over(&mut config.random_seed, &self.random_seed);
        over(&mut config.contact, &self.contact);
        self.identity.over(&mut config.identity);
        over(&mut config.shards, &self.shards);
        self.cluster.over(&mut config.cluster, &self.output)?;
        if let Some(ca) = &self.ca {
            config.ca = Some(crate::commands::live::absolute(ca));
        }
        if let Some(file) = &self.hosts_file {
            config.hosts_file = Some(crate::commands::live::absolute(file));
        }
        over(&mut config.warc_size, &self.warc_size);
        self.upload.over(&mut config.upload);
        over(&mut config.allow_private, &self.allow_private);
        over_list(&mut config.allow_ports, &self.allow_ports);
        over(&mut config.politeness.delay, &self.delay);
        over(&mut config.politeness.open, &self.open);
        over(&mut config.limits.connections, &self.connections);
        over(&mut config.limits.host_pages, &self.host_pages);
        for limit in &self.limits {
            let group = GroupConfig::parse(limit)?;
            config.groups.retain(|it| it.name != group.name);
            config.groups.push(group);
        }
        over(&mut config.limits.body_bytes, &self.body_bytes);
        over(&mut config.limits.pattern_trust, &self.pattern_trust);
        over(&mut config.scope.depth, &self.depth);
        over_list(&mut config.scope.hosts, &self.hosts);
        over_list(&mut config.scope.sites, &self.sites);
        over_list(&mut config.scope.prefixes, &self.prefix);
        over_list(&mut config.scope.include, &self.include);
        over_list(&mut config.scope.exclude, &self.exclude);
        if self.ignore_addresses {
            config.politeness.per_address = Some(false);
        }
        if self.no_sitemaps {
            config.sitemaps = Some(false);
        }
        if !self.respect.is_empty() {
            config.respect = self.respect.iter().map(ToString::to_string).collect();
        }
        if self.no_soft_404 {
            config.soft_404 = Some(false);
        }
        if self.strip_tracking {
            config.strip_tracking = Some(true);
        }
        if self.no_warc {
            config.warc = Some(false);
        }
        if !self.until.is_empty() {
            config.until = super::until::parse(&self.until)?;
        }
        if config.seeds.is_empty() && config.lists.seeds.is_empty() {
            let what = "give at least one seed URL; this directory knows none";
            return Err(Usage::of("SEED", what).into());
        }
        Ok(config)
    }

    /// How far the crawl reaches: `--everywhere` takes the place of what was said before, and so do hosts, sites,
    /// prefixes and patterns. Both at once say nothing.
    fn settle_reach(&self, config: &mut Config) -> Result<(), Usage> {
        let narrow = [
            ("--hosts", !self.hosts.is_empty()),
            ("--sites", !self.sites.is_empty()),
            ("--prefix", !self.prefix.is_empty()),
            ("--include", !self.include.is_empty()),
            ("--include-list", !self.include_list.is_empty()),
        ];
        let given = narrow.into_iter().find(|(_, given)| *given);
        match (self.everywhere, given) {
            (true, Some((option, _))) => {
                let what = format!("{option} says where to stay; leave one of them out");
                return Err(Usage::of("--everywhere", what));
            }
            (true, None) => {
                let scope = &mut config.scope;
                scope.everywhere = Some(true);
                for rules in [
                    &mut scope.hosts,
                    &mut scope.sites,
                    &mut scope.prefixes,
                    &mut scope.include,
                ] {
                    rules.clear();
                }
                config.lists.include = Default::default();
            }
            (false, Some(_)) => config.scope.everywhere = None,
            (false, None) => {}
        }
        Ok(())
    }
}

fn over<T: Clone>(value: &mut Option<T>, flag: &Option<T>) {
    if flag.is_some() {
        value.clone_from(flag);
    }
}

fn over_list<T: Clone>(value: &mut Vec<T>, flag: &[T]) {
    if !flag.is_empty() {
        *value = flag.to_vec();
    }
}

/// The seeds as URLs, but for those that the exclude list keeps out.
pub(crate) fn seeds(config: &Config) -> anyhow::Result<Vec<Url>> {
    let limits = UrlLimits::default();
    let read = |text: &String| {
        let mut url = parse(text, &limits).map_err(|error| {
            Usage(format!(
                "seed {}: {error}; give a URL like https://example.org/",
                shown(text)
            ))
        })?;
        url.set_fragment(None);
        Ok(url)
    };
    let mut seeds = config
        .seeds
        .iter()
        .map(read)
        .collect::<anyhow::Result<Vec<Url>>>()?;
    seeds.extend_from_slice(&config.lists.seeds);
    let kept_out = config.kept_out()?;
    seeds.retain(|url| kept_out.find(url).is_none());
    Ok(seeds)
}

/// What the crawl is to do.
pub(crate) fn plan(config: &Config, seeds: &[Url], proves: bool) -> anyhow::Result<Plan> {
    let mut plan = Plan::new(scope(config, seeds)?);
    let span = |option: &str, text: &Option<String>, default: u64| match text {
        None => Ok(default),
        Some(text) => span_ms(text).map_err(|error| Usage::of(option, error)),
    };
    plan.politeness = Politeness {
        delay_ms: span("--delay", &config.politeness.delay, 1000)?,
        open_max: config.politeness.open.unwrap_or(1),
    };
    if plan.politeness.open_max == 0 {
        return Err(Usage::of("--open", "at least one request must be allowed").into());
    }
    let longest = span(
        "politeness.crawl-delay-max",
        &config.politeness.crawl_delay_max,
        30_000,
    )?;
    plan.crawl_delay_max = Duration::from_millis(longest);
    plan.per_address = config.politeness.per_address.unwrap_or(true);
    plan.connections = config.limits.connections.unwrap_or(plan.connections);
    if plan.connections == 0 {
        return Err(Usage::of("--connections", "at least one is needed").into());
    }
    for of in &config.respect {
        let of = of.parse().map_err(|error| Usage::of("--respect", error))?;
        plan.respect.push(of);
    }
    // What a random name costs was not tried where several shards share budgets.
    let doubts = config.soft_404 != Some(false) && config.shards.is_none();
    plan.soft404 = doubts.then(SoftOptions::default);
    plan.keys.strip_tracking = config.strip_tracking.unwrap_or(false);
    plan.lists = match config.sitemaps {
        Some(false) => Lists::Ignored,
        Some(true) | None => Lists::Beside,
    };
    if let Some(max) = config.limits.host_pages {
        if max == 0 {
            return Err(Usage::of("--host-pages", "at least one page must be allowed").into());
        }
        plan.limits.push(Limit {
            name: "host-pages".to_owned(),
            pages: Some(max.into()),
            ..Limit::default()
        });
    }
    for group in &config.groups {
        let limit = group.limit()?;
        if limit.each == Each::Together && config.shards.is_some() {
            let what = format!(
                "'{}': hosts may be in several shards; give it per host or per site",
                limit.name
            );
            return Err(Usage::of("--limit", what).into());
        }
        plan.limits.push(limit);
    }
    plan.body_bytes_max = config.limits.body_bytes.unwrap_or(plan.body_bytes_max);
    if plan.body_bytes_max == 0 {
        return Err(Usage::of("--body-bytes", "at least one byte must be allowed").into());
    }
    match config.limits.pattern_trust {
        Some(0) => plan.pattern_trust = None,
        Some(trust) => plan.pattern_trust = Some(trust),
        None => {}
    }
    plan.pages.ignored = ignored(&config.ignore)?;
    let until = &config.until;
    let nothing_asked = *until == super::config::UntilConfig::default();
    let time = span("--until time", &until.time, 0)?;
    if until.time.is_some() && time == 0 {
        return Err(Usage::of("--until", "time: give more than none, as 1h").into());
    }
    plan.until = Until {
        coverage: proves && (until.coverage.is_some() || nothing_asked),
        pages: until.pages,
        requests: until.requests,
        bytes: until.bytes,
        time: until.time.as_ref().map(|_| Duration::from_millis(time)),
    };
    Ok(plan)
}

/// What of pages does not count as a change.
pub(crate) fn ignored(rules: &[IgnoreConfig]) -> anyhow::Result<Ignored> {
    let rules = rules.iter().map(|rule| IgnoreRule {
        hosts: rule.hosts.clone(),
        pages: rule.pages.clone(),
        selectors: rule.selectors.clone(),
        text: rule.text.clone(),
    });
    let rules: Vec<IgnoreRule> = rules.collect();
    let ignored = Ignored::new(&rules);
    Ok(ignored.map_err(|error| Usage(format!("turnstone.toml, [[ignore]]: {error}")))?)
}

fn scope(config: &Config, seeds: &[Url]) -> anyhow::Result<Scope> {
    let asked = &config.scope;
    let mut rules = ScopeRules {
        hosts: asked.hosts.clone(),
        sites: asked.sites.clone(),
        prefixes: asked.prefixes.clone(),
        include: asked.include.clone(),
        exclude: asked.exclude.clone(),
        include_list: config.lists.include.clone(),
        exclude_list: config.kept_out()?,
        depth_max: asked.depth.unwrap_or(u32::MAX),
        ..ScopeRules::default()
    };
    let nothing_asked = rules.hosts.is_empty()
        && rules.sites.is_empty()
        && rules.prefixes.is_empty()
        && rules.include.is_empty()
        && rules.include_list.is_empty();
    if nothing_asked && !asked.everywhere.unwrap_or(false) {
        rules.hosts = seeds.iter().map(|url| host_of(url).to_owned()).collect();
        rules.hosts.sort();
        rules.hosts.dedup();
    }
    Scope::new(rules).map_err(|error| Usage(error.to_string()).into())
}
