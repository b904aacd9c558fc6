//! HTML vectors: links, srcset, refresh, encodings, and the tokenizer and tree suites as far as
//! they show in links.

use std::collections::BTreeSet;

use serde_json::Value;
use turnstone_fetch::html::encoding::detect;
use turnstone_fetch::html::refresh::parse_refresh;
use turnstone_fetch::html::srcset::{Candidate, parse_srcset};
use turnstone_fetch::html::{
    LinkKind, Page, PageInput, PageLimits, read_page, read_page_by_tokenizer,
};
use url::Url;

use crate::report::{Error, Report, field, items};

pub(crate) fn run(report: &mut Report) -> Result<(), Error> {
    links(report)?;
    srcset(report)?;
    refresh(report)?;
    encodings(report)?;
    tokenizer(report)?;
    trees(report)
}

fn read(url: &Url, body: &str) -> Page {
    let input = PageInput {
        url,
        content_type: Some("text/html; charset=utf-8"),
        body: body.as_bytes(),
        agent: "turnstone",
    };
    let page = read_page(input, &PageLimits::default());
    let truth = read_page_by_tokenizer(input, &PageLimits::default());
    assert_eq!(
        page, truth,
        "read otherwise by the tokenizer alone: {body:?}"
    );
    page
}

fn links(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("html/link-extraction.json")?;
    report.suite("html/link-extraction.json");
    for vector in items(&vectors) {
        let url = Url::parse(field(vector, "url")).expect("the set's own URLs parse");
        let page = read(&url, field(vector, "html"));
        let ours: BTreeSet<[String; 4]> = page
            .links
            .iter()
            .map(|link| {
                let (tag, attribute) = link.kind.tag_and_attribute();
                [
                    tag.to_owned(),
                    attribute.to_owned(),
                    link.url.to_string(),
                    link.rel.clone(),
                ]
            })
            .collect();
        let theirs: BTreeSet<[String; 4]> = items(&vector["links"])
            .iter()
            .map(|l| ["tag", "attr", "url", "rel"].map(|name| field(l, name).to_owned()))
            .collect();
        // "either": links inside svg, math, template or select may be there or not; one of them.
        let same = if field(vector, "policy") == "either" {
            ours.symmetric_difference(&theirs).count() <= 1
        } else {
            ours == theirs
        };
        report.vector(same, || {
            format!(
                "{} {:?}: ours {ours:?}, theirs {theirs:?}",
                vector["id"],
                field(vector, "html")
            )
        });
    }
    Ok(())
}

/// What a browser at one pixel per pixel takes: the least density that is enough, else the most.
fn chosen<'a>(candidates: &[Candidate<'a>]) -> &'a str {
    // The vectors' picture is 1 pixel wide by its sizes attribute.
    let density = |c: &Candidate<'_>| c.density.or(c.width.map(|w| w as f64)).unwrap_or(1.0);
    let enough = candidates
        .iter()
        .filter(|c| density(c) >= 1.0)
        .min_by(|a, b| density(a).total_cmp(&density(b)));
    let most = || {
        candidates
            .iter()
            .max_by(|a, b| density(a).total_cmp(&density(b)))
    };
    enough.or_else(most).map_or("", |c| c.url)
}

fn srcset(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("html/wpt-srcset-dpr1.json")?;
    report.suite("html/wpt-srcset-dpr1.json");
    for vector in items(&vectors) {
        let candidates: Vec<Candidate<'_>> = parse_srcset(field(vector, "srcset")).collect();
        let ours = chosen(&candidates);
        report.vector(ours == field(vector, "chosen"), || {
            format!(
                "{:?} gave {ours}, should be {}",
                field(vector, "srcset"),
                field(vector, "chosen")
            )
        });
    }
    Ok(())
}

