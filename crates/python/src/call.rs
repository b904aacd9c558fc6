//! The commands of the binary, run from Python: the same functions, the same figures.
//!
//! Backtests are had this way too, and not by `turnstone_lab::run`: people name options in Python as they do on
//! the command line, with its units, defaults and errors, and those are the binary's.

use std::sync::Arc;

use pyo3::prelude::*;
use turnstone::{Call, Ended};
use turnstone_policy::Spec;

use crate::policy::maker;
use crate::work::{Error, Shared, UsageError, beside};

/// Runs a command; gives its exit code, what it printed, and what it said beside that.
///
/// `guests` are pairs of a name and what makes the policy of that name.
#[pyfunction]
#[pyo3(signature = (arguments, guests=Vec::new(), progress=None))]
pub(crate) fn call(
    py: Python<'_>,
    arguments: Vec<String>,
    guests: Vec<(String, Py<PyAny>)>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(u8, String, Vec<String>)> {
    let shared = Arc::new(Shared::default());
    let guest = |(name, make): (String, Py<PyAny>)| {
        let make = maker(&name, make, Arc::clone(&shared));
        Spec::guest(&name, Arc::new(make))
    };
    let guests = guests.into_iter().map(guest).collect();
    let watcher = Arc::clone(&shared);
    let ended = beside(py, &shared, progress.as_ref(), move || {
        Call {
            arguments,
            guests,
            watch: Box::new(move |what, share| watcher.at(what, share)),
        }
        .run()
    })?;
    match ended {
        Ended::Done { code, text, notes } => Ok((code, text, notes)),
        Ended::Failed { code: 2, why } => Err(UsageError::new_err(why)),
        Ended::Failed { why, .. } => Err(Error::new_err(why)),
        Ended::Stopped => Err(Error::new_err("stopped")),
    }
}

/// Runs the command as a shell does: it prints, and the exit code comes back.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| turnstone::main(arguments))
}
