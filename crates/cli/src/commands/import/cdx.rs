//! Indexes alone, CDX or CDXJ: what was fetched when and what came, without links or text.
//!
//! The digest tells whether a page changed. Where a redirect led is not in an index, so such a
//! page has no verdict. Lines without a status tell nothing and are passed over, but for revisits.

use anyhow::Context as _;
use turnstone_crawl::old_crawl::{Came, OldFetch};
use turnstone_crawl::stored::judge_status;
use turnstone_fetch::urls::{UrlLimits, parse};
use turnstone_pagestore::Facts;
use turnstone_pagestore::warc::{CdxError, CdxLine, CdxReader};

use super::skipped::Place;
use super::source::{self, Source};
use super::spool::Spool;
use super::warc::{came, detail};

/// The media type of a line about a revisit.
const REVISIT: &str = "warc/revisit";

/// Reads an index into the spool, but for lines that were read before.
pub(super) fn read(
    source: &Source,
    spool: &mut Spool,
    mut at_byte: impl FnMut(u64),
) -> anyhow::Result<()> {
    let context = || source.path.display().to_string();
    let name = source.name();
    let before = spool.read().records;
    let (input, position) = source::open(&source.path).with_context(context)?;
    let mut lines = CdxReader::new(input);
    while let Some(line) = lines.next() {
        let number = lines.line();
        if number <= before {
            continue;
        }
        at_byte(position.get());
        match line {
            Ok(line) => take(&line, None, (&name, Place::Line(number)), spool)?,
            Err(CdxError::Line { reason, .. }) => spool.skip(&name, Place::Line(number), reason),
            Err(error) => return Err(error).with_context(context),
        }
    }
    Ok(())
}

/// Takes in one line of an index, and where the capture led to if that is known.
pub(super) fn take(
    line: &CdxLine,
    redirect: Option<String>,
    (name, place): (&str, Place),
    spool: &mut Spool,
) -> anyhow::Result<()> {
    let number = place.number();
    let is_web = line
        .url
        .get(..4)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    let is_revisit = line.mime.as_deref() == Some(REVISIT);
    let status = line.status.or(is_revisit.then_some(200));
    let Some(status) = status.filter(|_| is_web) else {
        spool.pass_over();
        return Ok(());
    };
    let mut url = match parse(&line.url, &UrlLimits::default()) {
        Ok(url) if url.path() == "/robots.txt" => {
            spool.pass_over();
            return Ok(());
        }
        Ok(url) => url,
        Err(error) => {
            spool.skip(name, place, error.to_string());
            return Ok(());
        }
    };
    url.set_fragment(None);
    let (meaning, class, mut more) = judge_status(status);
    let mut came = came(meaning);
    if let (300..400, Some(to)) = (status, redirect.and_then(|to| url.join(&to).ok())) {
        came = Came::Moved(to.into());
        more.clear();
    }
    let mut facts = Facts {
        class,
        status,
        wall_ms: line.date_ms,
        hearsay: true,
        detail: match (&line.filename, line.offset) {
            (Some(file), Some(offset)) => detail(file, offset, &more),
            _ => format!(
                "{more}{}{name}, {place}",
                if more.is_empty() { "" } else { "; " }
            ),
        },
        mime: line
            .mime
            .clone()
            .filter(|_| !is_revisit)
            .unwrap_or_default(),
        ..Facts::default()
    };
    if (200..300).contains(&status) || is_revisit {
        facts.digest = line.digest.map(|digest| digest.0);
    }
    if came == Came::Page && is_revisit {
        came = Came::SameBody(None);
    } else if came == Came::Page {
        match facts.digest {
            Some(digest) => facts.text_hash = Facts::hash_of_digest(digest),
            None => came = Came::Listed,
        }
    }
    let fetch = OldFetch {
        at: line.date_ms,
        url: url.as_str().to_owned(),
        came,
        facts,
        links: Vec::new(),
    };
    spool.add(&url, &fetch, number)
}
