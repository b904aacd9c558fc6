//! Looking at a crawl: `status`, `why`, `report`, `export`, and a crawl directory as a recorded web.
//!
//! One small web on loopback has something of everything: a page that robots.txt forbids, one that
//! is gone, one that moved, one that never works, a trap, and a second host.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use turnstone_lab::serve::{Answer, Handle, Options, Request, Web, start};

use crate::run::{Ran, done, turnstone};

fn web() -> Handle {
    start(Web::custom(2, answer), Options::default()).unwrap()
}

fn answer(request: &Request<'_>) -> Answer {
    let page = |title: &str, links: &[&str]| {
        let links: String = links
            .iter()
            .map(|link| format!("<a href='{link}'>x</a>"))
            .collect();
        Answer::html(format!(
            "<title>{title}</title><p>The text of {title}.</p>{links}"
        ))
    };
    let other = format!("{}/far", request.origins[1]);
    match (request.host, request.path) {
        (_, "/robots.txt") => Answer::text("User-agent: *\nDisallow: /secret\n"),
        (0, "/") => page(
            "front",
            &["/a", "/b", "/secret/x", "/gone", "/old", "/broken", &other],
        ),
        (0, "/a") => page("a, with a \"comma\"", &["/b", "/", "/old"]),
        (0, "/b") => page("b", &["/a", "/x/x/x/x/x/x/x/x/x/x/x/x"]),
        (0, "/old") => Answer::redirect(301, "/a"),
        (0, "/broken") => Answer::status(500),
        (1, "/far") => page("far", &[]),
        _ => Answer::not_found(),
    }
}

/// Crawls all of the small web into `c` below the folder.
fn crawl(folder: &Path, web: &Handle, more: &str) -> Ran {
    let command = format!(
        "crawl {0}/ -o c --allow-private --delay 0s --clock-scale 1000 --everywhere {more} --json",
        web.origin(0)
    );
    turnstone(folder, &command)
}

/// Cuts what changes from run to run.
fn steady(text: &str, web: &Handle) -> String {
    let text = text
        .replace(web.origin(0), "http://one")
        .replace(web.origin(1), "http://two");
    let mut steady = String::new();
    for line in text.lines() {
        let words: Vec<String> = line
            .split(' ')
            .map(|word| {
                let moment = word.len() == 20 && word.ends_with('Z') && word.starts_with("20");
                if moment {
                    "WHEN".to_owned()
                } else {
                    word.to_owned()
                }
            })
            .collect();
        steady += words.join(" ").trim_end();
        steady.push('\n');
    }
    steady
}

#[test]
fn status_after_a_crawl_tells_what_the_crawl_told() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    let crawled = crawl(folder.path(), &web, "");
    assert_eq!(crawled.code, 0, "{}", crawled.err);
    let (said, seen) = (
        crawled.json(),
        done(folder.path(), "status c --json").json(),
    );
    for key in [
        "pages",
        "known",
        "requests",
        "robots_requests",
        "bytes",
        "guaranteed",
        "upper_bound",
        "stopped_by",
        "statuses",
        "classes",
    ] {
        assert_eq!(seen[key], said[key], "{key}");
    }
    assert_eq!(seen["state"], "stopped");
    assert_eq!(seen["stopped_by"], "coverage");
    assert_eq!(seen["live"], Value::Null);
    assert_eq!(seen["policy"], "rankmass");
    assert_eq!(
        (&seen["pages"], &seen["states"]["fetched"]),
        (&4.into(), &4.into())
    );
    let human = done(folder.path(), "status c").out;
    for part in [
        "because the goal is reached",
        "4 stored of 9 known",
        "coverage",
        "█",
        "http-404",
    ] {
        assert!(human.contains(part), "{part} is not in\n{human}");
    }
}

#[test]
fn status_of_a_running_crawl_names_the_process_and_of_a_killed_one_says_so() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    let mut child = background(folder.path(), &web);
    let seen = eventually(folder.path(), |seen| seen["live"] != Value::Null);
    assert_eq!(seen["state"], "running");
    assert_eq!(seen["stopped_by"], Value::Null);
    let holder = seen["holder"].as_str().unwrap();
    assert!(holder.contains(&child.id().to_string()), "{holder}");
    let front = format!("why c {}/ --json", web.origin(0));
    assert_eq!(done(folder.path(), &front).json()["known"], true);
    child.kill().unwrap();
    child.wait().unwrap();
    let seen = done(folder.path(), "status c --json").json();
    assert_eq!(seen["state"], "interrupted");
    assert_eq!(seen["stopped_by"], Value::Null);
    assert!(done(folder.path(), "status c").out.contains("interrupted"));
}

