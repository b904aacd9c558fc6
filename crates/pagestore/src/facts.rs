//! What a fetch brought to light about a page, beyond what a policy needs to know.
//!
//! On disk a set of bits says which fields follow, so that a refused page costs a few bytes and a
//! fetched one no more than it must.

use turnstone_frontier::{Arm, PageId};

use crate::bytes::{Cursor, Malformed, Put as _};

/// Where a response is in the WARC files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    /// The number of the file.
    pub file: u32,
    /// Where its record begins.
    pub offset: u64,
    /// How long its record is.
    pub length: u64,
    /// How long the file is with all records of this fetch.
    pub file_end: u64,
    /// How long the index is with the line of this fetch.
    pub index_end: u64,
}

/// What is known of one settled page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What happened, in one word: `ok`, `redirect`, `not-found`, `robots`, `scope`, `timeout`…
    pub class: String,
    /// The same in words for people: the robots line, the rule, the error.
    pub detail: String,
    /// HTTP status; 0 where there was no answer.
    pub status: u16,
    /// Requests sent, robots.txt not counted.
    pub requests: u32,
    /// Bytes of body received.
    pub body_bytes: u64,
    /// How long the fetch took.
    pub milliseconds: u32,
    /// When it began, in milliseconds of 1970.
    pub wall_ms: u64,
    /// Media type.
    pub mime: String,
    /// Title of the page.
    pub title: String,
    /// SHA-1 of the body as received.
    pub digest: Option<[u8; 20]>,
    /// Hash of the visible text.
    pub text_hash: u64,
    /// SimHash of the visible text.
    pub simhash: u64,
    /// Words of visible text.
    pub words: u32,
    /// Entity tag, as received.
    pub etag: Vec<u8>,
    /// Date of the last change, as received.
    pub last_modified: Vec<u8>,
    /// Where it is stored.
    pub capture: Option<Archived>,
    /// Whether its visible text had never been fetched before.
    pub novel: bool,
    /// The page that had the same body before.
    pub duplicate_of: Option<PageId>,
    /// Redirects that led here, one after the other.
    pub redirects: u32,
    /// How often the page was tried in a row without a verdict.
    pub attempts: u32,
    /// The chance with which this page was chosen, in units of 2⁻³²; 0 means it was certain.
    pub chance: u32,
    /// To which end it was asked for, where the policy has several.
    pub arm: Option<Arm>,
    /// How the answer spoke of its host, where there was one.
    pub mood: Option<Mood>,
    /// At most so many links of the page could not be seen, because a limit cut them;
    /// [`Facts::UNBOUNDED`] where nobody knows.
    pub unseen_links: u64,
    /// The page was stored already when it was asked for.
    pub again: bool,
    /// A list or an index of an old crawl names the page; nobody here read its body.
    pub hearsay: bool,
    /// What its publisher said, when it was fetched, of how it may be used: a line for each saying.
    pub preferences: String,
    /// When another crawler wants to be lent the page again, in seconds of 1970; 0 for never, nothing where
    /// nobody said.
    pub due_s: Option<u64>,
    /// What it wants back with the page then; opaque here.
    pub metadata: Vec<u8>,
}

/// How an answer spoke of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It answered.
    Good,
    /// It said it is too much.
    Busy,
    /// A server error.
    Error,
    /// It could not be reached, or broke off.
    Unreachable,
}

impl Mood {
    const ALL: [Self; 4] = [Self::Good, Self::Busy, Self::Error, Self::Unreachable];
}

impl Facts {
    /// The class of a page that a list of an old crawl names.
    pub const IMPORTED: &str = "imported";

    /// So many links that nobody can know how many.
    pub const UNBOUNDED: u64 = u64::MAX;

    /// A page settled without a request.
    pub fn refused(class: &str, detail: impl Into<String>) -> Self {
        Self {
            class: class.to_owned(),
            detail: detail.into(),
            ..Self::default()
        }
    }

