//! `--listen` and `turnstone serve` by the real binary: a crawl that is watched and ordered while it runs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{done, turnstone};

/// A process that serves.
struct Serving {
    child: Child,
    said: BufReader<ChildStderr>,
    address: String,
}

impl Serving {
    fn start(folder: &Path, arguments: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_turnstone"))
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut all = String::new();
        let address = loop {
            let before = all.len();
            assert!(said.read_line(&mut all).unwrap() > 0, "it ended: {all}");
            if let Some((_, rest)) = all[before..].split_once("dashboard: http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        Self {
            child,
            said,
            address,
        }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let timeout = Some(Duration::from_secs(60));
        stream.set_read_timeout(timeout).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn crawl(&self) -> Value {
        self.ask("GET", "/api/v1/crawls/demo", "").1
    }

    fn order(&self, order: &Value) -> Value {
        let (status, said) = self.ask("POST", "/api/v1/crawls/demo/orders", &order.to_string());
        assert_eq!(status, 200, "{order}: {said}");
        said["done"].clone()
    }

    fn until(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let crawl = self.crawl();
            if is_it(&crawl) {
                return crawl;
            }
            assert!(Instant::now() < end, "never so: {crawl:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The rest of what it says, once it ends.
    fn rest(mut self) -> String {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap();
        rest
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap()
}

#[test]
fn a_crawl_is_watched_and_ordered_and_decides_again_what_it_decided() {
    let folder = tempfile::tempdir().unwrap();
    let running = Serving::start(folder.path(), "demo --log json --pages 3000 --listen 0");
    running.until(|crawl| crawl["state"] == "running" && number(crawl, "requests") > 100);
    assert_eq!(
        running.order(&json!({"order": "pause"})),
        "it waits; what is under way comes back"
    );
    let quiet = running.until(|crawl| crawl["state"] == "paused" && crawl["open"] == 0);
    // Two looks later it has asked for nothing more.
    let looked = |before: &Value| {
        let before = before["as_of"].clone();
        running.until(|crawl| crawl["as_of"] != before)
    };
    let later = looked(&looked(&quiet));
    assert_eq!(
        (&later["requests"], &later["state"]),
        (&quiet["requests"], &json!("paused"))
    );

    // While it waits the plan changes: a page that nothing led to, and a directory that is out from now on.
    let seed = quiet["events"][0]["url"].as_str().unwrap();
    let (origin, _) = seed.split_at(seed.find("/dir").unwrap_or(seed.len() - 1));
    let fresh = format!("{origin}/nobody-links-here.html");
    let said = running.order(&json!({"order": "seeds", "add": [fresh]}));
    assert!(
        said.as_str()
            .unwrap()
            .starts_with("the plan changed: pages new 1, come"),
        "{said}"
    );
    let said = running.order(
        &json!({"order": "scope", "scope": {"everywhere": true, "exclude": ["/dir0[2-9]/"]}}),
    );
    let left = said.as_str().unwrap().rsplit(' ').next().unwrap();
    assert!(left.parse::<u64>().unwrap() > 0, "{said}");
    let narrow = running.until(|crawl| number(&crawl["states"], "out-of-scope") > 0);
    assert_eq!(narrow["seeds"], number(&quiet, "seeds") + 1);
    let (status, said) = running.ask(
        "POST",
        "/api/v1/crawls/demo/orders",
        r#"{"order":"seeds","add":["ftp://x/"]}"#,
    );
    assert_eq!(status, 409, "{said}");
    let end = number(&quiet, "requests") + 150;
    running.order(&json!({"order": "budgets", "budgets": {"requests": end}}));
    let (_, why) = running.ask("GET", &format!("/api/v1/crawls/demo/why?url={fresh}"), "");
    assert_eq!(
        (&why["why"]["seed"], &why["why"]["state"]),
        (&json!(true), &json!("waiting")),
        "{why}"
    );
    running.order(&json!({"order": "resume"}));
    let said = running.rest();
    for line in said.lines() {
        let document: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            document["time"].is_string() && document["level"].is_string(),
            "{line}"
        );
    }

    let status = done(folder.path(), "status demo --json").json();
    assert_eq!(
        (&status["stopped_by"], &status["requests"]),
        (&json!("requests"), &json!(end)),
        "{said}"
    );
    // From the journal alone every hand-out since the last plan is decided again.
    let audit = turnstone(folder.path(), "audit demo");
    assert_eq!(
        audit.code, 3,
        "the goal is not proven: {}{}",
        audit.out, audit.err
    );
    assert!(
        audit.out.contains("every hand-out as it stands there"),
        "{}",
        audit.out
    );
    let config = std::fs::read_to_string(folder.path().join("demo/turnstone.toml")).unwrap();
    assert!(
        config.contains("nobody-links-here") && config.contains("/dir0[2-9]/"),
        "{config}"
    );
    // Nothing of it is news to the next run.
    let hosts = "--hosts-file demo/hosts.tsv";
    let again = turnstone(
        folder.path(),
        &format!("crawl -o demo {hosts} --until requests={end} --json"),
    );
    assert_eq!(again.json()["requests"], end, "{}{}", again.out, again.err);
    assert!(!again.err.contains("the scope changed"), "{}", again.err);

    // Another process shows it, and orders nothing.
    let looking = Serving::start(folder.path(), "serve demo --listen 0");
    let crawl = looking.crawl();
    assert_eq!(
        (&crawl["takes_orders"], &crawl["state"]),
        (&json!(false), &json!("stopped"))
    );
    let orders = crawl["orders"].as_array().unwrap();
    let orders: Vec<&str> = orders
        .iter()
        .filter_map(|row| row["order"]["order"].as_str())
        .collect();
    assert_eq!(orders, ["resume", "budgets", "scope", "seeds", "pause"]);
    let (status, said) = looking.ask("POST", "/api/v1/crawls/demo/orders", r#"{"order":"pause"}"#);
    assert_eq!(status, 409, "{said}");
    for page in [
        "/",
        "/c/demo",
        "/c/demo/report",
        "/c/demo/hosts",
        "/metrics",
    ] {
        assert_eq!(looking.ask("GET", page, "").0, 200, "{page}");
    }
    let port = looking.address.clone();
    let taken = turnstone(folder.path(), &format!("serve demo --listen {port}"));
    assert_eq!(
        (taken.code, taken.err.lines().count()),
        (2, 1),
        "{}",
        taken.err
    );
    assert!(
        taken.err.contains("another program listens there"),
        "{}",
        taken.err
    );
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("short"), "secret").unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let check = |arguments: &str, code: i32, expect: &str| {
        let ran = turnstone(folder.path(), arguments);
        assert_eq!(ran.code, code, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(expect), "{arguments}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    };
    check("serve empty --listen 0", 1, "empty: not a crawl directory");
    check(
        "serve empty --listen 0.0.0.0:0",
        2,
        "can be reached from other machines: give a file with a token",
    );
    check("serve empty --listen 99999", 2, "is no port such as 7700");
    check(
        "serve empty --listen 0 --token-file short",
        2,
        "the token has 6 bytes",
    );
    check(
        "serve empty --listen 0 --token-file none",
        1,
        "none: No such file",
    );
}