fn refresh(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("html/wpt-meta-refresh.json")?;
    report.suite("html/wpt-meta-refresh.json");
    for vector in items(&vectors) {
        let expected = items(&vector["expected"]);
        let ours = parse_refresh(field(vector, "input"));
        let same = match (ours, expected) {
            (None, []) => true,
            (Some((seconds, target)), [s, t]) => {
                s.as_u64() == Some(seconds) && t.as_str() == Some(target.unwrap_or("__filename__"))
            }
            _ => false,
        };
        report.vector(same, || {
            format!(
                "{:?} gave {ours:?}, should be {expected:?}",
                field(vector, "input")
            )
        });
    }
    Ok(())
}

/// The parts of a `.dat` test, by the name after `#`.
fn dat(bytes: &[u8]) -> Vec<Vec<(String, Vec<u8>)>> {
    let mut tests: Vec<Vec<(String, Vec<u8>)>> = Vec::new();
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let name = line
            .strip_prefix(b"#")
            .map(|n| String::from_utf8_lossy(n.trim_ascii()).into_owned());
        let known = |n: &String| {
            [
                "data",
                "errors",
                "new-errors",
                "document",
                "document-fragment",
                "encoding",
                "script-on",
                "script-off",
            ]
            .contains(&n.as_str())
        };
        match name.filter(known) {
            Some(name) => {
                if name == "data" {
                    tests.push(Vec::new());
                }
                if let Some(test) = tests.last_mut() {
                    test.push((name, Vec::new()));
                }
            }
            None => {
                if let Some((_, text)) = tests.last_mut().and_then(|t| t.last_mut()) {
                    text.extend_from_slice(line);
                }
            }
        }
    }
    tests
}

fn part<'a>(test: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a [u8]> {
    let text = test
        .iter()
        .find(|(n, _)| n == name)
        .map(|(_, text)| text.as_slice())?;
    Some(text.strip_suffix(b"\n").unwrap_or(text))
}

fn encodings(report: &mut Report) -> Result<(), Error> {
    for file in report.files("html/encoding")? {
        let bytes = report.bytes(&format!("html/encoding/{file}"))?;
        report.suite(&format!("html/encoding/{file}"));
        for test in dat(&bytes) {
            let (Some(data), Some(label)) = (part(&test, "data"), part(&test, "encoding")) else {
                continue;
            };
            let expected = encoding_rs::Encoding::for_label(label.trim_ascii())
                .map_or("?", encoding_rs::Encoding::name);
            let ours = detect(data, None, None).0.name();
            report.vector(ours == expected, || {
                format!(
                    "{:?} gave {ours}, should be {expected}",
                    String::from_utf8_lossy(data)
                )
            });
        }
    }
    Ok(())
}

