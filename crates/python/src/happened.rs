//! What a policy in Python is told and what it may do: events, and the batch they come in.
//!
//! The events are those of [`Event`], by the same names. A batch gathers what a policy wants done with the
//! ranks and does it when the policy returns, in the order in which it was said: a policy in Python is lent
//! nothing that could outlive the call. It keeps what it must remember itself.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use turnstone_frontier::{Change, Event, Fault, HostId, PageId, Ranking, Tick};

macro_rules! event {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* }
     $text:literal, $($shown:ident),*; $arguments:tt $names:tt) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, module = "turnstone")]
        pub(crate) struct $name { $($(#[$field_doc])* pub(crate) $field: $kind),* }

        #[pymethods]
        impl $name {
            #[classattr]
            fn __match_args__() -> $arguments { $names }

            fn __repr__(&self) -> String {
                format!($text, $(self.$shown),*)
            }
        }
    };
}

event!(
    /// A URL was seen for the first time. Pages have numbers, from 0, in the order of these events.
    Discovered { page: u32, host: u32, seed: bool }
    "Discovered(page={}, host={}, seed={})", page, host, seed;
    (&'static str, &'static str, &'static str) ("page", "host", "seed")
);
event!(
    /// A page came. `change` says how it compares with the copy we had: "new", "changed" or "unchanged".
    Fetched { page: u32, change: &'static str, links: Py<PyList> }
    "Fetched(page={}, change={:?})", page, change;
    (&'static str, &'static str, &'static str) ("page", "change", "links")
);
event!(
    /// A page did not come. `fault` is "gone", "refused", "unknown" (it may be asked for again) or "lost".
    Failed { page: u32, fault: &'static str }
    "Failed(page={}, fault={:?})", page, fault;
    (&'static str, &'static str) ("page", "fault")
);
event!(
    /// A page turned out to stand for another.
    Moved { page: u32, to: u32 }
    "Moved(page={}, to={})", page, to;
    (&'static str, &'static str) ("page", "to")
);
event!(
    /// Not all links of the page that is told of next could be seen.
    Unseen { page: u32, links: u64 }
    "Unseen(page={}, links={})", page, links;
    (&'static str, &'static str) ("page", "links")
);
event!(
    /// A host asked not to be contacted before a time.
    Held { host: u32, until: u64 }
    "Held(host={}, until={})", host, until;
    (&'static str, &'static str) ("host", "until")
);
event!(
    /// Somebody said that a page changed since our copy was made.
    Hinted { page: u32, by: Option<u32> }
    "Hinted(page={}, by={:?})", page, by;
    (&'static str, &'static str) ("page", "by")
);
event!(
    /// The address of a page was guessed: with this chance it is there, and brings so many new pages.
    Guessed { page: u32, chance: f64, brings: u32 }
    "Guessed(page={}, chance={}, brings={})", page, chance, brings;
    (&'static str, &'static str, &'static str) ("page", "chance", "brings")
);
event!(
    /// A new round begins: rank pages for up to `budget` fetches.
    Round { round: u32, budget: u64 }
    "Round(round={}, budget={})", round, budget;
    (&'static str, &'static str) ("round", "budget")
);

/// An event as Python sees it; nothing for what concerns shards only.
pub(crate) fn seen(py: Python<'_>, event: &Event<'_>) -> PyResult<Option<Py<PyAny>>> {
    let object = match *event {
        Event::Discovered { page, host, seed } => {
            return discovered(py, page, host, seed).map(Some);
        }
        Event::Unseen { page, links } => {
            let page = page.0;
            Py::new(py, Unseen { page, links })?.into_any()
        }
        Event::Fetched {
            page,
            change,
            links,
        } => {
            let change = match change {
                Change::New => "new",
                Change::Changed => "changed",
                Change::Unchanged => "unchanged",
            };
            let links = PyList::new(py, links.iter().map(|link| link.0))?.unbind();
            let page = page.0;
            let fetched = Fetched {
                page,
                change,
                links,
            };
            Py::new(py, fetched)?.into_any()
        }
        Event::Failed { page, fault } => {
            let fault = match fault {
                Fault::Gone => "gone",
                Fault::Unknown => "unknown",
                Fault::Refused => "refused",
                Fault::Lost => "lost",
            };
            let page = page.0;
            Py::new(py, Failed { page, fault })?.into_any()
        }
        Event::Moved { page, to } => {
            let (page, to) = (page.0, to.0);
            Py::new(py, Moved { page, to })?.into_any()
        }
        Event::Held { host, until } => {
            let (host, until) = (host.0, until.0);
            Py::new(py, Held { host, until })?.into_any()
        }
        Event::Hinted { page, by } => {
            let (page, by) = (page.0, by.map(|by| by.0));
            Py::new(py, Hinted { page, by })?.into_any()
        }
        Event::Guessed {
            page,
            chance,
            brings,
        } => {
            let (page, chance) = (page.0, chance.number());
            let guessed = Guessed {
                page,
                chance,
                brings,
            };
            Py::new(py, guessed)?.into_any()
        }
        Event::Round { round, budget } => Py::new(py, Round { round, budget })?.into_any(),
        Event::Crossed(_) => return Ok(None),
    };
    Ok(Some(object))
}

pub(crate) fn discovered(
    py: Python<'_>,
    page: PageId,
    host: HostId,
    seed: bool,
) -> PyResult<Py<PyAny>> {
    let (page, host) = (page.0, host.0);
    Ok(Py::new(py, Discovered { page, host, seed })?.into_any())
}

/// What a policy wants done.
#[derive(Clone, Copy, Debug)]
enum Wish {
    Set(PageId, u64),
    Add(PageId, u64),
    Take(PageId),
    Park(PageId),
    Queue(PageId),
    Defer(PageId, Tick),
}

/// Events that happened, oldest first, and the ranks that a policy gives in answer.
///
/// Iterate over it. Ranks are whole numbers from 0 to 2**64 - 1; the page with the highest is asked for
/// next, of two alike that with the smaller number. A page of rank 0 is never asked for.
#[pyclass(module = "turnstone")]
pub(crate) struct Batch {
    /// The events.
    #[pyo3(get)]
    events: Py<PyList>,
    /// The time, in milliseconds since the crawl began.
    #[pyo3(get)]
    now: u64,
    /// How many pages are known.
    #[pyo3(get)]
    known: usize,
    wishes: Vec<Wish>,
}

#[pymethods]
impl Batch {
    /// Gives a page a rank, whatever it had.
    fn set(&mut self, page: u32, rank: u64) -> PyResult<()> {
        let page = self.page(page)?;
        self.wishes.push(Wish::Set(page, rank));
        Ok(())
    }

    /// Gives pages ranks, one each.
    fn set_all(&mut self, pages: Vec<u32>, ranks: Vec<u64>) -> PyResult<()> {
        if pages.len() != ranks.len() {
            let (pages, ranks) = (pages.len(), ranks.len());
            let text = format!("{pages} pages and {ranks} ranks: give one rank for each page");
            return Err(PyIndexError::new_err(text));
        }
        for (page, rank) in pages.into_iter().zip(ranks) {
            self.set(page, rank)?;
        }
        Ok(())
    }

    /// Adds to the rank of a page.
    fn add(&mut self, page: u32, by: u64) -> PyResult<()> {
        let page = self.page(page)?;
        self.wishes.push(Wish::Add(page, by));
        Ok(())
    }

    /// Takes the rank of a page away: it is not asked for until it is ranked again.
    fn take(&mut self, page: u32) -> PyResult<()> {
        let page = self.page(page)?;
        self.wishes.push(Wish::Take(page));
        Ok(())
    }

    /// Keeps the rank of a page, growing where it grows, but never asks for it.
    fn park(&mut self, page: u32) -> PyResult<()> {
        let page = self.page(page)?;
        self.wishes.push(Wish::Park(page));
        Ok(())
    }

    /// Asks for a page again, at the rank it has.
    fn queue(&mut self, page: u32) -> PyResult<()> {
        let page = self.page(page)?;
        self.wishes.push(Wish::Queue(page));
        Ok(())
    }

    /// Asks for a page again at the rank it has, but not before a time.
    fn defer(&mut self, page: u32, until: u64) -> PyResult<()> {
        let page = self.page(page)?;
        self.wishes.push(Wish::Defer(page, Tick(until)));
        Ok(())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.events.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.events.bind(py).try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Batch of {} events at {} ms>", self.__len__(py), self.now)
    }
}

impl Batch {
    pub(crate) fn new(events: Py<PyList>, now: Tick, known: usize) -> Self {
        Self {
            events,
            now: now.0,
            known,
            wishes: Vec::new(),
        }
    }

    fn page(&self, page: u32) -> PyResult<PageId> {
        if (page as usize) < self.known {
            Ok(PageId(page))
        } else {
            let text = format!("no page {page}: {} pages are known", self.known);
            Err(PyIndexError::new_err(text))
        }
    }

    /// Does what was wished.
    pub(crate) fn fulfil(&mut self, ranking: &mut Ranking) {
        for wish in self.wishes.drain(..) {
            match wish {
                Wish::Set(page, rank) => ranking.set(page, rank),
                Wish::Add(page, by) => ranking.raise(page, by),
                Wish::Take(page) => {
                    ranking.take(page);
                }
                Wish::Park(page) => ranking.park(page),
                Wish::Queue(page) => ranking.queue(page),
                Wish::Defer(page, until) => ranking.defer(page, until),
            }
        }
    }
}
