//! The package as people get it: a wheel, installed with pip into a bare environment, asked by Python.
//!
//! The extension is the one that this very build made, and the wheel is packed of it by a script (see
//! `tests/python/pack.py`), for a second build by maturin would take minutes. The environment is made anew
//! for each run; only the readers (DuckDB, polars, pandas, pyarrow) are kept, as by other tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::archive_tools::{environment, run};

/// What reads the tables: those of the tests of Parquet files, and pandas.
const READERS: [&str; 4] = [
    "duckdb==2.0.0",
    "pytz==2025.2",
    "pyarrow==26.0.1",
    "polars==2.1.0",
];
const PANDAS: [&str; 1] = ["pandas==3.1.1"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Python of a bare environment into which the wheel was installed.
fn python() -> &'static Path {
    static PYTHON: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, python) = PYTHON.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let library = std::env::current_exe()
            .unwrap()
            .with_file_name("libturnstone_native.so");
        let venv = folder.path().join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        let python = venv.join("bin/python");
        let wheel = run(Command::new(&python)
            .arg(here().join("tests/python/pack.py"))
            .arg(library)
            .arg(here())
            .arg(env!("CARGO_PKG_VERSION"))
            .arg(folder.path()));
        run(Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-index",
                "--no-input",
            ])
            .arg("--disable-pip-version-check")
            .arg(wheel.trim()));
        (folder, python)
    });
    python
}

/// Where the packages of an environment lie.
fn packages(python: &Path) -> String {
    let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
    run(Command::new(python).args(["-c", script]))
        .trim()
        .to_owned()
}

fn ask(script: &str, path: &str) {
    let folder = tempfile::tempdir().unwrap();
    run(Command::new(python())
        .arg(here().join("tests/python").join(script))
        .env("EXAMPLES", here().join("../../examples"))
        .env("PYTHONPATH", path)
        .current_dir(folder.path()));
}

#[test]
fn the_package_does_what_it_says_with_nothing_else_installed() {
    ask("test_bare.py", "");
}

#[test]
fn readers_of_arrow_take_the_tables_and_the_examples_run() {
    let others = [&READERS[..], &PANDAS[..]].map(|wanted| {
        let python = environment(wanted).join("bin/python");
        packages(&python)
    });
    ask("test_readers.py", &others.join(":"));
}
