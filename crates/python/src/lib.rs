//! `turnstone._native`: what the Python package cannot do in Python.
//!
//! The package in `python/turnstone` is what people import; it checks and words. Here is what needs Rust:
//!
//! | module | what it knows |
//! |---|---|
//! | `work` | long work beside the interpreter: progress, Ctrl-C, errors |
//! | `call` | the commands, run as a shell would run them, their JSON as text |
//! | `table`, `batches` | the tables of a crawl as Arrow streams |
//! | `policy`, `happened` | policies written in Python, behind the seam of all policies |
//! | `order` | the order in which a policy asks for pages |
//!
//! All of it goes through what the crates offer to anybody, so Python gets what the command gets, figure
//! by figure. No `unsafe`: what Python lends for the length of a call is copied.

mod batches;
mod call;
mod happened;
mod order;
mod policy;
mod table;
mod work;

use pyo3::prelude::*;

/// The native half of the package.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::call::{call, main};
    #[pymodule_export]
    use crate::happened::{
        Batch, Discovered, Failed, Fetched, Guessed, Held, Hinted, Moved, Round, Unseen,
    };
    #[pymodule_export]
    use crate::order::order;
    #[pymodule_export]
    use crate::table::{Crawl, Table};
    #[pymodule_export]
    use crate::work::{Error, UsageError};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
