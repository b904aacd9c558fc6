//! The index in order, in blocks of gzip, with a list of the blocks: what pywb calls ZipNum.
//!
//! A reader that looks for a URL bisects the list, which is three thousand times shorter than the index, and unpacks
//! one block. The lines are those of the crawl's own `index.cdxj`, as far as the journal acknowledges it.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{SHA256, digest};
use serde_json::json;
use turnstone_pagestore::Joined;
use turnstone_pagestore::warc::sort_index;

use crate::package::{Package, hex};
use crate::{WaczError, acknowledged};

/// Lines of a block.
const LINES_MAX: usize = 3000;
/// Memory for sorting.
const SORT_BYTES: usize = 64 << 20;
/// The name of the packed index.
const PACKED: &str = "index.cdx.gz";

/// Writes both files; returns how many lines there are.
pub(crate) fn write<W: Write + Seek>(
    crawl: &Joined,
    scratch: &Path,
    package: &mut Package<W>,
) -> Result<u64, WaczError> {
    let folder = tempfile::tempdir_in(scratch)?;
    let path = folder.path().join("index.cdxj");
    let mut all = BufWriter::new(File::create(&path)?);
    for store in crawl.stores() {
        if let Some(mut lines) = acknowledged(store)? {
            io::copy(&mut lines, &mut all)?;
        }
    }
    all.into_inner().map_err(io::IntoInnerError::into_error)?;
    sort_index(&path, SORT_BYTES)?;
    let mut list = format!(
        "!meta 0 {}\n",
        json!({"format": "cdxj-gzip-1.0", "filename": PACKED})
    );
    let mut count = 0;
    package.file(&format!("indexes/{PACKED}"), |to| {
        let mut lines = BufReader::new(File::open(&path)?);
        let mut offset = 0;
        let mut block = Vec::new();
        loop {
            block.clear();
            let mut in_block = 0;
            while in_block < LINES_MAX && lines.read_until(b'\n', &mut block)? > 0 {
                in_block += 1;
            }
            if in_block == 0 {
                return Ok(());
            }
            count += in_block as u64;
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(&block)?;
            let bytes = gzip.finish()?;
            let about = json!({
                "offset": offset,
                "length": bytes.len(),
                "digest": format!("sha256:{}", hex(digest(&SHA256, &bytes).as_ref())),
                "filename": PACKED,
            });
            list += &format!("{} {about}\n", key(&block));
            offset += bytes.len();
            to.write_all(&bytes)?;
        }
    })?;
    package.file("indexes/index.idx", |to| Ok(to.write_all(list.as_bytes())?))?;
    Ok(count)
}

/// Key and time of the first line.
fn key(block: &[u8]) -> String {
    let line = String::from_utf8_lossy(
        block
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default(),
    );
    let mut words = line.splitn(3, ' ');
    let (key, time) = (words.next(), words.next());
    format!("{} {}", key.unwrap_or_default(), time.unwrap_or_default())
}
