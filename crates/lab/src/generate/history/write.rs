//! Writes made-up sites as history files: see `docs/formats.md`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use turnstone_frontier::Random;

use super::HistoryPlan;
use super::content::{self, mix, word};
use super::site::{Kind, Site, Witness};
use crate::history::Date;

/// How hard to compress: fast, since made-up data is made up again.
const COMPRESSION_LEVEL: i32 = 6;
/// How many off-site domains a site links to.
const OFFSITE_HOSTS: u64 = 30;

/// Why a history could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder has histories already, which would mix with the new ones.
    #[error("{}: not empty; give a new folder", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
}

impl GenerateError {
    fn io(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// Writes so many sites into a new folder, one file each; sizes differ widely. Returns the files.
pub fn write_folder(
    folder: &Path,
    sites: u32,
    plan: HistoryPlan,
) -> Result<Vec<PathBuf>, GenerateError> {
    fs::create_dir_all(folder).map_err(GenerateError::io(folder))?;
    let mut entries = fs::read_dir(folder).map_err(GenerateError::io(folder))?;
    if entries.next().is_some() {
        return Err(GenerateError::NotEmpty {
            path: folder.to_owned(),
        });
    }
    let mut random = Random::new(mix(&[plan.seed, 0xf01d]));
    // Exponential sizes: a few large sites, many small ones, the mean as asked for.
    let drawn: Vec<f64> = (0..sites).map(|_| -(1.0 - random.unit()).ln()).collect();
    let scale = f64::from(plan.pages) * f64::from(sites) / drawn.iter().sum::<f64>();
    let mut files = Vec::new();
    for (number, share) in drawn.into_iter().enumerate() {
        let site_plan = HistoryPlan {
            pages: (share * scale)
                .round()
                .clamp(1.0, f64::from(HistoryPlan::PAGES_MAX)) as u32,
            seed: mix(&[plan.seed, number as u64, 0x517e]),
            ..plan
        };
        let name = format!("{}{number}.example", word(site_plan.seed));
        let file = folder.join(format!("{name}.jsonl.zst"));
        write_site(&file, &name, site_plan)?;
        files.push(file);
    }
    Ok(files)
}

/// Writes one site as a history file.
pub fn write_site(path: &Path, name: &str, plan: HistoryPlan) -> Result<(), GenerateError> {
    let attempt = || -> io::Result<()> {
        let file = BufWriter::new(File::create(path)?);
        let mut encoder = zstd::Encoder::new(file, COMPRESSION_LEVEL)?;
        write_lines(&mut encoder, name, plan)?;
        encoder.finish()?.flush()
    };
    attempt().map_err(GenerateError::io(path))
}

fn write_lines(out: &mut dyn Write, name: &str, plan: HistoryPlan) -> io::Result<()> {
    let mut count = Count::default();
    Site::unfold(plan, plan.pages, &mut count);
    let dates = dates(plan);
    let header = Header {
        site: name,
        origin: &format!("https://{name}/"),
        source: "generated",
        pages: count.pages,
        snapshots: dates.iter().map(Date::to_string).collect(),
    };
    let mut lines = Lines { out, error: None };
    lines.write(&header);
    Site::unfold(plan, plan.pages, &mut Pages(&mut lines));
    for host in 0..OFFSITE_HOSTS {
        let name = format!("{}.example", word(mix(&[plan.seed, host, 21])));
        lines.write(&HostLine { host, name });
    }
    Site::unfold(plan, plan.pages, &mut Versions(&mut lines));
    Site::unfold(plan, plan.pages, &mut Events(&mut lines));
    lines.error.map_or(Ok(()), Err)
}

/// A snapshot a week; some weeks are left out, as nothing was published in them.
fn dates(plan: HistoryPlan) -> Vec<Date> {
    let mut random = Random::new(mix(&[plan.seed, 0xda7e]));
    let mut date = Date(16_439 + random.below(1500) as i32);
    let mut next = || {
        let before = date;
        date = date.plus_days(7 * (1 + i32::from(random.below(4) == 0) * random.below(6) as i32));
        before
    };
    (0..plan.snapshots).map(|_| next()).collect()
}

#[derive(Serialize)]
struct Header<'a> {
    site: &'a str,
    origin: &'a str,
    source: &'a str,
    pages: u32,
    snapshots: Vec<String>,
}

#[derive(Serialize)]
struct PageLine {
    page: u32,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

#[derive(Serialize)]
struct HostLine {
    host: u64,
    name: String,
}

#[derive(Serialize)]
struct VersionLine<'a> {
    version: u32,
    raw: String,
    text: String,
    bytes: u32,
    words: u32,
    images: u32,
    offsite: u32,
    hosts: Vec<u64>,
    title: String,
    terms: Vec<(String, u32)>,
    broken: u32,
    links: &'a [u32],
}

#[derive(Serialize)]
struct EventLine<'a> {
    snapshot: u32,
    set: &'a [(u32, u32)],
    gone: &'a [u32],
}

