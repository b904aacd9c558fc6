//! Whom we ask through, and whom we trust: proxies and certificate authorities.
//!
//! The environment may name a proxy. It is not used just like that, for it may not permit what we need of one:
//! a tunnel to an address that the guard has judged. Whoever has set one expects all traffic to go through
//! it, so it is not passed over in silence either: turnstone refuses to crawl anything but this machine until
//! `--proxy` says which one to use, or `NO_PROXY=*` that none is meant.

use std::path::{Path, PathBuf};

use turnstone_fetch::{Tls, Url, certificates_of};

use crate::commands::crawl::{self, config::Config};
use crate::exit::Usage;

const PROXIES: [&str; 6] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Refuses to pass by a proxy that the environment names. Without seeds nobody knows who is asked.
pub(crate) fn refuse_proxy(config: &Config, seeds: &[Url]) -> Result<(), Usage> {
    if config.identity.proxy.is_some() {
        return Ok(());
    }
    let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let none_meant = ["NO_PROXY", "no_proxy"]
        .iter()
        .any(|name| value(name).is_some_and(|value| value.trim() == "*"));
    let named = PROXIES.iter().find(|name| value(name).is_some());
    let all_here = !seeds.is_empty() && seeds.iter().all(crawl::is_here);
    match named {
        Some(name) if !none_meant && !all_here => Err(Usage(format!(
            "{name} is set, and turnstone takes no proxy from the environment; give --proxy URL to go \
             through one, or set NO_PROXY=* to ask sites directly"
        ))),
        _ => Ok(()),
    }
}

/// The path of a file that is read again when the crawl goes on from elsewhere.
pub(crate) fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.display().to_string()
}

/// Whom we trust.
pub(super) fn tls(config: &Config) -> Result<Tls, Usage> {
    let mut tls = Tls::default();
    let (option, file) = match (&config.ca, std::env::var_os("SSL_CERT_FILE")) {
        (Some(file), _) => ("--ca", PathBuf::from(file)),
        (None, Some(file)) if !file.is_empty() => ("SSL_CERT_FILE", PathBuf::from(file)),
        (None, _) => return Ok(tls),
    };
    let wrong = |what: String| Usage::of(option, format!("{}: {what}", file.display()));
    let pem = std::fs::read(&file).map_err(|error| wrong(error.to_string()))?;
    tls.extra_roots = certificates_of(&pem).map_err(wrong)?;
    Ok(tls)
}
