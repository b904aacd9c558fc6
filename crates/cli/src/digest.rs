//! Digests of data, so that who runs something again knows that it is the same.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

/// The most that is read: a digest is a courtesy, and reading a terabyte for it is none.
const BYTES_MAX: u64 = 16 << 30;

/// The digest of the first bytes of a file; nothing if it cannot be read.
pub(crate) fn of_file(path: &Path, bytes: u64) -> Option<String> {
    let mut digest = Context::new(&SHA256);
    add(path, bytes, &mut digest).ok()?;
    Some(shown(digest))
}

/// The digest of a recorded web: a file, those of a graph, or those of a folder in the order of their names. Nothing
/// if there is no such data, or too much of it.
pub(crate) fn of_web(path: &Path) -> Option<String> {
    let mut files = Vec::new();
    if path.join("store/journal").is_file() {
        files.push(path.join("store/journal"));
    } else if path.is_dir() {
        let all = fs::read_dir(path).ok()?.filter_map(Result::ok);
        files.extend(all.map(|entry| entry.path()).filter(|path| path.is_file()));
    } else if path.is_file() {
        files.push(path.to_owned());
    } else {
        let mut name = path.as_os_str().to_owned();
        name.push(".graph");
        files.extend(Some(PathBuf::from(name)).filter(|graph| graph.is_file()));
    }
    files.sort();
    let bytes: u64 = files
        .iter()
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum();
    if files.is_empty() || bytes > BYTES_MAX {
        return None;
    }
    let mut digest = Context::new(&SHA256);
    for file in &files {
        add(file, u64::MAX, &mut digest).ok()?;
    }
    Some(shown(digest))
}

fn add(path: &Path, bytes: u64, digest: &mut Context) -> io::Result<()> {
    let mut file = File::open(path)?.take(bytes);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            count => digest.update(&buffer[..count]),
        }
    }
}

fn shown(digest: Context) -> String {
    let digest = digest.finish();
    let bytes = digest.as_ref()[..16].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect::<String>() + "…"
}
