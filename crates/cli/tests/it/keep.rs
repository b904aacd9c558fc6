//! `backtest keep` on made-up sites.

use crate::run::{done, turnstone};

/// Two made-up sites of a little more than a year.
fn made_up() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    done(
        folder.path(),
        "generate history --sites 2 --pages 60 --snapshots 54 --output sites",
    );
    folder
}

#[test]
fn policies_are_compared_with_the_same_budget() {
    let folder = made_up();
    let command = "backtest keep sites --policies keep:refresh=0.2,uniform,interval --json";
    let json = done(folder.path(), command).json();
    assert_eq!(
        (&json["question"], &json["sites"], &json["days"]),
        (&"keep".into(), &2.into(), &364.into())
    );
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        for kept in ["together", "alone"] {
            let of = &result[kept];
            assert_eq!(of["new_pages"], results[0]["together"]["new_pages"]);
            assert!(of["requests"].as_u64() <= of["budget"].as_u64());
            assert!((0.0..=1.0).contains(&of["freshness"].as_f64().unwrap()));
            assert!(of["found_share"].as_f64() <= of["known_share"].as_f64());
        }
        assert_eq!(result["days"].as_array().unwrap().len(), 364);
        assert_eq!(result["sites"].as_array().unwrap().len(), 2);
    }
    let arms = results[0]["split"].as_array().unwrap();
    let spent: u64 = arms
        .iter()
        .map(|arm| arm["requests"].as_u64().unwrap())
        .sum();
    assert_eq!(Some(spent), results[0]["together"]["requests"].as_u64());
    assert_eq!(arms[1]["floor"], 0.2);
    assert!(results[1]["split"].is_null());
}

#[test]
fn a_table_a_picture_and_a_report_are_made() {
    let folder = made_up();
    let command = "backtest keep sites --days 90 --rounds weekly --budget 20% --by-site --plot p.svg \
                   --report r.html";
    let out = done(folder.path(), command).out;
    for word in [
        "together",
        "each alone",
        "retest",
        "median delay",
        "uniform",
    ] {
        assert!(out.contains(word), "{word} is missing in\n{out}");
    }
    let picture = std::fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(picture.contains("Freshness over the year"));
    let report = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(report.contains("New pages found") && report.contains("turnstone backtest keep"));
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_can() {
    let folder = made_up();
    for (arguments, words) in [
        ("--budget 0%", "--budget: must be above 0"),
        (
            "--budget 7",
            "'7' is not a share up to 100%; give one like 10% or 0.1",
        ),
        ("--days 3000", "no site has a history of 3000 days"),
        ("--policies kep", "did you mean 'keep'?"),
        ("--policies keep:refresh=2", "give a number from 0 to 1"),
    ] {
        let ran = turnstone(folder.path(), &format!("backtest keep sites {arguments}"));
        assert_eq!(ran.code, 2, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(words), "{arguments}: {}", ran.err);
    }
}
