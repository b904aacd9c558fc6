//! A ZIP whose files are told of in `datapackage.json`, each with its length and its SHA-256.

use std::io::{self, Seek, Write};

use ring::digest::{Context, SHA256, digest};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::WaczError;

/// What the list of files is called.
const LIST: &str = "datapackage.json";

/// A package being written.
pub(crate) struct Package<W: Write + Seek> {
    zip: ZipWriter<W>,
    resources: Vec<Value>,
}

impl<W: Write + Seek> Package<W> {
    pub(crate) fn begin(out: W) -> Self {
        Self {
            zip: ZipWriter::new(out),
            resources: Vec::new(),
        }
    }

    /// Writes a file by its path in the package.
    pub(crate) fn file(
        &mut self,
        path: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), WaczError>,
    ) -> Result<(), WaczError> {
        self.begin_file(path)?;
        let mut counted = Counted {
            zip: &mut self.zip,
            digest: Context::new(&SHA256),
            bytes: 0,
        };
        write(&mut counted)?;
        let Counted { digest, bytes, .. } = counted;
        let name = path.rsplit('/').next().unwrap_or(path);
        self.resources.push(json!({
            "name": name,
            "path": path,
            "hash": format!("sha256:{}", hex(digest.finish().as_ref())),
            "bytes": bytes,
        }));
        Ok(())
    }

    /// Writes the list of files, with what else is to be said, and its digest.
    pub(crate) fn finish(mut self, mut about: Value) -> Result<(), WaczError> {
        about["resources"] = Value::from(std::mem::take(&mut self.resources));
        let list = serde_json::to_string_pretty(&about).map_err(io::Error::from)?;
        let hash = format!("sha256:{}", hex(digest(&SHA256, list.as_bytes()).as_ref()));
        self.begin_file(LIST)?;
        self.zip.write_all(list.as_bytes())?;
        self.begin_file("datapackage-digest.json")?;
        let seal = json!({"path": LIST, "hash": hash});
        self.zip.write_all(seal.to_string().as_bytes())?;
        self.zip.finish()?.flush()?;
        Ok(())
    }

    fn begin_file(&mut self, path: &str) -> Result<(), WaczError> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            // Any of them may be longer than 4 GiB.
            .large_file(true);
        Ok(self.zip.start_file(path, options)?)
    }
}

/// Counts what is written, and takes its digest.
struct Counted<'a, W: Write + Seek> {
    zip: &'a mut ZipWriter<W>,
    digest: Context,
    bytes: u64,
}

impl<W: Write + Seek> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.zip.write(bytes)?;
        self.digest.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.flush()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
