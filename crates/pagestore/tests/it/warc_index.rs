//! Indexes: sorting them, and reading those of other tools.

use std::fs;

use proptest::prelude::*;
use turnstone_pagestore::warc::{CdxLine, CdxReader, Digest, sort_index};

/// Sorts a file and looks that nothing else is left in its folder.
fn sorted(text: &[u8], memory: usize) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.cdxj");
    fs::write(&path, text).unwrap();
    fs::write(folder.path().join("index.cdxj.sorting-9"), "left by a kill").unwrap();
    let done = sort_index(&path, memory).map_err(|error| error.to_string());
    let after = fs::read(&path).unwrap();
    if done.is_err() {
        assert!(after == text, "an index that was not sorted is as it was");
    } else {
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    done.map(|()| after)
}

fn slow(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split(|&b| b == b'\n').collect();
    lines.pop();
    lines.sort();
    lines
        .iter()
        .flat_map(|line| [line, &b"\n"[..]].concat())
        .collect()
}

#[test]
fn an_index_larger_than_memory_is_sorted_in_pieces() {
    // 2 MiB of memory hold 1 MiB of lines: so this needs several runs.
    let mut text = Vec::new();
    let mut state = 1_u64;
    for i in 0..80_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text.extend_from_slice(format!("org,example)/{} {i} {{}}\n", state >> 40).as_bytes());
        text.extend_from_slice(&b"x".repeat((state >> 59) as usize));
        text.push(b'\n');
    }
    assert!(text.len() > 3 << 20, "{}", text.len());
    assert!(sorted(&text, 0).unwrap() == slow(&text));
    assert!(sorted(&text, 1 << 26).unwrap() == slow(&text));
}

#[test]
fn what_is_no_list_of_lines_is_not_sorted() {
    assert_eq!(sorted(b"", 0).unwrap(), b"");
    let error = sorted(b"b\na\nno end", 0).unwrap_err();
    assert!(
        error.ends_with("index.cdxj: not sorted: line 3 does not end"),
        "{error}"
    );
    let mut long = b"a\n".to_vec();
    long.extend(vec![b'x'; 3 << 20]);
    long.push(b'\n');
    let error = sorted(&long, 0).unwrap_err();
    assert!(error.ends_with("line 2 is too long"), "{error}");
}

proptest! {
    #[test]
    fn sorting_agrees_with_the_obvious(lines in proptest::collection::vec("[a-c\\x01 ]{0,4}", 0..50)) {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        prop_assert_eq!(sorted(text.as_bytes(), 0).unwrap(), slow(text.as_bytes()));
    }
}

fn read(text: &str) -> Vec<Result<CdxLine, String>> {
    CdxReader::new(text.as_bytes())
        .map(|line| line.map_err(|error| error.to_string()))
        .collect()
}

#[test]
fn cdx_of_all_kinds_is_read() {
    let expect = CdxLine {
        surt: "com,example)/".to_owned(),
        date_ms: 1_390_953_660_000,
        url: "http://example.com/".to_owned(),
        mime: Some("text/html".to_owned()),
        status: Some(200),
        digest: Digest::parse("B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"),
        length: Some(1043),
        offset: Some(333),
        filename: Some("a.warc.gz".to_owned()),
    };
    let digest = "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A";
    let cdxj = format!(
        r#"com,example)/ 20140129000100 {{"url": "http://example.com/", "mime": "text/html", "status": "200", "digest": "sha1:{digest}", "length": 1043, "offset": "333", "filename": "a.warc.gz", "more": [1]}}"#
    );
    let eleven = format!(
        "com,example)/ 20140129000100 http://example.com/ text/html 200 {digest} - - 1043 333 a.warc.gz"
    );
    let nine = format!(
        "com,example)/ 20140129000100 http://example.com/ text/html 200 {digest} - 333 a.warc.gz"
    );
    let headed = format!(
        " CDX N b a m s k r M S V g\n{eleven}\r\n CDX a b V g\nhttp://example.com/ 2014 333 a.warc.gz\n"
    );
    assert_eq!(read(&cdxj), [Ok(expect.clone())]);
    assert_eq!(read(&eleven), [Ok(expect.clone())]);
    let length = None;
    assert_eq!(
        read(&nine),
        [Ok(CdxLine {
            length,
            ..expect.clone()
        })]
    );
    let bare = CdxLine {
        date_ms: 1_388_534_400_000,
        url: "http://example.com/".to_owned(),
        offset: Some(333),
        filename: Some("a.warc.gz".to_owned()),
        ..CdxLine::default()
    };
    assert_eq!(read(&headed), [Ok(expect), Ok(bare)]);
    assert_eq!(read("!OpenWayback-CDXJ 1.0\n\n"), []);
    let dashes = "k 2014 http://a/ - - - - - - - -";
    let line = read(dashes).remove(0).unwrap();
    assert_eq!(
        (line.mime, line.status, line.length, line.filename),
        (None, None, None, None)
    );
}

#[test]
fn bad_lines_are_told_by_number_and_passed_over() {
    let good = r#"k 2014 {"url": "http://a/"}"#;
    for (bad, expect) in [
        (
            "nonsense",
            "neither CDXJ nor a CDX line of 9, 10 or 11 fields",
        ),
        ("k 2014 {\"url\"", "not JSON"),
        ("k 2014 {\"url\": 7.5e}", "not JSON"),
        ("k 2014 {\"mime\": \"x\"}", "no \"url\""),
        (
            "k 201x {\"url\": \"http://a/\"}",
            "not a time of 4 to 17 digits",
        ),
        (
            "k 2014 {\"url\": \"u\", \"status\": \"abc\"}",
            "\"status\" is no number",
        ),
        (
            "k 2014 {\"url\": \"u\", \"offset\": -1}",
            "\"offset\" is no number",
        ),
        ("k 2014 - a b c - 3 f", "no URL"),
        ("k 2014 u a b c - 3 f", "the status is no number"),
    ] {
        let read = read(&format!("{good}\n{bad}\n{good}\n"));
        assert_eq!(read.len(), 3, "{bad}");
        assert!(read[0].is_ok() && read[2].is_ok(), "{bad}");
        assert_eq!(read[1], Err(format!("line 2: {expect}")), "{bad}");
    }
    let long = format!("{good}\n{}\n{good}\n", "x".repeat(3 << 20));
    let read = read(&long);
    assert_eq!(read[1], Err("line 2: longer than 1 MiB".to_owned()));
    assert!(read[2].is_ok());
    let invalid = [b"k 2014 {\"url\": \"\xFF\"}\n", good.as_bytes()].concat();
    let lines: Vec<_> = CdxReader::new(&invalid[..]).collect();
    assert_eq!(
        lines[0].as_ref().unwrap_err().to_string(),
        "line 1: not UTF-8"
    );
    assert!(lines[1].is_ok());
}
