//! Links as they stand in the journal: page ids, in the order of the page.
//!
//! Each is written as its difference to the one before, because pages found together have ids
//! together: a byte or two a link.

use turnstone_frontier::PageId;

use crate::bytes::{Cursor, Malformed, Put as _};

/// Links, in memory or still as bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Links<'a> {
    /// As ids.
    Ids(&'a [PageId]),
    /// As written.
    Bytes(&'a [u8]),
}

impl Links<'_> {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Links::Ids(ids) => put_links(ids, out),
            Links::Bytes(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// Every one of them.
    pub fn each(&self, mut take: impl FnMut(PageId)) {
        match *self {
            Links::Ids(ids) => ids.iter().copied().for_each(take),
            Links::Bytes(bytes) => {
                read_links(bytes, &mut take).expect("checked when it was read");
            }
        }
    }

    /// Appends the links to a buffer.
    pub fn read(&self, into: &mut Vec<PageId>) {
        self.each(|page| into.push(page));
    }
}

/// Each link as its zigzag difference to the one before: pages found together have ids together.
fn put_links(links: &[PageId], out: &mut Vec<u8>) {
    let mut before = 0i64;
    for link in links {
        let difference = i64::from(link.0) - before;
        out.put_number((difference << 1 ^ difference >> 63) as u64);
        before = i64::from(link.0);
    }
}

pub(crate) fn checked_links(bytes: &[u8]) -> Result<Links<'_>, Malformed> {
    read_links(bytes, |_| ())?;
    Ok(Links::Bytes(bytes))
}

pub(crate) fn read_links(bytes: &[u8], mut keep: impl FnMut(PageId)) -> Result<(), Malformed> {
    let mut from = Cursor::new(bytes);
    let mut before = 0i64;
    while from.left() > 0 {
        let zigzag = from.number()?;
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        before = before.wrapping_add(difference);
        let id = u32::try_from(before).map_err(|_| Malformed("a link beyond all pages"))?;
        keep(PageId(id));
    }
    Ok(())
}
