//! What a crawl left behind, looked at without its own eyes: journal, WARC files, index.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use turnstone_frontier::PageId;
use turnstone_pagestore::warc::{
    CdxLine, CdxReader, Digest, HttpBlock, Payload, Reader, RecordKind, Span, read_at,
};
use turnstone_pagestore::{Entry, PageState, Position, Settled, Store};

/// Every page by its URL, with where it stands.
pub(crate) type Pages = BTreeMap<String, PageState>;

pub(crate) fn pages(store: &Store) -> Pages {
    let pages = (0..store.index().page_count()).map(PageId::from_index);
    pages
        .map(|page| (store.url(page).unwrap(), store.index().state(page)))
        .collect()
}

/// The whole entries of a journal, as bytes.
pub(crate) fn journal(directory: &Path) -> Vec<u8> {
    let store = Store::look(directory).unwrap();
    let mut bytes = fs::read(directory.join("store/journal")).unwrap();
    bytes.truncate(bytes.len() - usize::try_from(store.torn_bytes()).unwrap());
    bytes
}

/// By page: how often it was fetched, and how many requests its outcomes speak of.
pub(crate) fn outcomes(store: &Store) -> BTreeMap<PageId, (u32, u64)> {
    let mut outcomes: BTreeMap<PageId, (u32, u64)> = BTreeMap::new();
    let mut scan = store.scan(Position::FIRST);
    while let Some((_, _, entry)) = scan.next().unwrap() {
        if let Entry::Outcome(outcome) = entry {
            let (fetched, requests) = outcomes.entry(outcome.page).or_default();
            *fetched += u32::from(matches!(outcome.settled, Settled::Fetched(_)));
            *requests += u64::from(outcome.facts.requests);
        }
    }
    outcomes
}

/// Checks that a crawl that ended is whole: its WARC files, its index, and that every capture of the
/// journal is in both. Returns how many captures there are.
pub(crate) fn check(directory: &Path) -> usize {
    let folder = directory.join("warc");
    let files = warc_files(&folder);
    let records: u64 = files.iter().map(|file| check_file(file)).sum();
    let lines = lines(&folder);
    let captures = check_captures(directory, &lines);
    assert_eq!(captures, lines.len(), "a line for each capture");
    assert_eq!(records, captures as u64, "a record for each capture");
    captures
}

/// The WARC files, in order; none is open any more.
pub(crate) fn warc_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("index.cdxj"))
        .collect();
    files.sort();
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.ends_with(".warc.gz"), "{name} was left behind");
    }
    files
}

/// Every record is whole. Returns how many answers and revisits there are.
fn check_file(path: &Path) -> u64 {
    let mut reader = Reader::open(path).unwrap();
    let mut answers = 0;
    while let Some(head) = reader.next_record().unwrap() {
        let mut bytes = Vec::new();
        reader.block().read_to_end(&mut bytes).unwrap();
        let is_answer = matches!(head.kind(), RecordKind::Response | RecordKind::Revisit);
        answers += u64::from(is_answer);
    }
    assert_eq!(reader.damages(), [], "{}", path.display());
    answers
}

/// Every line points at a whole record of the same URL and digest, whose body has that digest.
/// Returns the lines by their place.
pub(crate) fn lines(folder: &Path) -> BTreeMap<(String, u64), CdxLine> {
    let text = fs::read(folder.join("index.cdxj")).unwrap();
    let mut lines = BTreeMap::new();
    for line in CdxReader::new(&text[..]) {
        let line = line.unwrap();
        let (file, offset) = (line.filename.clone().unwrap(), line.offset.unwrap());
        let span = Span {
            offset,
            length: line.length.unwrap(),
            block_bytes_max: 64 << 20,
        };
        let (head, block) = read_at(&folder.join(&file), span).unwrap();
        assert_eq!(head.target_uri(), Some(&*line.url));
        assert_eq!(head.payload_digest(), line.digest, "{}", line.url);
        if head.kind() == RecordKind::Response {
            let mut message = HttpBlock::read(&block[..]).unwrap();
            let mut body = Vec::new();
            message.body.read_to_end(&mut body).unwrap();
            assert_eq!(
                Some(Payload::new(&body).digest()),
                line.digest,
                "{}",
                line.url
            );
        }
        let twice = lines.insert((file, offset), line);
        assert_eq!(twice, None, "two lines point at one record");
    }
    lines
}

/// Every capture that the journal speaks of has its line. Returns how many there are.
fn check_captures(directory: &Path, lines: &BTreeMap<(String, u64), CdxLine>) -> usize {
    let store = Store::look(directory).unwrap();
    let mut captures = 0;
    let mut scan = store.scan(Position::FIRST);
    while let Some((_, _, entry)) = scan.next().unwrap() {
        let Entry::Outcome(outcome) = entry else {
            continue;
        };
        let Some(capture) = outcome.facts.capture else {
            continue;
        };
        captures += 1;
        let name = store.archive().file_name(capture.file);
        let line = &lines[&(name, capture.offset)];
        assert_eq!(line.url, store.url(outcome.page).unwrap());
        assert_eq!(line.length, Some(capture.length));
        if let Some(digest) = outcome.facts.digest {
            assert_eq!(line.digest, Some(Digest(digest)), "{}", line.url);
        }
    }
    captures
}
