//! Where an export goes: a file here, or an object in a store.
//!
//! Either is written whole or not at all. What goes to a store is written to a temporary file first, so that a
//! network that fails costs no reading of the crawl.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use turnstone_deliver::depot::{Depot, Put};
use turnstone_fetch::AllowPrivate;

use crate::exit::Usage;

/// Where an export goes.
pub(super) enum Place {
    Here(PathBuf),
    There(Depot),
}

impl Place {
    /// A path, or the URL of an object.
    pub(super) fn of(path: &Path, allow_private: Option<&str>) -> anyhow::Result<Self> {
        let text = path.to_string_lossy();
        if !is_url(&text) {
            return Ok(Self::Here(path.to_owned()));
        }
        let private = allow_private.map_or(Ok(AllowPrivate::None), str::parse);
        let private = private.map_err(|error| Usage::of("--allow-private", error))?;
        let depot = match text.strip_prefix("file://") {
            // A folder by another name.
            Some(path) => return Ok(Self::Here(path.into())),
            None => Depot::open(&text, &private),
        };
        let depot = depot.map_err(|error| Usage::of("--output", error))?;
        Ok(Self::There(depot))
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Here(path) => path.display().to_string(),
            Self::There(depot) => depot.url(""),
        }
    }

    /// Where temporary files are put.
    pub(super) fn scratch(&self) -> PathBuf {
        match self {
            Self::Here(path) => folder(path).to_owned(),
            Self::There(_) => std::env::temp_dir(),
        }
    }

    /// Writes it.
    pub(super) fn write(
        &self,
        write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let scratch = self.scratch();
        let file = tempfile::NamedTempFile::new_in(&scratch);
        let file = file.with_context(|| format!("{}: cannot be written", self.name()))?;
        let mut out = BufWriter::new(file.as_file().try_clone()?);
        write(&mut out)?;
        let flushed = out.flush();
        flushed.with_context(|| format!("{}: cannot be written", self.name()))?;
        match self {
            Self::Here(path) => {
                crate::files::make_readable(file.as_file())?;
                let kept = file.persist(path).map_err(|error| error.error);
                kept.with_context(|| format!("{}: cannot be written", self.name()))?;
            }
            Self::There(depot) => {
                depot.put(file.path(), "", Put::Again)?;
            }
        }
        Ok(())
    }
}

/// Whether it is the URL of a store.
pub(super) fn is_url(text: &str) -> bool {
    ["s3://", "file://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
