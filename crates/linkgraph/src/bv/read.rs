//! Reading BV graphs into memory.
//!
//! The stream must hold exactly the pages and links that `.properties` promises: neither end early
//! nor go on, so that a cut-off file or a stranger's properties never pass for a smaller web.
//!
//! Cost: O(pages + links), some 15 ns a link; the file and the graph are in memory.

use std::fs::File;
use std::io::Read;
use std::marker::PhantomData;
use std::path::Path;

use dsi_bitstream::codes::MinimalBinaryRead;
use dsi_bitstream::impls::{BufBitReader, MemWordReader};
use dsi_bitstream::traits::{BigEndian, BitRead, BitSeek, Endianness, LittleEndian};
use turnstone_frontier::PageId;

use super::decode::{Decoder, Fault, Limits};
use super::graph_name;
use super::properties::Properties;
use crate::error::ReadError;
use crate::graph::LinkGraph;
use crate::input::with_suffix;
use crate::stored::StoredGraph;

/// Writers fill the last word; more than this after the last page is another graph's data.
const PADDING_BITS_MAX: u64 = 128;

/// Whether a BV graph is there: `path` is `NAME` or `NAME.graph`, and `NAME.graph` is a file.
pub fn is_graph(path: &Path) -> bool {
    with_suffix(&graph_name(path), ".graph").is_file()
}

/// Reads the graph `NAME` or `NAME.graph`, and the list of URLs beside it, if there is one.
pub fn read(path: &Path) -> Result<StoredGraph, ReadError> {
    let name = graph_name(path);
    let properties = Properties::read(&with_suffix(&name, ".properties"))?;
    let path = with_suffix(&name, ".graph");
    let (words, file_bits) = read_words(&path)?;
    if properties.pages as u64 > file_bits {
        let fault = format!(
            "{} bytes are too few for the nodes={} of its .properties; cut off, or not its own",
            file_bits / 8,
            properties.pages
        );
        return Err(ReadError::file(&path, fault));
    }
    let stream = MemWordReader::new(words);
    let graph = if properties.big_endian {
        decode(
            &path,
            &properties,
            file_bits,
            BufBitReader::<BigEndian, _>::new(stream),
        )?
    } else {
        decode(
            &path,
            &properties,
            file_bits,
            BufBitReader::<LittleEndian, _>::new(stream),
        )?
    };
    let urls = StoredGraph::urls_for(&name, graph.page_count())?;
    Ok(StoredGraph { graph, urls })
}

/// The file as words, with a little padding for the reader's look-ahead, and its length in bits.
fn read_words(path: &Path) -> Result<(Vec<u32>, u64), ReadError> {
    let fail = |error| ReadError::io(path, error);
    let mut file = File::open(path).map_err(fail)?;
    let mut bytes = vec![0u8; 1 << 20];
    let mut words = Vec::new();
    let mut file_bits = 0;
    loop {
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read(&mut bytes[filled..]).map_err(fail)? {
                0 => break,
                more => filled += more,
            }
        }
        file_bits += 8 * filled as u64;
        // The last word is filled up with zeros.
        let whole = filled.next_multiple_of(4);
        bytes[filled..whole].fill(0);
        let (chunks, _) = bytes[..whole].as_chunks::<4>();
        words.extend(chunks.iter().map(|&chunk| u32::from_ne_bytes(chunk)));
        if filled < bytes.len() {
            words.extend([0, 0]);
            return Ok((words, file_bits));
        }
    }
}

fn decode<E: Endianness, R: BitRead<E> + MinimalBinaryRead<E> + BitSeek>(
    path: &Path,
    properties: &Properties,
    file_bits: u64,
    reader: R,
) -> Result<LinkGraph, ReadError> {
    let pages = properties.pages;
    let mut starts: Vec<u64> = Vec::new();
    let mut targets: Vec<PageId> = Vec::new();
    let room = starts.try_reserve_exact(pages + 1).is_ok()
        && usize::try_from(properties.links)
            .is_ok_and(|links| targets.try_reserve_exact(links).is_ok());
    if !room {
        let fault = format!("no memory for arcs={} (4 bytes each)", properties.links);
        return Err(ReadError::file(
            &with_suffix(&graph_name(path), ".properties"),
            fault,
        ));
    }
    starts.push(0);
    let mut decoder = Decoder {
        reader,
        flags: properties.flags,
        endianness: PhantomData,
    };
    let mut links = Vec::new();
    for page in 0..pages {
        let limits = Limits {
            pages,
            links: properties.links - targets.len() as u64,
        };
        let row = |i: usize| &targets[starts[i] as usize..starts[i + 1] as usize];
        decoder
            .page(page, &limits, row, &mut links)
            .map_err(|fault| page_fault(path, properties, page, &fault))?;
        targets.extend_from_slice(&links);
        starts.push(targets.len() as u64);
    }
    let end = decoder.reader.bit_pos().unwrap_or(u64::MAX);
    if end > file_bits {
        return Err(page_fault(path, properties, pages - 1, &Fault::CutOff));
    }
    let expected = properties.bits.unwrap_or(end);
    if expected != end || file_bits - end > PADDING_BITS_MAX {
        let fault = format!(
            "its {pages} pages end after {} bytes of {}; .properties is not its own",
            end.div_ceil(8),
            file_bits / 8
        );
        return Err(ReadError::file(path, fault));
    }
    if targets.len() as u64 != properties.links {
        let fault = format!(
            "holds {} links, but .properties says arcs={}; it is not its own",
            targets.len(),
            properties.links
        );
        return Err(ReadError::file(path, fault));
    }
    Ok(LinkGraph::from_rows(starts, targets))
}

fn page_fault(path: &Path, properties: &Properties, page: usize, fault: &Fault) -> ReadError {
    let fault = match fault {
        Fault::CutOff => format!(
            "ends inside page {page} of nodes={}; the file is cut off, or .properties is not its own",
            properties.pages
        ),
        Fault::Absurd(what) => {
            format!("page {page} has {what}; the file is damaged, or .properties is not its own")
        }
        Fault::UnknownCode(code) => format!(
            "written in {code} codes, which cannot be read here; write it again in unary, γ, δ or ζ codes"
        ),
    };
    ReadError::file(path, fault)
}
