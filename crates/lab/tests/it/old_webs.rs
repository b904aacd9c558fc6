//! Old crawls from histories and graphs, and what is wrong with those that are none.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use tempfile::TempDir;
use turnstone_lab::web::{From, OldWeb, OldWebError, Times};

/// A history of four pages over three snapshots: page 1 goes, page 2 changes its links and goes,
/// page 3 comes.
const HISTORY: &str = r#"{"site":"s","origin":"https://s.example/","pages":4,"snapshots":["2020-01-05","2020-01-12","2020-01-19"]}
{"page":0,"url":"/"}
{"page":1,"url":"/a.html"}
{"page":2,"url":"/b.html"}
{"page":3,"url":"/c.html"}
{"version":0,"raw":"0","text":"0","links":[1,2,3]}
{"version":1,"raw":"1","text":"1","links":[0]}
{"version":2,"raw":"2","text":"2","links":[1]}
{"version":3,"raw":"3","text":"3","links":[0,3]}
{"snapshot":0,"set":[[0,0],[1,1],[2,2]],"gone":[]}
{"snapshot":1,"set":[[2,3],[3,1]],"gone":[1]}
{"snapshot":2,"set":[],"gone":[2]}
"#;

const ONE_SNAPSHOT: &str = r#"{"site":"s","origin":"https://s.example/","pages":1,"snapshots":["2020-01-05"]}
{"page":0,"url":"/"}
{"version":0,"raw":"0","text":"0","links":[]}
{"snapshot":0,"set":[[0,0]],"gone":[]}
"#;