/// Lines on their way out. The first error stops all writing and is kept.
struct Lines<'a> {
    out: &'a mut dyn Write,
    error: Option<io::Error>,
}

impl Lines<'_> {
    fn write(&mut self, line: &impl Serialize) {
        if self.error.is_none() {
            let written = serde_json::to_writer(&mut *self.out, line).map_err(io::Error::from);
            self.error = written.and_then(|()| self.out.write_all(b"\n")).err();
        }
    }
}

#[derive(Default)]
struct Count {
    pages: u32,
}

impl Witness for Count {
    fn born(&mut self, _: &Site, _: u32) {
        self.pages += 1;
    }
}

struct Pages<'a, 'b>(&'a mut Lines<'b>);

impl Witness for Pages<'_, '_> {
    fn born(&mut self, site: &Site, page: u32) {
        let at = &site.pages[page as usize];
        let directory = &site.directories[at.directory].path;
        let url = match at.kind {
            Kind::Front | Kind::Index => directory.clone(),
            Kind::Feed => format!("{directory}feed.xml"),
            Kind::Article => format!("{directory}{}-{page}.html", word(at.text)),
        };
        let kind = (at.kind == Kind::Feed).then_some("xml");
        self.0.write(&PageLine { page, url, kind });
    }
}

struct Versions<'a, 'b>(&'a mut Lines<'b>);

impl Witness for Versions<'_, '_> {
    fn version(&mut self, site: &Site, page: u32, version: u32) {
        let at = &site.pages[page as usize];
        let topic = site.directories[at.directory].topic;
        let content = content::content(at.text, topic, u64::from(at.revision));
        let hosts: Vec<u64> = (0..mix(&[at.text, 22]) % 4)
            .map(|place| mix(&[at.text, place, 23]) % OFFSITE_HOSTS)
            .collect();
        let listed = at.links.len() as u32;
        self.0.write(&VersionLine {
            version,
            raw: format!("{:016x}", site.raw_hash(page)),
            text: format!("{:016x}", site.text_hash(page)),
            bytes: 2500 + 900 * (site.design % 5) + 7 * content.words + 60 * listed,
            words: content.words + 4 * listed,
            images: content.images,
            offsite: 2 * hosts.len() as u32,
            hosts: distinct(hosts),
            title: content.title,
            terms: content.terms,
            broken: (mix(&[at.text, 24]) % 3) as u32,
            links: &at.links,
        });
    }
}

fn distinct(mut hosts: Vec<u64>) -> Vec<u64> {
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

struct Events<'a, 'b>(&'a mut Lines<'b>);

impl Witness for Events<'_, '_> {
    fn snapshot(&mut self, snapshot: u32, set: &[(u32, u32)], gone: &[u32]) {
        self.0.write(&EventLine {
            snapshot,
            set,
            gone,
        });
    }
}
