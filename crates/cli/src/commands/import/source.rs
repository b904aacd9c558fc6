//! What there is to import: recognised by what is there, never by a flag.
//!
//! A file is looked into (unpacked where it is packed) as far as its first lines; a folder is
//! searched for files that can be imported. Indexes that lie beside WARC files tell nothing that
//! those do not, so in a folder with WARC files they are left out.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use turnstone_fetch::urls::{UrlLimits, parse};
use turnstone_lab::web::{self, WebKind};
use turnstone_pagestore::warc::CdxLine;

/// The deepest folder that is searched.
const DEPTH_MAX: usize = 16;
/// The most files of one import.
const SOURCES_MAX: usize = 1_000_000;
/// How much of a file is looked into.
const LOOK_BYTES: u64 = 1 << 16;
/// How many lines of a list are looked at.
const LOOK_LINES: usize = 20;

/// What can be imported, for messages.
const KNOWN: &str = "what can be imported is WARC (plain or gzip), CDX or CDXJ, captures in \
                     Parquet, a list of URLs, an edge list (.tsv), a BV graph (.graph) or a site history (.jsonl.zst)";

/// One file to import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Source {
    /// Where it is, absolute.
    pub(super) path: PathBuf,
    /// What it is.
    pub(super) kind: Kind,
    /// How long it is.
    pub(super) bytes: u64,
}

/// Kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// A WARC file.
    Warc,
    /// An index.
    Cdx,
    /// A table of captures.
    Parquet,
    /// A list of URLs.
    UrlList,
    /// An edge list or a BV graph.
    Graph,
    /// A site history.
    History,
}

impl Source {
    /// How messages and facts name it.
    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// When it was written: the date of what has no date.
    pub(super) fn modified_ms(&self) -> anyhow::Result<u64> {
        let data = fs::metadata(&self.path).with_context(|| self.path.display().to_string())?;
        let since = data.modified()?.duration_since(std::time::UNIX_EPOCH);
        Ok(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0)))
    }
}

/// Everything that was named, in order, each file once.
pub(super) fn find(named: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut seen = HashSet::new();
    for path in named {
        let found = if path.is_dir() {
            in_folder(path)?
        } else {
            vec![recognise(path)?]
        };
        for source in found {
            if seen.insert(source.path.clone()) {
                sources.push(source);
            }
        }
    }
    Ok(sources)
}

/// Tells what a file is.
fn recognise(path: &Path) -> anyhow::Result<Source> {
    if path.is_file() && fs::metadata(path)?.len() == 0 {
        bail!("{}: the file is empty", path.display());
    }
    let named = path.to_string_lossy();
    let is_list = [".tsv", ".tsv.gz", ".tsv.zst"]
        .iter()
        .any(|ending| named.ends_with(ending));
    let kind = match web::recognise(path) {
        Ok(WebKind::History(file)) => return source(&file, Kind::History),
        Ok(WebKind::Edges(file)) if !(is_list && has_dates(&file)?) => {
            return source(&file, Kind::Graph);
        }
        Ok(WebKind::Bv(name)) => {
            let with = PathBuf::from(format!("{}.graph", name.display()));
            let file = if name.is_file() { name } else { with };
            return source(&file, Kind::Graph);
        }
        _ if !path.exists() => bail!("{}: there is no such file or folder", path.display()),
        _ => look(path)?,
    };
    source(path, kind)
}

fn source(path: &Path, kind: Kind) -> anyhow::Result<Source> {
    let context = || path.display().to_string();
    Ok(Source {
        path: fs::canonicalize(path).with_context(context)?,
        kind,
        bytes: fs::metadata(path).with_context(context)?.len(),
    })
}

/// A list of URLs with dates is called `.tsv` as well as a list of links.
fn has_dates(path: &Path) -> anyhow::Result<bool> {
    let lines = first_lines(path)?;
    let mut dated = lines.iter().map(|line| super::url_list::read_line(line));
    Ok(dated.any(|line| matches!(line, Ok(Some((_, Some(_)))))))
}

