//! Bad input: one line that names the file or option and says what would be right; nothing is left
//! half written.

use std::fs;
use std::path::Path;

use crate::run::turnstone;

/// Runs the command in a folder with one good web `w` and whatever `prepare` adds; expects the exit
/// code and words in a one-line error.
fn check(prepare: &[(&str, &[u8])], arguments: &str, code: i32, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.tsv"), "0\t1\n1\t2\n2\t0\n").unwrap();
    for (name, bytes) in prepare {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let before = listing(folder.path());
    let ran = turnstone(folder.path(), arguments);
    assert_eq!(
        ran.code, code,
        "turnstone {arguments}\n{}{}",
        ran.out, ran.err
    );
    assert_eq!(ran.out, "", "nothing on standard output");
    for word in words {
        assert!(
            ran.err.contains(word),
            "'{word}' is missing in: {}",
            ran.err
        );
    }
    if code == 1 {
        assert_eq!(ran.err.lines().count(), 1, "one line: {}", ran.err);
    }
    assert_eq!(listing(folder.path()), before, "no file is left behind");
}

fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_web_that_is_not_there() {
    check(
        &[],
        "info nowhere",
        1,
        &["nowhere", "no such web", "NAME.tsv"],
    );
    check(
        &[("x.txt", b"hello")],
        "info x.txt",
        1,
        &["x.txt", "not a recorded web"],
    );
}

#[test]
fn a_missing_or_half_bv_graph() {
    check(&[("g.graph", b"")], "info g", 1, &["g.properties"]);
    let properties = b"nodes=1000\narcs=100000\nversion=0\ncompressionflags=\nwindowsize=7\nmaxrefcount=3\nminintervallength=4\nzetak=3\n";
    check(
        &[("g.graph", b"\x12\x34"), ("g.properties", properties)],
        "info g",
        1,
        &["g.graph", "cut off"],
    );
}

#[test]
fn lines_that_are_not_links() {
    check(
        &[("b.tsv", b"0\t1\n7\n")],
        "info b.tsv",
        1,
        &["b.tsv, line 2"],
    );
    check(
        &[("b.tsv", b"0\t1\n0\tx\n")],
        "info b.tsv",
        1,
        &["b.tsv, line 2"],
    );
    check(&[("b.tsv", b"")], "info b.tsv", 1, &["b.tsv"]);
    check(
        &[("b.tsv", b"0\t99\n"), ("b.urls", b"http://a/\nhttp://b/\n")],
        "info b.tsv",
        1,
        &["b.tsv, line 1"],
    );
}

#[test]
fn a_url_list_of_the_wrong_length() {
    let properties: &[u8] = b"0\t1\n";
    check(
        &[("b.tsv", properties), ("b.urls", b"http://a/\n")],
        "info b.tsv",
        1,
        &["b.", "1"],
    );
}

#[test]
fn a_truncated_zst() {
    let lines: String = (0..5000)
        .map(|i| format!("{i}\t{}\n", i * 7919 % 5000))
        .collect();
    let mut packed = zstd::encode_all(lines.as_bytes(), 3).unwrap();
    packed.truncate(packed.len() / 2);
    check(
        &[("t.tsv.zst", &packed)],
        "info t",
        1,
        &["t.tsv.zst", "cut off"],
    );
    let mut history = zstd::encode_all(crate::webs::HISTORY.as_bytes(), 3).unwrap();
    history.truncate(history.len() / 2);
    check(
        &[("h.jsonl.zst", &history)],
        "info h.jsonl.zst",
        1,
        &["h.jsonl.zst", "cut short"],
    );
}

#[test]
fn a_history_that_breaks_a_rule_is_refused_with_its_line() {
    let broken = |from: &str, to: &str| {
        zstd::encode_all(crate::webs::HISTORY.replace(from, to).as_bytes(), 3).unwrap()
    };
    let check = |from, to, words: &[&str]| {
        check(
            &[("h.jsonl.zst", &broken(from, to))],
            "info h.jsonl.zst",
            1,
            words,
        );
    };
    check(
        "\"2020-01-12\"",
        "\"2019-01-12\"",
        &["h.jsonl.zst:1", "dates must ascend"],
    );
    check(
        "[2,1]],\"gone\"",
        "[9,1]],\"gone\"",
        &["h.jsonl.zst:10", "page 9 is not defined"],
    );
    check(
        "[[0,2]",
        "[[0,7]",
        &["h.jsonl.zst:10", "version 7 is not defined"],
    );
    check(
        "{\"page\":1,",
        "{\"page\":5,",
        &["h.jsonl.zst:3", "page 1 comes next"],
    );
    check(
        "\"raw\":\"00000000000000a1\"",
        "\"raw\":\"zz\"",
        &["h.jsonl.zst:7", "hex"],
    );
}

#[test]
fn options_out_of_range() {
    let run = "backtest coverage w";
    check(
        &[],
        &format!("{run} --epsilon 0"),
        2,
        &["--epsilon", "above 0 and below 1"],
    );
    check(&[], &format!("{run} --epsilon 1.5"), 2, &["--epsilon"]);
    check(&[], &format!("{run} --damping 1"), 2, &["--damping"]);
    check(
        &[],
        &format!("{run} --trusted 17"),
        2,
        &["--trusted", "'17'", "0 to 2"],
    );
    check(
        &[],
        &format!("{run} --trusted top:0"),
        2,
        &["--trusted", "1 to 3"],
    );
    check(
        &[],
        &format!("{run} --trusted 0,0"),
        2,
        &["page 0", "twice"],
    );
    check(
        &[("t.tsv", b"0\t1\n5\t1\n")],
        &format!("{run} --trusted t.tsv"),
        1,
        &["t.tsv, line 2", "'5'"],
    );
    check(&[], &format!("{run} --delay fast"), 2, &["fast", "500ms"]);
    check(&[], "rank w --damping 2", 2, &["--damping"]);
    check(&[], "rank w --tolerance 0", 2, &["--tolerance"]);
    check(
        &[],
        "generate graph --pages 0 -o x",
        2,
        &["--pages", "1 to"],
    );
    check(&[], "generate graph --exponent 1 -o x", 2, &["--exponent"]);
    check(
        &[],
        "generate graph -o no/such/folder/x",
        1,
        &["no/such/folder"],
    );
}

#[test]
fn policies_and_parameters_that_do_not_exist() {
    let run = "backtest coverage w --policies";
    check(
        &[],
        &format!("{run} rankmas"),
        2,
        &["did you mean 'rankmass'"],
    );
    check(
        &[],
        &format!("{run} windowed-rankmass:widow=1"),
        2,
        &["did you mean 'window'"],
    );
    check(
        &[],
        &format!("{run} windowed-rankmass:window=0"),
        2,
        &["window=0", "above 0 and at most 1"],
    );
    check(
        &[],
        &format!("{run} windowed-rankmass:window=1.5"),
        2,
        &["window=1.5"],
    );
    check(
        &[],
        &format!("{run} rankmass:push=hard"),
        2,
        &["exact, fetched-first"],
    );
    check(&[], "backtest coverage w --polices x", 2, &["--polic"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    check(
        &[],
        "rank w -o no/such/scores.tsv",
        1,
        &["no/such/scores.tsv"],
    );
}

#[test]
fn a_folder_with_other_things_becomes_no_crawl_directory() {
    let words = [
        "--output",
        "not a crawl directory and not empty",
        "w.tsv",
        "turnstone.toml",
    ];
    check(
        &[],
        "crawl http://127.0.0.1:8080/ -o . --allow-private",
        2,
        &words,
    );
}

#[test]
fn numbers_are_refused_in_one_form() {
    for (arguments, words) in [
        (
            "backtest coverage w --epsilon little",
            "'little' is not a number or a share; give one like",
        ),
        (
            "backtest coverage w --delay soon",
            "'soon' is not a span of time; give one like",
        ),
        (
            "crawl http://127.0.0.1:8080/ -o c --until bytes=10m",
            "'10m' is not a number of bytes; give one like",
        ),
        (
            "crawl http://127.0.0.1:8080/ -o c --until pages=0",
            "'0' is not a whole number above 0; give one like",
        ),
        (
            "backtest changes w --budget 0%",
            "'0%' is not a number above 0 or a share up to 100%; give one like",
        ),
    ] {
        check(&[], arguments, 2, &[words]);
    }
}
