//! The folder of a demo: a crawl directory, the web it crawled, and a note that says so.
//!
//! An earlier demo is replaced; anything else is left alone unless told otherwise, and even then only
//! what a crawl or a demo writes is removed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;
use turnstone_lab::serve::Handle;
use turnstone_pagestore::Lock;

use crate::exit::Usage;
use crate::files::write_whole;

/// Where hosts are.
pub(super) const HOSTS: &str = "hosts.tsv";
/// The web that was crawled.
pub(super) const WEB: &str = "web";
/// What tells a demo from a crawl.
pub(crate) const NOTE: &str = "DEMO.txt";
const NOTE_TEXT: &str = "\
Made by `turnstone demo`; the next demo replaces it.

turnstone.toml  what the crawl was asked
store/          its journal: `turnstone status`, `turnstone why` and `turnstone report` read it
warc/           the pages, for any tool that reads WARC files
reports/        crawl.html, to be opened in a browser
web.graph       the web that was served, URLs in web.urls.zst: for `turnstone info`, `backtest coverage`, `serve-web`
hosts.tsv       the addresses of its hosts
";

/// All that a crawl and a demo write, the note last: what is half removed is still a demo.
const FOLDERS: [&str; 3] = ["store", "warc", "reports"];
const FILES: [&str; 7] = [
    "turnstone.toml",
    "web.graph",
    "web.properties",
    "web.offsets",
    "web.urls.zst",
    HOSTS,
    NOTE,
];

/// Makes the folder, or clears it of what was there before.
pub(super) fn make_ready(directory: &Path, force: bool) -> anyhow::Result<()> {
    let name = directory.display();
    let is_empty = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(error).with_context(|| name.to_string()),
    };
    if !is_empty {
        let is_demo = directory.join(NOTE).exists();
        if !is_demo && !force {
            let what = format!(
                "{name} is neither empty nor a demo; choose another folder, or replace the crawl \
                 in it with --force"
            );
            return Err(Usage::of("--output", what).into());
        }
        if let Some(holder) = Lock::holder(directory) {
            anyhow::bail!("{name}: in use by {holder}; stop that process first");
        }
        clear(directory)?;
    }
    fs::create_dir_all(directory).with_context(|| name.to_string())?;
    write_whole(&directory.join(NOTE), |out| {
        out.write_all(NOTE_TEXT.as_bytes())
    })
}

fn clear(directory: &Path) -> anyhow::Result<()> {
    let folders = FOLDERS.map(|name| (name, fs::remove_dir_all(directory.join(name))));
    let files = FILES.map(|name| (name, fs::remove_file(directory.join(name))));
    for (name, removed) in folders.into_iter().chain(files) {
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let path = directory.join(name);
                return Err(error).with_context(|| format!("{}: not removed", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Says where the hosts are.
pub(super) fn write_hosts(directory: &Path, handle: &Handle) -> anyhow::Result<()> {
    write_whole(&directory.join(HOSTS), |out| {
        for (name, address) in handle.hosts() {
            writeln!(out, "{name}\t{}", address.ip())?;
        }
        Ok(())
    })
}
