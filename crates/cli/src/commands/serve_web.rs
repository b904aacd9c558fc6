//! `turnstone serve-web WEB`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::table::Table;
use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use turnstone_lab::number::whole;
use turnstone_lab::serve::{
    self, At, Faults, GraphPages, Handle, Naming, Options, Politeness, RobotsCheck, Web,
};
use turnstone_lab::web::{self, WebKind};

use crate::exit::{Exit, Usage};
use crate::files::write_whole;
use crate::output::Output;
use crate::progress::Progress;
use crate::units;

/// Sites shown to people; --json and --hosts-file have all.
const SITES_SHOWN: usize = 20;
/// How often we look whether it is time to end.
const LOOK_MS: u64 = 20;

/// Serve a recorded web as real HTTP sites on loopback, and watch who asks for what.
///
/// Each host has an address of its own, 127.1.0.1 and up, and links lead there. The server runs
/// until it is interrupted or --until; then it sums up, and fails if a request was impolite.
#[derive(Debug, Args)]
pub(crate) struct ServeWeb {
    /// A recorded web: NAME[.graph], NAME.tsv[.zst|.gz], NAME.jsonl.zst, or a folder of histories
    web: PathBuf,
    /// The port of all sites; 0 takes one that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Tell hosts apart by name: links keep the names of the web, to be found through --hosts-file
    #[arg(long)]
    by_name: bool,
    /// Write where each host is, as NAME<TAB>ADDRESS
    #[arg(long, value_name = "FILE")]
    hosts_file: Option<PathBuf>,
    /// Hosts among which the pages of a graph without URLs are dealt
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hosts: u32,
    /// About how large the pages of a graph are, in bytes
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(0..=16_777_216))]
    page_bytes: u32,
    /// The moment of a history that is shown: a snapshot's number, a date, `first` or `last`
    #[arg(long, value_name = "WHEN", default_value = "last")]
    at: At,
    /// Let time pass: so many virtual seconds in a second, from --at on; 0 stands still
    #[arg(long, value_name = "SCALE", default_value_t = 0.0)]
    clock: f64,
    /// Give each host a /sitemap.xml of what is there, with the moment each page changed; robots.txt
    /// names it
    #[arg(long)]
    sitemaps: bool,
    /// The faults to serve, such as `slow:rate=0.05,ms=800;5xx:rate=0.03;trap=calendar` (all of it
    /// is in docs/serve-web.md)
    #[arg(
        long,
        value_name = "SPEC",
        default_value = "",
        hide_default_value = true
    )]
    faults: String,
    /// The least time between two requests to a host; less is impolite [default: any]
    #[arg(long, value_name = "TIME", value_parser = units::span_ms)]
    delay: Option<u64>,
    /// The least time between two requests to an address [default: any]
    #[arg(long, value_name = "TIME", value_parser = units::span_ms)]
    delay_per_address: Option<u64>,
    /// The most open requests to a host; more are impolite [default: any]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    open: Option<u32>,
    /// What of robots.txt is checked: `off`, `rules` (no page it disallows), `first` (nor any page
    /// before it was answered)
    #[arg(long, value_name = "WHAT", default_value = "rules", value_parser = robots_check)]
    check_robots: RobotsCheck,
    /// End at the first impolite request
    #[arg(long)]
    fail_fast: bool,
    /// Write every request to a file, line by line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// End after so much: `requests=N` or `time=T` [default: when interrupted]
    #[arg(long, value_name = "WHAT", value_parser = until)]
    until: Option<Until>,
    /// Connections at once; more are closed
    #[arg(long, value_name = "N", default_value_t = 8192)]
    connections: usize,
    /// Threads that serve
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// The seed of texts and faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// When to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Requests(u64),
    TimeMs(u64),
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    if text.bytes().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn until(text: &str) -> Result<Until, String> {
    match text.split_once('=') {
        Some(("requests", number)) => number
            .parse()
            .map(Until::Requests)
            .map_err(|_| format!("'{number}' is not a number of requests")),
        Some(("time", time)) => units::span_ms(time).map(Until::TimeMs),
        _ => Err("say requests=N or time=T".to_owned()),
    }
}

fn robots_check(text: &str) -> Result<RobotsCheck, String> {
    match text {
        "off" => Ok(RobotsCheck::Off),
        "rules" => Ok(RobotsCheck::Rules),
        "first" => Ok(RobotsCheck::First),
        _ => Err("say off, rules or first".to_owned()),
    }
}

