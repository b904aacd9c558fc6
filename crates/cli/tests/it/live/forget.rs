//! `forget`: pages go, bodies and all, and everything else stays where it was.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use turnstone_lab::serve::{Answer, Handle, Options, Web, start};
use turnstone_pagestore::{Store, warc};

use super::audit;
use super::crawler::Crawler;
use crate::run::{done, turnstone};

/// Pages below `/p/`, of which `/p/7` to `/p/9` have the body of `/p/3`.
fn site() -> Web {
    Web::custom(1, |request| match request.path {
        "/robots.txt" => Answer::not_found(),
        "/" => {
            let links = (0..10).map(|page| format!("<a href=/p/{page}>on</a>"));
            Answer::html(format!("<title>Front</title>{}", links.collect::<String>()))
        }
        path => {
            let name = match path {
                "/p/7" | "/p/8" | "/p/9" => "/p/3",
                other => other,
            };
            let mark = name.rsplit('/').next().unwrap_or_default();
            Answer::html(format!(
                "<title>Title-{mark}</title><p>Sentence-{mark} {} <a href=/q/{mark}>on</a>",
                format!("filler{mark} ").repeat(30)
            ))
        }
    })
}

fn crawl(server: &Handle) -> Crawler {
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 80ms --policy breadth-first --until all",
        server.origin(0)
    ));
    crawler.finish();
    crawler
}

/// Every byte of a folder that can be read: files as they are, and what their gzip members hold.
fn everything(folder: &Path, out: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything(&path, out);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        out.extend_from_slice(&bytes);
        if path.to_string_lossy().contains(".warc.gz") {
            let mut unpacked = flate2::read::MultiGzDecoder::new(&bytes[..]);
            std::io::copy(&mut unpacked, out).unwrap();
        }
    }
}

fn holds(folder: &Path, text: &str) -> bool {
    let mut all = Vec::new();
    everything(folder, &mut all);
    all.windows(text.len())
        .any(|window| window == text.as_bytes())
}

fn exported(directory: &Path, table: &str, url: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table.jsonl");
    let asked = format!(
        "export {table} {} -o {}",
        directory.display(),
        file.display()
    );
    done(folder.path(), &asked);
    fs::read_to_string(file).unwrap().lines().any(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        // A link to it names it, and stays.
        row["url"] == url || row["source_url"] == url
    })
}

#[test]
fn a_page_is_forgotten_everywhere_and_nothing_else_is() {
    let server = start(site(), Options::default()).unwrap();
    let crawler = crawl(&server);
    let directory = crawler.directory();
    let url = |path: &str| format!("{}{path}", server.origin(0));
    let (gone, kept) = (url("/p/3"), url("/p/4"));
    assert!(holds(&directory, "Sentence-3") && holds(&directory, "Title-3"));
    let stored = Store::look(&directory).unwrap().index().stored_count();
    let sizes = |name: &str| fs::metadata(directory.join(name)).unwrap().len();
    let archive = Store::look(&directory).unwrap().archive().file_name(1);
    let archive = format!("warc/{archive}");
    let before = [&archive, "warc/index.cdxj"].map(sizes);

    let ask = |more: &str| {
        let asked = format!("forget {} {gone} --json{more}", directory.display());
        turnstone(Path::new("."), &asked).json()
    };
    let dry = ask(" --dry-run");
    assert_eq!(
        (&dry["done"], &dry["pages"]),
        (&false.into(), &1.into()),
        "{dry}"
    );
    assert!(holds(&directory, "Sentence-3"), "a dry run changes nothing");
    let said = ask(" --reason letter-of-june");
    assert_eq!(said["pages"], 1, "{said}");
    assert_eq!(said["stored"], 1);
    assert_eq!(said["captures"], 1);
    let sharing: BTreeSet<String> = serde_json::from_value(said["same_body"].clone()).unwrap();
    assert_eq!(
        sharing,
        ["/p/7", "/p/8", "/p/9", "/q/3"].map(url).into(),
        "{said}"
    );

    // Gone from every byte of the directory, and every record and line is where it was.
    for text in ["Sentence-3", "filler3"] {
        assert!(!holds(&directory, text), "{text} is still there");
    }
    assert!(holds(&directory, "Sentence-4") && holds(&directory, "Title-4"));
    assert_eq!(before, [&archive, "warc/index.cdxj"].map(sizes));
    let lines = audit::lines(&directory.join("warc"));
    assert!(lines.values().all(|line| line.url != gone));
    assert!(lines.values().any(|line| line.url == kept));
    let mut reader = warc::Reader::open(&directory.join(&archive)).unwrap();
    let mut records = 0;
    while reader.next_record().unwrap().is_some() {
        records += 1;
    }
    assert!(records > 20, "every record can be read: {records}");
    assert_eq!(reader.damages().len(), 0);

    // Out of tables, events and copies; the others stay.
    for table in ["pages", "captures", "links", "events", "decisions"] {
        assert!(!exported(&directory, table, &gone), "{table}");
        assert!(exported(&directory, table, &kept), "{table}");
    }
    let show = |url: &str| {
        turnstone(
            Path::new("."),
            &format!("show {} {url}", directory.display()),
        )
    };
    assert!(
        show(&gone).err.contains("forgotten on request"),
        "{}",
        show(&gone).err
    );
    assert!(show(&kept).out.contains("Sentence-4"));
    let why = done(
        Path::new("."),
        &format!("why {} {gone}", directory.display()),
    )
    .out;
    assert!(
        why.contains("forgotten on request") && why.contains("letter-of-june"),
        "{why}"
    );
    assert!(!why.contains("Title-3"), "{why}");
    let store = Store::look(&directory).unwrap();
    assert_eq!(store.index().stored_count(), stored - 1);
    drop(store);

    // Never asked for again, not even as a seed and with the exclude list replaced; the rest goes on.
    let asked = |path: &str| {
        server
            .requests()
            .iter()
            .filter(|it| &*it.path == path)
            .count()
    };
    let requests = asked("/p/3");
    let crawler = Crawler::resume(
        crawler,
        &format!("{gone} --allow-private --delay 0 --exclude-list /dev/null"),
    );
    crawler.finish();
    for _ in 0..2 {
        let refresh = format!(
            "refresh {} --budget 100% --allow-private --delay 0 --json",
            directory.display()
        );
        turnstone(Path::new("."), &refresh).json();
    }
    assert_eq!(asked("/p/3"), requests);
    // Who had the same body has it again, with a record of its own.
    assert!(show(&url("/p/8")).out.contains("Sentence-3"));
    let again = ask("");
    assert_eq!(
        (&again["new"], &again["stored"]),
        (&0.into(), &0.into()),
        "{again}"
    );
}
