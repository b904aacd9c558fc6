//! WARC files: every HTTP response and revisit is a fetch.
//!
//! Records of other kinds, answers of other protocols and robots.txt are passed over: they are no
//! pages. What is damaged is skipped and noted by the reader with its place.
//!
//! Cost: unpacking and parsing, as in a live crawl; memory for one body, cut at the live limit.

use std::io::{self, Read as _};

use anyhow::Context as _;
use turnstone_crawl::old_crawl::{Came, OldFetch};
use turnstone_crawl::stored::{AnswerReader, Meaning, ReadAnswer, StoredAnswer};
use turnstone_fetch::Url;
use turnstone_fetch::urls::{UrlLimits, parse};
use turnstone_frontier::Fault;
use turnstone_pagestore::Facts;
use turnstone_pagestore::warc::{HttpBlock, HttpHead, Reader, RecordHead, RecordKind};

use super::skipped::Place;
use super::source::Source;
use super::spool::Spool;
use super::zst;

/// Reads a file into the spool, but for records that were read before.
pub(super) fn read(
    source: &Source,
    answers: &AnswerReader,
    spool: &mut Spool,
    mut at_byte: impl FnMut(u64),
) -> anyhow::Result<()> {
    let name = source.name();
    let before = spool.read().records;
    let unpacked = zst::unpacked(source)?;
    let mut reader = match &unpacked {
        Some(unpacked) => Reader::new(unpacked.file.reopen()?, &source.path, 0, None)?,
        None => Reader::open(&source.path)?,
    };
    let mut records = 0;
    // A block that cannot be read, unless the reader notes it itself at the next record.
    let mut doubted: Option<(u64, String, u64)> = None;
    loop {
        let next = reader.next_record()?;
        if let Some((offset, reason, noted)) = doubted.take()
            && reader.damage_count() == noted
        {
            spool.skip(&name, Place::Offset(offset), reason);
        }
        let Some(head) = next else {
            break;
        };
        records += 1;
        if records <= before {
            continue;
        }
        at_byte(head.offset);
        let url = match target(&head) {
            Ok(Some(url)) => url,
            Ok(None) => {
                spool.pass_over();
                continue;
            }
            Err(reason) => {
                spool.skip(&name, Place::Offset(head.offset), reason);
                continue;
            }
        };
        let damages = reader.damage_count();
        match fetch(&head, &url, &mut reader, answers) {
            Ok(mut fetch) => {
                fetch.facts.detail = detail(&name, head.offset, &fetch.facts.detail);
                spool.add(&url, &fetch, records)?;
            }
            Err(error) if is_damage(&error) => {
                doubted = Some((head.offset, error.to_string(), damages));
            }
            Err(error) => return Err(error).with_context(|| source.path.display().to_string()),
        }
    }
    if let Some((at, why)) = unpacked.and_then(|unpacked| unpacked.damage) {
        spool.skip(
            &name,
            Place::Offset(at),
            format!("the rest cannot be unpacked: {why}"),
        );
    }
    for damage in reader.damages() {
        spool.skip(&name, Place::Offset(damage.offset), damage.reason);
    }
    let unlisted = reader.damage_count() - reader.damages().len() as u64;
    spool.skipped().add_unlisted(unlisted);
    Ok(())
}

/// The page a record is about, if it is about one.
fn target(head: &RecordHead) -> Result<Option<Url>, String> {
    let is_answer = match head.kind() {
        RecordKind::Response => head.is_http(),
        RecordKind::Revisit => true,
        _ => false,
    };
    let uri = head.target_uri().unwrap_or_default();
    let is_web = uri
        .get(..4)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    if !is_answer || !is_web {
        return Ok(None);
    }
    if head.date_ms().is_none() {
        return Err("no WARC-Date that can be read".to_owned());
    }
    let mut url = parse(uri, &UrlLimits::default()).map_err(|error| error.to_string())?;
    url.set_fragment(None);
    Ok((url.path() != "/robots.txt").then_some(url))
}