/// Looks into a file.
fn look(path: &Path) -> anyhow::Result<Kind> {
    if turnstone_tables::is_parquet(path).with_context(|| path.display().to_string())? {
        return Ok(Kind::Parquet);
    }
    let lines = first_lines(path)?;
    let first = lines.first().map_or("", String::as_str);
    if first.starts_with("WARC/") {
        return Ok(Kind::Warc);
    }
    if first.starts_with("filedesc:") {
        bail!(
            "{}: ARC files are not read; convert it with `warcio recompress`",
            path.display()
        );
    }
    let mut texts = lines.iter().filter(|line| !line.trim().is_empty());
    if first.starts_with(" CDX ")
        || texts
            .clone()
            .any(|line| CdxLine::parse(line.as_bytes()).is_ok())
    {
        return Ok(Kind::Cdx);
    }
    let is_url = |line: &String| {
        let url = line.split('\t').next().unwrap_or_default().trim();
        parse(url, &UrlLimits::default()).is_ok()
    };
    if texts.clone().next().is_none() {
        bail!("{}: the file is empty", path.display());
    }
    if texts.any(is_url) {
        return Ok(Kind::UrlList);
    }
    bail!("{}: not recognised; {KNOWN}", path.display())
}

/// The first lines of a file that may be packed. What is no text has none.
fn first_lines(path: &Path) -> anyhow::Result<Vec<String>> {
    let read = || {
        let mut start = Vec::new();
        let reading = open(path)?.0.take(LOOK_BYTES).read_to_end(&mut start);
        if start.is_empty() {
            reading?;
        }
        io::Result::Ok(start)
    };
    let start = read().with_context(|| path.display().to_string())?;
    let lines = start.split(|byte| *byte == b'\n').take(LOOK_LINES);
    Ok(lines
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect())
}

/// Opens a file that may be packed with gzip or zstd; also how far its bytes were read.
pub(super) fn open(path: &Path) -> io::Result<(Box<dyn BufRead>, Position)> {
    let mut file = File::open(path)?;
    let mut magic = [0; 4];
    let read = file.read(&mut magic)?;
    file.seek(SeekFrom::Start(0))?;
    let position = Position::default();
    let counted = BufReader::with_capacity(
        1 << 16,
        Counted {
            file,
            position: position.clone(),
        },
    );
    let input: Box<dyn BufRead> = match &magic[..read] {
        [0x1f, 0x8b, ..] => Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(
            counted,
        ))),
        magic if super::zst::is_it(magic) => super::zst::open(counted)?,
        _ => Box::new(counted),
    };
    Ok((input, position))
}

/// How far a file was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Position(std::rc::Rc<std::cell::Cell<u64>>);

impl Position {
    /// In bytes of the file.
    pub(super) fn get(&self) -> u64 {
        self.0.get()
    }
}

struct Counted {
    file: File,
    position: Position,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position.0.set(self.position.0.get() + count as u64);
        Ok(count)
    }
}

/// The files of a folder that can be imported, by name.
fn in_folder(folder: &Path) -> anyhow::Result<Vec<Source>> {
    if folder.join("store/journal").exists() {
        bail!(
            "{}: this is a crawl directory already; to import what it archived, name its folder warc",
            folder.display()
        );
    }
    let mut files = Vec::new();
    walk(folder, 0, &mut files)?;
    files.sort();
    let ends = |path: &PathBuf, endings: &[&str]| {
        let name = path.to_string_lossy();
        endings.iter().any(|ending| name.ends_with(ending))
    };
    let mut found = Vec::new();
    for (kind, endings) in [
        (
            Kind::Warc,
            &[".warc", ".warc.gz", ".warc.gz.open", ".warc.zst"][..],
        ),
        (Kind::History, &[".jsonl.zst"]),
        (Kind::Graph, &[".graph"]),
    ] {
        for path in files.iter().filter(|path| ends(path, endings)) {
            found.push(source(path, kind)?);
        }
    }
    if found.is_empty() {
        let indexes = [".cdx", ".cdxj", ".cdx.gz", ".cdxj.gz"];
        for path in files.iter().filter(|path| ends(path, &indexes)) {
            found.push(source(path, Kind::Cdx)?);
        }
        for path in files.iter().filter(|path| ends(path, &[".parquet"])) {
            found.push(source(path, Kind::Parquet)?);
        }
    }
    if found.is_empty() {
        bail!(
            "{}: the folder holds no .warc, .warc.gz, .warc.zst, .cdx, .cdxj, .parquet, .jsonl.zst or .graph file; name \
             lists of URLs and edge lists one by one",
            folder.display()
        );
    }
    Ok(found)
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let context = || folder.display().to_string();
    for entry in fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        // Links are not followed: a circle of them would never end.
        let kind = entry.file_type().with_context(context)?;
        if kind.is_dir() && depth < DEPTH_MAX {
            walk(&entry.path(), depth + 1, files)?;
        } else if kind.is_file() || entry.path().is_file() {
            files.push(entry.path());
        }
        if files.len() > SOURCES_MAX {
            bail!(
                "{}: more than {SOURCES_MAX} files; import it in parts",
                folder.display()
            );
        }
    }
    Ok(())
}
