//! `backtest importance`, `backtest trap` and `rank --method opic` from end to end.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};

use crate::run::{done, turnstone};
use crate::webs::HISTORY;

/// A number of a policy's last point.
fn at_end(json: &serde_json::Value, policy: &str, what: &str) -> f64 {
    let results = json["results"].as_array().unwrap();
    let result = results.iter().find(|r| r["policy"] == policy).unwrap();
    let points = result["points"].as_array().unwrap();
    points.last().unwrap()[what].as_f64().unwrap()
}

#[test]
fn the_papers_claims_hold_on_a_small_web_and_the_figures_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    done(
        folder.path(),
        "generate graph --model power-law --pages 3000 -o w",
    );
    let command = "backtest importance w --policies all --json --report r.html --plot p.svg";
    let json = done(folder.path(), command).json();
    assert_eq!(json["question"], "importance");
    let all = |policy| at_end(&json, policy, "error_all");
    let top10 = |policy| at_end(&json, policy, "error_top10");
    assert!(all("opic:select=random") > all("opic:select=cycle"));
    assert!(all("opic:select=random") > all("opic:select=greedy"));
    assert!(top10("opic:select=greedy") < 3.0 && all("opic:select=greedy") < 12.0);
    assert!(all("opic:window=improved-fixed,span=8") < all("opic:window=fixed,span=16"));
    let factor = |policy| at_end(&json, policy, "error_factor");
    assert!(factor("opic:select=greedy") < factor("opic:select=random"));
    let report = fs::read_to_string(folder.path().join("r.html")).unwrap();
    for figure in ["Figure 2", "Figure 3", "Figure 5"] {
        assert!(report.contains(figure), "{figure}");
    }
}

#[test]
fn several_change_rates_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    done(
        folder.path(),
        "generate graph --model power-law --pages 500 -o w",
    );
    let command = "backtest importance w --visits 3 --change-rate 0,0.2 --report r.html --json \
                   --policies opic,opic:window=variable,opic:window=interpolation";
    let ran = done(folder.path(), command);
    let json = ran.json();
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 * 4);
    assert_eq!(results[0]["policy"], "off-line");
    assert_eq!(results[7]["change_rate"], 0.2);
    // The same seed makes the same changes and the same estimates.
    let again = done(folder.path(), command).json();
    let points = |json: &serde_json::Value| -> Vec<serde_json::Value> {
        let results = json["results"].as_array().unwrap();
        results
            .iter()
            .map(|result| result["points"].clone())
            .collect()
    };
    assert_eq!(points(&json), points(&again));
    let report = fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(report.contains("Figure 4") && report.contains("Figure 6"));
}

#[test]
fn a_history_changes_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let packed = zstd::encode_all(HISTORY.as_bytes(), 3).unwrap();
    fs::write(folder.path().join("tiny.jsonl.zst"), packed).unwrap();
    let command = "backtest importance tiny.jsonl.zst --visits 200 --json --policies opic";
    let json = done(folder.path(), command).json();
    assert_eq!(json["pages"], 2);
    assert_eq!(json["results"][1]["gone"], 1, "one page vanished");
}

#[test]
fn interpolation_sees_one_read_of_a_tiny_site_in_steps() {
    // Two pages that link to each other and to the virtual page: each read moves 2/3 of all cash.
    // Interpolation takes cash to come in evenly, so an estimate is off by one such step, as a
    // share of the span, however long the crawl; k whole measures are exact.
    let folder = tempfile::tempdir().unwrap();
    let packed = zstd::encode_all(HISTORY.as_bytes(), 3).unwrap();
    fs::write(folder.path().join("tiny.jsonl.zst"), packed).unwrap();
    let command = "backtest importance tiny.jsonl.zst --visits 200 --json --policies \
                   opic:window=variable,opic:window=interpolation,span=2,\
                   opic:window=interpolation,span=4,opic:window=interpolation,span=16";
    let json = done(folder.path(), command).json();
    let expected = [0.0, 2.0 / 3.0 / 2.0, 2.0 / 3.0 / 4.0, 2.0 / 3.0 / 16.0];
    for (at, expected) in expected.into_iter().enumerate() {
        // The last point but one: the last snapshot, which changes all, comes after it.
        let points = json["results"][at + 1]["points"].as_array().unwrap();
        let error = points[points.len() - 2]["error_all"].as_f64().unwrap();
        assert!((error - 100.0 * expected).abs() < 0.1, "{at}: {error}");
    }
}

/// A web of three sites on five hosts.
fn sites(folder: &Path) {
    fs::write(folder.join("w.tsv"), "0\t3\n1\t3\n2\t4\n3\t0\n4\t3\n3\t4\n").unwrap();
    let urls = [
        "http://www.a.co.uk/",
        "http://news.a.co.uk/",
        "http://a.co.uk:8080/",
        "http://b.com/",
        "http://c.org/",
    ];
    fs::write(folder.join("w.urls"), urls.join("\n") + "\n").unwrap();
}