fn fetch<R: io::Read + io::Seek>(
    head: &RecordHead,
    url: &Url,
    reader: &mut Reader<R>,
    answers: &AnswerReader,
) -> io::Result<OldFetch> {
    let at = head.date_ms().unwrap_or_default();
    if head.kind() == RecordKind::Revisit {
        return revisit(head, url, reader, answers);
    }
    let mut block = HttpBlock::read(reader.block())?;
    let status = status(&block.head)?;
    let mut body = Vec::new();
    let longest = answers.body_bytes_max() as u64;
    (&mut block.body).take(longest + 1).read_to_end(&mut body)?;
    let too_long = body.len() as u64 > longest;
    body.truncate(answers.body_bytes_max());
    let truncated = head.get("WARC-Truncated");
    let read = answers.read(StoredAnswer {
        url,
        status,
        head: block.head.bytes(),
        body,
        truncated: truncated.or(too_long.then_some("length")),
        wall_ms: at,
    });
    Ok(old_fetch(url, at, read))
}

/// A revisit tells that the body is that of an earlier capture; some have no head at all.
fn revisit<R: io::Read + io::Seek>(
    head: &RecordHead,
    url: &Url,
    reader: &mut Reader<R>,
    answers: &AnswerReader,
) -> io::Result<OldFetch> {
    let at = head.date_ms().unwrap_or_default();
    let profile = head.get("WARC-Profile").unwrap_or_default();
    let not_modified = profile.ends_with("server-not-modified");
    let (http, status) = if head.block_len == 0 {
        (Vec::new(), if not_modified { 304 } else { 200 })
    } else {
        let block = HttpBlock::read(reader.block())?;
        (block.head.bytes().to_vec(), status(&block.head)?)
    };
    let read = answers.read(StoredAnswer {
        url,
        status,
        head: &http,
        body: Vec::new(),
        truncated: None,
        wall_ms: at,
    });
    let mut fetch = old_fetch(url, at, read);
    fetch.links.clear();
    fetch.facts.digest = head.payload_digest().map(|digest| digest.0);
    if fetch.came == Came::Page {
        fetch.came = if not_modified {
            Came::NotModified
        } else {
            Came::SameBody(head.get("WARC-Refers-To-Target-URI").map(bare))
        };
        forget_body(&mut fetch.facts);
    }
    Ok(fetch)
}

/// What was read of the empty body of a revisit is not what the page holds.
fn forget_body(facts: &mut Facts) {
    facts.text_hash = 0;
    facts.simhash = 0;
    facts.words = 0;
    facts.title.clear();
}

fn bare(uri: &str) -> String {
    uri.trim_matches(['<', '>']).to_owned()
}

fn old_fetch(url: &Url, at: u64, read: ReadAnswer) -> OldFetch {
    OldFetch {
        at,
        url: url.as_str().to_owned(),
        came: came(read.meaning),
        facts: read.facts,
        links: read.links.into_iter().map(String::from).collect(),
    }
}

/// What an answer means.
pub(super) fn came(meaning: Meaning) -> Came {
    match meaning {
        Meaning::Fetched => Came::Page,
        Meaning::NotModified => Came::NotModified,
        Meaning::Moved(to) => Came::Moved(to.into()),
        Meaning::Failed(Fault::Gone) => Came::Gone,
        Meaning::Failed(Fault::Refused) => Came::Refused,
        Meaning::Failed(Fault::Unknown | Fault::Lost) => Came::Unknown,
    }
}

/// Where a fetch was imported from, and what else there is to say.
pub(super) fn detail(name: &str, offset: u64, more: &str) -> String {
    let place = format!("{name} at byte {offset}");
    if more.is_empty() {
        place
    } else {
        format!("{more} ({place})")
    }
}

fn status(head: &HttpHead) -> io::Result<u16> {
    head.status()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no HTTP status"))
}

fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}
