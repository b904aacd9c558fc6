//! Bringing one file to a store, and back.
//!
//! A file that must stay as it is ([`Put::Once`]) is brought once: what lies there under its name already is read
//! and compared, so that a kill between the store's yes and our note of it costs a read and never a second copy; and
//! a file of another crawl under the same name is never written over. A file that changes ([`Put::Again`]) is written
//! over. Large files go in parts; one that was not finished is not there.
//!
//! Memory: one part. Every file is read twice: for its digest, and to be sent.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path as LocalPath, PathBuf};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutMode, PutPayload};
use ring::digest::{Context, SHA256};
use turnstone_fetch::AllowPrivate;

use super::place::Place;

/// The least part: a file that is no larger goes at once.
const PART_BYTES: u64 = 16 << 20;
/// The most parts of a file, below what S3 takes.
const PARTS_MAX: u64 = 9000;
/// The variables whose values no message shows.
const SECRET: [&str; 3] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
];

/// Whether a file may be written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Never: it stays as it is.
    Once,
    /// It is what it is now.
    Again,
}

/// Why files could not be brought.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DepotError {
    /// The URL names no store.
    #[error("{url}: {why}")]
    Place {
        /// What was written, without what stands before an @.
        url: String,
        /// Why not.
        why: String,
    },
    /// The store said no, or cannot be reached.
    #[error("{url}: {why}")]
    Store {
        /// The object.
        url: String,
        /// What it said.
        why: String,
    },
    /// Something else lies under the name.
    #[error("{url}: another file lies there under this name; name another folder of the store")]
    Other {
        /// The object.
        url: String,
    },
    /// A file that is to come back was brought to another store.
    #[error(
        "{place}: the file lies there, in another store than the one that is named; name that one with --to"
    )]
    Elsewhere {
        /// Where.
        place: String,
    },
    /// What came back is not what was brought.
    #[error(
        "{url}: it has another content than when it was brought (SHA-256 {found}, not {expect})"
    )]
    Changed {
        /// The object.
        url: String,
        /// What it has.
        found: String,
        /// What it should have.
        expect: String,
    },
    /// The local file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The crawl cannot be read.
    #[error(transparent)]
    Crawl(#[from] turnstone_pagestore::StoreError),
    /// Another process is bringing files of this crawl.
    #[error("{}: another process is uploading files of this crawl", .0.display())]
    Busy(PathBuf),
}

/// What is known of a file that lies in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lies {
    pub(super) url: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    /// Whether it was sent now.
    pub(super) sent: bool,
}

/// A folder of an object store.
pub struct Depot {
    place: Place,
    runtime: tokio::runtime::Runtime,
}

impl std::fmt::Debug for Depot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Depot({})", self.place.url)
    }
}

impl Depot {
    /// Opens the store that a URL names; nothing is asked yet. `private` says which private networks its server
    /// may be in.
    pub fn open(url: &str, private: &AllowPrivate) -> Result<Self, DepotError> {
        let place = Place::of(url, private)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| DepotError::Place {
            url: url.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Self { place, runtime })
    }

    /// The URL of a file by its name in this folder.
    pub fn url(&self, name: &str) -> String {
        if name.is_empty() {
            return self.place.url.clone();
        }
        format!("{}/{name}", self.place.url)
    }

    /// Brings a file there under a name; an empty name is that of the folder itself.
    pub fn put(&self, file: &LocalPath, name: &str, put: Put) -> Result<u64, DepotError> {
        self.lay(file, name, put).map(|lies| lies.bytes)
    }

    pub(super) fn lay(&self, file: &LocalPath, name: &str, put: Put) -> Result<Lies, DepotError> {
        let (bytes, sha256) = digest_of(file)?;
        let mut lies = Lies {
            url: self.url(name),
            bytes,
            sha256,
            sent: false,
        };
        if put == Put::Once && self.has(&lies, name)? {
            return Ok(lies);
        }
        lies.sent = true;
        let sent = self.runtime.block_on(self.send(file, name, (bytes, put)));
        match sent {
            Err(object_store::Error::AlreadyExists { .. }) if put == Put::Once => {
                lies.sent = false;
                self.has(&lies, name)?;
            }
            Err(error) => return Err(self.failed(name, &error)),
            Ok(()) => {}
        }
        Ok(lies)
    }

