//! How a page was settled: the entry that most of a journal is made of.
//!
//! Apart from the other entries because it is read in parts: policies that look back want the links of a
//! page and nothing else, millions of times.

use turnstone_frontier::{Change, Event, Fault, PageId};

use crate::bytes::{Cursor, Malformed, Put as _};
use crate::entry::{code, decoded};
use crate::facts::Facts;
use crate::journal::Position;
use crate::links::{Links, checked_links, read_links};

/// The kind of the entry.
pub(crate) const OUTCOME: u8 = 5;

/// How a page was settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<'a> {
    /// The page.
    pub page: PageId,
    /// What came of it.
    pub settled: Settled,
    /// Distinct links, in the order of the page; only for a page that was fetched.
    pub links: Links<'a>,
    /// The entry of the page's outcome before this one, 0 if it is the first; set by the store.
    pub before: Position,
    /// What is known beyond.
    pub facts: Facts,
}

/// What came of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It came.
    Fetched(Change),
    /// It did not.
    Failed(Fault),
    /// It stands for another.
    Moved(PageId),
}

impl Outcome<'_> {
    /// The same without its links, to be kept.
    #[must_use]
    pub fn without_links(self) -> Outcome<'static> {
        Outcome {
            links: Links::Ids(&[]),
            page: self.page,
            settled: self.settled,
            before: self.before,
            facts: self.facts,
        }
    }

    /// The same as an event, with the links read into a buffer.
    pub fn event<'b>(&self, buffer: &'b mut Vec<PageId>) -> Event<'b> {
        let page = self.page;
        match self.settled {
            Settled::Fetched(change) => {
                buffer.clear();
                self.links.read(buffer);
                let links = buffer.as_slice();
                Event::Fetched {
                    page,
                    change,
                    links,
                }
            }
            Settled::Failed(fault) => Event::Failed { page, fault },
            Settled::Moved(to) => Event::Moved { page, to },
        }
    }
}

const SETTLED: [Settled; 7] = [
    Settled::Fetched(Change::New),
    Settled::Fetched(Change::Changed),
    Settled::Fetched(Change::Unchanged),
    Settled::Failed(Fault::Gone),
    Settled::Failed(Fault::Unknown),
    Settled::Failed(Fault::Refused),
    Settled::Failed(Fault::Lost),
];
const MOVED: u8 = SETTLED.len() as u8;

impl<'a> Outcome<'a> {
    /// Whether it brought a page that nobody here read; as releases told it that had no mark for it, too.
    pub(crate) fn is_hearsay(&self) -> bool {
        let fetched = matches!(self.settled, Settled::Fetched(_));
        self.facts.hearsay || fetched && self.facts.is_unmarked_hearsay(self.page)
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.put_number(u64::from(self.page.0));
        match &self.settled {
            Settled::Moved(to) => {
                out.push(MOVED);
                out.put_number(u64::from(to.0));
            }
            other => out.push(code(&SETTLED, other)),
        }
        out.put_number(self.before.0);
        let mut facts = Vec::new();
        self.facts.put(&mut facts);
        out.put_bytes(&facts);
        self.links.put(out);
    }

    pub(crate) fn read(from: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let page = PageId(from.small()?);
        let settled = read_settled(from)?;
        let before = Position(from.number()?);
        let mut inner = Cursor::new(from.bytes()?);
        let facts = Facts::read(&mut inner)?;
        inner.end()?;
        let links = checked_links(from.take(from.left())?)?;
        let mut outcome = Self {
            page,
            settled,
            links,
            before,
            facts,
        };
        outcome.facts.hearsay = outcome.is_hearsay();
        Ok(outcome)
    }
}

fn read_settled(from: &mut Cursor<'_>) -> Result<Settled, Malformed> {
    Ok(match from.byte()? {
        MOVED => Settled::Moved(PageId(from.small()?)),
        other => decoded(&SETTLED, other)?,
    })
}

/// What expanding a page again needs of its outcome: its links, or where to look for them.
pub(crate) enum LastCopy {
    /// The links were appended to the buffer.
    Here,
    /// This outcome brought no copy; the one before it is there, nowhere if 0.
    Before(Position),
}

/// The outcome before this one.
pub(crate) fn read_before(bytes: &[u8]) -> Result<Position, Malformed> {
    let mut from = Cursor::new(bytes);
    if from.byte()? != OUTCOME {
        return Err(Malformed("not the outcome of a page"));
    }
    from.number()?; // tick
    from.small()?; // page
    read_settled(&mut from)?;
    Ok(Position(from.number()?))
}

/// Reads only the links of an outcome: the hot path of policies that look back.
pub(crate) fn read_copy(bytes: &[u8], into: &mut Vec<PageId>) -> Result<LastCopy, Malformed> {
    let mut from = Cursor::new(bytes);
    if from.byte()? != OUTCOME {
        return Err(Malformed("not the outcome of a page"));
    }
    from.number()?; // tick
    from.small()?; // page
    let settled = read_settled(&mut from)?;
    let before = Position(from.number()?);
    if !matches!(settled, Settled::Fetched(_)) {
        return Ok(LastCopy::Before(before));
    }
    from.bytes()?; // facts
    read_links(from.take(from.left())?, |link| into.push(link))?;
    Ok(LastCopy::Here)
}
