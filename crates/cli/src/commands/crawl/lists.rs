//! Seeds, include and exclude lists out of files: read from wherever, kept beside `turnstone.toml`.
//!
//! A crawl must go on without the files it was given, and standard input cannot be read twice. So what
//! was read is written into the crawl directory, a line each, where people may edit it: a million seeds
//! would make `turnstone.toml` a file that nobody opens. Seeds add up over runs, as named ones do;
//! an include or exclude list takes the place of the one before, as the other flags do.
//!
//! Cost: a pass over each file, and all of it in memory. Limits: [`LINE_BYTES_MAX`], [`LINES_MAX`].

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use turnstone_fetch::Url;
use turnstone_fetch::list::{ListLine, UrlList};
use turnstone_fetch::urls::shown;

use crate::exit::Usage;

/// Where the lists of a crawl are.
const FOLDER: &str = "lists";
/// The longest line.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// The most lines of a file.
const LINES_MAX: u64 = 100_000_000;

/// What the lists of a crawl name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Each once, in the order of the files.
    pub(crate) seeds: Vec<Url>,
    /// What is let in.
    pub(crate) include: UrlList,
    /// What is kept out, seeds too.
    pub(crate) exclude: UrlList,
}

impl Lists {
    /// The lists of a crawl directory.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Self> {
        let folder = directory.join(FOLDER);
        let kept = |name: &str| {
            let path = folder.join(name);
            if path.exists() {
                lines(&path)
            } else {
                Ok(Vec::new())
            }
        };
        Ok(Self {
            seeds: seeds(Vec::new(), kept("seeds.txt")?),
            include: kept("include.txt")?.into_iter().collect(),
            exclude: kept("exclude.txt")?.into_iter().collect(),
        })
    }

    /// The lists of these lines.
    pub(crate) fn of(
        seed_lines: &[String],
        include: &[String],
        exclude: &[String],
    ) -> anyhow::Result<Self> {
        let read = |lines: &[String]| -> anyhow::Result<Vec<ListLine>> {
            let read = lines
                .iter()
                .map(|line| ListLine::read(line).map_err(anyhow::Error::from));
            let read: anyhow::Result<Vec<Option<ListLine>>> = read.collect();
            Ok(read?.into_iter().flatten().collect())
        };
        Ok(Self {
            seeds: seeds(Vec::new(), read(seed_lines)?),
            include: read(include)?.into_iter().collect(),
            exclude: read(exclude)?.into_iter().collect(),
        })
    }

    /// Takes what the user gives now.
    pub(super) fn take(
        &mut self,
        more_seeds: &[PathBuf],
        include: &[PathBuf],
        exclude: &[PathBuf],
    ) -> anyhow::Result<()> {
        let all = [more_seeds, include, exclude].concat();
        if all.iter().filter(|path| is_standard_input(path)).count() > 1 {
            let what = "standard input can be read once; give - to one of --seeds, --include-list \
                        and --exclude-list, and files to the others";
            return Err(Usage(what.to_owned()).into());
        }
        for path in more_seeds {
            self.seeds = seeds(std::mem::take(&mut self.seeds), lines(path)?);
        }
        for (given, list) in [(include, &mut self.include), (exclude, &mut self.exclude)] {
            let mut all = Vec::new();
            for path in given {
                all.extend(lines(path)?);
            }
            if !given.is_empty() {
                *list = all.into_iter().collect();
            }
        }
        Ok(())
    }

    /// Writes the lists into a crawl directory.
    pub(super) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let folder = directory.join(FOLDER);
        let write = |name: &str, lines: &mut dyn Iterator<Item = &str>| {
            let path = folder.join(name);
            let mut lines = lines.peekable();
            if lines.peek().is_none() && !path.exists() {
                return Ok(());
            }
            fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
            crate::files::write_whole(&path, |out| {
                lines.try_for_each(|line| writeln!(out, "{line}"))
            })
        };
        write("seeds.txt", &mut self.seeds.iter().map(Url::as_str))?;
        write("include.txt", &mut self.include.lines())?;
        write("exclude.txt", &mut self.exclude.lines())
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Adds the seeds that lines name, each once.
fn seeds(mut known: Vec<Url>, lines: Vec<ListLine>) -> Vec<Url> {
    let named: Vec<Url> = lines.iter().filter_map(ListLine::seed).collect();
    let mut seen: HashSet<String> = known.iter().map(|url| url.as_str().to_owned()).collect();
    known.extend(
        named
            .into_iter()
            .filter(|url| seen.insert(url.as_str().to_owned())),
    );
    known
}

/// The lines of a file or of standard input.
fn lines(path: &Path) -> anyhow::Result<Vec<ListLine>> {
    let name = if is_standard_input(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let input: Box<dyn io::Read> = if is_standard_input(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).with_context(|| name.clone())?)
    };
    let mut input = unpacked(input).with_context(|| name.clone())?;
    let mut found = Vec::new();
    let mut line = Vec::new();
    for number in 1..=LINES_MAX {
        line.clear();
        let mut bounded = (&mut input).take(LINE_BYTES_MAX);
        let place = || format!("{name}:{number}");
        if bounded.read_until(b'\n', &mut line).with_context(place)? == 0 {
            return Ok(found);
        }
        if line.len() as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            let what = format!("{}: longer than {LINE_BYTES_MAX} bytes", place());
            return Err(Usage(what).into());
        }
        let text = str::from_utf8(&line).map_err(|_| Usage(format!("{}: not UTF-8", place())))?;
        let read = ListLine::read(text)
            .map_err(|error| Usage(format!("{}: '{}': {error}", place(), shown(text.trim()))))?;
        found.extend(read);
    }
    Err(Usage(format!(
        "{name}: more than {LINES_MAX} lines; give several files"
    ))
    .into())
}

/// What is in a file that may be packed, by its first bytes.
fn unpacked(input: Box<dyn io::Read>) -> io::Result<Box<dyn BufRead>> {
    let mut input = BufReader::new(input);
    let head = input.fill_buf()?;
    Ok(if head.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(input)))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Box::new(BufReader::new(zstd::Decoder::with_buffer(input)?))
    } else {
        Box::new(input)
    })
}
