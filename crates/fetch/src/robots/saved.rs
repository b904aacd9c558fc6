//! A robots record as bytes, so that a restart neither refetches the world nor crawls blindly.
//!
//! Format 1: a version byte, then the fields in order; numbers as 8 little-endian bytes, texts as
//! length and UTF-8, lists as count and items. Of the rules only the lines that matter are kept.
//! Reading trusts no length: everything is checked against the bytes at hand.

use thiserror::Error;

use super::record::{Record, Standing};
use super::rules::{Line, Rules};

const VERSION: u8 = 1;

/// Why saved bytes are not a robots record.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes end early or hold something impossible.
    #[error("saved robots record is damaged at byte {at}; fetch robots.txt again")]
    Damaged {
        /// Where reading stopped.
        at: usize,
    },
    /// Written by another version.
    #[error(
        "saved robots record has format {found}, this program reads {VERSION}; fetch robots.txt again"
    )]
    Version {
        /// The version byte found.
        found: u8,
    },
}

impl Record {
    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer(vec![VERSION]);
        out.text(&self.origin);
        let (kind, why) = match &self.standing {
            Standing::Unasked => (0, ""),
            Standing::Rules => (1, ""),
            Standing::Open { why } => (2, why.as_str()),
            Standing::Unreachable { why } => (3, why.as_str()),
        };
        out.number(kind);
        out.text(why);
        out.number(self.answered_at_s);
        out.number(self.ask_at_s);
        out.number(self.held_until_s);
        // Zero means "not silent": nobody crawled in 1970.
        out.number(self.silent_since_s.map_or(0, |s| s.max(1)));
        out.number(u64::from(self.failures));
        out.number(self.chain.len() as u64);
        self.chain.iter().for_each(|url| out.text(url));
        out.number(u64::from(self.copy.is_some()));
        if let Some(rules) = &self.copy {
            out.number(u64::from(rules.names_us()) | u64::from(rules.is_html()) << 1);
            let lines = rules.lines();
            out.number(lines.len() as u64);
            for line in lines {
                out.number(u64::from(line.number));
                out.text(&line.text);
            }
        }
        out.0
    }

    /// The record that [`Record::save`] wrote.
    pub fn restore(bytes: &[u8]) -> Result<Record, RestoreError> {
        let mut input = Reader { bytes, at: 0 };
        match input.take(1)? {
            [VERSION] => {}
            other => return Err(RestoreError::Version { found: other[0] }),
        }
        let origin = input.text()?;
        let kind = input.number()?;
        let why = input.text()?;
        let standing = match kind {
            0 => Standing::Unasked,
            1 => Standing::Rules,
            2 => Standing::Open { why },
            3 => Standing::Unreachable { why },
            _ => return Err(input.damaged()),
        };
        let mut record = Record::new(&origin);
        record.standing = standing;
        record.answered_at_s = input.number()?;
        record.ask_at_s = input.number()?;
        record.held_until_s = input.number()?;
        record.silent_since_s = Some(input.number()?).filter(|s| *s > 0);
        record.failures = u32::try_from(input.number()?).unwrap_or(u32::MAX);
        for _ in 0..input.number()? {
            let url = input.text()?;
            record.chain.push(url);
        }
        if input.number()? == 1 {
            let flags = input.number()?;
            let mut lines = Vec::new();
            for _ in 0..input.number()? {
                let number = u32::try_from(input.number()?).map_err(|_| input.damaged())?;
                lines.push(Line {
                    number,
                    text: input.text()?.into(),
                });
            }
            record.copy = Some(Rules::from_saved(lines, flags & 1 == 1, flags & 2 == 2));
        }
        if input.at == bytes.len() {
            Ok(record)
        } else {
            Err(input.damaged())
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn damaged(&self) -> RestoreError {
        RestoreError::Damaged { at: self.at }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], RestoreError> {
        let end = self
            .at
            .checked_add(count)
            .filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| self.damaged())?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, RestoreError> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(
            bytes.try_into().map_err(|_| self.damaged())?,
        ))
    }

    fn text(&mut self) -> Result<String, RestoreError> {
        let length = usize::try_from(self.number()?).map_err(|_| self.damaged())?;
        let bytes = self.take(length)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.damaged())
    }
}
