//! `turnstone canon URL…`

use clap::Args;
use serde_json::json;
use turnstone_fetch::urls::{self, KeyOptions, UrlLimits};

use crate::exit::Exit;
use crate::output::Output;

/// Show how URLs are read: as fetched, the canonical key, SURT, host and site.
#[derive(Debug, Args)]
pub(crate) struct Canon {
    /// The URLs
    #[arg(required = true)]
    urls: Vec<String>,
    /// Also drop tracking parameters such as utm_source
    #[arg(long)]
    strip_tracking: bool,
    /// Keep session ids
    #[arg(long)]
    keep_sessions: bool,
    /// Sort query parameters
    #[arg(long)]
    sort_query: bool,
}

impl Canon {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let options = KeyOptions {
            strip_sessions: !self.keep_sessions,
            strip_tracking: self.strip_tracking,
            sort_query: self.sort_query,
        };
        let mut exit = Exit::Done;
        let mut read = Vec::new();
        for text in &self.urls {
            let shown = urls::shown(text);
            match urls::parse(text, &UrlLimits::default()) {
                Ok(url) => read.push(json!({
                    "given": shown,
                    "fetched": url.as_str(),
                    "key": urls::canonical_key(&url, &options),
                    "surt": urls::surt(&url),
                    "host": urls::host_of(&url),
                    "site": urls::site_of(&url),
                })),
                Err(error) => {
                    read.push(json!({"given": shown, "error": error.to_string()}));
                    exit = Exit::Failed;
                }
            }
        }
        output.result(&read, || {
            let mut text = String::new();
            for url in &read {
                text.push_str(&format!("{}\n", url["given"].as_str().unwrap_or("")));
                for name in ["error", "fetched", "key", "surt", "host", "site"] {
                    if let Some(value) = url[name].as_str() {
                        text.push_str(&format!("  {name:8} {value}\n"));
                    }
                }
            }
            text
        })?;
        Ok(exit)
    }
}
