//! `backtest discovery` from end to end on small histories.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::run::{Ran, done, turnstone};

/// A site whose front page links to the one new page of each snapshot, and to a new host.
fn site(name: &str, snapshots: u32) -> String {
    let dates: Vec<String> = (0..snapshots)
        .map(|t| format!("\"2020-01-{:02}\"", t + 1))
        .collect();
    let pages = snapshots + 1;
    let mut text = format!(
        "{{\"site\":\"{name}\",\"origin\":\"https://{name}.example/\",\"pages\":{pages},\"snapshots\":[{}]}}\n",
        dates.join(",")
    );
    for page in 0..pages {
        writeln!(text, "{{\"page\":{page},\"url\":\"/{page}\"}}").unwrap();
    }
    for host in 0..snapshots {
        writeln!(text, "{{\"host\":{host},\"name\":\"h{host}.example\"}}").unwrap();
    }
    for version in 0..snapshots {
        let links: Vec<String> = (1..=version + 1).map(|page| page.to_string()).collect();
        let links = links.join(",");
        writeln!(
            text,
            "{{\"version\":{version},\"raw\":\"0\",\"text\":\"0\",\"hosts\":[{version}],\"links\":[{links}]}}"
        )
        .unwrap();
    }
    let empty = snapshots;
    writeln!(
        text,
        "{{\"version\":{empty},\"raw\":\"0\",\"text\":\"0\",\"links\":[]}}"
    )
    .unwrap();
    for snapshot in 0..snapshots {
        let page = snapshot + 1;
        writeln!(
            text,
            "{{\"snapshot\":{snapshot},\"set\":[[0,{snapshot}],[{page},{empty}]],\"gone\":[]}}"
        )
        .unwrap();
    }
    text
}

fn write(folder: &Path, name: &str, text: &str) {
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    fs::write(folder.join(name), packed).unwrap();
}

fn backtest(arguments: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.jsonl.zst", &site("a", 5));
    write(folder.path(), "b.jsonl.zst", &site("b", 3));
    let ran = done(folder.path(), &format!("backtest discovery {arguments}"));
    if arguments.contains("r.html") {
        let report = fs::read_to_string(folder.path().join("r.html")).unwrap();
        for figure in [
            "Figure 2.",
            "Figure 3c.",
            "Figure 4.",
            "Figure 7.",
            "Figure 9.",
        ] {
            assert!(report.contains(figure), "{figure} is missing");
        }
        let plot = fs::read_to_string(folder.path().join("p.svg")).unwrap();
        assert!(plot.starts_with("<svg"));
    }
    ran
}

