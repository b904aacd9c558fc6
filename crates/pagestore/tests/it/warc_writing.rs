//! Writing WARC files: files of bounded size, torn tails, disks that fail, opening again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use turnstone_pagestore::Disk;
use turnstone_pagestore::warc::{
    CdxLine, Cut, Ends, Folder, INDEX_NAME, OpenError, Packer, Reader, RealFolder, Settings, Span,
    WriteError, Writer, read_at, recover_without_journal,
};

use crate::warc_samples::{Sample, samples, settings, write_all};

/// A folder in memory where there is one: these tests sync thousands of times.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn small(file_bytes_max: u64) -> Settings {
    Settings {
        file_bytes_max,
        ..settings()
    }
}

fn open(path: &Path, settings: Settings, ends: Ends) -> Result<(Writer, Cut), OpenError> {
    Writer::open(path, settings, ends, Box::new(RealFolder))
}

/// Names and contents of a folder.
fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Every index line points at a whole record of its own URL; returns how many there are.
fn check_index(path: &Path) -> usize {
    let index = fs::read(path.join(INDEX_NAME)).unwrap();
    assert!(index.is_empty() || index.ends_with(b"\n"));
    let lines: Vec<&[u8]> = index.split_inclusive(|&b| b == b'\n').collect();
    for line in &lines {
        let line = CdxLine::parse(line.strip_suffix(b"\n").unwrap()).unwrap();
        let name = line.filename.unwrap();
        let file = [path.join(&name), path.join(format!("{name}.open"))]
            .into_iter()
            .find(|path| path.exists())
            .unwrap();
        let span = Span {
            offset: line.offset.unwrap(),
            length: line.length.unwrap(),
            block_bytes_max: 1 << 20,
        };
        let (head, _) = read_at(&file, span).unwrap();
        assert_eq!(head.target_uri(), Some(line.url.as_str()));
        assert_eq!(head.payload_digest(), line.digest);
    }
    lines.len()
}

fn record_count(file: &Path) -> usize {
    let mut reader = Reader::open(file).unwrap();
    let mut count = 0;
    while reader.next_record().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(reader.damages(), []);
    count
}

#[test]
fn files_are_closed_before_they_grow_too_long() {
    let folder = self::folder();
    let samples = samples();
    let ends = write_all(folder.path(), &samples, small(3000));
    let files = files(folder.path());
    assert_eq!(files.len() as u32, ends.file + 1, "the index and the files");
    for (name, bytes) in &files[1..] {
        let records = record_count(&folder.path().join(name));
        assert!(records >= 3, "{name}: a warcinfo, a response, a request");
        assert!(
            bytes.len() <= 3000 || records == 3,
            "{name}: {}",
            bytes.len()
        );
    }
    assert_eq!(files[0].0, INDEX_NAME);
    assert_eq!(check_index(folder.path()), samples.len());
    let index = &files[0].1;
    let mut lines: Vec<&[u8]> = index.split(|&b| b == b'\n').collect();
    lines.pop();
    assert!(lines.is_sorted());
    // Nothing is lost by opening it again and closing it without a capture.
    let (writer, cut) = open(folder.path(), small(3000), ends).unwrap();
    assert_eq!(cut, Cut::default());
    assert_eq!(writer.ends(), ends);
    writer.finish(0).unwrap();
    assert!(self::files(folder.path()) == files);
}

/// Writes samples one by one and notes how far the archive reaches after each.
fn write_some(path: &Path, samples: &[Sample], settings: Settings) -> Vec<Ends> {
    let mut packer = Packer::default();
    let (mut writer, _) = open(path, settings, Ends::default()).unwrap();
    let mut ends = vec![writer.ends()];
    for sample in samples {
        writer
            .append(&sample.capture(samples, &mut packer), &sample.surt)
            .unwrap();
        ends.push(writer.ends());
    }
    ends
}

