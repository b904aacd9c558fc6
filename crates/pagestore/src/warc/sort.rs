//! Sorts an index by the bytes of its lines, as `LC_ALL=C sort` does, in bounded memory.
//!
//! A crawl writes lines in its own order; tools that search an index by bisection want them
//! sorted. What fits into memory is sorted there. Otherwise pieces are sorted into files of their
//! own and merged, at most 64 at a time. The result takes the place of the index by one rename.
//!
//! Invariant: killed at any moment, the index is the old one or the new one, whole.
//! Cost: one pass over the file for each factor of 64 beyond the memory given.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// What temporary files have behind the name of the index.
const TEMPORARY_MARK: &str = ".sorting-";

/// How many files are merged at once.
const MERGE_MAX: usize = 64;

/// The longest line that is sorted.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Why an index was not sorted. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    /// The disk failed.
    #[error("{}: not sorted: {source}", .path.display())]
    Io {
        /// The index.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is no list of lines.
    #[error("{}: not sorted: line {line} {reason}", .path.display())]
    Line {
        /// The index.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Sorts the lines of a file with about `memory_bytes_max` of memory (at least 2 MiB).
pub fn sort_index(path: &Path, memory_bytes_max: usize) -> Result<(), SortError> {
    let memory = memory_bytes_max.max(2 * LINE_BYTES_MAX);
    Sorting {
        path,
        memory,
        runs_made: 0,
    }
    .sort()
}

struct Sorting<'a> {
    path: &'a Path,
    memory: usize,
    runs_made: usize,
}

impl Sorting<'_> {
    fn sort(&mut self) -> Result<(), SortError> {
        remove_temporaries(self.path).map_err(self.io())?;
        let mut runs = self.sorted_runs()?;
        while runs.len() > 1 {
            let mut merged = Vec::new();
            for group in runs.chunks(MERGE_MAX) {
                merged.push(self.merge(group).map_err(self.io())?);
            }
            runs = merged;
        }
        if let Some(run) = runs.pop() {
            let swapped = File::open(&run).and_then(|file| {
                file.sync_all()?;
                fs::rename(&run, self.path)?;
                File::open(folder_of(self.path))?.sync_all()
            });
            swapped.map_err(self.io())?;
        }
        Ok(())
    }

    /// Cuts the file into pieces that fit into memory and writes each sorted.
    fn sorted_runs(&mut self) -> Result<Vec<PathBuf>, SortError> {
        let mut input = File::open(self.path).map_err(self.io())?;
        let mut buffer = Vec::new();
        let mut runs = Vec::new();
        let mut lines_before = 0;
        loop {
            // Slices of lines cost 16 bytes each, so text gets half of the memory.
            let want = (self.memory / 2).saturating_sub(buffer.len()) as u64;
            let read = Read::take(&mut input, want)
                .read_to_end(&mut buffer)
                .map_err(self.io())?;
            if buffer.is_empty() {
                return Ok(runs);
            }
            let Some(last) = memchr::memrchr(b'\n', &buffer) else {
                let reason = if read as u64 == want {
                    "is too long"
                } else {
                    "does not end"
                };
                return Err(self.line(lines_before + 1, reason));
            };
            let lines = self.write_run(&buffer[..=last], lines_before, &mut runs)?;
            lines_before += lines;
            buffer.drain(..=last);
        }
    }

    fn write_run(
        &mut self,
        text: &[u8],
        lines_before: u64,
        runs: &mut Vec<PathBuf>,
    ) -> Result<u64, SortError> {
        let mut lines: Vec<&[u8]> = text[..text.len() - 1].split(|&b| b == b'\n').collect();
        if let Some(at) = lines.iter().position(|line| line.len() >= LINE_BYTES_MAX) {
            return Err(self.line(lines_before + at as u64 + 1, "is too long"));
        }
        lines.sort();
        let path = self.temporary();
        let written = write_lines(&path, &lines);
        written.map_err(self.io())?;
        runs.push(path);
        Ok(lines.len() as u64)
    }

    /// Merges sorted files into one and removes them.
    fn merge(&mut self, runs: &[PathBuf]) -> io::Result<PathBuf> {
        let mut inputs = Vec::new();
        let mut heads = BinaryHeap::new();
        for (i, run) in runs.iter().enumerate() {
            let mut input = BufReader::with_capacity(1 << 15, File::open(run)?);
            if let Some(line) = next_line(&mut input, Vec::new())? {
                heads.push(Reverse((line, i)));
            }
            inputs.push(input);
        }
        let path = self.temporary();
        let mut output = BufWriter::with_capacity(1 << 16, File::create(&path)?);
        while let Some(Reverse((line, i))) = heads.pop() {
            output.write_all(&line)?;
            output.write_all(b"\n")?;
            if let Some(line) = next_line(&mut inputs[i], line)? {
                heads.push(Reverse((line, i)));
            }
        }
        output
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        for run in runs {
            fs::remove_file(run)?;
        }
        Ok(path)
    }

    fn temporary(&mut self) -> PathBuf {
        self.runs_made += 1;
        temporary(self.path, self.runs_made)
    }

    fn io(&self) -> impl Fn(io::Error) -> SortError + use<> {
        let path = self.path.to_owned();
        move |source| SortError::Io {
            path: path.clone(),
            source,
        }
    }

    fn line(&self, line: u64, reason: &'static str) -> SortError {
        SortError::Line {
            path: self.path.to_owned(),
            line,
            reason,
        }
    }
}

fn write_lines(path: &Path, lines: &[&[u8]]) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(1 << 16, File::create(path)?);
    for line in lines {
        output.write_all(line)?;
        output.write_all(b"\n")?;
    }
    output
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

/// The next line without its end, in the memory of an earlier one.
fn next_line(input: &mut impl BufRead, mut line: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    line.clear();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    line.pop();
    Ok(Some(line))
}

fn temporary(index: &Path, number: usize) -> PathBuf {
    let mut name = index.file_name().unwrap_or_default().to_owned();
    name.push(format!("{TEMPORARY_MARK}{number}"));
    index.with_file_name(name)
}

/// The folder a file is in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Removes what a killed sort of an index left beside it.
pub(super) fn remove_temporaries(index: &Path) -> io::Result<()> {
    let name = index.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!("{name}{TEMPORARY_MARK}");
    for entry in fs::read_dir(folder_of(index))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Puts what `rewrite` makes of an index in its place, by one rename.
pub(super) fn replace_index(
    index: &Path,
    rewrite: impl FnOnce(&mut dyn BufRead, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = temporary(index, 0);
    let mut input = BufReader::new(File::open(index)?);
    let mut output = BufWriter::new(File::create(&path)?);
    rewrite(&mut input, &mut output)?;
    let file = output
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(&path, index)?;
    File::open(folder_of(index))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_runs_are_merged_in_several_passes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.cdxj");
        let lines: Vec<String> = (0..5000_u64)
            .map(|i| format!("{}\n", i.wrapping_mul(2_654_435_761) % 3001))
            .collect();
        fs::write(&path, lines.concat()).unwrap();
        let mut sorting = Sorting {
            path: &path,
            memory: 32,
            runs_made: 0,
        };
        sorting.sort().unwrap();
        assert!(sorting.runs_made > MERGE_MAX * 20, "{}", sorting.runs_made);
        let mut expect = lines;
        expect.sort_by(|a, b| a.trim_end().cmp(b.trim_end()));
        assert!(fs::read_to_string(&path).unwrap() == expect.concat());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
