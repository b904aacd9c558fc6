//! A list of URLs, one a line, behind a tab perhaps a date: pages that were stored once.
//!
//! A page without a date has that of the file, or what `--date` says. Empty lines and lines that
//! begin with `#` are no URLs and not meant to be.

use std::io::{BufRead as _, Read as _};

use anyhow::Context as _;
use turnstone_crawl::old_crawl::{Came, OldFetch};
use turnstone_fetch::Url;
use turnstone_fetch::urls::{UrlLimits, parse, shown};
use turnstone_pagestore::Facts;
use turnstone_pagestore::warc::{parse_index_time, parse_warc_date};

use super::skipped::Place;
use super::source::{self, Source};
use super::spool::Spool;

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// Reads a list into the spool, but for lines that were read before.
pub(super) fn read(
    source: &Source,
    date_ms: u64,
    spool: &mut Spool,
    mut at_byte: impl FnMut(u64),
) -> anyhow::Result<()> {
    let context = || source.path.display().to_string();
    let name = source.name();
    let before = spool.read().records;
    let (mut input, position) = source::open(&source.path).with_context(context)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = (&mut input).take(LINE_BYTES_MAX);
        if bounded.read_until(b'\n', &mut line).with_context(context)? == 0 {
            break;
        }
        let too_long = line.len() as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n');
        if too_long {
            input.skip_until(b'\n').with_context(context)?;
        }
        if number <= before {
            continue;
        }
        at_byte(position.get());
        let read = match std::str::from_utf8(&line) {
            _ if too_long => Err(format!("longer than {LINE_BYTES_MAX} bytes")),
            Ok(text) => read_line(text),
            Err(_) => Err("not UTF-8".to_owned()),
        };
        match read {
            Ok(Some((url, date))) => {
                let at = date.unwrap_or(date_ms);
                let detail = format!("{name}, line {number}");
                spool.add(&url, &listed(&url, at, detail), number)?;
            }
            Ok(None) => {}
            Err(reason) => spool.skip(&name, Place::Line(number), reason),
        }
    }
    Ok(())
}

/// The first URL of a list that is not as wanted, if there is one; lines that are no URL are passed over.
pub(super) fn find(source: &Source, wanted: impl Fn(&Url) -> bool) -> anyhow::Result<Option<Url>> {
    let context = || source.path.display().to_string();
    let (mut input, _) = source::open(&source.path).with_context(context)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut input).take(LINE_BYTES_MAX);
        if bounded.read_until(b'\n', &mut line).with_context(context)? == 0 {
            return Ok(None);
        }
        let text = std::str::from_utf8(&line).unwrap_or_default();
        if let Ok(Some((url, _))) = read_line(text)
            && !wanted(&url)
        {
            return Ok(Some(url));
        }
    }
}

/// A page that a list says was stored.
pub(super) fn listed(url: &Url, at: u64, detail: String) -> OldFetch {
    OldFetch {
        at,
        url: url.as_str().to_owned(),
        came: Came::Listed,
        facts: Facts {
            class: Facts::IMPORTED.to_owned(),
            detail,
            wall_ms: at,
            hearsay: true,
            ..Facts::default()
        },
        links: Vec::new(),
    }
}

/// Reads a line: a URL and perhaps a date; nothing where nothing is meant.
pub(super) fn read_line(line: &str) -> Result<Option<(Url, Option<u64>)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (text, date) = match line.split_once('\t') {
        Some((text, date)) => (text.trim(), Some(date.trim())),
        None => (line, None),
    };
    let mut url = parse(text, &UrlLimits::default())
        .map_err(|error| format!("'{}': {error}", shown(text)))?;
    url.set_fragment(None);
    let date = match date {
        None => None,
        Some(date) => Some(
            read_date(date)
                .ok_or_else(|| format!("'{}' is not a date like 2019-03-10", shown(date)))?,
        ),
    };
    Ok(Some((url, date)))
}

/// A date like 2019-03-10, 2019-03-10T12:00:00Z or 20190310120000, in milliseconds of 1970.
pub(super) fn read_date(text: &str) -> Option<u64> {
    parse_warc_date(text)
        .filter(|_| text.contains('-'))
        .or_else(|| parse_index_time(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: &str) {
        let got = match read_line(line) {
            Ok(Some((url, date))) => format!("{url} {date:?}"),
            Ok(None) => "nothing".to_owned(),
            Err(reason) => reason,
        };
        assert_eq!(got, expect, "{line}");
    }

    #[test]
    fn lines() {
        check("http://a.example", "http://a.example/ None");
        check(" http://a.example/b#c\r\n", "http://a.example/b None");
        check(
            "http://a.example/\t1970-01-02",
            "http://a.example/ Some(86400000)",
        );
        check(
            "http://a.example/\t19700102",
            "http://a.example/ Some(86400000)",
        );
        check(
            "http://a.example/\t1970-01-01T00:00:01Z",
            "http://a.example/ Some(1000)",
        );
        check("", "nothing");
        check("# http://a.example/", "nothing");
        check(
            "http://a.example/\tsoon",
            "'soon' is not a date like 2019-03-10",
        );
        assert!(read_line("nonsense").is_err());
        assert!(read_line("ftp://a.example/").is_err());
    }
}
