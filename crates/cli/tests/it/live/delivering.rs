//! Events of a live crawl reach those who want them: while the crawl is killed again and again, while a
//! receiver says no, and while another is dead.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use turnstone_lab::serve::{Answer, Options, Web, start};

use super::crawler::{Crawler, until};
use crate::run::{done, turnstone};

/// A hook that says no to every third delivery. Keeps what it said yes to.
fn hook() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/s3cr3t", listener.local_addr().unwrap());
    let taken = Arc::new(Mutex::new(Vec::new()));
    let into = taken.clone();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            // Whoever sends may be killed half way.
            if length == 0 || reader.read_exact(&mut body).is_err() {
                continue;
            }
            let said = if number % 3 == 2 {
                "503 Busy"
            } else {
                "200 OK"
            };
            if number % 3 != 2 {
                let body: Value = serde_json::from_slice(&body).unwrap();
                let events = body["events"].as_array().unwrap().clone();
                into.lock().unwrap().extend(events);
            }
            let answer =
                format!("HTTP/1.1 {said}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, taken)
}

fn ids(events: &[Value]) -> Vec<String> {
    let id = |event: &Value| event["id"].as_str().unwrap().to_owned();
    events.iter().map(id).collect()
}

fn lines(text: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().map(read).collect()
}

/// Whether any file below a folder has a text in it.
fn has(folder: &Path, text: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => has(&path, text),
            false => fs::read(&path)
                .unwrap()
                .windows(text.len())
                .any(|bytes| bytes == text),
        }
    })
}

#[test]
fn events_are_delivered_over_kills_and_dead_receivers() {
    let kills: usize = std::env::var("KILLS").map_or(3, |kills| kills.parse().unwrap());
    let pages = 120.max(kills * 25);
    let links: String = (0..pages)
        .map(|page| format!("<a href=/{page}>p</a> "))
        .collect();
    let web = Web::custom(1, move |request| match request.path {
        "/" => Answer::html(links.clone()),
        path => Answer::html(format!("<title>{path}</title><p>page {path}</p>")),
    });
    let server = start(web, Options::default()).unwrap();
    let (url, taken) = hook();
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.ndjson");
    let crawler = Crawler::new(&format!(
        "{} --allow-private --delay 20ms --policy breadth-first --deliver webhook={url} \
         --deliver ndjson={} --deliver webhook=http://{dead}/s3cr3t",
        server.seeds().join(" "),
        file.display(),
    ));
    let told = || fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    // Killed whenever something new was delivered.
    for _ in 0..kills {
        let before = told();
        let running = crawler.start();
        until("something is delivered", || told() > before);
        assert!(running.kill(), "the crawl was over: {}", crawler.said());
    }
    crawler.finish();
    let directory = crawler.directory();
    let parent = directory.parent().unwrap();
    let happened = lines(&done(parent, "events crawl --json").out);
    assert_eq!(happened.len(), pages + 1);
    assert_eq!(lines(&fs::read_to_string(&file).unwrap()), happened);
    // The hook said no at times; what it missed comes by the next run.
    let again = format!("deliver crawl --json --deliver webhook={url}");
    until("all is taken", || {
        let ran = turnstone(parent, &again);
        ran.json()["receivers"][0]["waiting"] == 0
    });
    let taken = taken.lock().unwrap().clone();
    let mut seen = BTreeSet::new();
    let first: Vec<String> = ids(&taken)
        .into_iter()
        .filter(|id| seen.insert(id.clone()))
        .collect();
    assert_eq!(first, ids(&happened));
    // The dead one stopped nobody, was told of, and waits.
    let said = crawler.said();
    assert!(
        said.contains("not delivered") && said.contains(&format!("http://{dead}:")),
        "{said}"
    );
    assert!(!said.contains("s3cr3t"), "{said}");
    assert!(!has(&directory, b"s3cr3t"));
    let ran = turnstone(
        parent,
        &format!("deliver crawl --json --deliver webhook=http://{dead}/s3cr3t"),
    );
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(ran.json()["receivers"][0]["waiting"], pages + 1);
    assert!(
        !ran.out.contains("s3cr3t") && !ran.err.contains("s3cr3t"),
        "{}",
        ran.err
    );
}

#[test]
fn receivers_of_the_file_are_read_and_wrong_ones_are_said() {
    let web = Web::custom(1, |_| Answer::html("<title>one</title>"));
    let server = start(web, Options::default()).unwrap();
    let crawler = Crawler::new(&format!("{} --allow-private", server.seeds().join(" ")));
    crawler.finish();
    let directory = crawler.directory();
    let parent = directory.parent().unwrap();
    let asked = fs::read_to_string(directory.join("turnstone.toml")).unwrap();
    let with = |more: &str| {
        let text = format!("{asked}\n{more}");
        fs::write(directory.join("turnstone.toml"), text).unwrap();
    };
    let check = |more: &str, wanted: &str| {
        with(&format!("[[deliver]]\n{more}"));
        let ran = turnstone(parent, "deliver crawl");
        assert_eq!(ran.code, 2, "{more}: {}", ran.err);
        assert!(
            ran.err.contains(wanted) && ran.err.lines().count() == 1,
            "{more}: {}",
            ran.err
        );
    };
    check("name = 'a b'\nexec = 'true'", "give a name");
    check(
        "name = 'a'",
        "give one of webhook, exec, atom, ndjson and mail",
    );
    check("name = 'a'\nexec = 'true'\natom = 'x'", "give one of");
    check(
        "name = 'a'\nexec = 'true'\nkinds = ['old']",
        "there are new, changed",
    );
    check(
        "name = 'a'\nexec = 'true'\nevery = 'weekly'",
        "there are at-once, hourly and daily",
    );
    check("name = 'a'\nwebhook = 'ftp://x'", "http or https");
    check(
        "name = 'a'\nwebhook = 'http://x/'\nsecret-env = 'NOT_SET_AT_ALL'",
        "NOT_SET_AT_ALL is not set",
    );
    check("name = 'a'\nmail = ['a@example.org']", "it takes a server");
    check("name = 'a'\nsecret = 'x'", "unknown field");
    check(
        "name = 'a'\nexec = 'true'\n[[deliver]]\nname = 'a'\nexec = 'false'",
        "two receivers are called 'a'",
    );
    with("");
    assert_eq!(turnstone(parent, "deliver crawl").code, 2);

    // A new receiver begins now, unless it wants everything; a digest waits for its time.
    with(
        "[[deliver]]\nname = 'now'\nndjson = 'now.ndjson'\n\
          [[deliver]]\nname = 'all'\nndjson = 'all.ndjson'\nfrom-start = true\nevery = 'daily'\n",
    );
    let ran = done(parent, "deliver crawl --json").json();
    assert_eq!(ran["receivers"][0]["waiting"], 0);
    assert_eq!(ran["receivers"][1]["waiting"], 1);
    assert_eq!(
        done(parent, "deliver crawl --list --json").json()["receivers"][1]["waiting"],
        1
    );
    assert!(!directory.join("all.ndjson").exists());
    assert_eq!(
        done(parent, "deliver crawl --now --json").json()["receivers"][1]["taken"],
        1
    );
    let told = fs::read_to_string(directory.join("all.ndjson")).unwrap();
    assert!(told.contains("\"title\":\"one\""), "{told}");
    assert!(!directory.join("now.ndjson").exists());
}
