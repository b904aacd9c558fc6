//! Reads index lines: CDXJ, and the classic CDX of 9, 10 or 11 fields.
//!
//! Indexes of other tools are imported, so nothing is trusted: a line is bounded, a bad one is an
//! error with its number, and reading goes on behind it. What a line does not tell is `None`
//! (`-` in classic CDX).

use std::io::{self, BufRead, Read as _};

use serde_json::Value;

use super::date::parse_index_time;
use super::digest::Digest;

/// The longest index line that is read.
pub const CDX_LINE_BYTES_MAX: usize = 1 << 20;

/// What an index line tells of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CdxLine {
    /// The key of the URL.
    pub surt: String,
    /// When, in milliseconds since 1970.
    pub date_ms: u64,
    /// The URL as it was asked for.
    pub url: String,
    /// The media type; `warc/revisit` for a revisit.
    pub mime: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The payload's digest, if it is a SHA-1.
    pub digest: Option<Digest>,
    /// The length of the record's member.
    pub length: Option<u64>,
    /// The first byte of the record's member.
    pub offset: Option<u64>,
    /// The name of the WARC file.
    pub filename: Option<String>,
}

/// Why an index line was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CdxError {
    /// The line is not what it should be; reading can go on.
    #[error("line {line}: {reason}")]
    Line {
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The input failed; there is no more.
    #[error("after line {line}: {source}")]
    Io {
        /// The last line read.
        line: u64,
        /// The cause.
        source: io::Error,
    },
}

impl CdxLine {
    /// Reads a line, without its end, of CDXJ or of classic CDX in its usual orders of fields.
    pub fn parse(line: &[u8]) -> Result<Self, &'static str> {
        let usual = match line.split(|&b| b == b' ').count() {
            _ if is_cdxj(line) => "",
            9 => "NbamskrVg",
            10 => "NbamskrMVg",
            11 => "NbamskrMSVg",
            _ => return Err("neither CDXJ nor a CDX line of 9, 10 or 11 fields"),
        };
        Self::parse_as(line, usual)
    }

    fn parse_as(line: &[u8], letters: &str) -> Result<Self, &'static str> {
        let line = std::str::from_utf8(line).map_err(|_| "not UTF-8")?;
        if is_cdxj(line.as_bytes()) {
            return parse_cdxj(line);
        }
        parse_cdx(line, letters)
    }
}

fn is_cdxj(line: &[u8]) -> bool {
    line.splitn(3, |&b| b == b' ')
        .nth(2)
        .is_some_and(|rest| rest.starts_with(b"{"))
}

fn parse_cdxj(line: &str) -> Result<CdxLine, &'static str> {
    let mut parts = line.splitn(3, ' ');
    let surt = parts.next().unwrap_or_default().to_owned();
    let time = parts.next().unwrap_or_default();
    let json: Value =
        serde_json::from_str(parts.next().unwrap_or_default()).map_err(|_| "not JSON")?;
    let text = |key: &str| match &json[key] {
        Value::String(text) if text != "-" => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Ok(CdxLine {
        surt,
        date_ms: parse_index_time(time).ok_or("not a time of 4 to 17 digits")?,
        url: text("url").ok_or("no \"url\"")?,
        mime: text("mime"),
        status: number(text("status"), "\"status\" is no number")?,
        digest: text("digest").as_deref().and_then(Digest::parse),
        length: number(text("length"), "\"length\" is no number")?,
        offset: number(text("offset"), "\"offset\" is no number")?,
        filename: text("filename"),
    })
}

/// The letters are those of a CDX header: N key, b date, a URL, m type, s status, k digest,
/// S length, V offset, g file; others are passed over.
fn parse_cdx(line: &str, letters: &str) -> Result<CdxLine, &'static str> {
    if line.split(' ').count() != letters.len() {
        return Err("not as many fields as its header names");
    }
    let field = |letter: char| {
        letters
            .find(letter)
            .and_then(|at| line.split(' ').nth(at))
            .filter(|text| *text != "-")
            .map(str::to_owned)
    };
    let date = field('b').ok_or("no date")?;
    Ok(CdxLine {
        surt: field('N').unwrap_or_default(),
        date_ms: parse_index_time(&date).ok_or("not a time of 4 to 17 digits")?,
        url: field('a').ok_or("no URL")?,
        mime: field('m'),
        status: number(field('s'), "the status is no number")?,
        digest: field('k').as_deref().and_then(Digest::parse),
        length: number(field('S'), "the length is no number")?,
        offset: number(field('V'), "the offset is no number")?,
        filename: field('g'),
    })
}

fn number<T: std::str::FromStr>(
    text: Option<String>,
    reason: &'static str,
) -> Result<Option<T>, &'static str> {
    text.map(|text| text.parse().map_err(|_| reason))
        .transpose()
}

/// Reads an index line by line.
#[derive(Debug)]
pub struct CdxReader<R> {
    input: R,
    line: u64,
    letters: Option<String>,
    failed: bool,
}

impl<R: BufRead> CdxReader<R> {
    /// Reads from the beginning of an index.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: 0,
            letters: None,
            failed: false,
        }
    }

    /// The number of the line read last.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next line without its end; too long a one is passed over.
    fn next_line(&mut self) -> io::Result<Option<Result<Vec<u8>, &'static str>>> {
        let mut line = Vec::new();
        let limit = CDX_LINE_BYTES_MAX as u64;
        if (&mut self.input).take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        if line.len() == CDX_LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            self.input.skip_until(b'\n')?;
            return Ok(Some(Err("longer than 1 MiB")));
        }
        while line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
            line.pop();
        }
        Ok(Some(Ok(line)))
    }
}

impl<R: BufRead> Iterator for CdxReader<R> {
    type Item = Result<CdxLine, CdxError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let line = match self.next_line() {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(reason))) => {
                    let line = self.line;
                    return Some(Err(CdxError::Line { line, reason }));
                }
                Ok(None) => return None,
                Err(source) => {
                    self.failed = true;
                    let line = self.line;
                    return Some(Err(CdxError::Io { line, source }));
                }
            };
            if let Some(letters) = header(&line) {
                self.letters = Some(letters);
                continue;
            }
            // Empty lines, and the directives of OpenWayback's CDXJ.
            if line.is_empty() || line.starts_with(b"!") {
                continue;
            }
            let read = match &self.letters {
                Some(letters) => CdxLine::parse_as(&line, letters),
                None => CdxLine::parse(&line),
            };
            let number = self.line;
            return Some(read.map_err(|reason| CdxError::Line {
                line: number,
                reason,
            }));
        }
        None
    }
}

/// The field letters of a header line such as ` CDX N b a m s k r M S V g`.
fn header(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    let letters = line.strip_prefix(" CDX ")?;
    Some(
        letters
            .split(' ')
            .map(|word| match word.len() {
                1 => word,
                _ => "?",
            })
            .collect(),
    )
}