/// A figure of a policy at a budget and recrawl period.
fn figure(ran: &Ran, policy: &str, (every, budget): (u64, u64), what: &str) -> f64 {
    let json = ran.json();
    let rows = json["results"].as_array().unwrap();
    let row = rows.iter().find(|row| {
        row["policy"] == policy && row["budget"] == budget && row["recrawl_every"] == every
    });
    row.unwrap()[what].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn the_table_is_what_can_be_counted_by_hand() {
    let ran = backtest(". --policies od-win,cov --budget 1,10 --json");
    // Site a has cases at snapshots 1 to 4, b at 1 and 2; nobody knows anything at snapshot 1.
    assert_eq!(ran.json()["cases"], 6);
    assert_eq!(ran.json()["orphans"], 0);
    for policy in ["od-win", "cov"] {
        let at = |what| figure(&ran, policy, (1, 10), what);
        assert!((at("coverage") - 4.0 / 6.0).abs() < 1e-12);
        assert!((at("size") - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(
            (at("depth"), at("overhead_mean"), at("overhead_pooled")),
            (0.0, 1.0, 1.0)
        );
    }
    assert_eq!(figure(&ran, "greedy-cover", (1, 1), "coverage"), 1.0);
    assert_eq!(figure(&ran, "greedy-cover", (1, 1), "bound"), 1.0);
    let limit = &ran.json()["limits"][0];
    assert!((limit["coverage"].as_f64().unwrap() - 4.0 / 6.0).abs() < 1e-12);
}

#[test]
fn recrawls_are_no_cases_and_periods_are_added_up() {
    let ran =
        backtest("a.jsonl.zst --policies od-win,od-all --budget 1 --recrawl-every 2,1 --json");
    // Recrawls at 0, 2 and 4: cases 1 and 3.
    assert_eq!(figure(&ran, "od-win", (2, 1), "cases"), 2.0);
    assert_eq!(figure(&ran, "od-win", (2, 1), "coverage"), 0.5);
    let json = ran.json();
    let together = json["results"].as_array().unwrap().iter();
    let mut together = together.filter(|row| row["recrawl_every"].is_null());
    assert_eq!(together.next().unwrap()["cases"], 6);
}

#[test]
fn hosts_sites_and_pictures() {
    let ran = backtest(". --find hosts --policies od-win --budget 1 --json --by-site");
    assert!((figure(&ran, "od-win", (1, 1), "coverage") - 4.0 / 6.0).abs() < 1e-12);
    assert_eq!(ran.json()["sites"][1]["site"], "b");
    assert_eq!(ran.json()["sites"][1]["new"], 2);
    let ran =
        backtest("a.jsonl.zst b.jsonl.zst --policies all --plot p.svg --report r.html --by-site");
    assert!(ran.out.contains("cov-win") && ran.out.contains("history limit"));
}

#[test]
fn the_same_seed_means_the_same_table() {
    let run = |seed: u32| {
        let ran = backtest(&format!(
            ". --policies bandit --budget 1 --seed {seed} --json"
        ));
        ran.json()["results"].to_string()
    };
    assert_eq!(run(7), run(7));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = site("a", 3);
    write(folder.path(), "a.jsonl.zst", &good);
    write(
        folder.path(),
        "v.jsonl.zst",
        &good.replace("[[0,1]", "[[0,99]"),
    );
    write(
        folder.path(),
        "p.jsonl.zst",
        &good.replace("\"gone\":[]", "\"gone\":[77]"),
    );
    let later = good.replace("2020-01-02", "2021-01-02");
    write(folder.path(), "d.jsonl.zst", &later);
    fs::write(folder.path().join("w.tsv"), "0\t1\n").unwrap();
    for (arguments, code, words) in [
        ("w.tsv", 1, "w.tsv: a link graph without history"),
        ("a.jsonl.zst --policies od-wni", 2, "did you mean 'od-win'"),
        (
            "a.jsonl.zst --policies od-win:decay=2",
            2,
            "above 0 and at most 1",
        ),
        ("a.jsonl.zst --policies cov-win:again=-1", 2, "from 0 to 1"),
        ("a.jsonl.zst --decay 0", 2, "--decay"),
        ("a.jsonl.zst --budget 0", 2, "--budget"),
        ("a.jsonl.zst --recrawl-every 0", 2, "--recrawl-every"),
        (
            "v.jsonl.zst",
            1,
            "v.jsonl.zst:14: version 99 is not defined",
        ),
        ("p.jsonl.zst", 1, "p.jsonl.zst:13: page 77 is not defined"),
        (
            "d.jsonl.zst",
            1,
            "d.jsonl.zst:1: snapshot 2020-01-03 comes after a later one",
        ),
    ] {
        let ran = turnstone(folder.path(), &format!("backtest discovery {arguments}"));
        assert_eq!(ran.code, code, "{arguments}\n{}{}", ran.out, ran.err);
        assert!(
            ran.err.contains(words),
            "'{words}' is missing in: {}",
            ran.err
        );
        assert_eq!(ran.out, "");
    }
}

#[test]
fn a_choice_is_reported_on_sites_that_had_no_part_in_it() {
    let arguments = ". --policies od-win,cov-win,cov --budget 1,2 --recrawl-every 1,2,3 --folds 3";
    let ran = backtest(arguments);
    assert!(ran.out.contains("chosen on the other sites"), "{}", ran.out);
    let json = backtest(&format!("{arguments} --json")).json();
    let folds = json["folds"].as_array().unwrap();
    let sites: usize = folds
        .iter()
        .map(|fold| fold["sites"].as_array().unwrap().len())
        .sum();
    assert_eq!(sites, 2, "every site once");
    let rows = json["held_out"].as_array().unwrap();
    // Two policies, two budgets; three periods apart, and the last two together.
    assert_eq!(rows.len(), 2 * 2 * 4);
    let folder = tempfile::tempdir().unwrap();
    let alone = turnstone(
        folder.path(),
        "backtest discovery . --policies cov-win --folds 2",
    );
    assert_eq!(alone.code, 2);
    assert!(
        alone.err.contains("name a policy to compare with"),
        "{}",
        alone.err
    );
}
