//! `advise`, and backtests on a crawl directory, from end to end.

use std::fs;
use std::path::Path;

use serde_json::Value;
use turnstone_lab::serve::{Answer, Options, Request, Web, start};

use crate::run::{done, turnstone};
use crate::webs::HISTORY;

/// A result without what differs from run to run.
fn steady(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("seconds");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

fn histories(folder: &Path) {
    done(
        folder,
        "generate history --sites 2 --pages 60 --snapshots 10 --seed 3 -o h",
    );
    done(folder, "import h -o c");
}

#[test]
fn an_imported_history_is_backtested_as_the_history_itself() {
    let folder = tempfile::tempdir().unwrap();
    histories(folder.path());
    for question in [
        "changes WEB --cycle-weeks 1 --cycles 9 --budget 10% --seeds 2 \
         --policies rns,round-robin,cohorts,directory-neighbours,gsb",
        "discovery WEB --budget 1,5 --recrawl-every 1,2 --policies od-1,cov-win,cliq-win,bandit",
        "liveness WEB --sample-size 5 --policies random,pagerank,pa-ratio,alive-bfs",
        "liveness WEB --from all --sample-size 5 --policies indegree",
    ] {
        let run = |web: &str| {
            let command = format!("backtest {question} --json").replace("WEB", web);
            steady(done(folder.path(), &command).json())
        };
        let (history, directory) = (run("h"), run("c"));
        for key in [
            "pages", "results", "sites", "cases", "new", "limits", "alive",
        ] {
            assert_eq!(history[key], directory[key], "{key} of {question}");
        }
        let unknown = |result: &Value| result["unknown"].as_f64().unwrap_or(0.0);
        let results = directory["results"].as_array().unwrap();
        assert!(
            results.iter().all(|result| unknown(result) == 0.0),
            "{question}"
        );
    }
}

#[test]
fn advice_is_the_same_again_and_names_the_command() {
    let folder = tempfile::tempdir().unwrap();
    histories(folder.path());
    let advise =
        |more: &str| done(folder.path(), &format!("advise c --seeds 2 --json {more}")).json();
    let json = steady(advise(""));
    assert_eq!(json, steady(advise("")));
    let results = json["results"].as_array().unwrap();
    let questions: Vec<&str> = results
        .iter()
        .map(|result| result["question"].as_str().unwrap())
        .collect();
    let all = ["coverage", "importance", "liveness", "discovery", "changes"];
    assert_eq!(questions, all);
    let changes = &results[4];
    assert_ne!(changes["verdict"]["kind"], "too-thin", "{changes}");
    let policy = changes["policy"].as_str().unwrap();
    let command = format!("turnstone refresh c --policy {policy}");
    assert_eq!(changes["command"], command.as_str());
    // Full recrawls are on record, but live rounds would not teach these.
    let discovery = &results[3];
    let tried = discovery["tried"].as_array().unwrap();
    let compared: Vec<&str> = tried
        .iter()
        .filter(|one| one["usable"] == false)
        .map(|one| one["policy"].as_str().unwrap())
        .collect();
    assert_eq!(compared, ["od-win", "cov", "cliq-win", "cov-win"]);
    let one = advise("--question changes --seconds-max 0");
    assert_eq!(one["results"].as_array().unwrap().len(), 1);
    assert_eq!(one["results"][0]["tried"].as_array().unwrap().len(), 1);
    let untried = one["results"][0]["untried"].as_array().unwrap();
    assert!(untried.contains(&"rns".into()), "{untried:?}");
}

#[test]
fn a_thin_history_is_said_to_be_thin_and_what_would_help() {
    let folder = tempfile::tempdir().unwrap();
    let once = HISTORY
        .lines()
        .filter(|line| !line.starts_with(r#"{"snapshot":1"#))
        .map(|line| line.replace(r#"["2020-01-05","2020-01-12"]"#, r#"["2020-01-05"]"#) + "\n")
        .collect::<String>();
    let packed = zstd::encode_all(once.as_bytes(), 3).unwrap();
    fs::write(folder.path().join("once.jsonl.zst"), packed).unwrap();
    done(folder.path(), "import once.jsonl.zst -o c");
    let text = done(folder.path(), "advise c --report r.html").out;
    for expected in [
        "changes: too thin to tell: fetched once only: nothing can be said about changes. To know \
         more, run `turnstone refresh` a few times",
        "liveness: too thin to tell: no page was fetched twice",
        "discovery: too thin to tell: crawled once only",
        "coverage: too thin to tell: the record answers only 2 of the requests",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let page = fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(page.contains("How it is decided") && page.contains("too thin to tell"));
    // The backtests themselves say so in one line.
    for (question, why) in [
        ("changes c", "one round only"),
        ("liveness c", "no page was fetched twice"),
    ] {
        let ran = turnstone(folder.path(), &format!("backtest {question}"));
        assert_ne!(ran.code, 0);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    let ran = turnstone(folder.path(), "advise nowhere");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

/// A site of 20 pages, each of which says how often it was asked for.
fn answer(request: &Request<'_>) -> Answer {
    match request.path {
        "/robots.txt" => Answer::text("User-agent: *\nAllow: /\n"),
        "/" => {
            let links: String = (1..20).map(|i| format!("<a href='/{i}'>{i}</a>")).collect();
            Answer::html(format!("<title>front</title>{links}"))
        }
        path => Answer::html(format!("<title>{path}</title><p>The text of {path}.</p>")),
    }
}

#[test]
fn explored_pages_have_their_chance_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let web = start(Web::custom(1, answer), Options::default()).unwrap();
    let live = "--allow-private --delay 0s --clock-scale 1000";
    let crawl = format!("crawl {}/ -o c {live} --json", web.origin(0));
    assert_eq!(turnstone(folder.path(), &crawl).code, 0);
    let refresh = format!("refresh c --budget 8 --policy round-robin --explore 50% {live}");
    let said = done(folder.path(), &format!("{refresh} --json")).json();
    done(folder.path(), "export pages c -o p.jsonl");
    let text = fs::read_to_string(folder.path().join("p.jsonl")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let drawn: Vec<&Value> = rows.iter().filter(|row| row["chance"] != 1.0).collect();
    // Four were drawn of twenty; those that the policy chose too were certain.
    assert!((1..=4).contains(&drawn.len()), "{drawn:?}");
    assert!(
        drawn
            .iter()
            .all(|row| (row["chance"].as_f64().unwrap() - 0.2).abs() < 1e-6)
    );
    // Too few for a number; what is sure is that pages looked at are current.
    assert_eq!(said["drawn"], drawn.len(), "{said}");
    assert_eq!(said["freshness"], Value::Null);
    let looked = said["fetched"].as_f64().unwrap() / 20.0;
    let bounds = ["freshness_low", "freshness_high"].map(|key| said[key].as_f64().unwrap());
    assert!(looked <= bounds[0] && bounds[0] < bounds[1], "{said}");
    assert_eq!(bounds[1], 1.0);
    let why = format!("why c {}", drawn[0]["url"].as_str().unwrap());
    let told = done(folder.path(), &why).out;
    assert!(told.contains("drawn with chance 1 in 5"), "{told}");
    let json = done(folder.path(), &format!("{why} --json")).json();
    let history = json["history"].as_array().unwrap();
    let chances: Vec<f64> = history
        .iter()
        .map(|outcome| outcome["chance"].as_f64().unwrap())
        .collect();
    assert!(
        chances[0] == 1.0 && (chances[1] - 0.2).abs() < 1e-6,
        "{json}"
    );
    // The round answers for eight pages, and for no other.
    let json = done(
        folder.path(),
        "backtest changes c --budget 20 --policies rns --json",
    )
    .json();
    let result = &json["results"][0];
    assert_eq!(
        (&json["cycles"], &json["page_cycles"]),
        (&1.into(), &20.into())
    );
    let known = json["known_page_cycles"].as_f64().unwrap();
    assert_eq!(result["unknown"].as_f64().unwrap(), 20.0 - known);
    assert!(
        result["doubt"]["unknown_share"].as_f64().unwrap() > 0.5,
        "{result}"
    );
    assert!(result["bound_change_ratio"].is_null());
    let table = done(
        folder.path(),
        "backtest changes c --budget 20 --policies rns",
    )
    .out;
    assert!(
        table.contains("unknown") && table.contains("ChangeRatio from to"),
        "{table}"
    );
    let check = |more: &str, expect: &str| {
        let ran = done(folder.path(), &format!("refresh c {more} {live}")).out;
        assert!(ran.contains(expect), "{ran}");
    };
    check(
        "--budget 5 --policy round-robin",
        "at least 25.0 % of the 20 stored pages are current; the pages looked at were chosen",
    );
    check(
        "--budget 100%",
        "all 20 stored pages were looked at and are current",
    );
    let wrong = turnstone(folder.path(), "refresh c --explore 2");
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

#[test]
fn pages_known_and_never_fetched_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let web = start(Web::custom(1, answer), Options::default()).unwrap();
    let crawl = format!(
        "crawl {}/ -o c --allow-private --delay 0s --clock-scale 1000 --until pages=5",
        web.origin(0)
    );
    turnstone(folder.path(), &crawl);
    let json = done(
        folder.path(),
        &format!(
            "backtest coverage c --trusted {}/ --epsilon 0.01 --json",
            web.origin(0)
        ),
    )
    .json();
    assert_eq!(
        (&json["pages"], &json["unknown_pages"]),
        (&20.into(), &15.into())
    );
    let rankmass = &json["results"][1];
    let (downloads, unknown) = (&rankmass["downloads"], &rankmass["unknown"]);
    assert!(unknown.as_u64().unwrap() > 0, "{downloads} {unknown}");
    let json = done(folder.path(), "backtest importance c --visits 2 --json").json();
    assert!(json["results"][1]["unknown"].as_u64().unwrap() > 0);
}
