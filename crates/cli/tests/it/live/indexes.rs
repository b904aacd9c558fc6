//! An index that lists very many files: all of them are known, and what is proven is true at every moment.

use std::fmt::Write as _;

use turnstone_lab::serve::{Answer, Handle, Options, Web, start};

use super::crawler::Crawler;
use crate::run::done;

/// A front page that links to so many files, each with a text of its own and no links.
fn index(files: u32) -> Handle {
    let mut front = String::new();
    for file in 0..files {
        let _ = writeln!(front, "<a href={file}>");
    }
    let web = Web::custom(1, move |request| match request.path {
        "/" => Answer::html(front.clone()),
        path => match path[1..].parse::<u32>() {
            Ok(file) if file < files => Answer::html(format!(
                "<p>File {file} is like no other: {:x}",
                u64::from(file) * 0x9e37_79b9
            )),
            _ => Answer::not_found(),
        },
    });
    start(web, Options::default()).unwrap()
}

/// Crawls so many pages of an index with the limits that are usual.
fn check(files: u32, pages: u32) {
    let server = index(files);
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 0s --no-warc --until pages={pages} --json",
        server.origin(0)
    ));
    crawler.finish();
    let said: serde_json::Value = serde_json::from_str(&crawler.printed()).unwrap();
    let count = |key: &str| said[key].as_u64().unwrap() as u32;
    assert_eq!(count("known"), files + 1, "{said}");
    assert!(count("pages") >= pages, "{said}");
    // A surfer is at the index or at a file that leads back to it: 1 to d.
    let at_files = 0.85 / 1.85;
    let missing = f64::from(files + 1 - count("pages")) / f64::from(files);
    let truth = 1.0 - at_files * missing;
    let share = |key: &str| said[key].as_f64().unwrap();
    assert!(share("guaranteed") <= truth, "{truth}: {said}");
    assert!(share("upper_bound") >= truth, "{truth}: {said}");
    let told = said["verdict"].as_str().unwrap();
    assert!(!told.contains("cut"), "{said}");
    // Whoever looks later sees the same.
    let folder = crawler.directory();
    let seen = done(&folder, &format!("status {} --json", folder.display())).json();
    for key in ["known", "pages", "guaranteed", "upper_bound"] {
        assert_eq!(seen[key], said[key], "{key}");
    }
}

#[test]
fn all_files_of_an_index_of_25_000_are_known() {
    check(25_000, 300);
}

#[test]
fn all_files_of_an_index_of_500_000_are_known() {
    check(500_000, 20);
}