/// A crawl that takes longer than anybody waits for it.
fn background(folder: &Path, web: &Handle) -> Child {
    let seed = format!("{}/", web.origin(0));
    Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args([
            "crawl",
            &seed,
            "-o",
            "c",
            "--allow-private",
            "--delay",
            "60s",
        ])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn eventually(folder: &Path, fits: impl Fn(&Value) -> bool) -> Value {
    let since = Instant::now();
    loop {
        let ran = turnstone(folder, "status c --json");
        if ran.code == 0 && fits(&ran.json()) {
            return ran.json();
        }
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "{}{}",
            ran.out,
            ran.err
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn why_tells_the_reason_of_every_page() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    crawl(folder.path(), &web, "");
    let why = |path: &str| {
        let ran = done(
            folder.path(),
            &format!("why c {}{path} --json", web.origin(0)),
        );
        let json = ran.json();
        let text = |key: &str| json[key].as_str().unwrap().to_owned();
        (
            text("state"),
            text("class"),
            steady(&text("reason"), &web),
            json,
        )
    };
    let check = |path: &str, state: &str, class: &str, reason: &str| {
        let (found, its_class, its_reason, _) = why(path);
        assert_eq!(
            (found.as_str(), its_class.as_str()),
            (state, class),
            "{path}"
        );
        assert!(its_reason.contains(reason), "{path}: {its_reason}");
    };
    check("/", "fetched", "ok", "in the store");
    check(
        "/secret/x",
        "refused",
        "robots",
        "robots.txt line 2: Disallow: /secret",
    );
    check("/gone", "gone", "http-404", "http-404");
    check("/old", "moved", "redirect", "redirects to http://one/a");
    check("/broken", "refused", "http-500", "given up after 3 tries");
    check("/x/x/x/x/x/x/x/x/x/x/x/x", "refused", "trap", "trap: ");
    check(
        "/never-seen",
        "not-known",
        "not-found-yet",
        "the crawler would ask for it",
    );
    check(
        "/secret/y",
        "not-known",
        "robots",
        "robots.txt line 2: Disallow: /secret",
    );

    let (.., b) = why("/b");
    let linking = [
        format!("{}/", web.origin(0)),
        format!("{}/a", web.origin(0)),
    ];
    assert_eq!(b["linked_from"], serde_json::json!(linking));
    assert_eq!(b["linked_from_count"], 2);
    let file = b["warc"]["filename"].as_str().unwrap();
    assert!(folder.path().join("c/warc").join(file).exists(), "{file}");
    assert_eq!(
        b["history"].as_array().unwrap().last().unwrap()["outcome"],
        "new"
    );
    let (.., a) = why("/a");
    assert_eq!(
        a["redirected_from"],
        serde_json::json!([format!("{}/old", web.origin(0))])
    );
    let (.., gone) = why("/gone");
    assert_eq!(
        gone["rank_parts"]["residual"], 0.0,
        "what is not there holds nothing: {gone}"
    );
    assert_eq!(gone["rank"].as_u64(), gone["rank_parts"]["rank"].as_u64());
    let (.., front) = why("/");
    assert_eq!(
        (&front["seed"], &front["rank_parts"]["trusted"]),
        (&true.into(), &true.into())
    );
    assert!(
        front["history"].as_array().unwrap().len() >= 2,
        "given back for robots.txt first"
    );

    let human = done(folder.path(), &format!("why c {}/secret/x", web.origin(0))).out;
    for part in [
        "refused: robots.txt line 2",
        "linked from",
        "1 stored page\n",
        "WHEN",
    ] {
        let human = steady(&human, &web);
        assert!(human.contains(part), "{part:?} is not in\n{human}");
    }
}

#[test]
fn why_tells_what_a_page_waits_for() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    crawl(folder.path(), &web, "--until pages=1");
    let ran = done(folder.path(), &format!("why c {}/a --json", web.origin(0)));
    let json = ran.json();
    assert_eq!(json["state"], "waiting");
    assert_eq!(json["rank_parts"]["queued"], 7);
    let place = json["rank_parts"]["place"].as_u64().unwrap();
    assert!((1..=7).contains(&place), "{place}");
    let waits = json["waits_for"].to_string();
    assert!(
        waits.contains("no crawl is running: the limit on pages is reached"),
        "{waits}"
    );
    let far = done(folder.path(), &format!("why c {}/far", web.origin(1))).out;
    let robots = format!(
        "the crawler has not asked for robots.txt of {} yet",
        web.origin(1)
    );
    assert!(far.contains(&robots), "{far}");
}

#[test]
fn why_shows_the_cash_of_opic() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    let ran = crawl(folder.path(), &web, "--policy opic --until pages=3");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = done(folder.path(), &format!("why c {}/b --json", web.origin(0)));
    let parts = &ran.json()["rank_parts"];
    for part in ["importance", "clock"] {
        assert!(parts[part].as_f64().unwrap() > 0.0, "{part}: {parts}");
    }
    // It has none if it was one of the three pages read.
    assert!(parts["cash"].as_f64().unwrap() >= 0.0, "{parts}");
    assert_eq!(parts["residual"], Value::Null);
    assert!(done(folder.path(), "status c --json").json()["guaranteed"].is_null());
    let human = done(folder.path(), &format!("why c {}/b", web.origin(0))).out;
    assert!(
        human.contains("cash") && human.contains("importance about"),
        "{human}"
    );
}