/// Addresses of `a` elements in a token list or tree, resolved as we would.
fn resolved(base: &Url, hrefs: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = hrefs
        .filter_map(|href| base.join(&href).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .map(|mut url| {
            url.set_fragment(None);
            url.to_string()
        })
        .collect();
    all.sort();
    all
}

fn anchors(page: &Page) -> Vec<String> {
    let mut all: Vec<String> = page
        .links
        .iter()
        .filter(|l| l.kind == LinkKind::Anchor)
        .map(|l| l.url.to_string())
        .collect();
    all.sort();
    all
}

/// The tokenizer's tests, seen through our pieces: text and links must be those of its tokens.
fn tokenizer(report: &mut Report) -> Result<(), Error> {
    let base = Url::parse("http://h.example/").expect("a plain URL");
    for file in report.files("html/tokenizer")? {
        let document = report.json(&format!("html/tokenizer/{file}"))?;
        if document.get("tests").is_none() {
            continue;
        }
        report.suite(&format!("html/tokenizer/{file}"));
        let mut skipped = 0;
        for test in items(&document["tests"]) {
            let states = items(&test["initialStates"]);
            let plain = states.is_empty() || states.iter().any(|s| s == "Data state");
            // Escaped inputs hold lone surrogates, which no decoder lets through.
            if !plain || test["doubleEscaped"] == Value::Bool(true) {
                skipped += 1;
                continue;
            }
            // A letter first, so that a mark or odd bytes at the start are not taken for a signature.
            let page = read(&base, &format!("x{}", field(test, "input")));
            let mut text = String::from("x");
            let mut hrefs = Vec::new();
            for token in items(&test["output"]) {
                match token[0].as_str() {
                    Some("Character") => text.push_str(token[1].as_str().unwrap_or("")),
                    Some("StartTag") if token[1] == "a" => hrefs.extend(
                        token[2]
                            .get("href")
                            .and_then(Value::as_str)
                            .map(str::to_owned),
                    ),
                    _ => {}
                }
            }
            let squeeze = |t: &str| {
                t.chars()
                    .filter(|c| !c.is_whitespace() && *c != '\0')
                    .collect::<String>()
            };
            let raw = [
                "title",
                "textarea",
                "style",
                "script",
                "xmp",
                "iframe",
                "noembed",
                "noframes",
                "plaintext",
            ];
            let uses_raw = items(&test["output"])
                .iter()
                .any(|t| t[0] == "StartTag" && raw.iter().any(|r| t[1] == *r));
            if uses_raw || page.binary {
                skipped += 1;
                continue;
            }
            let same = squeeze(&page.text) == squeeze(&text)
                && anchors(&page) == resolved(&base, hrefs.into_iter());
            report.vector(same, || {
                format!(
                    "{:?} gave {:?}, should be {text:?}",
                    field(test, "input"),
                    page.text
                )
            });
        }
        if skipped > 0 {
            report.left_out(
                &format!("html/tokenizer/{file}, {skipped} tests"),
                "begin in or turn to raw text, are binary to us, or hold lone surrogates",
            );
        }
    }
    Ok(())
}

/// The tree suites, as far as they show in the links of `a` elements.
fn trees(report: &mut Report) -> Result<(), Error> {
    let base = Url::parse("http://h.example/").expect("a plain URL");
    report.suite("html/tree-construction, links of a elements");
    let (mut fragments, mut linkless) = (0, 0);
    for file in report.files("html/tree-construction")? {
        let bytes = report.bytes(&format!("html/tree-construction/{file}"))?;
        for test in dat(&bytes) {
            let (Some(data), Some(tree)) = (part(&test, "data"), part(&test, "document")) else {
                continue;
            };
            if part(&test, "document-fragment").is_some() || part(&test, "script-on").is_some() {
                fragments += 1;
                continue;
            }
            let (data, tree) = (String::from_utf8_lossy(data), String::from_utf8_lossy(tree));
            let ours: BTreeSet<String> = anchors(&read(&base, &data)).into_iter().collect();
            let theirs: BTreeSet<String> = resolved(&base, tree_hrefs(&tree)).into_iter().collect();
            if ours.is_empty() && theirs.is_empty() {
                linkless += 1;
                continue;
            }
            let same = ours == theirs;
            report.vector(same, || {
                format!("{file} {data:?}: ours {ours:?}, theirs {theirs:?}")
            });
        }
    }
    report.left_out(
        &format!("html/tree-construction, {fragments} tests"),
        "fragments and pages with scripting on",
    );
    report.left_out(
        &format!("html/tree-construction, {linkless} tests"),
        "no links in them: they were read, but there is nothing to compare",
    );
    Ok(())
}

/// `href` attributes that stand right under `<a>` in a tree dump.
fn tree_hrefs(tree: &str) -> impl Iterator<Item = String> {
    let mut in_anchor = false;
    let mut found = Vec::new();
    for line in tree.lines().map(|l| l.trim_start_matches(['|', ' '])) {
        if line.starts_with('<') {
            in_anchor = line == "<a>";
        } else if let Some(value) = line.strip_prefix("href=\"").filter(|_| in_anchor) {
            found.push(value.trim_end_matches('"').to_owned());
        }
    }
    found.into_iter()
}
