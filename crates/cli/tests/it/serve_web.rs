//! `serve-web` as a user runs it: ready, asked, moved in time, interrupted.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::run::{done, turnstone};
use crate::webs::HISTORY;

/// A running server.
struct Served {
    child: Child,
    out: BufReader<ChildStdout>,
    ready: Value,
}

/// How it ended.
struct Ended {
    code: i32,
    summary: Value,
    err: String,
}

fn serve(folder: &Path, arguments: &str) -> Served {
    let mut child = Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args(["serve-web", "--json"])
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    Served { child, out, ready }
}

impl Served {
    fn url(&self, site: usize) -> String {
        self.ready["sites"][site]["url"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn order(&self, path: &str) -> u16 {
        ask(
            "POST",
            &format!("http://127.0.0.1:{}{path}", self.ready["control"]),
        )
        .0
    }

    /// Interrupts it, unless it ends by itself.
    fn end(mut self, signal: Option<&str>) -> Ended {
        if let Some(signal) = signal {
            let id = self.child.id().to_string();
            assert!(
                Command::new("kill")
                    .args([signal, &id])
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let mut err = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        Ended {
            code: self.child.wait().unwrap().code().unwrap(),
            summary: serde_json::from_str(&rest).unwrap_or_else(|error| panic!("{error}: {rest}")),
            err,
        }
    }
}

/// One request: status and body.
fn ask(method: &str, url: &str) -> (u16, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_at(rest.find('/').unwrap());
    let mut stream = TcpStream::connect(authority).unwrap();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let status = all.split(' ').nth(1).unwrap().parse().unwrap();
    let body = all.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    (status, body.unwrap_or_default())
}

fn tiny(folder: &Path) {
    let packed = zstd::encode_all(HISTORY.as_bytes(), 3).unwrap();
    fs::write(folder.join("tiny.jsonl.zst"), packed).unwrap();
}

#[test]
fn a_history_is_served_and_moved_and_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for signal in ["-INT", "-TERM"] {
        let served = serve(folder.path(), "tiny --at first --log log.tsv");
        assert_eq!(served.ready["sites"][0]["site"], "tiny");
        assert_eq!(served.ready["sites"][0]["pages"], 3);
        let url = served.url(0);
        assert_eq!(url, format!("http://127.1.0.1:{}/", served.ready["port"]));
        let (status, body) = ask("GET", &url);
        assert!(
            status == 200 && body.contains("<a href=\"/a.html\">"),
            "{body}"
        );
        assert_eq!(
            ask("GET", &format!("{url}feed.xml")).0,
            404,
            "not there yet"
        );
        assert_eq!(served.order("/at/2020-01-12"), 200);
        let (status, feed) = ask("GET", &format!("{url}feed.xml"));
        assert!(
            status == 200 && feed.contains(&format!("<link href=\"{url}\"/>")),
            "{feed}"
        );
        assert_eq!(served.order("/at/7"), 400);
        let ended = served.end(Some(signal));
        assert_eq!((ended.code, ended.err.as_str()), (0, ""));
        assert_eq!(ended.summary["requests"], 3);
        assert_eq!(ended.summary["by_status"]["404"], 1);
        let log = fs::read_to_string(folder.path().join("log.tsv")).unwrap();
        assert_eq!(log.lines().count(), 4, "{log}");
    }
}

#[test]
fn an_impolite_request_is_told_and_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.tsv"), "0\t1\n1\t0\n").unwrap();
    let served = serve(folder.path(), "w --delay 1m --until requests=2");
    let url = served.url(0);
    ask("GET", &url);
    ask("GET", &url);
    let ended = served.end(None);
    assert_eq!(ended.code, 1);
    assert_eq!(ended.summary["violations"], 1);
    assert!(
        ended.err.contains("turnstone: impolite request 1 at"),
        "{}",
        ended.err
    );
    assert!(
        ended
            .err
            .contains("60000 ms are due; before it request 0 at"),
        "{}",
        ended.err
    );
    let served = serve(folder.path(), "w --delay 1m --fail-fast");
    let url = served.url(0);
    ask("GET", &url);
    let mut stream = TcpStream::connect(
        url.strip_prefix("http://")
            .unwrap()
            .split('/')
            .next()
            .unwrap(),
    )
    .unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(served.end(None).code, 1, "it ends by itself");
}

#[test]
fn people_see_a_table_and_scripts_find_hosts_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let links = "http://a.example/\thttp://b.example/x\nhttp://b.example/x\thttp://a.example/\n";
    fs::write(folder.path().join("w.tsv"), links).unwrap();
    let ran = done(
        folder.path(),
        "serve-web w --by-name --hosts-file hosts.tsv --until time=10ms",
    );
    for part in [
        "a.example",
        "begin at",
        "turnstone crawl http://a.example:",
        "0 requests, 0 impolite",
    ] {
        assert!(ran.out.contains(part), "{}", ran.out);
    }
    let hosts = fs::read_to_string(folder.path().join("hosts.tsv")).unwrap();
    assert_eq!(hosts, "a.example\t127.1.0.1\nb.example\t127.1.0.2\n");
}

/// The command that it prints, as a shell runs it.
#[test]
fn the_crawl_it_suggests_works() {
    let folder = tempfile::tempdir().unwrap();
    let links = "http://a.example/\thttp://a.example/x\nhttp://a.example/x\thttp://a.example/\n";
    fs::write(folder.path().join("w.tsv"), links).unwrap();
    for (number, arguments) in ["w", "w --by-name --hosts-file my,hosts"]
        .iter()
        .enumerate()
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_turnstone"))
            .arg("serve-web")
            .args(arguments.split(' '))
            .args(["--until", "time=60s"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let line = out
            .lines()
            .map(Result::unwrap)
            .find(|line| line.starts_with("Crawl it:"));
        let line = line.unwrap();
        let command = line.strip_prefix("Crawl it:").unwrap().trim();
        let command = command
            .strip_prefix("turnstone ")
            .unwrap()
            .replace("DIR", &format!("dir{number}"));
        let ran = Command::new("sh")
            .args([
                "-c",
                &format!("\"$0\" {command} --json"),
                env!("CARGO_BIN_EXE_turnstone"),
            ])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let _ = child.kill();
        let _ = child.wait();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{command}: {said}");
        let summary: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(summary["pages"], 2, "{command}: {summary} {said}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    tiny(folder.path());
    for (arguments, code, says) in [
        ("serve-web nowhere", 1, "no such web"),
        (
            "serve-web tiny --at 2",
            2,
            "--at: there is no snapshot 2; they are numbered 0 to 1",
        ),
        ("serve-web tiny --at soon", 2, "no moment of a history"),
        (
            "serve-web tiny --faults fire",
            2,
            "there is no fault 'fire'",
        ),
        ("serve-web tiny --clock=-1", 2, "--clock"),
        ("serve-web tiny --until tea", 2, "requests=N or time=T"),
        (
            "serve-web tiny --check-robots maybe",
            2,
            "off, rules or first",
        ),
        ("serve-web tiny --log no/such/folder", 1, "no/such/folder"),
        ("serve-web tiny --port 1 --hosts-file no/x", 1, ""),
    ] {
        let ran = turnstone(folder.path(), arguments);
        assert_eq!(ran.code, code, "{arguments}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(says), "{arguments}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
    }
}
