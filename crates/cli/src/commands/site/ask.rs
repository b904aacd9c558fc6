//! Asking the web from the command line: one client, redirects followed one at a time.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use turnstone_fetch::{
    AllowPorts, AllowPrivate, Client, FetchError, Guard, REDIRECTS_MAX, Redirect, RedirectChain,
    Request, Response, Url,
};

use crate::commands::crawl::config::Config;
use crate::commands::live::{self, IdentityOptions};

/// Our product token, as robots.txt files name us.
pub(crate) const AGENT: &str = "turnstone";

/// Who asks, and whom.
#[derive(Debug, Args)]
pub(crate) struct Asking {
    /// An e-mail address or URL where site owners can reach you; needed for anything but loopback
    #[arg(long, value_name = "ADDRESS")]
    contact: Option<String>,
    /// Also ask private addresses: all, or only those in networks such as 10.0.0.0/8,127.0.0.1
    #[arg(long, value_name = "CIDR,…", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    allow_private: Option<AllowPrivate>,
    /// Also ask these ports; without it 80, 443, 8080 and 8443, and nearly any of a private address
    #[arg(long, value_name = "PORT,…", value_delimiter = ',')]
    allow_ports: Vec<u16>,
    /// Trust the certificate authorities of this PEM file too [default: that of SSL_CERT_FILE, if set]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    identity: IdentityOptions,
}

/// One request of a chain and what came of it.
#[derive(Debug)]
pub(crate) struct Hop {
    pub(crate) url: Url,
    pub(crate) outcome: Result<Response, FetchError>,
    /// Why the chain went no further, where it wanted to.
    pub(crate) end: Option<String>,
}

impl Asking {
    /// A client as the user wants it, which is to ask for a URL, and the name that robots.txt files know it by.
    /// Must be called within a runtime.
    pub(crate) fn client(&self, url: &Url) -> anyhow::Result<(Client, String)> {
        let mut config = Config {
            contact: self.contact.clone(),
            ca: self.ca.as_deref().map(live::absolute),
            ..Config::default()
        };
        self.identity.over(&mut config.identity);
        live::refuse_proxy(&config, std::slice::from_ref(url))?;
        let guard = Guard {
            private: self.allow_private.clone().unwrap_or_default(),
            ports: AllowPorts::Also(self.allow_ports.clone()),
        };
        let asking = live::asking(&config, guard)?;
        let agent = asking.identity.agent().to_owned();
        Ok((Client::new(asking)?, agent))
    }
}

/// Asks for a URL and follows redirects, each a request of its own.
pub(crate) async fn follow(client: &Client, url: Url) -> Vec<Hop> {
    let mut chain = RedirectChain::new(url.clone(), REDIRECTS_MAX);
    let mut hops = Vec::new();
    let mut next = Some(url);
    while let Some(url) = next.take() {
        let outcome = client.fetch(Request::get(url.clone())).await;
        let mut end = None;
        if let Ok(response) = &outcome {
            match Redirect::of(response.status, &response.headers, &url) {
                Redirect::None => {}
                Redirect::Refused(refusal) => end = Some(refusal.to_string()),
                Redirect::To { url: target, .. } => match chain.step(target.clone()) {
                    Ok(()) => next = Some(target),
                    Err(stop) => end = Some(stop.to_string()),
                },
            }
        }
        hops.push(Hop { url, outcome, end });
    }
    hops
}

/// Runs one piece of asynchronous work to its end.
pub(crate) fn run<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the network runtime")?
        .block_on(work)
}

/// The last answer of a chain, or why there is none.
pub(crate) fn landed(hops: Vec<Hop>) -> anyhow::Result<(Url, Response)> {
    let last = hops.into_iter().next_back().context("nothing was asked")?;
    let response = last.outcome.map_err(anyhow::Error::from)?;
    match last.end {
        Some(why) => Err(anyhow::anyhow!(
            "{}: {why}",
            turnstone_fetch::urls::shown(last.url.as_str())
        )),
        None => Ok((last.url, response)),
    }
}

/// Whether an argument is an address of the web rather than a file.
pub(crate) fn web_address(text: &str) -> Option<Url> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return None;
    }
    turnstone_fetch::urls::parse(text, &turnstone_fetch::urls::UrlLimits::default()).ok()
}

/// A header as text.
pub(crate) fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response
        .headers
        .get(name)
        .and_then(|value| value.to_str().ok())
}
