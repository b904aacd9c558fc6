//! Decoding the links of one BV page, believing nothing.
//!
//! A page is its out-degree, then optionally a reference to one of the pages just before it with
//! the blocks of links to copy from it, then intervals of consecutive links, then the rest as gaps.
//! Every number is checked against what is left to decode before it is used, so that a damaged
//! stream ends in a [`Fault`], not in a panic, an endless loop or an allocation.
//!
//! Cost: O(links of the page), a sort of up to three ascending runs included; no allocation.

use dsi_bitstream::codes::{MinimalBinaryRead, ToInt};
use dsi_bitstream::dispatch::Codes;
use dsi_bitstream::traits::{BitRead, Endianness};
use turnstone_frontier::PageId;
use webgraph::prelude::CompFlags;

/// Why a page does not decode.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The stream ended inside the page.
    CutOff,
    /// A number that cannot be; what it was.
    Absurd(&'static str),
    /// A code the decoder does not know.
    UnknownCode(Codes),
}

/// What a page must stay within.
pub(super) struct Limits {
    pub(super) pages: usize,
    /// Links the whole graph has left.
    pub(super) links: u64,
}

/// Reads pages from a bit stream.
pub(super) struct Decoder<E, R> {
    pub(super) reader: R,
    pub(super) flags: CompFlags,
    pub(super) endianness: std::marker::PhantomData<E>,
}

impl<E: Endianness, R: BitRead<E> + MinimalBinaryRead<E>> Decoder<E, R> {
    /// Decodes the next page, number `page`, into `links`. `row(i)` must give the decoded links of
    /// an earlier page.
    pub(super) fn page<'a>(
        &mut self,
        page: usize,
        limits: &Limits,
        row: impl Fn(usize) -> &'a [PageId],
        links: &mut Vec<PageId>,
    ) -> Result<(), Fault> {
        links.clear();
        let degree = self.read(self.flags.outdegrees)?;
        if degree > limits.links {
            return Err(Fault::Absurd("more links than arcs="));
        }
        if degree > limits.pages as u64 {
            return Err(Fault::Absurd("more links than nodes="));
        }
        let degree = degree as usize;
        if degree == 0 {
            return Ok(());
        }
        if self.flags.compression_window > 0 {
            let back = self.read(self.flags.references)? as usize;
            if back > self.flags.compression_window || back > page {
                return Err(Fault::Absurd("a reference beyond the window"));
            }
            if back > 0 {
                self.copy(row(page - back), degree, links)?;
            }
        }
        let copied = links.len();
        if self.flags.min_interval_length > 0 && links.len() < degree {
            self.intervals(page, degree, limits.pages, links)?;
        }
        let in_intervals = links.len() - copied;
        if links.len() < degree {
            self.residuals(page, degree, limits.pages, links)?;
        }
        if links.len() > copied.max(in_intervals) {
            links.sort();
        }
        let ascending = links.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending
            || links
                .last()
                .is_some_and(|last| last.index() >= limits.pages)
        {
            return Err(Fault::Absurd("links that do not ascend"));
        }
        Ok(())
    }

    /// Blocks of the reference's links, every other one copied.
    fn copy(
        &mut self,
        reference: &[PageId],
        degree: usize,
        links: &mut Vec<PageId>,
    ) -> Result<(), Fault> {
        let too_long = Fault::Absurd("copied blocks longer than their reference");
        let blocks = self.read(self.flags.blocks)?;
        if blocks > reference.len() as u64 + 1 {
            return Err(too_long);
        }
        let mut rest = reference;
        for block in 0..blocks {
            // Only the first block may be empty; the others are written less one.
            let length = self
                .read(self.flags.blocks)?
                .saturating_add(u64::from(block > 0));
            if length > rest.len() as u64 {
                return Err(too_long);
            }
            let (now, later) = rest.split_at(length as usize);
            if block % 2 == 0 {
                links.extend_from_slice(now);
            }
            rest = later;
        }
        if blocks % 2 == 0 {
            links.extend_from_slice(rest);
        }
        if links.len() > degree {
            return Err(Fault::Absurd("more copied links than links"));
        }
        Ok(())
    }

    /// Runs of consecutive links.
    fn intervals(
        &mut self,
        page: usize,
        degree: usize,
        pages: usize,
        links: &mut Vec<PageId>,
    ) -> Result<(), Fault> {
        let code = self.flags.intervals;
        let count = self.read(code)?;
        let mut next = 0u64;
        for interval in 0..count {
            let start = if interval == 0 {
                from_page(page, self.read(code)?)?
            } else {
                next.saturating_add(1).saturating_add(self.read(code)?)
            };
            let length = self
                .read(code)?
                .saturating_add(self.flags.min_interval_length as u64);
            if length > (degree - links.len()) as u64 {
                return Err(Fault::Absurd("intervals longer than the links left"));
            }
            next = start.saturating_add(length);
            if next > pages as u64 {
                return Err(Fault::Absurd("a link beyond nodes="));
            }
            links.extend((start..next).map(|target| PageId(target as u32)));
        }
        Ok(())
    }

    /// What is neither copied nor in an interval, as gaps.
    fn residuals(
        &mut self,
        page: usize,
        degree: usize,
        pages: usize,
        links: &mut Vec<PageId>,
    ) -> Result<(), Fault> {
        let code = self.flags.residuals;
        let mut target = from_page(page, self.read(code)?)?;
        loop {
            if target >= pages as u64 {
                return Err(Fault::Absurd("a link beyond nodes="));
            }
            links.push(PageId(target as u32));
            if links.len() == degree {
                return Ok(());
            }
            target = target.saturating_add(1).saturating_add(self.read(code)?);
        }
    }

    /// One number. The codes are read here bit by bit, not through the crate's own readers, which
    /// assert that no code is longer than 64 bits: true of a whole file, not of a damaged one.
    #[inline]
    fn read(&mut self, code: Codes) -> Result<u64, Fault> {
        match code {
            Codes::Unary => self.unary(),
            Codes::Gamma => self.gamma(),
            Codes::Delta => {
                let length = self.gamma()?;
                self.binary(length)
            }
            Codes::Zeta(k) => {
                let shift = self.unary()?.saturating_mul(k as u64);
                if shift.saturating_add(k as u64) > 63 {
                    return Err(Fault::Absurd("a code of more than 64 bits"));
                }
                let low = 1u64 << shift;
                let offset = self
                    .reader
                    .read_minimal_binary((low << k) - low)
                    .map_err(|_| Fault::CutOff)?;
                Ok(low + offset - 1)
            }
            other => Err(Fault::UnknownCode(other)),
        }
    }

    #[inline]
    fn unary(&mut self) -> Result<u64, Fault> {
        self.reader.read_unary().map_err(|_| Fault::CutOff)
    }

    #[inline]
    fn gamma(&mut self) -> Result<u64, Fault> {
        let length = self.unary()?;
        self.binary(length)
    }

    /// A number of `length` bits after its leading one, less one.
    #[inline]
    fn binary(&mut self, length: u64) -> Result<u64, Fault> {
        if length > 63 {
            return Err(Fault::Absurd("a code of more than 64 bits"));
        }
        let low = self
            .reader
            .read_bits(length as usize)
            .map_err(|_| Fault::CutOff)?;
        Ok(low + ((1u64 << length) - 1))
    }
}

/// The first target of a run is written relative to the page itself, signs folded in.
fn from_page(page: usize, folded: u64) -> Result<u64, Fault> {
    let target = i128::from(folded.to_int()) + page as i128;
    u64::try_from(target).map_err(|_| Fault::Absurd("a link before page 0"))
}
