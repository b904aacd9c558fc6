//! What Python sees of a crawl directory: its tables, each of which any reader of Arrow streams takes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use turnstone_pagestore::Store;
use turnstone_tables as tables;

use crate::batches::{Batches, schema};
use crate::work::Error;

fn failed(error: impl std::fmt::Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// A crawl directory, to be read. Nothing here changes a crawl, and it may run meanwhile.
#[pyclass(frozen, module = "turnstone")]
pub(crate) struct Crawl {
    path: PathBuf,
}

#[pymethods]
impl Crawl {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        Store::look(&path).map_err(failed)?;
        Ok(Self { path })
    }

    /// Where it lies.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// A row for each known page: what is known of it.
    #[getter]
    fn pages(&self) -> Table {
        self.table(tables::Table::Pages)
    }

    /// A row for each link of a stored copy.
    #[getter]
    fn links(&self) -> Table {
        self.table(tables::Table::Links)
    }

    /// A row for each event: what happened to pages.
    #[getter]
    fn events(&self) -> Table {
        self.table(tables::Table::Events)
    }

    /// A row for each answer that a fetch brought, in the columns of Common Crawl's index.
    #[getter]
    fn captures(&self) -> Table {
        self.table(tables::Table::Captures)
    }

    /// A row for each hand-out: what was asked for, by which policy, with which chance, and what came.
    #[getter]
    fn decisions(&self) -> Table {
        self.table(tables::Table::Decisions)
    }

    /// A row for each stored page that has a text: main text, title, language, dates, near duplicates, and what its
    /// publisher says about use.
    #[getter]
    fn texts(&self) -> Table {
        self.table(tables::Table::Text)
    }

    fn __repr__(&self) -> String {
        format!("turnstone.open({:?})", self.path.display().to_string())
    }
}

impl Crawl {
    fn table(&self, table: tables::Table) -> Table {
        Table(From::Crawl(self.path.clone(), table))
    }
}

/// A table that any reader of Arrow takes, without a copy: `pyarrow.table(t)`, `polars.DataFrame(t)`,
/// `pandas.DataFrame.from_arrow(t)`, and DuckDB where it stands as a variable. Each reader reads it
/// anew, batch by batch.
#[pyclass(frozen, module = "turnstone")]
pub(crate) struct Table(From);

/// Where the rows come from.
enum From {
    Crawl(PathBuf, tables::Table),
    Scores(RecordBatch),
}

impl Table {
    fn schema(&self) -> SchemaRef {
        match &self.0 {
            From::Crawl(_, table) => schema(table.columns()),
            From::Scores(batch) => batch.schema(),
        }
    }
}

#[pymethods]
impl Table {
    /// The table that `turnstone rank -o` wrote: `page` and `score`.
    #[staticmethod]
    fn scores(path: PathBuf) -> PyResult<Self> {
        let text = fs::read_to_string(path).map_err(failed)?;
        let mut pages: Vec<i64> = Vec::new();
        let mut scores: Vec<f64> = Vec::new();
        for line in text.lines() {
            let read = line.split_once('\t');
            let read =
                read.and_then(|(page, score)| Some((page.parse().ok()?, score.parse().ok()?)));
            let (page, score) = read.ok_or_else(|| failed(format!("no score: '{line}'")))?;
            pages.push(page);
            scores.push(score);
        }
        let schema = Schema::new(vec![
            Field::new("page", DataType::Int64, false),
            Field::new("score", DataType::Float64, false),
        ]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(pages)),
            Arc::new(Float64Array::from(scores)),
        ];
        let batch = RecordBatch::try_new(Arc::new(schema), columns).map_err(failed)?;
        Ok(Self(From::Scores(batch)))
    }

    /// What it is called.
    #[getter]
    fn name(&self) -> &'static str {
        match &self.0 {
            From::Crawl(_, table) => table.name(),
            From::Scores(_) => "scores",
        }
    }

    /// The names of its columns, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let schema = self.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// Its schema, for readers of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Its rows, for readers of Arrow. Another schema than the table's is not made: the reader casts.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = match &self.0 {
            From::Crawl(path, table) => {
                let batches = Batches::of(path.clone(), *table).map_err(failed)?;
                FFI_ArrowArrayStream::new(Box::new(batches))
            }
            From::Scores(batch) => {
                let one = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
                FFI_ArrowArrayStream::new(Box::new(one))
            }
        };
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            From::Crawl(path, table) => format!("<{} of {}>", table.name(), path.display()),
            From::Scores(batch) => format!("<scores of {} pages>", batch.num_rows()),
        }
    }
}