    /// Whether a file lies there; an error if something else does.
    fn has(&self, lies: &Lies, name: &str) -> Result<bool, DepotError> {
        let found = self
            .runtime
            .block_on(self.place.store.head(&self.path(name)));
        let found = match found {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(self.failed(name, &error)),
        };
        let same =
            found.size == lies.bytes && self.read(name, lies.bytes, io::sink())? == lies.sha256;
        match same {
            true => Ok(true),
            false => Err(DepotError::Other {
                url: self.url(name),
            }),
        }
    }

    async fn send(
        &self,
        file: &LocalPath,
        name: &str,
        (bytes, put): (u64, Put),
    ) -> object_store::Result<()> {
        let path = self.path(name);
        let local = |source: io::Error| object_store::Error::Generic {
            store: "local file",
            source: Box::new(source),
        };
        let mut from = File::open(file).map_err(local)?;
        let part_bytes = PART_BYTES.max(bytes.div_ceil(PARTS_MAX));
        let mut part = || {
            let mut part = Vec::new();
            (&mut from).take(part_bytes).read_to_end(&mut part)?;
            Ok(Bytes::from(part))
        };
        if bytes <= part_bytes {
            let mode = match put {
                Put::Once => PutMode::Create,
                Put::Again => PutMode::Overwrite,
            };
            let payload = PutPayload::from_bytes(part().map_err(local)?);
            let put = self.place.store.put_opts(&path, payload, mode.into());
            return put.await.map(drop);
        }
        let mut upload = self.place.store.put_multipart(&path).await?;
        let mut sent = 0;
        while sent < bytes {
            let bytes = part().map_err(local)?;
            if bytes.is_empty() {
                break;
            }
            sent += bytes.len() as u64;
            if let Err(error) = upload.put_part(PutPayload::from_bytes(bytes)).await {
                // Parts that stay behind cost money; the store may have lost them already.
                let _ = upload.abort().await;
                return Err(error);
            }
        }
        upload.complete().await.map(drop)
    }

    /// Brings a file back, whole and as it was, under a name here.
    pub(super) fn fetch(
        &self,
        name: &str,
        (bytes, sha256): (u64, &str),
        to: &LocalPath,
    ) -> Result<(), DepotError> {
        let folder = to.parent().unwrap_or(LocalPath::new("."));
        let failed = |source| DepotError::File {
            path: to.to_owned(),
            source,
        };
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        let found = self.read(name, bytes, &mut file)?;
        if found != sha256 {
            return Err(DepotError::Changed {
                url: self.url(name),
                found,
                expect: sha256.to_owned(),
            });
        }
        crate::file::make_readable(file.as_file()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(to).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Reads an object piece by piece; returns its digest.
    fn read(&self, name: &str, bytes: u64, mut to: impl io::Write) -> Result<String, DepotError> {
        let path = self.path(name);
        let mut digest = Context::new(&SHA256);
        let mut at = 0;
        while at < bytes {
            let end = bytes.min(at + PART_BYTES);
            let piece = self
                .runtime
                .block_on(self.place.store.get_range(&path, at..end));
            let piece = piece.map_err(|error| self.failed(name, &error))?;
            if piece.is_empty() {
                break;
            }
            digest.update(&piece);
            to.write_all(&piece).map_err(|source| DepotError::File {
                path: name.into(),
                source,
            })?;
            at += piece.len() as u64;
        }
        Ok(hex(digest))
    }

    fn path(&self, name: &str) -> Path {
        let parts = name.split('/').filter(|part| !part.is_empty());
        parts.fold(self.place.folder.clone(), |path, part| path.join(part))
    }

    fn failed(&self, name: &str, error: &object_store::Error) -> DepotError {
        let mut why = error.to_string();
        for name in SECRET {
            if let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty()) {
                why = why.replace(&value, &format!("${name}"));
            }
        }
        DepotError::Store {
            url: self.url(name),
            why,
        }
    }
}

/// The length of a file, and its digest.
fn digest_of(path: &LocalPath) -> Result<(u64, String), DepotError> {
    let failed = |source| DepotError::File {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut digest = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut buffer).map_err(failed)?;
        if count == 0 {
            return Ok((bytes, hex(digest)));
        }
        bytes += count as u64;
        digest.update(&buffer[..count]);
    }
}

fn hex(digest: Context) -> String {
    let digest = digest.finish();
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
