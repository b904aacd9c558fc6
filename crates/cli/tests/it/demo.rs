//! `turnstone demo` as a newcomer runs it, only smaller.

use std::fs;

use crate::run::{done, turnstone};

#[test]
fn a_web_is_served_and_crawled_politely_until_the_goal_is_proven() {
    let folder = tempfile::tempdir().unwrap();
    let ran = done(folder.path(), "demo --pages 1500 --json");
    let told = ran.json();
    assert_eq!(told["web"]["pages"], 1500);
    assert_eq!(told["server"]["violations"], 0, "{}", ran.err);
    let crawl = &told["crawl"];
    assert_eq!(crawl["stopped_by"], "coverage");
    assert!(crawl["guaranteed"].as_f64() >= told["goal"].as_f64());
    assert!(crawl["guaranteed"].as_f64() <= crawl["upper_bound"].as_f64());
    for kind in ["3xx", "4xx"] {
        assert!(crawl["statuses"][kind].as_u64() > Some(0), "{crawl}");
    }
    assert_eq!(
        crawl["requests"], told["server"]["requests"],
        "both sides count alike"
    );
    assert!(crawl["classes"]["robots"].as_u64() > Some(0), "{crawl}");
    let puzzle = told["puzzle"].as_str().unwrap();
    let why = done(folder.path(), &format!("why demo {puzzle}")).out;
    assert!(
        why.contains("refused: robots.txt line 2: Disallow: /dir"),
        "{why}"
    );
    let report = folder.path().join(told["report"].as_str().unwrap());
    assert!(fs::read_to_string(report).unwrap().contains("<svg"));
    let status = done(folder.path(), "status demo --json").json();
    assert_eq!(status["guaranteed"], crawl["guaranteed"]);
    let documents = tempfile::tempdir().unwrap();
    fs::write(documents.path().join("demo.json"), told.to_string()).unwrap();
    crate::schemas::hold(documents.path(), &["all"]);
}

#[test]
fn only_a_demo_is_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("notes.txt"), "dear to me").unwrap();
    fs::write(mine.join("turnstone.toml"), "seeds = []").unwrap();
    let ran = turnstone(folder.path(), "demo --pages 100 -o mine");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("neither empty nor a demo"), "{}", ran.err);
    let config = fs::read_to_string(mine.join("turnstone.toml")).unwrap();
    assert_eq!(config, "seeds = []");
    let ran = done(folder.path(), "demo --pages 100 -o mine --force");
    assert!(ran.out.contains("0 of them impolite"), "{}", ran.out);
    assert!(ran.out.contains(" why mine http://h"), "{}", ran.out);
    done(folder.path(), "demo --pages 100 -o mine");
    let notes = fs::read_to_string(mine.join("notes.txt")).unwrap();
    assert_eq!(notes, "dear to me", "what is not ours stays");
}
