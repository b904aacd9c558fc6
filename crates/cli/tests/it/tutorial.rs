//! The tutorial, followed to the letter: every command of it is run, and what it says will be seen is seen.
//!
//! Figures may differ: lines are compared with all numbers alike. The port is one that is free.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

/// The blocks of a page, in order: what kind each is, and its lines.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut parts = text.split("\n```");
    parts.next();
    let mut blocks = Vec::new();
    while let (Some(block), _) = (parts.next(), parts.next()) {
        let (kind, lines) = block.split_once('\n').unwrap();
        blocks.push((kind, lines.to_owned() + "\n"));
    }
    blocks
}

/// Every number as one sign.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            ',' | '.' if out.ends_with('#') => {}
            c => out.push(c),
        }
    }
    out
}

#[test]
fn every_command_of_the_tutorial_works_and_says_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let page = fs::read_to_string(page).unwrap();
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    // One shell for all, so that what runs in the background is its child; a mark tells where each block ended.
    let (mut script, mut expected, mut count) = ("set -e\n".to_owned(), Vec::new(), 0);
    for (kind, lines) in blocks(&page) {
        match kind {
            "sh" => {
                script += &lines.replace("8000", &port);
                if lines.contains("serve-web") {
                    script += "while ! grep -q 127.1.0.1 server.txt; do sleep 0.05; done\n";
                }
                count += 1;
                script += &format!("echo; echo 'block {count} is done'\n");
            }
            "text" => expected.push((count, lines)),
            other => panic!("a block of {other:?}: say sh or text"),
        }
    }
    assert!(
        count >= 8 && expected.len() >= 5,
        "{count} blocks were found"
    );
    let bin = Path::new(env!("CARGO_BIN_EXE_turnstone")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh")
        .args(["-c", &script])
        .env("PATH", path)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8(ran.stdout).unwrap(),
        String::from_utf8(ran.stderr).unwrap(),
    );
    assert!(ran.status.success(), "{script}\n{out}\n{err}");
    for (block, lines) in expected {
        let begin = format!("block {} is done", block - 1);
        let end = format!("block {block} is done");
        let said = out.split(&end).next().unwrap();
        let said = without_numbers(said.split(&begin).last().unwrap());
        for line in lines.lines().filter(|line| !line.is_empty()) {
            assert!(
                said.contains(&without_numbers(line)),
                "block {block} does not say {line:?}:\n{said}\n{err}"
            );
        }
    }
    for file in [
        "mycrawl.wacz",
        "text.jsonl",
        "coverage.html",
        "mycrawl/reports/crawl.html",
    ] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}
