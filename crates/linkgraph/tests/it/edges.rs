//! Edge lists: what is read, what is refused and in which words, and that writing is undone by
//! reading.

use std::fs;
use std::io::Write;
use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use turnstone_linkgraph::edges::{self, EdgeWriter};
use turnstone_linkgraph::{LinkGraph, PageSink, UrlTable};

use crate::random;

/// Reads `web.tsv` with these contents, and these URLs beside it, and shows what comes of it.
fn check(list: &str, urls: Option<&str>, expect: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.tsv");
    fs::write(&path, list).unwrap();
    if let Some(urls) = urls {
        fs::write(folder.path().join("web.urls"), urls).unwrap();
    }
    expect.assert_eq(&shown(&path, folder.path()));
}

fn shown(path: &Path, folder: &Path) -> String {
    match edges::read(path) {
        Ok(web) => match web.urls {
            Some(urls) => format!("{:?}\n{urls:?}", web.graph),
            None => format!("{:?}", web.graph),
        },
        Err(error) => error
            .to_string()
            .replace(&format!("{}/", folder.display()), ""),
    }
}

#[test]
fn ids() {
    check(
        "# a comment\n2\t0\n\n0\t1\r\n0 2\n  0\t 1\n# another\n",
        None,
        expect![[r#"
            3 pages, 3 links
            0: [1, 2]
            1: []
            2: [0]"#]],
    );
}

#[test]
fn ids_with_urls() {
    check(
        "0\t2",
        Some("http://a/\nhttp://b/ c\nhttp://d/\n"),
        expect![[r#"
            3 pages, 1 links
            0: [2]
            1: []
            2: []
            3 URLs
            0: http://a/
            1: http://b/ c
            2: http://d/"#]],
    );
}

#[test]
fn urls_without_a_list_are_put_in_order() {
    check(
        "http://c/\thttp://a/\nhttp://a/\thttp://b/ with space\nhttp://c/\thttp://c/\n",
        None,
        expect![[r#"
            3 pages, 3 links
            0: [1]
            1: []
            2: [0, 2]
            3 URLs
            0: http://a/
            1: http://b/ with space
            2: http://c/"#]],
    );
}

#[test]
fn urls_with_a_list() {
    let urls = Some("http://c/\nhttp://b/\n");
    check(
        "http://b/\thttp://c/\n",
        urls,
        expect![[r#"
            2 pages, 1 links
            0: []
            1: [0]
            2 URLs
            0: http://c/
            1: http://b/"#]],
    );
    check(
        "http://b/\thttp://c/\nhttp://b/\thttp://x/\n",
        urls,
        expect!["web.tsv, line 2: http://x/ is not in web.urls"],
    );
}

#[test]
fn pages_without_links() {
    check(
        "# pages 4\n0\t1\n",
        None,
        expect![[r#"
            4 pages, 1 links
            0: [1]
            1: []
            2: []
            3: []"#]],
    );
    check(
        "",
        Some("u\n"),
        expect![[r#"
            1 pages, 0 links
            0: []
            1 URLs
            0: u"#]],
    );
}

#[test]
fn what_is_refused() {
    check(
        "",
        None,
        expect!["web.tsv: holds no link; a link is a line source<TAB>target"],
    );
    check(
        "#\n\n",
        Some(""),
        expect!["web.tsv: holds no link; a link is a line source<TAB>target"],
    );
    check(
        "0\t1\n0\n",
        None,
        expect!["web.tsv, line 2: 1 fields instead of two: a link is source<TAB>target"],
    );
    check(
        "0\t1\t2\t9\n",
        None,
        expect!["web.tsv, line 1: 4 fields instead of two: a link is source<TAB>target"],
    );
    check(
        "0\t1\n1\t-2\n",
        None,
        expect!["web.tsv, line 2: '-2' is not a page id (a whole number from 0 to 4294967294)"],
    );
    check(
        "0\t1\n1\thttp://a/\n",
        None,
        expect![
            "web.tsv, line 2: 'http://a/' is not a page id (a whole number from 0 to 4294967294)"
        ],
    );
    check(
        "0\t4294967295\n",
        None,
        expect![
            "web.tsv, line 1: '4294967295' is not a page id (a whole number from 0 to 4294967294)"
        ],
    );
    check(
        "0\t99999999999999999999\n",
        None,
        expect![
            "web.tsv, line 1: '99999999999999999999' is not a page id (a whole number from 0 to 4294967294)"
        ],
    );
    check(
        "0\t4000000000\n",
        None,
        expect![
            "web.tsv: 4000000001 pages for 1 lines; ids must be dense (0, 1, 2, …), or a list of URLs must stand beside the file"
        ],
    );
    check(
        "#\n0\t1\n1\t2\n",
        Some("a\nb\n"),
        expect![
            "web.tsv, line 3: page 2 does not exist: web.urls has 2 URLs, so ids go from 0 to 1"
        ],
    );
    check(
        "0\t0\n",
        Some("a\n\nb\n"),
        expect![
            "web.urls, line 2: empty; line i of a list of URLs is the URL of page i, counted from 0"
        ],
    );
    check(
        &format!("0\t{}\n", "1".repeat(3_000_000)),
        None,
        expect!["web.tsv, line 1: longer than 131072 bytes"],
    );
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.tsv");
    fs::write(&path, b"http://a/\thttp://\xff/\n").unwrap();
    expect!["web.tsv, line 1: not UTF-8; percent-encode the URL"]
        .assert_eq(&shown(&path, folder.path()));
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.tsv");
    expect!["web.tsv: No such file or directory (os error 2)"]
        .assert_eq(&shown(&path, folder.path()));
}

/// Cut off anywhere, a compressed list is refused; it never passes for a shorter one.
#[test]
fn a_cut_off_file_is_refused() {
    let graph = LinkGraph::from_links(300, &(0..299).map(|i| (i, i + 1)).collect::<Vec<_>>());
    for name in ["web.tsv.zst", "web.tsv.gz"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        edges::write(&path, &graph, None).unwrap();
        let whole = fs::read(&path).unwrap();
        for bytes in 1..whole.len() {
            fs::write(&path, &whole[..bytes]).unwrap();
            let error = edges::read(&path).unwrap_err().to_string();
            assert!(
                error.contains("cut off") || error.contains("damaged"),
                "{bytes}: {error}"
            );
        }
        fs::write(&path, b"0\t1\n").unwrap();
        let error = edges::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("damaged") || error.contains("cut off"),
            "{error}"
        );
        // Rubbish behind a whole stream is no list either.
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(&whole).unwrap();
        file.write_all(b"rubbish").unwrap();
        assert!(edges::read(&path).is_err());
    }
}

/// A writer that is dropped half-way leaves nothing; one that finishes leaves just its files.
#[test]
fn no_half_written_list_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    for name in ["web.tsv", "web.tsv.zst", "web.tsv.gz"] {
        let mut writer = EdgeWriter::create(&folder.path().join(name)).unwrap();
        writer.page(&[], Some("http://a/")).unwrap();
        assert_eq!(names().len(), 2, "both under temporary names");
        drop(writer);
        assert!(names().is_empty());
    }
    let mut writer = EdgeWriter::create(&folder.path().join("web.tsv.gz")).unwrap();
    writer.page(&[], Some("http://a/")).unwrap();
    Box::new(writer).finish().unwrap();
    assert_eq!(names(), ["web.tsv.gz", "web.urls.gz"]);
}

#[test]
fn a_url_that_would_break_the_list_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.tsv");
    let mut urls = UrlTable::new();
    urls.push("http://a/\nhttp://b/");
    let error = edges::write(&path, &LinkGraph::from_links(1, &[]), Some(&urls)).unwrap_err();
    assert!(error.to_string().contains("web.urls"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let error = edges::write(
        &folder.path().join("web.txt"),
        &LinkGraph::from_links(1, &[]),
        None,
    );
    assert!(error.unwrap_err().to_string().contains("ends in .tsv"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn reading_undoes_writing(graph in random::graph(60), with_urls: bool) {
        let folder = tempfile::tempdir().unwrap();
        let urls = with_urls.then(|| {
            let mut urls = UrlTable::new();
            for page in graph.pages() {
                urls.push(&format!("http://h{}/{page}", page.0 / 7));
            }
            urls
        });
        for name in ["web.tsv", "b.tsv.zst", "c.d.tsv.gz"] {
            let path = folder.path().join(name);
            edges::write(&path, &graph, urls.as_ref()).unwrap();
            let read = edges::read(&path).unwrap();
            prop_assert_eq!(&read.graph, &graph);
            prop_assert_eq!(&read.urls, &urls);
        }
    }

    /// Whatever the bytes, reading ends, with a web or an error that names the file.
    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(
        prop_oneof![Just(b'\n'), Just(b'\t'), Just(b' '), Just(b'#'), b'0'..=b'9', any::<u8>()], 0..60)
    ) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["web.tsv", "web.tsv.zst", "web.tsv.gz"] {
            let path = folder.path().join(name);
            fs::write(&path, &bytes).unwrap();
            if let Err(error) = edges::read(&path) {
                prop_assert!(error.to_string().contains(name));
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }
}
