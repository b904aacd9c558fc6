//! `backtest changes` on two small made-up sites.

use std::fs;
use std::path::Path;

use crate::run::{done, turnstone};

/// A site of 12 pages; those of `/busy/` change every week, the others never.
fn write_site(folder: &Path, name: &str) {
    let weeks = 8;
    // February 2021 has four weeks to the day.
    let dates: Vec<String> = (0..weeks)
        .map(|week| format!("\"2021-{:02}-{:02}\"", 2 + week / 4, 1 + 7 * (week % 4)))
        .collect();
    let mut lines = vec![format!(
        r#"{{"site":"{name}","origin":"https://{name}/","pages":12,"snapshots":[{}]}}"#,
        dates.join(",")
    )];
    for page in 0..12 {
        let directory = if page < 4 { "busy" } else { "calm" };
        lines.push(format!(
            r#"{{"page":{page},"url":"/{directory}/{page}.html"}}"#
        ));
    }
    for version in 0..weeks {
        let hash = format!("{:016x}", version + 1);
        lines.push(format!(
            r#"{{"version":{version},"raw":"{hash}","text":"{hash}","links":[0,5]}}"#
        ));
    }
    for week in 0..weeks {
        let pages = if week == 0 { 12 } else { 4 };
        let set: Vec<String> = (0..pages).map(|page| format!("[{page},{week}]")).collect();
        lines.push(format!(
            r#"{{"snapshot":{week},"set":[{}],"gone":[]}}"#,
            set.join(",")
        ));
    }
    let packed = zstd::encode_all((lines.join("\n") + "\n").as_bytes(), 1).unwrap();
    fs::write(folder.join(format!("{name}.jsonl.zst")), packed).unwrap();
}

#[test]
fn policies_are_compared_on_all_sites_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    write_site(folder.path(), "a.example");
    write_site(folder.path(), "b.example");
    let command = "backtest changes . --cycle-weeks 1 --cycles 7 --budget 8,50% --seeds 2 \
                   --policies rns,directory-neighbours:d=0,cluster-neighbours:clusters=2,cohorts";
    let json = done(folder.path(), &format!("{command} --json")).json();
    assert_eq!(
        (&json["sites"], &json["pages"], &json["question"]),
        (&2.into(), &24.into(), &"changes".into())
    );
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 8);
    for result in results {
        let number = |key: &str| result[key].as_f64().unwrap();
        assert_eq!(result["cycles"].as_array().unwrap().len(), 7);
        // Eight pages change every week: with a budget of eight all could be found.
        assert!(number("mean_change_ratio") <= number("bound_change_ratio") + 1e-9);
        assert!(number("mean_freshness") <= number("bound_freshness") + 1e-9);
    }
    assert_eq!(results[0]["bound_change_ratio"], 1.0);
    let ratio = |at: usize| results[at]["mean_change_ratio"].as_f64().unwrap();
    assert!(ratio(1) > ratio(0), "following a changed sample pays");
    assert!(ratio(3) > 0.8, "{}", ratio(3));
    assert_eq!(
        done(folder.path(), &format!("{command} --json")).json()["results"][3]["cycles"],
        results[3]["cycles"],
        "the same seeds give the same decisions"
    );
}

#[test]
fn a_report_has_the_papers_figures() {
    let folder = tempfile::tempdir().unwrap();
    write_site(folder.path(), "a.example");
    let ran = done(
        folder.path(),
        "backtest changes a.example.jsonl.zst --cycle-weeks 1 --cycles 4 --budget 2,4 --seeds 1 \
         --policies figures --report r.html --plot p.svg",
    );
    assert!(ran.out.contains("bound") && ran.out.contains("cohorts"));
    let page = fs::read_to_string(folder.path().join("r.html")).unwrap();
    for figure in 5..=9 {
        assert!(
            page.contains(&format!("figure {figure}")),
            "figure {figure}"
        );
    }
    assert!(
        fs::read_to_string(folder.path().join("p.svg"))
            .unwrap()
            .starts_with("<svg ")
    );
}

#[test]
fn wrong_questions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_site(folder.path(), "a.example");
    fs::write(folder.path().join("w.tsv"), "0\t1\n").unwrap();
    for (arguments, code, words) in [
        ("backtest changes a.example --budget 0%", 2, "--budget"),
        (
            "backtest changes a.example --policies cohort",
            2,
            "did you mean 'cohorts'",
        ),
        (
            "backtest changes a.example --policies interval:step=2",
            2,
            "above 0 and below 1",
        ),
        ("backtest changes a.example --cycles 0", 2, "--cycles"),
        ("backtest changes w.tsv", 1, "needs snapshots over time"),
    ] {
        let ran = turnstone(folder.path(), arguments);
        assert_eq!(ran.code, code, "{arguments}\n{}", ran.err);
        assert!(
            ran.err.contains(words) && ran.out.is_empty(),
            "{arguments}\n{}",
            ran.err
        );
    }
}
