//! `generate history` and `backtest liveness` from end to end.

use std::fs;
use std::path::Path;

use crate::run::{done, turnstone};
use crate::webs::HISTORY;

fn made_up(folder: &Path) {
    done(
        folder,
        "generate history -o sites --sites 6 --pages 80 --snapshots 30 --deaths 0.03",
    );
}

#[test]
fn every_policy_has_a_curve_and_the_papers_figures_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    made_up(folder.path());
    let ran = done(
        folder.path(),
        "backtest liveness sites --policies all --sample-size 10% --seeds 3 --until-alive 0.8 --paper \
         --json --plot p.svg --report r.html",
    );
    let json = ran.json();
    assert_eq!(
        (&json["question"], &json["sites"]),
        (&"liveness".into(), &6.into())
    );
    let (pages, alive) = (
        json["pages"].as_f64().unwrap(),
        json["alive"].as_f64().unwrap(),
    );
    let results = json["results"].as_array().unwrap();
    assert_eq!(results[0]["policy"], "ideal");
    assert!(results.len() > 20, "the paper's settings are run too");
    for result in results {
        let curve = result["curve"].as_array().unwrap();
        assert_eq!(curve.len(), 20);
        let at_all = curve[19]["cost"].as_f64().unwrap();
        assert!((1.0..=pages / alive + 1e-9).contains(&at_all), "{result}");
    }
    let random = results
        .iter()
        .find(|result| result["policy"] == "random")
        .unwrap();
    assert_eq!(random["runs"].as_array().unwrap().len(), 3);
    assert!(random["alive_estimate"].as_f64().is_some() && random["runs"][0]["stop"].is_object());
    let report = fs::read_to_string(folder.path().join("r.html")).unwrap();
    for figure in [
        "figures 2 and 5",
        "figure 3a",
        "figure 3b",
        "figure 4a",
        "figure 4b",
        "figure 6",
        "figure 1a",
        "figure 1b",
    ] {
        assert!(report.contains(figure), "{figure}");
    }
    assert!(!report.contains("NaN"));
    let plot = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("pa-ratio"));
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    made_up(folder.path());
    let curves = |arguments: &str| {
        let json = done(
            folder.path(),
            &format!("backtest liveness sites --json {arguments}"),
        )
        .json();
        let results = json["results"].as_array().unwrap().clone();
        results
            .iter()
            .map(|result| result["curve"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(curves("--seed 5"), curves("--seed 5"));
    assert_ne!(curves("--seed 5"), curves("--seed 6"));
    assert_ne!(curves("--from first"), curves("--from all"));
}

#[test]
fn an_order_is_split_among_crawlers() {
    let folder = tempfile::tempdir().unwrap();
    made_up(folder.path());
    let split = |crawlers: usize, into: &str| -> Vec<Vec<String>> {
        done(
            folder.path(),
            &format!(
                "backtest liveness sites --policies pa-ratio --split {crawlers} --split-into {into}"
            ),
        );
        let read = |crawler: usize| {
            let file = folder
                .path()
                .join(into)
                .join(format!("crawler-{crawler}.urls"));
            fs::read_to_string(file)
                .unwrap()
                .lines()
                .map(str::to_owned)
                .collect()
        };
        (0..crawlers).map(read).collect()
    };
    let whole = split(1, "one").remove(0);
    let parts = split(3, "three");
    assert!(whole.len() > 300);
    for (place, page) in whole.iter().enumerate() {
        assert_eq!(&parts[place % 3][place / 3], page);
    }
}

#[test]
fn nothing_alive_is_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.tsv"), "0\t1\n1\t2\n").unwrap();
    fs::write(folder.path().join("alive"), "").unwrap();
    let ran = done(
        folder.path(),
        "backtest liveness w --alive alive --report r.html",
    );
    assert!(ran.out.contains("Nothing is alive"), "{}", ran.out);
    let json = done(folder.path(), "backtest liveness w --alive alive --json").json();
    assert_eq!(
        (&json["alive"], json["results"].as_array().unwrap().len()),
        (&0.into(), 0)
    );
}

#[test]
fn bad_input_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("w.tsv", b"0\t1\n1\t2\n2\t0\n");
    write("alive", b"0\n2\n");
    write("strange", b"0\n17\n");
    write(
        "h.jsonl.zst",
        &zstd::encode_all(HISTORY.as_bytes(), 1).unwrap(),
    );
    let one = HISTORY.replace(",\"2020-01-12\"", "");
    let one: Vec<&str> = one
        .lines()
        .filter(|line| !line.starts_with("{\"snapshot\":1"))
        .collect();
    write(
        "one.jsonl.zst",
        &zstd::encode_all(one.join("\n").as_bytes(), 1).unwrap(),
    );
    let check = |arguments: &str, code: i32, words: &str| {
        let ran = turnstone(folder.path(), &format!("backtest liveness {arguments}"));
        assert_eq!(ran.code, code, "{arguments}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out, "", "{arguments}: nothing on standard output");
        assert!(
            ran.err.contains(words),
            "{arguments}: '{words}' is missing in: {}",
            ran.err
        );
    };
    check(
        "w --alive strange",
        1,
        "strange:2: there is no page '17' in the web",
    );
    check("w --alive missing", 1, "missing");
    check("w", 2, "--alive: ");
    check("w --alive alive --from 0", 2, "has no snapshots");
    check(
        "w --alive alive --sample-size 4",
        2,
        "--sample-size: a sample of 4 pages is larger than the web, which has 3",
    );
    check(
        "w --alive alive --sample-size 0",
        2,
        "give a number of pages (1000) or a share (2%)",
    );
    check(
        "w --alive alive --policies pa:size=9",
        2,
        "at most the web's 3 pages",
    );
    check(
        "w --alive alive --policies pagrank",
        2,
        "did you mean 'pagerank'?",
    );
    check(
        "w --alive alive --sample best",
        2,
        "give one of random, indegree",
    );
    for (share, why) in [
        ("0", "--until-alive: must be above 0 and at most 1"),
        ("1.5", "--until-alive: must be above 0 and at most 1"),
        ("-1", "--until-alive: must be above 0 and at most 1"),
        (
            "NaN",
            "'NaN' is not a number or a share; give one like 0.85 or 85%",
        ),
    ] {
        let arguments = format!("w --alive alive --until-alive={share}");
        check(&arguments, 2, why);
    }
    check(
        "w --alive alive --confidence 1",
        2,
        "--confidence: must be above 0.5 and below 1",
    );
    check("w --alive alive --split 2", 2, "--split: name one policy");
    check(
        "w --alive alive --split 2 --policies alive-bfs",
        2,
        "cannot be split beforehand",
    );
    check(
        "one.jsonl.zst",
        1,
        "has one snapshot, and liveness needs two times",
    );
    check(
        "h.jsonl.zst --to 7",
        1,
        "there is no snapshot 7; they are numbered 0 to 1",
    );
    check(
        "h.jsonl.zst --from 1",
        2,
        "snapshot 1 is not before snapshot 1",
    );
    check(
        "h.jsonl.zst --alive alive",
        1,
        "a history tells itself what is alive",
    );
}
