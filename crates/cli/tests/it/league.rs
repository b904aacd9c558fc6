//! `league` on a small graph and two small sites, held against the backtests it is made of.

use serde_json::Value;

use crate::run::{done, turnstone};

/// Finds a policy's value in the document of a backtest and the policy's own part of it.
type Find = fn(&Value, &Value) -> Value;

/// For each question: what its backtest is asked (nothing that the league does not promise), and where its
/// answer for a policy stands.
const QUESTIONS: &[(&str, &str, Find)] = &[
    ("coverage", "w", |document, result| {
        let downloads = result["downloads_to_guarantee"].as_f64();
        downloads
            .map(|downloads| downloads / document["pages"].as_f64().unwrap())
            .into()
    }),
    ("importance", "w", |_, result| {
        let last = result["points"].as_array().unwrap().last().unwrap();
        (last["error_top10"].as_f64().unwrap() / 100.0).into()
    }),
    ("liveness", "sites", |_, result| {
        let curve = result["curve"].as_array().unwrap();
        let point = curve
            .iter()
            .find(|it| it["alpha"].as_f64() >= Some(0.9 - 1e-9));
        point.unwrap()["cost"].clone()
    }),
    ("discovery --budget 10", "sites", |_, result| {
        result["coverage_all"].clone()
    }),
    ("changes --seeds 1", "sites", |_, result| {
        result["mean_change_ratio"].clone()
    }),
    ("keep", "sites", |_, result| {
        result["together"]["freshness"].clone()
    }),
];

#[test]
fn a_league_is_what_the_backtests_say_when_nothing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    done(here, "generate graph --pages 300 -o w");
    done(
        here,
        "generate history --sites 2 --pages 12 --snapshots 60 -o sites",
    );
    let league = done(here, "league w sites --seeds 1 --json").json();
    let tables = league["questions"].as_array().unwrap();
    let names: Vec<&str> = tables
        .iter()
        .map(|it| it["question"].as_str().unwrap())
        .collect();
    let expected = [
        "coverage",
        "importance",
        "liveness",
        "discovery",
        "changes",
        "keep",
    ];
    assert_eq!(names, expected, "{}", league["left_out"]);
    for ((question, web, value), table) in QUESTIONS.iter().zip(tables) {
        assert_eq!(table["webs"][0]["web"], *web);
        let standings = table["policies"].as_array().unwrap();
        assert!(standings.len() > 1, "{question}");
        let policies: Vec<&str> = standings
            .iter()
            .map(|it| it["policy"].as_str().unwrap())
            .collect();
        let (name, options) = question.split_once(' ').unwrap_or((question, ""));
        let command = format!(
            "backtest {name} {web} {options} --policies {} --json",
            policies.join(",")
        );
        let document = done(here, &command).json();
        for standing in standings {
            let results = document["results"].as_array().unwrap();
            let result = results.iter().find(|it| it["policy"] == standing["policy"]);
            let expected = value(&document, result.unwrap());
            let reached = &standing["results"][0]["value"];
            let same = match (reached.as_f64(), expected.as_f64()) {
                // Text and back may cost the last digit.
                (Some(reached), Some(expected)) => (reached - expected).abs() < 1e-12,
                (reached, expected) => reached == expected,
            };
            let policy = &standing["policy"];
            assert!(same, "{question} {policy}: {reached}, not {expected}");
        }
        let places: Vec<f64> = standings
            .iter()
            .map(|it| it["place"].as_f64().unwrap())
            .collect();
        assert!(places.is_sorted(), "the best first: {places:?}");
    }
}

#[test]
fn what_cannot_be_asked_is_said_and_wrong_names_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    done(
        here,
        "generate history --sites 1 --pages 8 --snapshots 3 -o sites",
    );
    let ran = done(here, "league sites --seeds 2 -o league.md");
    assert!(
        ran.out.contains("Not asked") && ran.out.contains("no site has a history of 364 days"),
        "{}",
        ran.out
    );
    let written = std::fs::read_to_string(here.join("league.md")).unwrap();
    assert!(
        written.contains("## Liveness") && written.contains("| policy | place |"),
        "{written}"
    );
    assert!(
        written.contains("turnstone league sites --seeds 2 -o league.md"),
        "{written}"
    );
    for (command, code, says) in [
        ("league sites nowhere", 1, "nowhere"),
        ("league sites -o league.txt", 2, "--output"),
        ("league sites --seeds 0", 2, "--seeds"),
        ("league", 2, "WEB"),
    ] {
        let ran = turnstone(here, command);
        assert_eq!(ran.code, code, "{command}: {}", ran.err);
        assert!(ran.err.contains(says), "{command}: {}", ran.err);
    }
}
