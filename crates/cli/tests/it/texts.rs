//! `export text`: main text, language, near duplicates and wishes of publishers, out of a real crawl.

use std::fs;
use std::path::Path;

use serde_json::Value;
use turnstone_lab::serve::{Answer, Handle, Options, Request, Web, start};
use turnstone_pagestore::Store;

use crate::run::{done, turnstone};

const ENGLISH: &str = "The river rose during the night, and the lower road was closed before dawn. Nobody in the \
                       village could remember a spring as wet as this one, said the keeper of the bridge, who had \
                       seen fifty of them. For most of the winter the workshop had stood empty.";
const GERMAN: &str = "Der Fluss stieg in der Nacht, und die untere Straße wurde noch vor dem Morgen gesperrt. \
                      Niemand im Dorf konnte sich an einen so nassen Frühling erinnern, sagte die Wärterin der \
                      Brücke, die fünfzig davon gesehen hatte.";

fn answer(request: &Request<'_>) -> Answer {
    let page = |title: &str, text: &str, more: &str| {
        Answer::html(format!(
            "<html><head><meta charset=utf-8><title>{title}</title>{more}</head><body><nav><a href=/>Home</a><a \
             href=/a>A</a><a href=/b>B</a><a href=/c>C</a><a href=/d.txt>D</a><a href=/e.png>E</a></nav>\
             <main><h1>{title}</h1><p>{text}</p></main><footer>All rights reserved.</footer></body></html>"
        ))
    };
    match request.path {
        "/" => page(
            "The river in the night",
            ENGLISH,
            "<link rel=canonical href=/river>",
        ),
        // The same but for two words.
        "/a" => page(
            "The river in the night",
            &ENGLISH.replace("fifty", "sixty"),
            "",
        ),
        "/b" => page(
            "Der Fluss in der Nacht",
            GERMAN,
            "<meta name=robots content='noindex, noai'>",
        ),
        "/c" => page(
            "A short one",
            "Nothing to see.",
            "<meta name=tdm-reservation content=1>",
        ),
        "/d.txt" => Answer::text(ENGLISH),
        _ => Answer::not_found(),
    }
}

fn crawled(folder: &Path) -> Handle {
    let web = start(Web::custom(1, answer), Options::default()).unwrap();
    let seed = format!("{}/", web.origin(0));
    let flags = "--allow-private --delay 0s --clock-scale 1000 --until all --json";
    turnstone(folder, &format!("crawl {seed} -o c {flags}"));
    web
}

fn rows(folder: &Path) -> Vec<Value> {
    done(folder, "export text c -o t.jsonl --json");
    let text = fs::read_to_string(folder.join("t.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_row_for_each_text_with_what_is_said_about_it() {
    let folder = tempfile::tempdir().unwrap();
    let web = crawled(folder.path());
    let rows = rows(folder.path());
    let of = |path: &str| {
        let url = format!("{}{path}", web.origin(0));
        let found = rows.iter().find(|row| row["url"] == url);
        found.unwrap_or_else(|| panic!("no row of {path}: {rows:#?}"))
    };
    assert_eq!(rows.len(), 5);
    let front = of("/");
    assert_eq!(front["text"], ENGLISH);
    assert_eq!(front["title"], "The river in the night");
    assert_eq!(front["method"], "main");
    assert_eq!(front["language"], "eng");
    assert_eq!(front["canonical_url"], format!("{}/river", web.origin(0)));
    assert_eq!(front["group"], front["page"]);
    assert_eq!(of("/a")["group"], front["page"], "two words differ");
    assert_eq!(of("/b")["language"], "deu");
    assert_eq!(of("/b")["group"], of("/b")["page"]);
    assert_eq!(of("/b")["robots"], "noindex, noai");
    assert_eq!(of("/c")["tdm_reservation"], true);
    assert_eq!(of("/c")["group"], of("/c")["page"]);
    assert_eq!(of("/d.txt")["method"], "plain");
    assert!(rows.iter().all(|row| row["fault"].is_null()));
}

#[test]
fn a_damaged_record_costs_its_page_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let _web = crawled(folder.path());
    let store = Store::look(&folder.path().join("c")).unwrap();
    let warc = store.archive_folder().join(store.archive().file_name(1));
    let mut bytes = fs::read(&warc).unwrap();
    let seed = store.index().seeds()[0];
    let at = store.outcome(seed).unwrap().unwrap().facts.capture.unwrap();
    let middle = (at.offset + at.length / 2) as usize;
    bytes[middle] ^= 0x55;
    fs::write(&warc, bytes).unwrap();
    let rows = rows(folder.path());
    let broken: Vec<&Value> = rows.iter().filter(|row| !row["fault"].is_null()).collect();
    assert_eq!((rows.len(), broken.len()), (5, 1));
    assert!(broken[0]["text"].is_null());
    assert!(
        broken[0]["fault"].as_str().unwrap().contains(".warc.gz"),
        "{}",
        broken[0]
    );
}