fn write_history(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(format!("{name}.jsonl.zst"));
    fs::write(&file, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    file
}

/// Page by page: address, site, fate and links.
fn told(old: &OldWeb) -> String {
    let line = |page| {
        let fate = if old.alive[turnstone_frontier::PageId::index(page)] {
            "alive"
        } else {
            "gone"
        };
        let links = old.graph().links(page);
        format!(
            "{} site {} {fate} {links:?}\n",
            old.web.name(page),
            old.site(page)
        )
    };
    old.graph().pages().map(line).collect()
}

fn fault(folder: &TempDir, outcome: Result<OldWeb, OldWebError>) -> String {
    let text = outcome
        .err()
        .map_or_else(|| "fine".to_owned(), |error| error.to_string());
    text.replace(&folder.path().display().to_string(), "DIR")
}

fn check(from: From, to: Option<usize>, expected: Expect) {
    let folder = TempDir::new().unwrap();
    let file = write_history(folder.path(), "s", HISTORY);
    let outcome = OldWeb::of_histories(&file, Times { from, to });
    expected.assert_eq(&match outcome {
        Ok(old) => told(&old),
        Err(_) => fault(&folder, outcome),
    });
}

#[test]
fn a_history_has_two_times() {
    check(
        From::Snapshot(0),
        None,
        expect![[r#"
        https://s.example/ site 0 alive [1, 2]
        https://s.example/a.html site 0 gone [0]
        https://s.example/b.html site 0 gone [1]
    "#]],
    );
    check(
        From::Snapshot(0),
        Some(1),
        expect![[r#"
        https://s.example/ site 0 alive [1, 2]
        https://s.example/a.html site 0 gone [0]
        https://s.example/b.html site 0 alive [1]
    "#]],
    );
    check(
        From::Snapshot(1),
        None,
        expect![[r#"
        https://s.example/ site 0 alive [1, 2]
        https://s.example/b.html site 0 gone [0, 2]
        https://s.example/c.html site 0 alive [0]
    "#]],
    );
    // Every page seen before the last snapshot, with the links last seen.
    check(
        From::All,
        None,
        expect![[r#"
        https://s.example/ site 0 alive [1, 2, 3]
        https://s.example/a.html site 0 gone [0]
        https://s.example/b.html site 0 gone [0, 3]
        https://s.example/c.html site 0 alive [0]
    "#]],
    );
}

#[test]
fn times_that_do_not_fit_are_refused() {
    check(
        From::Snapshot(2),
        None,
        expect!["DIR/s.jsonl.zst: snapshot 2 is not before snapshot 2"],
    );
    check(
        From::Snapshot(0),
        Some(3),
        expect!["DIR/s.jsonl.zst: there is no snapshot 3; they are numbered 0 to 2"],
    );
    check(
        From::All,
        Some(0),
        expect!["DIR/s.jsonl.zst: snapshot 0 is not before snapshot 0"],
    );
    let folder = TempDir::new().unwrap();
    let file = write_history(folder.path(), "one", ONE_SNAPSHOT);
    let times = Times {
        from: From::Snapshot(0),
        to: None,
    };
    expect!["DIR/one.jsonl.zst: the history has one snapshot, and liveness needs two times"]
        .assert_eq(&fault(&folder, OldWeb::of_histories(&file, times)));
}

#[test]
fn a_folder_is_one_web_of_many_sites() {
    let folder = TempDir::new().unwrap();
    write_history(folder.path(), "a", HISTORY);
    write_history(folder.path(), "b", HISTORY);
    let times = Times {
        from: From::Snapshot(1),
        to: None,
    };
    let old = OldWeb::of_histories(folder.path(), times).unwrap();
    expect![[r#"
        https://s.example/ site 0 alive [1, 2]
        https://s.example/b.html site 0 gone [0, 2]
        https://s.example/c.html site 0 alive [0]
        https://s.example/ site 1 alive [4, 5]
        https://s.example/b.html site 1 gone [3, 5]
        https://s.example/c.html site 1 alive [3]
    "#]]
    .assert_eq(&told(&old));
    assert_eq!((old.site_count, old.alive_count()), (2, 4));
}

#[test]
fn a_graph_needs_a_list_of_alive_pages() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let graph = file("g.tsv", "0\t1\n1\t2\n2\t0\n");
    file("g.urls", "http://a/\nhttp://a/x\nhttp://b/\n");
    let alive = file("alive", "2\nhttp://a/\n");
    let of = |alive: &Path, among: Option<&Path>| OldWeb::of_graph(&graph, alive, among);
    expect![[r#"
        http://a/ site 0 alive [1]
        http://a/x site 0 gone [2]
        http://b/ site 1 alive [0]
    "#]]
    .assert_eq(&told(&of(&alive, None).unwrap()));
    let among = file("among", "1\n2\n");
    expect![[r#"
        http://a/x site 0 gone [1]
        http://b/ site 1 alive []
    "#]]
    .assert_eq(&told(&of(&alive, Some(&among)).unwrap()));

    let unknown = file("unknown", "0\nhttp://c/\n");
    expect!["DIR/unknown:2: there is no page 'http://c/' in the web; give ids or URLs as recorded"]
        .assert_eq(&fault(&folder, of(&unknown, None)));
    let beyond = file("beyond", "3\n");
    expect!["DIR/beyond:1: there is no page '3' in the web; give ids or URLs as recorded"]
        .assert_eq(&fault(&folder, of(&beyond, None)));
    let nobody = file("nobody", "");
    expect!["DIR/nobody: the list names no page"]
        .assert_eq(&fault(&folder, of(&alive, Some(&nobody))));
    assert_eq!(of(&nobody, None).unwrap().alive_count(), 0);
    expect!["DIR/missing: No such file or directory (os error 2)"]
        .assert_eq(&fault(&folder, of(&folder.path().join("missing"), None)));
    let times = Times {
        from: From::All,
        to: None,
    };
    expect!["DIR/g.tsv: a link graph has one time only; say which pages are alive with a list"]
        .assert_eq(&fault(&folder, OldWeb::of_histories(&graph, times)));
    let history = write_history(folder.path(), "s", HISTORY);
    expect![
        "DIR/s.jsonl.zst: a history tells itself what is alive; lists of pages are for link graphs"
    ]
    .assert_eq(&fault(&folder, OldWeb::of_graph(&history, &alive, None)));
}