    /// What stands for the hash of the text where only a digest of the body is known, or a body has no text:
    /// such bodies are the same if their bytes are.
    pub fn hash_of_digest(digest: [u8; 20]) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = digest;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// Whether a fetch that brought a page is hearsay without the mark of it, which releases before journal
    /// version 4 did not have. They imported lists and graphs under a class of their own; of an index
    /// they knew a digest and nothing else; of a history the snapshot, and no digest. In doubt (the body of an
    /// imported record was empty and no text) nothing is proven of the page, and it is asked for.
    pub(crate) fn is_unmarked_hearsay(&self, page: PageId) -> bool {
        let nothing_read = self.simhash == 0 && self.words == 0 && self.body_bytes == 0;
        let elsewhere = self.duplicate_of.is_some_and(|of| of != page);
        self.requests == 0
            && match self.digest {
                _ if self.class == Self::IMPORTED => true,
                Some(digest) => {
                    nothing_read && !elsewhere && self.text_hash == Self::hash_of_digest(digest)
                }
                None => self.status == 200 && self.detail.contains(", snapshot "),
            }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let mut fields = Fields::default();
        fields.bytes(0, self.class.as_bytes());
        fields.bytes(1, self.detail.as_bytes());
        fields.number(2, u64::from(self.status));
        fields.number(3, u64::from(self.requests));
        fields.number(4, self.body_bytes);
        fields.number(5, u64::from(self.milliseconds));
        fields.number(6, self.wall_ms);
        fields.bytes(7, self.mime.as_bytes());
        fields.bytes(8, self.title.as_bytes());
        if let Some(digest) = &self.digest {
            fields.bytes(9, digest);
        }
        fields.number(10, self.text_hash);
        fields.number(11, self.simhash);
        fields.number(12, u64::from(self.words));
        fields.bytes(13, &self.etag);
        fields.bytes(14, &self.last_modified);
        if let Some(capture) = &self.capture {
            let mut bytes = Vec::new();
            bytes.put_number(u64::from(capture.file));
            bytes.put_number(capture.offset);
            bytes.put_number(capture.length);
            bytes.put_number(capture.file_end);
            bytes.put_number(capture.index_end);
            fields.bytes(15, &bytes);
        }
        if let Some(page) = self.duplicate_of {
            fields.number(16, u64::from(page.0) + 1);
        }
        fields.number(17, u64::from(self.redirects));
        fields.number(18, u64::from(self.attempts));
        fields.number(19, u64::from(self.chance));
        fields.number(20, u64::from(self.novel));
        fields.number(21, self.arm.map_or(0, |arm| arm.index() as u64 + 1));
        let mood = |mood| Mood::ALL.iter().position(|other| *other == mood);
        let mood = self.mood.and_then(mood).map_or(0, |index| index as u64 + 1);
        fields.number(22, mood);
        fields.number(23, self.unseen_links);
        fields.number(24, u64::from(self.hearsay));
        fields.number(25, u64::from(self.again));
        fields.bytes(26, self.preferences.as_bytes());
        fields.number(30, self.due_s.map_or(0, |due_s| due_s.saturating_add(1)));
        fields.bytes(31, &self.metadata);
        out.put_number(fields.present);
        out.extend_from_slice(&fields.bytes);
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let present = cursor.number()?;
        let mut facts = Self::default();
        for field in (0..64).filter(|field| present >> field & 1 == 1) {
            match field {
                0 => facts.class = cursor.text()?.to_owned(),
                1 => facts.detail = cursor.text()?.to_owned(),
                2 => {
                    let status = cursor.number()?;
                    facts.status =
                        u16::try_from(status).map_err(|_| Malformed("a status beyond 16 bits"))?;
                }
                3 => facts.requests = cursor.small()?,
                4 => facts.body_bytes = cursor.number()?,
                5 => facts.milliseconds = cursor.small()?,
                6 => facts.wall_ms = cursor.number()?,
                7 => facts.mime = cursor.text()?.to_owned(),
                8 => facts.title = cursor.text()?.to_owned(),
                9 => facts.digest = Some(digest(cursor.bytes()?)?),
                10 => facts.text_hash = cursor.number()?,
                11 => facts.simhash = cursor.number()?,
                12 => facts.words = cursor.small()?,
                13 => facts.etag = cursor.bytes()?.to_owned(),
                14 => facts.last_modified = cursor.bytes()?.to_owned(),
                15 => {
                    let mut inner = Cursor::new(cursor.bytes()?);
                    facts.capture = Some(Archived {
                        file: inner.small()?,
                        offset: inner.number()?,
                        length: inner.number()?,
                        file_end: inner.number()?,
                        index_end: inner.number()?,
                    });
                }
                16 => {
                    let page = cursor.small()?;
                    facts.duplicate_of = page.checked_sub(1).map(PageId);
                }
                17 => facts.redirects = cursor.small()?,
                18 => facts.attempts = cursor.small()?,
                19 => facts.chance = cursor.small()?,
                20 => facts.novel = cursor.number()? != 0,
                21 => {
                    let arm = cursor.number()?.checked_sub(1).map(usize::try_from);
                    let arm = arm.and_then(|index| Arm::ALL.get(index.ok()?));
                    facts.arm = Some(*arm.ok_or(Malformed("an arm that there is not"))?);
                }
                22 => {
                    let mood = cursor.number()?.checked_sub(1).map(usize::try_from);
                    let mood = mood.and_then(|index| Mood::ALL.get(index.ok()?));
                    facts.mood = Some(*mood.ok_or(Malformed("a mood that there is not"))?);
                }
                23 => facts.unseen_links = cursor.number()?,
                24 => facts.hearsay = cursor.number()? != 0,
                25 => facts.again = cursor.number()? != 0,
                26 => facts.preferences = cursor.text()?.to_owned(),
                30 => facts.due_s = cursor.number()?.checked_sub(1),
                31 => facts.metadata = cursor.bytes()?.to_owned(),
                _ => return Err(Malformed("a field that this version does not know")),
            }
        }
        Ok(facts)
    }
}

fn digest(bytes: &[u8]) -> Result<[u8; 20], Malformed> {
    bytes
        .try_into()
        .map_err(|_| Malformed("a digest that is not 20 bytes long"))
}

/// Fields that differ from nothing, in order, and which they are.
#[derive(Default)]
struct Fields {
    present: u64,
    bytes: Vec<u8>,
}

impl Fields {
    fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.present |= 1 << field;
            self.bytes.put_number(value);
        }
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        if !value.is_empty() {
            self.present |= 1 << field;
            self.bytes.put_bytes(value);
        }
    }
}
