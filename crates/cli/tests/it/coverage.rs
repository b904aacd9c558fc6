//! `backtest coverage` from end to end on a generated web.

use std::fs;

use crate::run::{done, turnstone};

#[test]
fn the_policies_keep_their_order_and_the_pictures_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "generate graph --pages 3000 -o w");
    let ran = done(
        folder.path(),
        "backtest coverage w --trusted top:5 --epsilon 0.1 --policies all --json --plot p.svg --report r.html",
    );
    let json = ran.json();
    assert_eq!(json["question"], "coverage");
    let needed = |policy: &str, what: &str| {
        let results = json["results"].as_array().unwrap();
        let result = results.iter().find(|r| r["policy"] == policy).unwrap();
        result[what].as_u64().unwrap()
    };
    let to_guarantee = |policy| needed(policy, "downloads_to_guarantee");
    assert!(to_guarantee("optimal") <= to_guarantee("rankmass"));
    assert!(to_guarantee("rankmass:push=exact") <= to_guarantee("windowed-rankmass"));
    assert!(to_guarantee("windowed-rankmass") <= to_guarantee("l-neighbor"));
    assert!(to_guarantee("rankmass") < to_guarantee("rankmass:push=exact"));
    let optimal = needed("optimal", "downloads_to_actual") as f64;
    assert!(needed("rankmass", "downloads_to_actual") as f64 <= 1.1 * optimal);
    for result in json["results"].as_array().unwrap() {
        let points = result["points"].as_array().unwrap();
        assert!(!points.is_empty());
        for point in points {
            let (guaranteed, actual) = (point["guaranteed"].as_f64(), point["actual"].as_f64());
            assert!(guaranteed.unwrap() <= actual.unwrap() + 1e-9, "{result:?}");
        }
    }
    let report = fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(report.contains("Mass guaranteed") && report.contains("turnstone backtest coverage w"));
    assert!(
        fs::read_to_string(folder.path().join("p.svg"))
            .unwrap()
            .starts_with("<svg")
    );
}

#[test]
fn an_unreachable_goal_ends_with_the_best_guarantee_and_code_3() {
    let folder = tempfile::tempdir().unwrap();
    // Page 1 links nowhere, and what it holds leaks.
    fs::write(folder.path().join("w.tsv"), "0\t1\n").unwrap();
    let ran = turnstone(
        folder.path(),
        "backtest coverage w --trusted 0 --policies rankmass:dangling=leak --json",
    );
    assert_eq!(ran.code, 3, "{}", ran.err);
    let result = &ran.json()["results"][1];
    assert_eq!(result["downloads_to_guarantee"], serde_json::Value::Null);
    assert!(
        (result["guaranteed"].as_f64().unwrap() - 0.2775).abs() < 1e-6,
        "{result}"
    );
    assert!(
        ran.err.contains("the best guarantee is 27.7 %"),
        "{}",
        ran.err
    );
}

#[test]
fn politeness_is_simulated_under_the_virtual_clock() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "generate graph --pages 400 -o w");
    let json = done(
        folder.path(),
        "backtest coverage w --policies rankmass --delay 1s --json",
    )
    .json();
    let result = &json["results"][1];
    let seconds = result["crawl_seconds"].as_f64().unwrap();
    let downloads = result["downloads"].as_f64().unwrap();
    let hosts = done(folder.path(), "info w --json").json()["graph"]["hosts"]
        .as_f64()
        .unwrap();
    // The busiest host alone takes at least its share of the downloads, a second apart.
    assert!(
        seconds >= downloads / hosts - 1.0 && seconds <= downloads * 2.0 + 60.0,
        "{result}"
    );
}