impl ServeWeb {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let options = self.options()?;
        let progress = Progress::busy("reading");
        let web = open(&self.web, self.graph_pages())?;
        drop(progress);
        if let At::Number(number) = self.at
            && number >= web.snapshot_count()
        {
            let last = web.snapshot_count() - 1;
            let what = format!("there is no snapshot {number}; they are numbered 0 to {last}");
            return Err(Usage::of("--at", what).into());
        }
        let shadowed = web.shadowed();
        let handle = serve::start(web, options)?;
        if shadowed > 0 {
            output.note(&format!(
                "turnstone: {} pages cannot be reached: their URLs differ from another's only in \
                 scheme, fragment or escapes",
                whole(shadowed)
            ));
        }
        if let Some(file) = &self.hosts_file {
            write_hosts(file, &handle)?;
        }
        self.say_ready(&handle, output)?;
        self.wait(&handle)?;
        let exit = sum_up(&handle, output)?;
        match (&self.log, handle.log_fault()) {
            (Some(log), Some(fault)) => anyhow::bail!("{}: cut short: {fault}", log.display()),
            _ => Ok(exit),
        }
    }

    fn options(&self) -> anyhow::Result<Options> {
        let faults =
            Faults::parse(&self.faults, self.seed).map_err(|error| Usage::of("--faults", error))?;
        if !self.clock.is_finite() || self.clock < 0.0 {
            return Err(Usage::of("--clock", "give a number that is not negative").into());
        }
        Ok(Options {
            port: self.port,
            naming: if self.by_name {
                Naming::ByName
            } else {
                Naming::ByAddress
            },
            at: self.at,
            clock: self.clock,
            sitemaps: self.sitemaps,
            faults,
            politeness: Politeness {
                delay_ms: self.delay,
                delay_per_address_ms: self.delay_per_address,
                open: self.open,
                robots: self.check_robots,
            },
            fail_fast: self.fail_fast,
            control: true,
            log: self.log.clone(),
            // Nobody looks at them here: they are counted, and --log has them.
            requests_kept: 0,
            connections_max: self.connections,
            threads: usize::from(self.threads),
            on_violation: Some(Arc::new(|violation| {
                crate::log::warning(&format!("turnstone: {violation}"));
            })),
            ..Options::default()
        })
    }

    fn graph_pages(&self) -> GraphPages {
        GraphPages {
            hosts: self.hosts,
            page_bytes: self.page_bytes,
            seed: self.seed,
        }
    }

    /// Tells people and scripts where everything is.
    fn say_ready(&self, handle: &Handle, output: &Output) -> anyhow::Result<()> {
        let control = handle.control_port();
        output.line(
            || {
                let site = |site: serve::SiteInfo| json!({"site": site.name, "url": site.url, "pages": site.pages});
                let sites: Vec<_> = handle.sites(usize::MAX).into_iter().map(site).collect();
                json!({"port": handle.port(), "control": control, "sites": sites})
            },
            || {
                let mut table = Table::new(&["site", "#pages", "shows", "begin at"]);
                for site in handle.sites(SITES_SHOWN) {
                    let shows = site.snapshot.map_or_else(
                        || "-".to_owned(),
                        |(number, date)| format!("snapshot {number}, {date}"),
                    );
                    table.row([site.name, whole(site.pages.into()), shows, site.url]);
                }
                let more = handle.site_count().saturating_sub(SITES_SHOWN);
                let more = match more {
                    0 => String::new(),
                    _ => format!("and {} sites more\n", whole(more as u64)),
                };
                let seed = handle.seeds().into_iter().next().unwrap_or_default();
                let found = match &self.hosts_file {
                    Some(file) if self.by_name => format!(" --hosts-file {}", quoted(file)),
                    None if self.by_name => " --hosts-file FILE".to_owned(),
                    _ => String::new(),
                };
                let control = control.unwrap_or(0);
                format!(
                    "{}{more}\nCrawl it:      turnstone crawl {seed} -o DIR --allow-private=127.0.0.0/8{found}\n\
                     Move the date: curl -X POST http://127.0.0.1:{control}/at/WHEN\n\
                     Stop it:       Ctrl-C\n",
                    table.text()
                )
            },
        )
    }

    /// Waits until it is time to end.
    fn wait(&self, handle: &Handle) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot wait for signals")?;
        let began = Instant::now();
        let is_over = || match self.until {
            _ if handle.is_halted() => true,
            None => false,
            Some(Until::Requests(number)) => handle.request_count() >= number,
            Some(Until::TimeMs(ms)) => began.elapsed() >= Duration::from_millis(ms),
        };
        runtime.block_on(async {
            let mut stop = std::pin::pin!(interrupted());
            while !is_over() {
                let look = tokio::time::sleep(Duration::from_millis(LOOK_MS));
                tokio::select! {
                    stopped = &mut stop => return stopped,
                    () = look => {}
                }
            }
            Ok(())
        })
    }
}

/// Waits for SIGINT or SIGTERM.
async fn interrupted() -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            interrupt = tokio::signal::ctrl_c() => interrupt?,
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}

/// Any recorded web, ready to be served.
fn open(path: &Path, pages: GraphPages) -> anyhow::Result<Web> {
    Ok(match web::recognise(path)? {
        WebKind::Bv(_) | WebKind::Edges(_) | WebKind::CrawlDirectory(_) => {
            Web::graph(web::open_graph(path)?, pages)
        }
        WebKind::History(_) | WebKind::Histories(_) => {
            let histories: Vec<_> = web::open_histories(path)?.collect::<Result<_, _>>()?;
            Web::histories(histories)
        }
    })
}

fn write_hosts(file: &Path, handle: &Handle) -> anyhow::Result<()> {
    write_whole(file, |out| {
        for (name, address) in handle.hosts() {
            writeln!(out, "{name}\t{}", address.ip())?;
        }
        Ok(())
    })
}

/// The last word: what was asked, and whether all of it was polite.
fn sum_up(handle: &Handle, output: &Output) -> anyhow::Result<Exit> {
    let summary = handle.summary();
    output.line(
        || {
            json!({
                "requests": summary.requests,
                "by_status": summary.by_status,
                "violations": summary.violations,
            })
        },
        || {
            let by_status: Vec<String> = summary
                .by_status
                .iter()
                .map(|(status, count)| match status {
                    0 => format!("reset {}", whole(*count)),
                    _ => format!("{status}: {}", whole(*count)),
                })
                .collect();
            let by_status = match by_status.is_empty() {
                true => String::new(),
                false => format!(" ({})", by_status.join(", ")),
            };
            let (requests, violations) = (whole(summary.requests), whole(summary.violations));
            format!("{requests} requests{by_status}, {violations} impolite\n")
        },
    )?;
    Ok(if summary.violations == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}