#[test]
fn a_crawl_leaves_a_report_that_needs_nothing() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    let ran = crawl(folder.path(), &web, "");
    assert!(
        ran.err.contains("report written to c/reports/crawl.html"),
        "{}",
        ran.err
    );
    let left = fs::read_to_string(folder.path().join("c/reports/crawl.html")).unwrap();
    for part in [
        "Coverage over requests",
        "What is missing",
        "Everything that exists is stored.",
        "What cannot be fetched",
        "Disallow: /secret",
        "Slowest hosts",
        "gone: http-404",
    ] {
        assert!(left.contains(part), "{part}");
    }
    assert!(!left.contains("<script") && !left.contains("src=") && !left.contains("<link"));
    assert!(
        left.contains("<a href=\"http://127."),
        "URLs can be followed"
    );
    let again = done(folder.path(), "report c -o again.html --json");
    assert_eq!(again.json()["report"], "again.html");
    // But for the moment at which it was made.
    let timeless = |page: &str| {
        let (before, after) = page.split_once("Made 20").unwrap();
        format!("{before}{}", after.split_once(" by turnstone").unwrap().1)
    };
    let again = fs::read_to_string(folder.path().join("again.html")).unwrap();
    assert_eq!(timeless(&again), timeless(&left));
    assert!(
        done(folder.path(), "report c")
            .out
            .contains("c/reports/crawl.html")
    );
}

#[test]
fn a_crawl_directory_is_a_recorded_web_and_so_is_what_is_exported() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    crawl(folder.path(), &web, "");
    let run = |command: &str| done(folder.path(), command);
    run("export graph c -o bv");
    run("export edges c -o list.tsv.zst");
    let facts = |of: &str| run(&format!("info {of} --json")).json()["graph"].clone();
    let whole = facts("c");
    assert_eq!((&whole["pages"], &whole["hosts"]), (&9.into(), &2.into()));
    // The front page has 7, a has 3, b has 2, old leads to a.
    assert_eq!(whole["links"], 13);
    assert_eq!((facts("bv"), facts("list.tsv.zst")), (whole.clone(), whole));
    assert!(run("info c").out.starts_with("crawl directory"));
    let rank = |of: &str| {
        run(&format!("rank {of} -o {of}.scores"));
        fs::read_to_string(folder.path().join(format!("{of}.scores"))).unwrap()
    };
    assert_eq!(rank("c"), rank("bv"));
    let json = run(&format!(
        "backtest coverage c --trusted {}/ --json",
        web.origin(0)
    ))
    .json();
    assert_eq!(json["pages"], 9);
    run("backtest importance c --visits 2 --json");
    // One crawl has no past: nothing could be found yet.
    assert_eq!(run("backtest discovery c --json").json()["cases"], 0);
}

