//! `--hosts-file`: addresses of host names from a file instead of DNS.

use std::collections::HashMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use turnstone_fetch::{Answer, DnsError, Resolve};

use crate::exit::Usage;

/// Answers from a table.
struct Table(HashMap<String, Vec<IpAddr>>);

impl Resolve for Table {
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a> {
        let found = self.0.get(host.trim_end_matches('.')).cloned();
        Box::pin(std::future::ready(found.ok_or(DnsError::NoSuchName)))
    }
}

/// Reads `name<TAB>address` lines; empty ones and those that start with # are passed over.
pub(super) fn read(path: &Path) -> anyhow::Result<Arc<dyn Resolve>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut table: HashMap<String, Vec<IpAddr>> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let pair = words.next().zip(words.next());
        let parsed = pair.and_then(|(name, address)| Some((name, address.parse().ok()?)));
        let Some((name, address)) = parsed else {
            let place = format!("{}:{}", path.display(), number + 1);
            return Err(Usage(format!("{place}: give a host name and an address")).into());
        };
        table
            .entry(name.to_ascii_lowercase())
            .or_default()
            .push(address);
    }
    Ok(Arc::new(Table(table)))
}
