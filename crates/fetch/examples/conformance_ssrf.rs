//! Judges a file of labelled URLs and networks by the address guard.
//!
//! `cargo run -p turnstone-fetch --example conformance_ssrf -- FILE` reads JSON with `networks`
//! (`cidr`, `note`) and `urls` (`url`, `verdict`: allow or block), prints every mismatch and
//! fails if there is one. Nothing is connected: a URL to be refused goes through a whole fetch,
//! one to be allowed is judged by the same function that judges before connecting.
#![expect(clippy::print_stdout, reason = "a command")]

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use serde_json::Value;
use turnstone_fetch::{
    Client, Config, ErrorClass, Guard, Identity, IpNet, Request, Resolve, Url, special,
};
use url::Host;

/// Names are not looked up: every labelled name must be refused without.
struct NoDns;

impl Resolve for NoDns {
    fn resolve<'a>(&'a self, host: &'a str) -> turnstone_fetch::Answer<'a> {
        Box::pin(async move {
            Err(turnstone_fetch::DnsError::Failed(format!(
                "{host}: not looked up"
            )))
        })
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(mismatches) => {
            println!("{mismatches} mismatches");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<usize, String> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: conformance_ssrf FILE")?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let file: Value = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    let list = |key: &str| {
        file[key]
            .as_array()
            .cloned()
            .ok_or(format!("{path}: no list {key:?}"))
    };
    let (networks, urls) = (list("networks")?, list("urls")?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let mut mismatches = 0;
    for network in &networks {
        let cidr = network["cidr"].as_str().unwrap_or_default();
        let note = network["note"].as_str().unwrap_or_default();
        let net: IpNet = cidr
            .parse()
            .map_err(|error| format!("{path}: {cidr}: {error}"))?;
        // Networks judged by what is inside them hold public addresses too.
        if !note.contains("judge the inner") {
            let ends: [IpAddr; 2] = [net.network(), net.broadcast()];
            for address in ends
                .into_iter()
                .filter(|&address| special(address).is_none())
            {
                println!("network {cidr} ({note}): {address} is taken for public");
                mismatches += 1;
            }
        }
    }
    for labelled in &urls {
        let text = labelled["url"].as_str().unwrap_or_default();
        let want = labelled["verdict"].as_str().unwrap_or_default();
        let got = runtime.block_on(verdict(text))?;
        if got != want {
            println!("{text}: {got}, labelled {want}");
            mismatches += 1;
        }
    }
    println!("{} networks, {} URLs", networks.len(), urls.len());
    Ok(mismatches)
}

async fn verdict(text: &str) -> Result<&'static str, String> {
    let Ok(url) = Url::parse(text) else {
        return Ok("block");
    };
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
        Some(Host::Domain(_)) | None => None,
    };
    let port = url.port_or_known_default().unwrap_or(0);
    let public = |ip| Guard::default().judge(SocketAddr::new(ip, port)).is_ok();
    if matches!(url.scheme(), "http" | "https") && literal.is_some_and(public) {
        return Ok("allow");
    }
    let identity = Identity::with_contact("ops@example.org").map_err(|error| error.to_string())?;
    let config = Config {
        resolver: Some(std::sync::Arc::new(NoDns)),
        ..Config::new(identity)
    };
    let client = Client::new(config).map_err(|error| error.to_string())?;
    match client.fetch(Request::get(url)).await {
        Err(error) if error.class == ErrorClass::GuardRefused => Ok("block"),
        Err(error) if error.class == ErrorClass::UrlRefused => Ok("block"),
        Err(error) => Err(format!("{text}: unexpected: {error}")),
        Ok(_) => Err(format!("{text}: was fetched")),
    }
}