#[test]
fn the_page_table_has_every_page_in_both_forms() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    crawl(folder.path(), &web, "");
    assert!(
        done(folder.path(), "export pages c -o p.jsonl")
            .out
            .contains("9 pages")
    );
    done(folder.path(), "export pages c -o p.csv");
    let text = fs::read_to_string(folder.path().join("p.jsonl")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 9);
    let find = |path: &str| {
        let url = format!("{}{path}", web.origin(0));
        rows.iter().find(|row| row["url"] == url.as_str()).unwrap()
    };
    let a = find("/a");
    assert_eq!(a["title"], "a, with a \"comma\"");
    assert_eq!(
        (&a["status"], &a["class"], &a["links"]),
        (&200.into(), &"ok".into(), &3.into())
    );
    assert_eq!(a["digest"].as_str().unwrap().len(), "sha1:".len() + 40);
    assert_eq!(find("/old")["moved_to"], a["url"]);
    assert_eq!(find("/secret/x")["status"], Value::Null);
    let csv = fs::read_to_string(folder.path().join("p.csv")).unwrap();
    assert_eq!(csv.lines().count(), 10);
    assert!(csv.starts_with("page,url,host,state,"), "{csv}");
    assert!(csv.contains("\"a, with a \"\"comma\"\"\""), "{csv}");
    let json = done(folder.path(), "export pages c -o q --format csv --json").json();
    assert_eq!(json["pages"], 9);
    assert_eq!(fs::read_to_string(folder.path().join("q")).unwrap(), csv);
}

#[test]
fn histories_go_back_into_the_lab() {
    let (folder, web) = (tempfile::tempdir().unwrap(), web());
    crawl(folder.path(), &web, "");
    // Another session asks for pages again, so that there is a second snapshot.
    done(
        folder.path(),
        "refresh c --budget 3 --clock-scale 1000 --allow-private --delay 0s",
    );
    let json = done(
        folder.path(),
        "export history c -o h --snapshot session --json",
    )
    .json();
    assert_eq!(json["histories"].as_array().unwrap().len(), 2);
    assert_eq!(json["histories"][0]["pages"], 3);
    assert_eq!(json["histories"][0]["snapshots"], 2);
    let info = done(folder.path(), "info h --json").json();
    assert_eq!(info["kind"], "histories");
    let first = &info["histories"][0];
    assert_eq!(first["snapshots"][0]["pages"], 3);
    assert_eq!(first["snapshots"][1]["changed"], 0);
    done(folder.path(), "backtest changes h --budget 1 --json");
    let one = turnstone(folder.path(), "export history c -o one.jsonl.zst");
    assert_eq!(one.code, 2, "{}", one.out);
    assert!(one.err.contains("2 sites"), "{}", one.err);
    let again = turnstone(folder.path(), "export history c -o h");
    assert_eq!(again.code, 2);
    assert!(again.err.contains("not empty"), "{}", again.err);
}

#[test]
fn what_is_no_crawl_directory_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for command in [
        "status empty",
        "status none",
        "why empty http://a.example/",
        "report empty",
        "export graph empty -o g",
        "export pages empty -o p",
        "export history empty -o h",
    ] {
        let ran = turnstone(folder.path(), command);
        assert_eq!(
            (ran.code, ran.err.lines().count()),
            (1, 1),
            "{command}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("not a crawl directory"),
            "{command}: {}",
            ran.err
        );
        assert_eq!(ran.out, "");
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing was made"
    );
    let web = web();
    crawl(folder.path(), &web, "--until pages=1");
    let ran = turnstone(folder.path(), "why c not-a-url");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("give a URL like"), "{}", ran.err);
    for command in [
        "export pages c -o no/p",
        "report c -o no/r",
        "export edges c -o no/e.tsv",
    ] {
        let ran = turnstone(folder.path(), command);
        assert_eq!(
            (ran.code, ran.err.lines().count()),
            (1, 1),
            "{command}: {}",
            ran.err
        );
        assert!(ran.err.contains("no/"), "{command}: {}", ran.err);
    }
    fs::remove_file(folder.path().join("c/turnstone.toml")).unwrap();
    let ran = turnstone(folder.path(), "status c");
    assert!(ran.err.contains("turnstone.toml"), "{}", ran.err);
}

#[test]
fn a_directory_without_seeds_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    drop(turnstone_pagestore::Store::create(&folder.path().join("c"), "a test").unwrap());
    let seen = done(folder.path(), "status c --json").json();
    assert_eq!(
        (&seen["pages"], &seen["guaranteed"]),
        (&0.into(), &Value::Null)
    );
    assert_eq!(
        done(folder.path(), "why c http://a.example/ --json").json()["known"],
        false
    );
    done(folder.path(), "report c");
    let history = turnstone(folder.path(), "export history c -o h");
    assert!(
        history.err.contains("there is no history"),
        "{}",
        history.err
    );
}
