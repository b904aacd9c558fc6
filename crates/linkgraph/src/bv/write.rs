//! Writing BV graphs page by page, with the compressor of the `webgraph` crate.
//!
//! Standard parameters (window 7, at most 3 references in a row, intervals from 4, ζ₃ residuals), so
//! that every reader of the format reads them. Files appear whole or not at all.
//!
//! Cost: about 1 µs a page and 50 ns a link; memory of a few lists.

use std::cell::RefCell;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use dsi_bitstream::impls::{BufBitWriter, WordAdapter};
use dsi_bitstream::traits::BigEndian;
use turnstone_frontier::PageId;
use webgraph::prelude::{BvComp, CompFlags, CompStats, ConstCodesEncoder, OffsetsWriter};

use super::graph_name;
use crate::error::WriteError;
use crate::graph::LinkGraph;
use crate::input::with_suffix;
use crate::output::{NewFile, Sealed};
use crate::stored::{PageSink, write_all};
use crate::urls::{UrlTable, UrlWriter};

/// Writes the graph as `NAME.graph`, `.properties` and `.offsets`, and its URLs, if given, as
/// `NAME.urls.zst`. `path` is `NAME` or `NAME.graph`.
pub fn write(path: &Path, graph: &LinkGraph, urls: Option<&UrlTable>) -> Result<(), WriteError> {
    write_all(Box::new(BvWriter::create(path)?), graph, urls)
}

type Encoder =
    ConstCodesEncoder<BigEndian, BufBitWriter<BigEndian, WordAdapter<u64, BufWriter<Shared>>>>;

/// Writes a BV graph page by page.
pub struct BvWriter {
    name: PathBuf,
    compressor: BvComp<Encoder, Shared>,
    graph: Shared,
    offsets: Shared,
    urls: Option<UrlWriter>,
    pages: u64,
}

impl BvWriter {
    /// Begins the graph `NAME` or `NAME.graph`.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let name = graph_name(path);
        let graph = Shared::create(&with_suffix(&name, ".graph"))?;
        let offsets = Shared::create(&with_suffix(&name, ".offsets"))?;
        let bits = BufBitWriter::new(WordAdapter::new(BufWriter::new(graph.clone())));
        let flags = CompFlags::default();
        let compressor = BvComp::new(
            Encoder::new(bits),
            OffsetsWriter::from_write(offsets.clone(), true)
                .map_err(|error| failure(&with_suffix(&name, ".offsets"), error))?,
            flags.compression_window,
            flags.max_ref_count,
            flags.min_interval_length,
            0,
            (),
        );
        Ok(Self {
            name,
            compressor,
            graph,
            offsets,
            urls: None,
            pages: 0,
        })
    }

    fn properties(&self, stats: &CompStats) -> Result<NewFile, WriteError> {
        let path = with_suffix(&self.name, ".properties");
        let text = CompFlags::default()
            .to_properties::<BigEndian>(stats)
            .map_err(|error| failure(&path, error))?;
        let mut file = NewFile::create(&path)?;
        file.put(text.as_bytes())?;
        Ok(file)
    }
}

impl PageSink for BvWriter {
    fn page(&mut self, links: &[PageId], url: Option<&str>) -> Result<(), WriteError> {
        if let Some(url) = url {
            if self.pages == 0 {
                self.urls = Some(UrlWriter::create(&with_suffix(&self.name, ".urls.zst"))?);
            }
            self.urls
                .as_mut()
                .expect("every page has a URL or none has")
                .push(url)?;
        }
        self.pages += 1;
        self.compressor
            .push(links.iter().map(|target| (target.index(), ())))
            .map_err(|error| failure(&with_suffix(&self.name, ".graph"), error))
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        let properties = self.properties(&self.compressor.stats())?;
        let Self {
            name,
            compressor,
            graph,
            offsets,
            urls,
            ..
        } = *self;
        compressor
            .flush()
            .map_err(|error| failure(&with_suffix(&name, ".graph"), error))?;
        let mut sealed: Vec<Sealed> = Vec::new();
        if let Some(urls) = urls {
            sealed.push(urls.seal()?);
        }
        sealed.push(offsets.seal()?);
        sealed.push(properties.seal()?);
        // The graph comes last: where it is, everything is.
        sealed.push(graph.seal()?);
        sealed.into_iter().try_for_each(Sealed::publish)
    }
}

/// A new file that the compressor writes to and swallows, and that we complete afterwards.
#[derive(Clone)]
struct Shared(Rc<RefCell<NewFile>>);

impl Shared {
    fn create(path: &Path) -> Result<Self, WriteError> {
        Ok(Self(Rc::new(RefCell::new(NewFile::create(path)?))))
    }

    fn seal(self) -> Result<Sealed, WriteError> {
        Rc::into_inner(self.0)
            .expect("the compressor is gone")
            .into_inner()
            .seal()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

/// The compressor's errors are those of the file below it.
fn failure(path: &Path, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> WriteError {
    let error = error.into();
    let source = match error.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(error) => io::Error::other(error),
    };
    WriteError::new(path, source)
}
