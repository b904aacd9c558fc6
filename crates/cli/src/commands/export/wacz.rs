//! A crawl as one file that replays in a browser.

use clap::Args;
use serde_json::json;
use turnstone_lab::number::{plural, whole};
use turnstone_pagestore::{Store, shard_folders};
use turnstone_wacz::{Order, pack};

use super::FromTo;
use super::place::Place;
use crate::exit::Usage;
use crate::moment::now_ms;
use crate::output::Output;
use crate::progress::Progress;

/// Write a WACZ: WARC files, index and page list in one file that replays in a browser
///
/// The pages that are stored, with all their copies, as one ZIP that ReplayWeb.page, pywb and Browsertrix read. A
/// crawl may run meanwhile.
#[derive(Debug, Args)]
pub(crate) struct Wacz {
    #[command(flatten)]
    paths: FromTo,
    /// A title for people [default: the name of the directory]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Private networks in which the server of a store may be: all, or such as 10.0.0.0/8,127.0.0.1
    #[arg(long, value_name = "CIDR,…", num_args = 0..=1, default_missing_value = "all", require_equals = true)]
    allow_private: Option<String>,
}

impl Wacz {
    pub(super) fn run(self, output: &Output) -> anyhow::Result<()> {
        let file = &self.paths.output;
        let directory = &self.paths.looked_at()?;
        let is_named = file
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("wacz"));
        if !is_named {
            let what = format!("{}: the name must end in .wacz", file.display());
            return Err(Usage::of("--output", what).into());
        }
        // A crawl that is not there is told as such.
        if shard_folders(directory).is_empty() {
            drop(Store::look(directory)?);
        }
        let place = Place::of(file, self.allow_private.as_deref())?;
        let name = std::path::absolute(&self.paths.directory)?;
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        let title = self.title.as_deref().unwrap_or(&name);
        let progress = Progress::share();
        let mut packed = None;
        let scratch = place.scratch();
        place.write(|out| {
            let order = Order {
                directory,
                title,
                software: concat!("turnstone/", env!("CARGO_PKG_VERSION")),
                now_ms: now_ms(),
                scratch: &scratch,
            };
            packed = Some(pack(order, out, |share| progress.at("packing", share))?);
            Ok(())
        })?;
        drop(progress);
        let packed = packed.unwrap_or_default();
        let json = json!({
            "output": place.name(),
            "warc_files": packed.files,
            "warc_bytes": packed.bytes,
            "captures": packed.captures,
            "pages": packed.pages,
        });
        output.result(&json, || {
            format!(
                "{} with {} out of {} written to {}\n",
                plural(packed.pages, "page"),
                plural(packed.captures, "capture"),
                plural(packed.files, "WARC file"),
                place.name()
            ) + &match packed.pages {
                0 => "no stored page is HTML: there is nothing to click on\n".to_owned(),
                _ => format!(
                    "{} bytes of WARC files; replay it at https://replayweb.page\n",
                    whole(packed.bytes)
                ),
            }
        })
    }
}
