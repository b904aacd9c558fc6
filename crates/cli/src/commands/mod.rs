//! One file a command.

mod advise;
mod audit;
mod backtest;
mod check;
mod cluster;
mod completions;
mod copies;
mod crawl;
mod deliver;
mod demo;
mod diff;
mod directory;
mod discover;
mod events;
mod export;
mod forget;
mod generate;
mod ignore;
mod import;
mod info;
mod keep;
mod key;
mod league;
mod live;
mod man;
mod policies;
mod rank;
mod refresh;
mod report;
mod revive;
mod scope;
mod serve;
mod serve_web;
mod shards;
mod show;
mod site;
mod status;
mod upload;
mod why;

use clap::Subcommand;

use crate::exit::Exit;
use crate::output::Output;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a made-up web on loopback, crawl it live, and show the result
    Demo(demo::Demo),
    /// Crawl the live web by importance or coverage; goes on where it stopped when DIR exists
    Crawl(Box<crawl::Crawl>),
    /// Share a crawl among several machines: join, status, audit, stop
    #[command(subcommand)]
    Cluster(cluster::Cluster),
    /// Check the links of a site: which are broken, and on which page and line they stand
    Check(Box<check::Check>),
    /// Tell what belongs to a crawl, or change it: rules are added to those there are
    Scope(scope::Scope),
    /// Take pages out of a crawl for good, bodies and all, and never ask for them again
    Forget(forget::Forget),
    /// Tell where a crawl stands, while it runs or after
    Status(status::Status),
    /// Compute again what a crawl has proven and certified, from its journal alone
    Audit(audit::Audit),
    /// Tell why a page is fetched, waits or was refused
    Why(why::Why),
    /// Tell what happened to the pages of a crawl: new, changed, gone, moved, refused, back
    Events(events::Events),
    /// Bring closed WARC files, their index and reports to an object store, once each
    Upload(upload::Upload),
    /// Deliver events to webhooks, commands, files and e-mail
    Deliver(deliver::Deliver),
    /// Print a stored copy of a page out of the WARC files
    Show(show::Show),
    /// Show what differs between two stored copies of a page, by words within lines
    Diff(diff::Diff),
    /// Propose what does not count as a change: dates and counters that pages change at every fetch
    Ignore(ignore::Ignore),
    /// Show crawls in the browser, and to programs: dashboard, JSON, metrics
    Serve(serve::Serve),
    /// Write a page about a crawl: coverage, answers, hosts, and what is missing
    Report(report::Report),
    /// Bring an old crawl into a crawl directory: WARC, CDX, URL lists, graphs, histories
    Import(import::Import),
    /// Look for new pages: fetch a few known pages again, and every new page they lead to
    Discover(discover::Discover),
    /// Look for changed pages: fetch a few stored pages again
    Refresh(refresh::Refresh),
    /// Keep a store current for ever: one budget for new, changed, undiscovered and lost pages
    Keep(Box<keep::Keep>),
    /// Recommend a policy for a crawl, from backtests on its own history
    Advise(advise::Advise),
    /// Find what is still alive of an old crawl, with the fewest requests
    Revive(revive::Revive),
    /// Write what a crawl brought: link graph, page table, histories
    #[command(subcommand)]
    Export(export::Export),
    /// Try policies on a recorded web
    #[command(subcommand)]
    Backtest(backtest::Backtest),
    /// Try every policy on every question that recorded webs can answer, with nothing but defaults
    League(league::League),
    /// Score every page of a recorded web: PageRank, in-degree or OPIC
    Rank(rank::Rank),
    /// Make synthetic webs of any size, for scale tests and demos
    #[command(subcommand)]
    Generate(generate::Generate),
    /// Serve a recorded web as real HTTP sites on loopback
    ServeWeb(serve_web::ServeWeb),
    /// Tell what a recorded web holds
    Info(info::Info),
    /// Show what the crawler sees at a URL
    Inspect(site::inspect::Inspect),
    /// Say which URLs a robots.txt allows, and the line that decides
    Robots(site::robots::Robots),
    /// Show the links of a page as the crawler reads them
    Links(site::links::Links),
    /// Show how URLs are read: canonical key, SURT, host and site
    Canon(site::canon::Canon),
    /// Keys for signed requests: make one, print what to publish of it
    Key(key::Key),
    /// List every policy with its parameters, paper and cost
    Policies(policies::Policies),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Write man pages, one for each command
    Man(man::Man),
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        match self {
            Self::Demo(command) => command.run(output),
            Self::Crawl(command) => command.run(output),
            Self::Cluster(command) => command.run(output),
            Self::Check(command) => command.run(output),
            Self::Scope(command) => command.run(output),
            Self::Forget(command) => command.run(output),
            Self::Status(command) => command.run(output),
            Self::Audit(command) => command.run(output),
            Self::Why(command) => command.run(output),
            Self::Events(command) => command.run(output),
            Self::Upload(command) => command.run(output),
            Self::Deliver(command) => command.run(output),
            Self::Show(command) => command.run(output),
            Self::Diff(command) => command.run(output),
            Self::Ignore(command) => command.run(output),
            Self::Serve(command) => command.run(output),
            Self::Report(command) => command.run(output),
            Self::Import(command) => command.run(output),
            Self::Discover(command) => command.run(output),
            Self::Refresh(command) => command.run(output),
            Self::Keep(command) => command.run(output),
            Self::Advise(command) => command.run(output),
            Self::Revive(command) => command.run(output),
            Self::Export(command) => command.run(output),
            Self::Backtest(command) => command.run(output),
            Self::League(command) => command.run(output),
            Self::Generate(command) => command.run(output),
            Self::Rank(command) => command.run(output),
            Self::ServeWeb(command) => command.run(output),
            Self::Info(command) => command.run(output),
            Self::Inspect(command) => command.run(output),
            Self::Robots(command) => command.run(output),
            Self::Links(command) => command.run(output),
            Self::Canon(command) => command.run(output),
            Self::Key(command) => command.run(output),
            Self::Policies(command) => command.run(output),
            Self::Completions(command) => command.run(output),
            Self::Man(command) => command.run(output),
        }
    }
}
