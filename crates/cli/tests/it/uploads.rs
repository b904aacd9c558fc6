//! Files of a crawl in an object store: a real S3 server (moto, from PyPI) that the test starts, and a folder.
//!
//! Every file is brought once, over kills; local copies go by the rule; what comes back has its digest; credentials
//! are in no file and no message; and a server in a private network is not asked unless it may be.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use turnstone_pagestore::Store;

use crate::live::archive_tools::environment;
use crate::run::{Ran, done, turnstone};
use crate::tables::crawled;

/// A server that speaks S3.
const SERVER: [&str; 3] = ["moto[s3]==5.2.5", "flask==3.1.2", "flask-cors==6.0.1"];
const PATIENCE: Duration = Duration::from_secs(120);
const SECRET: &str = "wJalrXUtnFEMI-not-a-real-secret";
const KEY: &str = "AKIAIOSFODNN7TESTKEY";

struct S3 {
    child: Child,
    port: u16,
}

impl S3 {
    fn start(folder: &Path) -> Self {
        let bin = environment(&SERVER).join("bin/moto_server");
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let log = fs::File::create(folder.join("moto.log")).unwrap();
        let child = Command::new(bin)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { child, port };
        let since = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(
                since.elapsed() < PATIENCE,
                "moto does not answer: {}",
                fs::read_to_string(folder.join("moto.log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(
            server.ask("PUT", "/archive").starts_with("HTTP/1.1 200"),
            "no bucket"
        );
        server
    }

    /// A plain request; the server is told nothing of who asks.
    fn ask(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The keys of a bucket.
    fn keys(&self) -> Vec<String> {
        let list = self.ask("GET", "/archive?list-type=2");
        let keys = list.split("<Key>").skip(1);
        keys.map(|rest| rest.split('<').next().unwrap().to_owned())
            .collect()
    }

    /// How often an object was written, as the server's log tells.
    fn puts(&self, folder: &Path, key: &str) -> usize {
        let log = fs::read_to_string(folder.join("moto.log")).unwrap();
        let wanted = format!("\"PUT /archive/{key}");
        log.lines().filter(|line| line.contains(&wanted)).count()
    }

    fn command(&self, folder: &Path, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnstone"));
        command
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .env(
                "AWS_ENDPOINT_URL",
                format!("http://127.0.0.1:{}", self.port),
            )
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_REGION", "us-east-1");
        command
    }

    fn run(&self, folder: &Path, arguments: &str) -> Ran {
        let output = self.command(folder, arguments).output().unwrap();
        let ran = Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        for text in [&ran.out, &ran.err] {
            assert!(
                !text.contains(SECRET) && !text.contains(KEY),
                "a credential was said: {text}"
            );
        }
        ran
    }

    fn done(&self, folder: &Path, arguments: &str) -> Value {
        let ran = self.run(folder, &format!("{arguments} --json"));
        assert_eq!(ran.code, 0, "{arguments}: {}{}", ran.out, ran.err);
        ran.json()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn warc_files(crawl: &Path) -> Vec<PathBuf> {
    let mut found = files(&crawl.join("warc"));
    found.retain(|path| path.extension().is_some_and(|ending| ending == "gz"));
    found.sort();
    found
}

const TO: &str = "--to s3://archive/town --allow-private=127.0.0.0/8";

#[test]
fn files_are_brought_once_dropped_by_rule_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (web, s3) = (crawled(path), S3::start(path));
    // A crawl that brings its files while it runs, in several pieces.
    let seed = format!("{}/", web.origin(0));
    s3.done(
        path,
        &format!(
            "crawl {seed} -o d --allow-private --delay 0s --clock-scale 1000 --warc-size 1kB --upload \
             s3://archive/town --upload-private 127.0.0.0/8"
        ),
    );
    let local = warc_files(&path.join("d"));
    assert!(local.len() > 2, "{local:?}");
    let name = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
    for file in &local {
        let key = format!("town/warc/{}", name(file));
        assert!(
            s3.keys().contains(&key),
            "{key} is not there: {:?}",
            s3.keys()
        );
        assert_eq!(s3.puts(path, &key), 1, "{key}");
    }
    let id = Store::look(&path.join("d")).unwrap().archive().name;
    assert!(s3.keys().contains(&format!("town/index/{id}.cdxj")));
    assert!(s3.keys().contains(&format!("town/reports/{id}/crawl.html")));

    // The note was lost, as by a kill between the store's yes and its writing: it is found there.
    let note = |file: &PathBuf| PathBuf::from(format!("{}.uploaded", file.display()));
    fs::remove_file(note(&local[0])).unwrap();
    let told = s3.done(path, "upload d");
    assert_eq!(
        (&told["there"], &told["known"]),
        (&1.into(), &(local.len() - 1).into()),
        "{told}"
    );
    assert_eq!(s3.puts(path, &format!("town/warc/{}", name(&local[0]))), 1);

    // Local copies go by the rule; what needs one says where it is.
    let before: Vec<Vec<u8>> = local.iter().map(|file| fs::read(file).unwrap()).collect();
    let told = s3.done(path, "upload d --keep none");
    assert_eq!(told["dropped"], local.len(), "{told}");
    assert!(warc_files(&path.join("d")).is_empty());
    let ran = s3.run(path, &format!("show d {}/a --text", web.origin(0)));
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("s3://archive/town/warc/") && ran.err.contains("--back"),
        "{}",
        ran.err
    );
    let ran = s3.run(path, "export wacz d -o d.wacz");
    assert!(ran.err.contains("--back"), "{}", ran.err);
    // A crawl goes on without them, in a new file.
    s3.done(
        path,
        &format!("crawl {seed} -o d --delay 0s --clock-scale 1000"),
    );

    let told = s3.done(path, "upload d --back");
    assert_eq!(
        told["back"].as_array().unwrap().len(),
        local.len(),
        "{told}"
    );
    let after: Vec<Vec<u8>> = local.iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(before == after, "what came back is not what was brought");
    done(path, &format!("show d {}/a --text", web.origin(0)));

    // The newest stay where a size is the rule.
    let sizes: u64 = before[before.len() - 1].len() as u64;
    s3.done(path, &format!("upload d --keep {sizes}B"));
    assert_eq!(warc_files(&path.join("d")), local[local.len() - 1..]);

    for file in files(&path.join("d")) {
        let bytes = fs::read(&file).unwrap();
        for secret in [SECRET, KEY] {
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{} has a credential", file.display());
        }
    }
    // Exports go there straight away.
    let told = s3.done(
        path,
        "export pages c -o s3://archive/tables/pages.parquet --allow-private=127.0.0.1",
    );
    assert_eq!(told["output"], "s3://archive/tables/pages.parquet");
    assert!(s3.keys().contains(&"tables/pages.parquet".to_owned()));
}

#[test]
fn killed_at_any_moment_every_file_is_brought_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (web, s3) = (crawled(path), S3::start(path));
    let seed = format!("{}/", web.origin(0));
    done(
        path,
        &format!("crawl {seed} -o d --allow-private --delay 0s --clock-scale 1000 --warc-size 1kB"),
    );
    let local = warc_files(&path.join("d"));
    for kill in 0..12 {
        let mut child = s3
            .command(path, &format!("upload d {TO}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(15 + 12 * kill));
        let _ = child.kill();
        child.wait().unwrap();
    }
    s3.done(path, &format!("upload d {TO}"));
    for file in &local {
        let key = format!("town/warc/{}", file.file_name().unwrap().to_str().unwrap());
        let puts = s3.puts(path, &key);
        // A request that was under way when its sender died may have come to nothing.
        assert!((1..=2).contains(&puts), "{key} was written {puts} times");
        assert!(s3.keys().contains(&key), "{key} is not there");
    }
}

#[test]
fn what_cannot_be_brought_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (_web, s3) = (crawled(path), S3::start(path));
    let refused = |command: &str, code: i32, what: &str| {
        let ran = s3.run(path, command);
        assert_eq!(ran.code, code, "{command}: {}", ran.err);
        assert!(ran.err.contains(what), "{command}: {}", ran.err);
    };
    refused("upload c", 2, "--to");
    refused("upload c --to ftp://x/", 2, "s3://BUCKET/PREFIX");
    refused(
        "upload c --to s3://user:pass@bucket/",
        2,
        "no credentials in a URL",
    );
    refused(
        &format!("upload c {TO} --keep some"),
        2,
        "'some' is no rule",
    );
    refused(&format!("upload nothing {TO}"), 1, "nothing");
    // The server is in a private network, and nobody allowed that.
    refused("upload c --to s3://archive/town", 1, "not a public address");
    refused(
        "upload c --to s3://nobucket/x --allow-private=127.0.0.1",
        1,
        "nobucket",
    );

    // A folder of another disk is a store too; another file under the name of ours is never written over.
    let there = path.join("disk");
    done(path, &format!("upload c --to file://{}", there.display()));
    let store = Store::look(&path.join("c")).unwrap();
    let name = store.archive().file_name(1);
    assert_eq!(
        fs::read(there.join("warc").join(&name)).unwrap(),
        fs::read(path.join("c/warc").join(&name)).unwrap()
    );
    fs::write(there.join("warc").join(&name), "another").unwrap();
    fs::remove_file(path.join(format!("c/warc/{name}.uploaded"))).unwrap();
    let ran = turnstone(path, &format!("upload c --to file://{}", there.display()));
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("another file lies there"), "{}", ran.err);
    assert_eq!(
        fs::read(there.join("warc").join(&name)).unwrap(),
        b"another"
    );
}
