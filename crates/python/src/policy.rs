//! A policy written in Python, behind the seam of all policies.
//!
//! Pages that were discovered are told together with what happens next, unless the user named them, because
//! a call into Python costs as much as a hundred events do in Rust and the discovery of a page that nobody
//! named calls for no decision. When the batches end depends on the events alone, so the same crawl makes
//! the same batches, before a restart and after it.
//!
//! An exception ends the work, and is the error of whoever started it.

use std::io;
use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use turnstone_frontier::{Event, HostId, Links, PageId, Policy, Ranking, Restore, Save, Tick};

use crate::happened::{Batch, discovered, seen};
use crate::work::{Shared, end};

/// A policy of Python.
struct Guest {
    name: String,
    object: Py<PyAny>,
    shared: Arc<Shared>,
    /// Pages that were discovered and not told of yet.
    untold: Vec<(PageId, HostId)>,
}

/// What makes policies of one class. It does not come back where the class cannot be made.
pub(crate) fn maker(
    name: &str,
    make: Py<PyAny>,
    shared: Arc<Shared>,
) -> impl Fn() -> Box<dyn Policy> + Send + Sync + 'static {
    let name = name.to_owned();
    move || {
        let made = Python::attach(|py| {
            let object = make.call0(py)?;
            if object.bind(py).hasattr("observe")? {
                Ok(object)
            } else {
                let text = format!("policy '{name}': what was made has no method observe(batch)");
                Err(PyTypeError::new_err(text))
            }
        });
        match made {
            Ok(object) => Box::new(Guest {
                name: name.clone(),
                object,
                shared: Arc::clone(&shared),
                untold: Vec::new(),
            }),
            Err(error) => {
                shared.stop(error);
                end()
            }
        }
    }
}

impl Guest {
    fn tell(&mut self, event: &Event<'_>, now: Tick, ranking: &mut Ranking) -> PyResult<()> {
        Python::attach(|py| {
            let mut events: Vec<Py<PyAny>> = Vec::with_capacity(self.untold.len() + 1);
            for (page, host) in self.untold.drain(..) {
                events.push(discovered(py, page, host, false)?);
            }
            events.extend(seen(py, event)?);
            let events = PyList::new(py, events)?.unbind();
            let batch = Bound::new(py, Batch::new(events, now, ranking.page_count()))?;
            self.object.call_method1(py, "observe", (&batch,))?;
            batch.try_borrow_mut()?.fulfil(ranking);
            Ok(())
        })
    }

    /// What is missing or went wrong, as an error of files.
    fn cannot(&self, what: &str, error: PyErr) -> io::Error {
        Python::attach(|py| {
            let name = &self.name;
            let text = if error.is_instance_of::<PyAttributeError>(py) {
                format!("policy '{name}' has no method {what}")
            } else {
                format!("policy '{name}': {what}: {error}")
            };
            io::Error::other(text)
        })
    }
}

impl Policy for Guest {
    fn observe(&mut self, event: &Event<'_>, now: Tick, _: &dyn Links, ranking: &mut Ranking) {
        if !self.shared.goes_on() {
            end();
        }
        if let Event::Discovered {
            page,
            host,
            seed: false,
        } = *event
        {
            self.untold.push((page, host));
            return;
        }
        if let Err(error) = self.tell(event, now, ranking) {
            self.shared.stop(error);
            end();
        }
    }

    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let (pages, hosts): (Vec<PageId>, Vec<HostId>) = self.untold.iter().copied().unzip();
        pages.save(out)?;
        hosts.save(out)?;
        let state: Vec<u8> = Python::attach(|py| {
            let state = self.object.call_method0(py, "save")?;
            let state = state.bind(py).cast::<PyBytes>()?;
            PyResult::Ok(state.as_bytes().to_vec())
        })
        .map_err(|error| self.cannot("save() that gives bytes", error))?;
        state.save(out)
    }

    fn restore(&mut self, saved: &mut dyn io::Read) -> io::Result<()> {
        let pages: Vec<PageId> = Restore::restore(saved)?;
        let hosts: Vec<HostId> = Restore::restore(saved)?;
        self.untold = pages.into_iter().zip(hosts).collect();
        let state: Vec<u8> = Restore::restore(saved)?;
        Python::attach(|py| {
            let state = PyBytes::new(py, &state);
            self.object.call_method1(py, "restore", (state,)).map(drop)
        })
        .map_err(|error| self.cannot("restore(state)", error))
    }
}
