//! The rules of the house that can be checked: crate edges, file heads, file lengths.

use std::fs;
use std::path::{Path, PathBuf};

/// Which of our crates each crate may use.
const EDGES: &[(&str, &[&str])] = &[
    ("frontier", &[]),
    ("policy", &["frontier"]),
    ("guess", &[]),
    ("linkgraph", &["frontier"]),
    ("urls", &[]),
    ("fetch", &["urls"]),
    ("pagestore", &["frontier"]),
    ("ledger", &["frontier", "pagestore", "urls", "cluster"]),
    (
        "questions",
        &["frontier", "policy", "linkgraph", "pagestore", "ledger"],
    ),
    (
        "crawl",
        &[
            "frontier",
            "pagestore",
            "urls",
            "fetch",
            "ledger",
            "cluster",
        ],
    ),
    (
        "lab",
        &[
            "frontier",
            "policy",
            "guess",
            "linkgraph",
            "pagestore",
            "urls",
        ],
    ),
    ("text", &["frontier", "pagestore", "fetch"]),
    ("events", &["frontier", "pagestore"]),
    ("wacz", &["frontier", "pagestore"]),
    ("deliver", &["pagestore", "fetch", "events"]),
    (
        "tables",
        &["frontier", "pagestore", "urls", "events", "lab", "text"],
    ),
    (
        "server",
        &["frontier", "pagestore", "ledger", "events", "lab"],
    ),
    ("cluster", &[]),
    ("bus", &["cluster"]),
    (
        "node",
        &[
            "frontier",
            "pagestore",
            "ledger",
            "crawl",
            "cluster",
            "fetch",
        ],
    ),
    (
        "cli",
        &[
            "frontier",
            "policy",
            "linkgraph",
            "lab",
            "fetch",
            "pagestore",
            "urls",
            "ledger",
            "questions",
            "crawl",
            "bus",
            "cluster",
            "node",
            "events",
            "deliver",
            "tables",
            "wacz",
            "server",
        ],
    ),
    (
        "python",
        &["frontier", "policy", "lab", "pagestore", "tables"],
    ),
];

/// The longest a source file may be, tests and tables excepted.
const LINES_MAX: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file below a folder.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn sources(of: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (name, _) in EDGES {
        rust_files(&root().join("crates").join(name).join(of), &mut found);
    }
    assert!(
        of != "src" || found.len() > 20,
        "the sources were not found"
    );
    found
}

#[test]
fn crates_use_only_what_they_may() {
    let mut names: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut known: Vec<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(
        names, known,
        "a new crate needs a line in EDGES that says what it may use"
    );
    for (name, may_use) in EDGES {
        let manifest =
            fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let dependencies = dependencies
            .split("[dev-dependencies]")
            .next()
            .unwrap_or("");
        for line in dependencies
            .lines()
            .filter(|line| line.starts_with("turnstone-"))
        {
            let used = line
                .trim_start_matches("turnstone-")
                .split(['.', ' '])
                .next()
                .unwrap();
            assert!(may_use.contains(&used), "crate {name} must not use {used}");
        }
    }
}

#[test]
fn the_pure_crates_forbid_clocks_and_hash_order() {
    for name in ["frontier", "policy", "guess", "cluster"] {
        let rules =
            fs::read_to_string(root().join("crates").join(name).join("clippy.toml")).unwrap();
        for word in [
            "Instant::now",
            "SystemTime::now",
            "HashMap",
            "thread::sleep",
            "fs::File",
        ] {
            assert!(
                rules.contains(word),
                "crates/{name}/clippy.toml does not forbid {word}"
            );
        }
    }
}

#[test]
fn every_file_opens_with_what_it_is() {
    let mut files = sources("src");
    files.extend(sources("tests"));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{} has no head", file.display());
    }
}

#[test]
fn files_hold_one_idea() {
    for file in sources("src") {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().count();
        assert!(
            lines <= LINES_MAX,
            "{} has {lines} lines; split it",
            file.display()
        );
    }
}

#[test]
fn the_readme_shows_commands_that_exist() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for target in ["demo", "test"] {
        assert!(
            readme.contains(&format!("make {target}")),
            "the README shows make {target}"
        );
        assert!(
            makefile.contains(&format!("\n{target}:")),
            "make {target} exists"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let help = crate::run::done(folder.path(), "--help").out;
    for line in readme
        .lines()
        .filter_map(|line| line.strip_prefix("turnstone "))
    {
        let command = line.split_whitespace().next().unwrap();
        assert!(
            help.contains(&format!("\n  {command} ")),
            "turnstone {command} is not in --help"
        );
    }
}