#[test]
fn sites_are_registrable_domains() {
    let folder = tempfile::tempdir().unwrap();
    sites(folder.path());
    let scores = |nodes: &str| -> Vec<String> {
        let command = format!("rank w --method opic --policy opic:nodes={nodes} -o s.tsv");
        done(folder.path(), &command);
        let text = fs::read_to_string(folder.path().join("s.tsv")).unwrap();
        text.lines()
            .map(|line| line.split_once('\t').unwrap().1.to_owned())
            .collect()
    };
    let by_site = scores("site");
    assert!(
        by_site[0] == by_site[1] && by_site[1] == by_site[2],
        "{by_site:?}"
    );
    assert!(
        by_site[2] != by_site[3] && by_site[3] != by_site[4],
        "{by_site:?}"
    );
    let by_host = scores("host");
    assert!(by_host[0] != by_host[1], "{by_host:?}");
    // The fixpoint is that of sites too, but for a little: the pages of a site take turns, where the
    // chain takes any of them each time.
    let command = "backtest importance w --visits 300 --policies opic:nodes=site --json";
    let json = done(folder.path(), command).json();
    let error = at_end(&json, "opic:nodes=site", "error_all");
    assert!(error < 2.0, "{error}");
}

#[test]
fn a_polite_crawl_takes_time() {
    let folder = tempfile::tempdir().unwrap();
    sites(folder.path());
    let crawl = |delay: &str| {
        let command = format!("backtest importance w --visits 100 --policies opic --json {delay}");
        done(folder.path(), &command).json()
    };
    let seconds = crawl("--delay 1s")["results"][1]["crawl_seconds"]
        .as_f64()
        .unwrap();
    // 500 reads, at most one a second of each of five hosts, the first at once.
    assert!((99.0..=510.0).contains(&seconds), "{seconds}");
    assert_eq!(
        crawl("")["results"][1]["crawl_seconds"],
        serde_json::Value::Null
    );
}

#[test]
fn opic_ranks_like_pagerank_when_the_virtual_page_takes_a_fraction() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "generate graph --pages 500 -o w");
    let scores = |command: &str, file: &str| -> Vec<f64> {
        done(folder.path(), &format!("{command} -o {file}"));
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        let lines = text.lines().map(|line| line.split_once('\t').unwrap().1);
        lines.map(|score| score.parse().unwrap()).collect()
    };
    let opic = scores(
        "rank w --method opic --policy opic:virtual=fraction --visits 300",
        "opic.tsv",
    );
    let pagerank = scores("rank w --dangling spread", "pagerank.tsv");
    let distance: f64 = opic.iter().zip(&pagerank).map(|(a, b)| (a - b).abs()).sum();
    assert!(distance < 0.01, "{distance}");
    assert!((opic.iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn a_bonus_makes_pages_more_important() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "generate graph --pages 300 -o w");
    fs::write(folder.path().join("bonus.tsv"), "7\t30\n").unwrap();
    let score = |extra: &str| -> f64 {
        let command = format!("rank w --method opic -o s.tsv {extra}");
        done(folder.path(), &command);
        let text = fs::read_to_string(folder.path().join("s.tsv")).unwrap();
        let line = text.lines().nth(7).unwrap();
        line.split_once('\t').unwrap().1.parse().unwrap()
    };
    assert!(score("--bonus bonus.tsv") > 1.5 * score(""));
}

#[test]
fn a_trap_eats_less_of_a_crawl_by_importance() {
    let folder = tempfile::tempdir().unwrap();
    let command = "backtest trap --sections 10 --lists 20 --articles 5 --json --plot p.svg";
    let json = done(folder.path(), command).json();
    let trap = |policy| at_end(&json, policy, "trap_share");
    assert!(trap("rankmass") < trap("breadth-first"), "{json}");
}

fn check_fault(folder: &Path, arguments: &str, expected: Expect) {
    let ran = turnstone(folder, arguments);
    assert_eq!(ran.code, 2, "{}", ran.err);
    expected.assert_eq(&ran.err);
}

#[test]
fn wrong_arguments_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.tsv"), "0\t1\n").unwrap();
    check_fault(
        folder.path(),
        "backtest importance w --policies opic:windo=none",
        expect![[r#"
            turnstone: policy 'opic' has no parameter 'windo'; did you mean 'window'?
        "#]],
    );
    check_fault(
        folder.path(),
        "backtest importance w --change-rate 0,-1",
        expect![[r#"
            turnstone: --change-rate: each rate must be from 0 to 20
        "#]],
    );
    check_fault(
        folder.path(),
        "backtest importance w --bonus news=3",
        expect![[r#"
            turnstone: --bonus: 'news=3': the web has no addresses; give a file of pages by number
        "#]],
    );
    check_fault(
        folder.path(),
        "backtest importance w --bonus news",
        expect![[r#"
            turnstone: --bonus: 'news': there is no such file; give a file, or TEXT=SCORE such as news=3
        "#]],
    );
    check_fault(
        folder.path(),
        "rank w --method opic --policy opic:nodes=site",
        expect![[r#"
            turnstone: WEB: nodes=host and nodes=site need addresses; put them in a .urls file beside the web, line i for page i
        "#]],
    );
    sites(folder.path());
    check_fault(
        folder.path(),
        "backtest importance w --policies opic:nodes=host --bonus a.co=3",
        expect![[r#"
            turnstone: --bonus: pages earn more only where pages are counted; leave out nodes=host or nodes=site
        "#]],
    );
    check_fault(
        folder.path(),
        "backtest importance w --delay soon",
        expect![[r#"
            error: invalid value 'soon' for '--delay <TIME>': 'soon' is not a span of time; give one like 500ms, 1s, 2m, 1h or 2d

            For more information, try '--help'.
        "#]],
    );
    check_fault(
        folder.path(),
        "backtest trap --fetches 0",
        expect![[r#"
            turnstone: --fetches: must be from 1 to 100,000,000
        "#]],
    );
}
