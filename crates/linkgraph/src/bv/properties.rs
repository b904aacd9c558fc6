//! `NAME.properties`: how many pages and links a BV graph has and which codes it is written in.
//!
//! Everything a decoder would believe is checked here against what the format allows, so that an
//! absurd number is an error before it becomes an allocation.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use dsi_bitstream::traits::{BigEndian, Endianness, LittleEndian};
use webgraph::prelude::CompFlags;

use crate::error::{ReadError, shown};

/// A properties file of thirty lines; this much is more than any writer makes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Windows beyond this are no use and appear in no known graph.
const WINDOW_MAX: usize = 1 << 16;

pub(super) struct Properties {
    pub(super) pages: usize,
    pub(super) links: u64,
    /// Length of the bit stream, where the writer says it.
    pub(super) bits: Option<u64>,
    pub(super) big_endian: bool,
    pub(super) flags: CompFlags,
}

impl Properties {
    pub(super) fn read(path: &Path) -> Result<Self, ReadError> {
        let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ReadError::file(
                path,
                "not found; a BV graph needs its .properties file beside the .graph file",
            ),
            _ => ReadError::io(path, error),
        })?;
        if metadata.len() > FILE_BYTES_MAX {
            return Err(ReadError::file(
                path,
                "too large for a properties file (over 1 MiB)",
            ));
        }
        let bytes = std::fs::read(path).map_err(|error| ReadError::io(path, error))?;
        Self::parse(path, &String::from_utf8_lossy(&bytes))
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ReadError> {
        let map: HashMap<String, String> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with(['#', '!']))
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
            .collect();
        if let Some(class) = map
            .get("graphclass")
            .filter(|class| !class.ends_with("BVGraph"))
        {
            let fault = format!(
                "graphclass={}; only BVGraph can be read",
                shown(class.as_bytes())
            );
            return Err(ReadError::file(path, fault));
        }
        let pages: u64 = required(path, &map, "nodes")?;
        let links: u64 = required(path, &map, "arcs")?;
        if pages == 0 {
            return Err(ReadError::file(path, "nodes=0: an empty web"));
        }
        if pages >= u64::from(u32::MAX) {
            let fault = format!("nodes={pages}; page ids are 32-bit, at most 4294967294 pages");
            return Err(ReadError::file(path, fault));
        }
        if u128::from(links) > u128::from(pages) * u128::from(pages) {
            let fault = format!("arcs={links} is more than {pages} nodes can have");
            return Err(ReadError::file(path, fault));
        }
        let big_endian = match map.get("endianness").map(String::as_str) {
            None => true,
            Some(name) if name == BigEndian::NAME => true,
            Some(name) if name == LittleEndian::NAME => false,
            Some(name) => {
                let fault = format!("endianness={}; big or little", shown(name.as_bytes()));
                return Err(ReadError::file(path, fault));
            }
        };
        let flags = if big_endian {
            CompFlags::from_properties::<BigEndian>(&map)
        } else {
            CompFlags::from_properties::<LittleEndian>(&map)
        };
        let flags = flags.map_err(|error| ReadError::file(path, format!("{error:#}")))?;
        if flags.compression_window > WINDOW_MAX {
            let fault = format!(
                "windowsize={}; at most {WINDOW_MAX}",
                flags.compression_window
            );
            return Err(ReadError::file(path, fault));
        }
        let bits = optional(path, &map, "length")?;
        Ok(Self {
            pages: pages as usize,
            links,
            bits,
            big_endian,
            flags,
        })
    }
}

fn required<T: FromStr<Err: Display>>(
    path: &Path,
    map: &HashMap<String, String>,
    key: &str,
) -> Result<T, ReadError> {
    optional(path, map, key)?
        .ok_or_else(|| ReadError::file(path, format!("no line {key}=…; not that of a BV graph")))
}

fn optional<T: FromStr<Err: Display>>(
    path: &Path,
    map: &HashMap<String, String>,
    key: &str,
) -> Result<Option<T>, ReadError> {
    let Some(value) = map.get(key) else {
        return Ok(None);
    };
    value.parse().map(Some).map_err(|error| {
        ReadError::file(path, format!("{key}={}: {error}", shown(value.as_bytes())))
    })
}
