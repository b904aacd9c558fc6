//! Writes made-up sites as history files: see `docs/formats.md`.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use turnstone_frontier::Random;

use super::HistoryPlan;
use super::content::{self, mix, word};
use super::site::{Kind, Site, Witness};
use crate::history::{Date, HistoryWriter, Line};

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
        let mut lines = HistoryWriter::new(BufWriter::new(File::create(path)?))?;
        write_lines(&mut lines, name, plan);
        lines.finish()
    };
    attempt().map_err(GenerateError::io(path))
}

fn write_lines(lines: &mut Lines, name: &str, plan: HistoryPlan) {
    let mut count = Count::default();
    Site::unfold(plan, plan.pages, &mut count);
    let dates = dates(plan);
    lines.write(&Line::Site {
        site: name,
        origin: &format!("https://{name}/"),
        source: "generated",
        pages: count.pages,
        snapshots: dates.iter().map(Date::to_string).collect(),
    });
    Site::unfold(plan, plan.pages, &mut Pages(lines));
    for host in 0..OFFSITE_HOSTS {
        let name = &format!("{}.example", word(mix(&[plan.seed, host, 21])));
        let host = host as u32;
        lines.write(&Line::Host { host, name });
    }
    Site::unfold(plan, plan.pages, &mut Versions(lines));
    Site::unfold(plan, plan.pages, &mut Events(lines));
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

type Lines = HistoryWriter<BufWriter<File>>;

#[derive(Default)]
struct Count {
    pages: u32,
}

impl Witness for Count {
    fn born(&mut self, _: &Site, _: u32) {
        self.pages += 1;
    }
}

struct Pages<'a>(&'a mut Lines);

impl Witness for Pages<'_> {
    fn born(&mut self, site: &Site, page: u32) {
        let at = &site.pages[page as usize];
        let directory = &site.directories[at.directory].path;
        let url = match at.kind {
            Kind::Front | Kind::Index => directory.clone(),
            Kind::Feed => format!("{directory}feed.xml"),
            Kind::Article => format!("{directory}{}-{page}.html", word(at.text)),
        };
        let kind = (at.kind == Kind::Feed).then_some("xml");
        let url = &url;
        self.0.write(&Line::Page { page, url, kind });
    }
}

struct Versions<'a>(&'a mut Lines);

impl Witness for Versions<'_> {
    fn version(&mut self, site: &Site, page: u32, version: u32) {
        let at = &site.pages[page as usize];
        let topic = site.directories[at.directory].topic;
        let content = content::content(at.text, topic, u64::from(at.revision));
        let hosts: Vec<u32> = (0..mix(&[at.text, 22]) % 4)
            .map(|place| (mix(&[at.text, place, 23]) % OFFSITE_HOSTS) as u32)
            .collect();
        let listed = at.links.len() as u32;
        self.0.write(&Line::Version {
            version,
            raw: format!("{:016x}", site.raw_hash(page)),
            text: format!("{:016x}", site.text_hash(page)),
            bytes: 2500 + 900 * (site.design % 5) + 7 * content.words + 60 * listed,
            words: content.words + 4 * listed,
            images: content.images,
            offsite: 2 * hosts.len() as u32,
            hosts: distinct(hosts),
            title: &content.title,
            terms: content.terms,
            broken: (mix(&[at.text, 24]) % 3) as u32,
            links: &at.links,
        });
    }
}

fn distinct(mut hosts: Vec<u32>) -> Vec<u32> {
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

struct Events<'a>(&'a mut Lines);

impl Witness for Events<'_> {
    fn snapshot(&mut self, snapshot: u32, set: &[(u32, u32)], gone: &[u32]) {
        self.0.write(&Line::Event {
            snapshot,
            set,
            gone,
        });
    }
}