#[test]
fn w2_a_tail_torn_at_any_byte_is_cut() {
    let folder = self::folder();
    let samples = &samples()[..4];
    let ends = write_some(folder.path(), samples, settings());
    let name = "test-00001.warc.gz.open";
    let whole = fs::read(folder.path().join(name)).unwrap();
    let index = fs::read(folder.path().join(INDEX_NAME)).unwrap();
    let last = ends[3].warc_len as usize;
    // The first member of the last capture ends somewhere between.
    let line = CdxLine::parse(
        index
            .trim_ascii_end()
            .rsplit(|&b| b == b'\n')
            .next()
            .unwrap(),
    );
    let first_end = last + line.unwrap().length.unwrap() as usize;
    assert!(last < first_end && first_end < whole.len());
    for torn in last..=whole.len() {
        let folder = self::folder();
        let put = || {
            fs::write(folder.path().join(name), &whole[..torn]).unwrap();
            fs::write(folder.path().join(INDEX_NAME), &index).unwrap();
        };
        // By the journal: exactly what was acknowledged.
        put();
        let (writer, cut) = open(folder.path(), settings(), ends[3]).unwrap();
        assert_eq!(cut.warc_bytes, (torn - last) as u64);
        assert_eq!(cut.index_bytes, ends[4].index_len - ends[3].index_len);
        assert_eq!(writer.ends(), ends[3]);
        drop(writer);
        assert!(fs::read(folder.path().join(name)).unwrap() == whole[..last]);
        assert!(
            fs::read(folder.path().join(INDEX_NAME)).unwrap()
                == index[..ends[3].index_len as usize]
        );
        // Without it: every whole member.
        put();
        let expect = [whole.len(), first_end, last]
            .into_iter()
            .find(|&end| end <= torn)
            .unwrap();
        let (found, cut) = recover_without_journal(folder.path(), &settings()).unwrap();
        assert_eq!(found.warc_len, expect as u64, "torn at {torn}");
        assert_eq!(cut.warc_bytes, (torn - expect) as u64);
        let captures = if expect == last { 3 } else { 4 };
        assert_eq!(found.index_len, ends[captures].index_len);
        assert_eq!(check_index(folder.path()), captures);
        let (writer, cut) = open(folder.path(), settings(), found).unwrap();
        assert_eq!(cut, Cut::default());
        writer.finish(0).unwrap();
    }
}

#[test]
fn every_acknowledged_end_can_be_opened_again() {
    let samples = samples();
    let folder = self::folder();
    let ends = write_some(folder.path(), &samples, small(3000));
    let written = files(folder.path());
    for (kept, &end) in ends.iter().enumerate() {
        let folder = self::folder();
        for (name, bytes) in &written {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let (mut writer, cut) = open(folder.path(), small(3000), end).unwrap();
        assert_eq!(
            cut.index_bytes,
            ends[samples.len()].index_len - end.index_len
        );
        assert_eq!(check_index(folder.path()), kept);
        let mut packer = Packer::default();
        for sample in &samples[kept..] {
            writer
                .append(&sample.capture(&samples, &mut packer), &sample.surt)
                .unwrap();
        }
        // A file that was just full is closed, not cut; then the same bytes come again.
        drop(writer);
        let again = files(folder.path());
        let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
            files.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&again), names(&written), "kept {kept}");
        assert_eq!(check_index(folder.path()), samples.len());
    }
}

#[test]
fn what_is_missing_is_told() {
    let folder = self::folder();
    let ends = *write_some(folder.path(), &samples(), small(3000))
        .last()
        .unwrap();
    let fails = |ends: Ends, expect: &str| {
        let before = files(folder.path());
        let error = open(folder.path(), small(3000), ends)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expect), "{error}");
        assert!(files(folder.path()) == before, "{expect}");
    };
    let warc_len = ends.warc_len + 7;
    fails(Ends { warc_len, ..ends }, "7 bytes of captures are missing");
    let file = ends.file + 1;
    fails(Ends { file, ..ends }, "this file is missing");
    let index_len = ends.index_len + 1;
    fails(
        Ends { index_len, ..ends },
        "1 bytes of captures are missing",
    );
    let index_len = ends.index_len - 1;
    fails(Ends { index_len, ..ends }, "no line ends at byte");
    fs::remove_file(folder.path().join("test-00001.warc.gz")).unwrap();
    fails(ends, "test-00001.warc.gz: this file is missing");
    for name in ["", "a/b", "..", "é", "a b"] {
        let settings = Settings::new(name, [0; 16]);
        let error = open(folder.path(), settings, ends).unwrap_err();
        assert!(matches!(error, OpenError::Name { .. }), "{error}");
    }
}

