//! What cannot be crawled is said in one line, with the right exit code, and nothing is damaged.

use std::fs;
use std::path::Path;

use super::crawler::{Crawler, until};
use super::town::{Plan, Town};
use crate::run::turnstone;

const TOWN: Plan = Plan {
    hosts: 1,
    pages: 12,
    delay_ms: 0,
    scale: 1,
    faults: false,
};

fn check(folder: &Path, arguments: &str, code: i32, words: &[&str]) {
    let ran = turnstone(folder, arguments);
    assert_eq!(ran.code, code, "{arguments}: {}{}", ran.out, ran.err);
    assert_eq!(ran.err.lines().count(), 1, "one line: {}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "'{word}' is not in: {}", ran.err);
    }
}

#[test]
fn wrong_arguments_make_no_directory() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("file"), "mine").unwrap();
    check(
        here,
        "crawl nonsense -o x",
        2,
        &["nonsense", "https://example.org/"],
    );
    check(here, "crawl ftp://example.org/ -o x", 2, &["ftp"]);
    check(here, "crawl -o x", 2, &["SEED"]);
    check(
        here,
        "crawl https://example.org/ -o x",
        2,
        &["--contact", "example.org"],
    );
    check(
        here,
        "crawl http://127.0.0.1:2/ -o x --until size=3",
        2,
        &["--until", "size"],
    );
    check(
        here,
        "crawl http://127.0.0.1:2/ -o x --policy lucky",
        2,
        &["lucky"],
    );
    check(
        here,
        "crawl http://127.0.0.1:2/ -o file --allow-private",
        2,
        &["file"],
    );
    check(
        here,
        "crawl http://127.0.0.1:2/ -o /proc/x --allow-private",
        1,
        &["/proc/x"],
    );
    for (seed, says) in [
        ("http://127.0.0.1:8000/", "--allow-private=127.0.0.0/8"),
        ("http://localhost:8000/", "--allow-ports=8000"),
        ("http://127.0.0.1:9/ --allow-private", "--allow-ports=9"),
    ] {
        let url = seed.split(' ').next().unwrap();
        check(here, &format!("crawl {seed} -o x"), 2, &[url, says]);
    }
    assert!(!here.join("x").exists());
    assert_eq!(fs::read_to_string(here.join("file")).unwrap(), "mine");
}

#[test]
fn c6_a_directory_that_is_not_ours_to_take() {
    let town = Town::open(Plan {
        delay_ms: 50,
        ..TOWN
    });
    let crawler = Crawler::new(&town.arguments());
    let directory = crawler.directory();
    let go_on = format!("crawl -o {}", directory.display());
    let running = crawler.start();
    until("it crawls", || town.server.request_count() > 3);
    let held = turnstone(Path::new("/"), &go_on);
    assert_eq!(held.code, 1);
    assert_eq!(held.err.lines().count(), 1, "{}", held.err);
    let process = format!("process {}", running.id());
    assert!(held.err.contains(&process), "{}", held.err);
    assert!(running.wait().success(), "{}", crawler.said());

    let journal = directory.join("store/journal");
    let whole = fs::read(&journal).unwrap();
    for (at, byte, word) in [(8, 99, "newer"), (0, b'X', "not a turnstone journal")] {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        fs::write(&journal, &bytes).unwrap();
        check(Path::new("/"), &go_on, 1, &[word, "store/journal"]);
        assert_eq!(fs::read(&journal).unwrap(), bytes, "nothing was changed");
    }
    // A flipped bit in the middle is refused; nothing is cut.
    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 4;
    fs::write(&journal, &bytes).unwrap();
    check(Path::new("/"), &go_on, 1, &["damaged at byte"]);
    assert_eq!(fs::read(&journal).unwrap(), bytes, "nothing was changed");

    fs::write(&journal, &whole).unwrap();
    let config = directory.join("turnstone.toml");
    let text = fs::read_to_string(&config).unwrap();
    let line = text.lines().count() + 1;
    fs::write(&config, text + "\ncolour = \"red\"\n").unwrap();
    let place = format!("turnstone.toml:{}", line + 1);
    check(Path::new("/"), &go_on, 2, &["colour", &place]);
}

#[test]
fn nobody_answers() {
    let crawler = Crawler::new("http://127.0.0.1:2/ --allow-private --until time=1s");
    let code = crawler.start().wait().code();
    assert_eq!(code, Some(0), "{}", crawler.said());
    let said = crawler.said();
    let told: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("http://127.0.0.1:2/"))
        .collect();
    assert_eq!(told.len(), 1, "{said}");
    assert!(told[0].contains("refused"), "{said}");
}

/// The name is known to nobody before it is looked up.
#[test]
fn seeds_that_may_not_be_asked_end_the_crawl() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("hosts"), "inside.example\t10.1.2.3\n").unwrap();
    for more in ["", " --ignore-addresses"] {
        let ran = turnstone(
            here,
            &format!(
                "crawl http://inside.example/ -o x --hosts-file hosts --contact me@example.org{more}"
            ),
        );
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        let line = ran.err.lines().last().unwrap();
        for word in [
            "no seed could be asked",
            "http://inside.example/",
            "10.1.2.3",
        ] {
            assert!(line.contains(word), "{}", ran.err);
        }
    }
}

#[test]
fn a_proxy_is_not_passed_over_in_silence() {
    let run = |seed: &str, more: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_turnstone"));
        command.args([
            "crawl",
            seed,
            "--until",
            "time=1s",
            "--allow-private",
            "--output",
        ]);
        command.arg(folder.path().join("crawl"));
        command.args(["--contact", "a@example.org", "--hosts-file"]);
        let hosts = folder.path().join("hosts");
        std::fs::write(&hosts, "").unwrap();
        command
            .arg(hosts)
            .env("HTTPS_PROXY", "http://proxy.example:3128");
        command
            .env_remove("NO_PROXY")
            .env_remove("no_proxy")
            .envs(more.iter().copied());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = run("http://site.example/", &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("HTTPS_PROXY is set"), "{said}");
    for (seed, more) in [
        ("http://site.example/", ("NO_PROXY", "*")),
        ("http://127.0.0.1:9/", ("A", "b")),
    ] {
        let (_, said) = run(seed, &[more]);
        assert!(!said.contains("PROXY is set"), "{seed}: {said}");
    }
}

#[test]
fn an_authority_that_cannot_be_read_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, "junk").unwrap();
    let run = |flag: bool, name: &std::path::Path| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_turnstone"));
        command.args([
            "crawl",
            "http://127.0.0.1:9/",
            "--allow-private",
            "--output",
        ]);
        command.arg(folder.path().join("crawl"));
        if flag {
            command.arg("--ca").arg(name);
        } else {
            command.env("SSL_CERT_FILE", name);
        }
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    for (flag, option) in [(true, "--ca"), (false, "SSL_CERT_FILE")] {
        for (name, what) in [
            (&file, "certificate"),
            (&folder.path().join("none"), "No such file"),
        ] {
            let (code, said) = run(flag, name);
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains(option) && said.contains(what), "{said}");
        }
    }
}
