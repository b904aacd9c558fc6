//! `info`, `rank`, `generate`, `policies`, `completions` on small webs.

use std::fs;

use expect_test::expect;

use crate::run::done;

/// A small history: three pages, two snapshots.
pub(crate) const HISTORY: &str = r#"{"site":"tiny","origin":"https://tiny.example/","pages":3,"snapshots":["2020-01-05","2020-01-12"]}
{"page":0,"url":"/"}
{"page":1,"url":"/a.html"}
{"page":2,"url":"/feed.xml","kind":"xml"}
{"host":0,"name":"example.org"}
{"version":0,"raw":"00000000000000a0","text":"00000000000000b0","bytes":10,"words":2,"images":0,"offsite":1,"hosts":[0],"terms":[["word",1]],"broken":0,"links":[1]}
{"version":1,"raw":"00000000000000a1","text":"00000000000000b1","bytes":10,"words":2,"images":0,"offsite":0,"hosts":[],"links":[0,2]}
{"version":2,"raw":"00000000000000a2","text":"00000000000000b0","bytes":11,"words":2,"images":0,"offsite":0,"hosts":[],"links":[1]}
{"snapshot":0,"set":[[0,0],[1,1]],"gone":[]}
{"snapshot":1,"set":[[0,2],[2,1]],"gone":[1]}
"#;

#[test]
fn info_tells_what_a_graph_holds() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.tsv"), "0\t1\n0\t2\n1\t0\n2\t2\n").unwrap();
    let ran = done(folder.path(), "info w");
    assert!(
        ran.out.contains("self-links                    1\n"),
        "{}",
        ran.out
    );
    let json = done(folder.path(), "info w.tsv --json").json();
    assert_eq!(json["graph"]["links"], 4);
    assert_eq!(json["graph"]["self_links"], 1);
}

#[test]
fn info_tells_what_a_history_holds() {
    let folder = tempfile::tempdir().unwrap();
    let packed = zstd::encode_all(HISTORY.as_bytes(), 3).unwrap();
    fs::write(folder.path().join("tiny.jsonl.zst"), packed).unwrap();
    let ran = done(folder.path(), "info tiny.jsonl.zst");
    expect![[r#"
        history of tiny (https://tiny.example/)
        3 pages ever seen, 3 versions, 4 links over all versions

        snapshot  date        pages  new  changed  changed text  returned  gone
               0  2020-01-05      2    2        0             0         0     0
               1  2020-01-12      2    1        1             0         0     1
    "#]]
    .assert_eq(&ran.out);
    let json = done(folder.path(), "info . --json").json();
    assert_eq!(json["histories"][0]["snapshots"][1]["gone"], 1);
}

#[test]
fn rank_writes_every_page_at_full_precision() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.tsv"), "0\t1\n1\t0\n").unwrap();
    done(folder.path(), "rank w -o scores.tsv --dangling spread");
    let scores = fs::read_to_string(folder.path().join("scores.tsv")).unwrap();
    let read: Vec<(u32, f64)> = scores
        .lines()
        .map(|line| {
            line.split_once('\t')
                .map(|(p, s)| (p.parse().unwrap(), s.parse().unwrap()))
                .unwrap()
        })
        .collect();
    assert_eq!(read.len(), 2);
    assert!(
        read.iter().all(|(_, score)| (score - 0.5).abs() < 1e-9),
        "{read:?}"
    );
    let json = done(folder.path(), "rank w --method indegree --json").json();
    assert_eq!(json["best"][0]["score"], 1.0);
}

#[test]
fn a_generated_web_is_the_same_for_the_same_seed_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "generate graph --pages 500 --seed 7 -o a");
    done(
        folder.path(),
        "generate graph --pages 500 --seed 7 -o b.tsv.zst",
    );
    let [a, b] = ["a", "b"].map(|name| {
        let mut json = done(folder.path(), &format!("info {name} --json")).json();
        json["graph"].take()
    });
    assert_eq!(a, b);
    assert_eq!(a["pages"], 500);
    let power = done(
        folder.path(),
        "generate graph --model power-law --pages 300 -o p --json",
    )
    .json();
    assert_eq!(power["pages"], 300);
}

#[test]
fn every_policy_is_listed_and_completions_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let json = done(folder.path(), "policies --json").json();
    let names: Vec<&str> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"rankmass") && names.contains(&"breadth-first"),
        "{names:?}"
    );
    assert!(
        done(folder.path(), "policies coverage")
            .out
            .contains("window=0.1")
    );
    assert!(
        done(folder.path(), "completions bash")
            .out
            .contains("turnstone")
    );
}