#[test]
fn a_sorted_index_is_not_cut_in_the_middle() {
    let folder = self::folder();
    let samples = samples();
    let ends = write_some(folder.path(), &samples, settings());
    let (writer, _) = open(folder.path(), settings(), *ends.last().unwrap()).unwrap();
    writer.finish(0).unwrap();
    // Acknowledging less than was sorted would cut lines of acknowledged captures.
    let sorted = files(folder.path());
    let mut told = 0;
    for (kept, end) in ends.iter().enumerate() {
        let folder = self::folder();
        for (name, bytes) in &sorted {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        match open(folder.path(), settings(), *end) {
            Ok(_) => assert_eq!(check_index(folder.path()), kept),
            Err(OpenError::IndexChanged { .. }) => {
                told += 1;
                assert!(files(folder.path()) == sorted);
            }
            Err(other) => panic!("{end:?}: {other}"),
        }
    }
    assert!(told > samples.len() / 2, "{told}");
}

/// A folder whose call number `fail_at` fails, and so do the `more` calls behind it.
#[derive(Clone, Debug, Default)]
struct FaultyFolder {
    calls: Arc<AtomicU32>,
    fail_at: Arc<AtomicU32>,
    more: u32,
}

impl FaultyFolder {
    fn call(&self) -> io::Result<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let first = self.fail_at.load(Ordering::Relaxed);
        if first > 0 && (first..=first + self.more).contains(&call) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl Folder for FaultyFolder {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Disk>> {
        self.call()?;
        let disk = RealFolder.open(path)?;
        Ok(Arc::new(FaultyFile {
            folder: self.clone(),
            disk,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call()?;
        RealFolder.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        RealFolder.remove(path)
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        self.call()?;
        RealFolder.sync(folder)
    }
}

#[derive(Debug)]
struct FaultyFile {
    folder: FaultyFolder,
    disk: Arc<dyn Disk>,
}

impl Disk for FaultyFile {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        self.disk.read_at(bytes, at)
    }

    /// Writes half of what it is given, whether it fails or not.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let fate = self.folder.call();
        let count = self.disk.write_at(&bytes[..bytes.len().div_ceil(2)], at)?;
        fate.map(|()| count)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.folder.call()?;
        self.disk.cut(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.disk.length()
    }

    fn sync(&self) -> io::Result<()> {
        self.folder.call()?;
        self.disk.sync()
    }
}

/// Appends every sample, each again until it succeeds; opens anew when a sync is unsure.
fn write_stubbornly(path: &Path, samples: &[Sample], faulty: &FaultyFolder) -> u32 {
    let mut packer = Packer::default();
    let mut failures = 0;
    let mut acknowledged = Ends::default();
    let mut kept = 0;
    let reopen = |ends: Ends| loop {
        if let Ok((writer, _)) = Writer::open(path, small(2500), ends, Box::new(faulty.clone())) {
            return writer;
        }
    };
    let mut writer = reopen(acknowledged);
    let mut i = 0;
    while i < samples.len() {
        let capture = samples[i].capture(samples, &mut packer);
        let before = writer.ends();
        match writer.append(&capture, &samples[i].surt) {
            Ok(_) => i += 1,
            Err(error) => {
                failures += 1;
                assert_eq!(writer.ends().index_len, before.index_len);
                if matches!(
                    error,
                    WriteError::NotSynced { .. } | WriteError::Unsure { .. }
                ) {
                    assert!(!error.is_disk_full());
                    writer = reopen(acknowledged);
                    i = kept;
                }
                continue;
            }
        }
        if i % 3 == 0 {
            match writer.sync() {
                Ok(ends) => (acknowledged, kept) = (ends, i),
                Err(_) => {
                    failures += 1;
                    assert!(writer.sync().is_err(), "a failed sync is not forgotten");
                    writer = reopen(acknowledged);
                    i = kept;
                }
            }
        }
    }
    while writer.sync().is_err() {
        // Nothing more is to come: the last captures are appended again.
        failures += 1;
        writer = reopen(acknowledged);
        for sample in &samples[kept..] {
            writer
                .append(&sample.capture(samples, &mut packer), &sample.surt)
                .unwrap();
        }
    }
    let ends = writer.ends();
    if writer.finish(0).is_err() {
        failures += 1;
        reopen(ends).finish(0).unwrap();
    }
    failures
}

#[test]
fn w3_a_write_that_fails_leaves_nothing_and_can_be_done_again() {
    let samples = &samples()[..8];
    let calm = self::folder();
    let faulty = FaultyFolder::default();
    assert_eq!(write_stubbornly(calm.path(), samples, &faulty), 0);
    let calls = faulty.calls.load(Ordering::Relaxed);
    assert!(calls > 100, "{calls}");
    let expect: Vec<(String, usize)> = contents(calm.path());
    let mut failures = 0;
    for more in [0, 1, 2] {
        for fail_at in 1..=calls {
            let folder = self::folder();
            let faulty = FaultyFolder {
                fail_at: Arc::new(AtomicU32::new(fail_at)),
                more,
                ..FaultyFolder::default()
            };
            failures += write_stubbornly(folder.path(), samples, &faulty);
            assert_eq!(
                contents(folder.path()),
                expect,
                "call {fail_at} and {more} more"
            );
            assert_eq!(check_index(folder.path()), samples.len());
        }
    }
    assert!(failures >= calls, "{failures} failures of {calls} calls");
}

/// Which files there are, and how many whole records or lines are in each.
fn contents(path: &Path) -> Vec<(String, usize)> {
    let count = |path: PathBuf, bytes: &[u8]| match path.ends_with(INDEX_NAME) {
        true => bytes.iter().filter(|&&b| b == b'\n').count(),
        false => record_count(&path),
    };
    files(path)
        .into_iter()
        .map(|(name, bytes)| {
            let count = count(path.join(&name), &bytes);
            (name, count)
        })
        .collect()
}
