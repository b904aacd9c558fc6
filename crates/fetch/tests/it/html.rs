//! Pages: links, bases, encodings, text, and what must not exhaust us.

use std::fmt::Write;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use proptest::prelude::*;
use turnstone_fetch::html::encoding::{EncodingSource, charset_of, detect};
use turnstone_fetch::html::refresh::{parse_refresh, refresh_of};
use turnstone_fetch::html::srcset::parse_srcset;
use turnstone_fetch::html::{
    Fingerprint, LinkKind, Page, PageInput, PageLimits, read_page, read_page_by_tokenizer,
    simhash_distance,
};
use turnstone_fetch::urls::UrlLimits;

#[path = "../../examples/compare/soup.rs"]
mod soup;

fn read(body: impl AsRef<[u8]>, limits: &PageLimits) -> Page {
    let url = url::Url::parse("https://site.example/dir/page.html?x=1").unwrap();
    let input = PageInput {
        url: &url,
        content_type: None,
        body: body.as_ref(),
        agent: "turnstone",
    };
    read_page(input, limits)
}

/// Shows the links of a page.
fn check(html: &str, expect: &Expect) {
    let page = read(html, &PageLimits::default());
    let mut shown = String::new();
    for link in &page.links {
        let (tag, attribute) = link.kind.tag_and_attribute();
        write!(shown, "{tag} {attribute} {}", link.url).unwrap();
        writeln!(
            shown,
            "{}{}",
            if link.rel.is_empty() { "" } else { " rel=" },
            link.rel
        )
        .unwrap();
    }
    expect.assert_eq(&shown);
}

#[test]
fn feeds_and_sitemaps_in_the_head_are_told_from_other_links() {
    let html = "<link rel=alternate type='application/rss+xml' href=a><link rel='Alternate feed' \
                type='Application/Atom+XML; charset=utf-8' href=b><link rel=sitemap href=c>\
                <link rel=alternate hreflang=fr href=d><link rel=stylesheet href=e>\
                <link rel=stylesheet type='application/rss+xml' href=f>";
    let page = read(html, &PageLimits::default());
    let lists = page.links.iter().map(|link| link.kind == LinkKind::List);
    let lists: Vec<bool> = lists.collect();
    assert_eq!(lists, [true, true, true, false, false, false]);
    assert!(!LinkKind::List.is_page(), "only for those who want them");
}

#[test]
fn every_kind_of_link() {
    check(
        "<link rel='Canonical x' href=/c><a rel=nofollow href='a&amp;b#f'>t</a><area href=b><frame src=c>\
         <iframe src=d><a href=no></iframe><img src=e srcset='f 1x, g 2x'><meta http-equiv=Refresh content='5;url=h'>\
         <noscript><a href=n></noscript><a href='mailto:x@y'><script>'<a href=no>'</script>",
        &expect![[r#"
            link href https://site.example/c rel=canonical x
            a href https://site.example/dir/a&b rel=nofollow
            area href https://site.example/dir/b
            frame src https://site.example/dir/c
            iframe src https://site.example/dir/d
            img src https://site.example/dir/e
            img srcset https://site.example/dir/f
            img srcset https://site.example/dir/g
            meta content https://site.example/dir/h
            a href https://site.example/dir/n
        "#]],
    );
}

#[test]
fn h4_the_first_base_counts_also_for_earlier_links() {
    check(
        "<a href=x><base href=/late/><base href=/two/><a href=y>",
        &expect![[r#"
        a href https://site.example/late/x
        a href https://site.example/late/y
    "#]],
    );
    check(
        "<base target=t><base href=//cdn.example/><a href=q>",
        &expect![[r#"
        a href https://cdn.example/q
    "#]],
    );
    for bad in ["data:text/plain,x", "javascript:1", "http://[bad/"] {
        check(
            &format!("<base href='{bad}'><base href=/second/><a href=q>"),
            &expect![[r#"
            a href https://site.example/dir/q
        "#]],
        );
    }
}

#[test]
fn raw_text_holds_no_links_and_its_end_is_found() {
    for name in [
        "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
    ] {
        let html = format!("<{name}><a href=no></{name}x><b></{name} a='>'><a href=yes></{name}>");
        let page = read(html, &PageLimits::default());
        assert_eq!(page.links.len(), 1, "{name}");
    }
    check(
        "<script><!--<script></script><a href=no>--></script><a href=yes>",
        &expect![[r#"
        a href https://site.example/dir/yes
    "#]],
    );
    check(
        "<!-- <a href=no> > <a href=no> --><!><a href=yes></></ x><plaintext><a href=no>",
        &expect![[r#"
        a href https://site.example/dir/yes
    "#]],
    );
    check(
        "<svg><title><p></title><style><a href=in></style></svg><style><a href=no></style><a href=yes>",
        &expect![[r#"
        a href https://site.example/dir/in
        a href https://site.example/dir/yes
    "#]],
    );
}

#[test]
fn h1_a_hundred_megabytes_of_unfinished_tag() {
    let limits = PageLimits {
        bytes_max: usize::MAX,
        ..PageLimits::default()
    };
    let body = "<a href=".repeat((100 << 20) / 8);
    let start = Instant::now();
    assert_eq!(read(&body, &limits).links.len(), 0);
    // Measured well under two seconds when optimised; the room is for busy test machines.
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    for unit in [
        "<a href='",
        "<a ",
        "<!--",
        "&amp",
        "</script ",
        "<script>",
        "<a href=x>",
    ] {
        let page = read(unit.repeat((10 << 20) / unit.len()), &limits);
        assert!(page.links.len() <= 1, "{unit}");
    }
    let attributes = (0..400_000).fold(String::from("<a "), |mut s, i| {
        write!(s, "{i:x} ").unwrap();
        s
    });
    let page = read(&attributes, &limits);
    assert_eq!((page.links.len(), page.cuts.tags), (0, 0), "no end, no tag");
    let closed = read(format!("{attributes}><a href=x>"), &limits);
    assert_eq!(
        (closed.links.len(), closed.cuts.tags),
        (1, 1),
        "the page goes on after it"
    );
}

#[test]
fn h2_a_million_nested_divs() {
    let body = format!(
        "{}<a href=deep>{}",
        "<div>".repeat(1_000_000),
        "<svg>".repeat(100_000)
    );
    let page = read(
        body,
        &PageLimits {
            bytes_max: usize::MAX,
            ..PageLimits::default()
        },
    );
    assert_eq!(page.links.len(), 1);
}

#[test]
fn h5_bom_before_header_before_meta_before_guess() {
    let meta = b"<meta charset=koi8-r>\xE9";
    let with_bom = [b"\xEF\xBB\xBF".as_slice(), meta].concat();
    let name = |body: &[u8], charset| {
        let (encoding, source) = detect(body, charset, None);
        (encoding.name(), source)
    };
    assert_eq!(
        name(&with_bom, Some("shift_jis")),
        ("UTF-8", EncodingSource::ByteOrderMark)
    );
    assert_eq!(
        name(meta, Some("shift_jis")),
        ("Shift_JIS", EncodingSource::Header)
    );
    assert_eq!(
        name(meta, Some("nonsense")),
        ("KOI8-R", EncodingSource::Meta)
    );
    assert_eq!(
        name("<p>Grüße".as_bytes(), None),
        ("UTF-8", EncodingSource::Guess)
    );
    assert_eq!(
        name(b"<p>Gr\xFC\xDFe aus M\xFCnchen", None),
        ("windows-1252", EncodingSource::Guess)
    );
    assert_eq!(
        name(b"<p>plain", None),
        ("windows-1252", EncodingSource::Default)
    );
    let late = [vec![b' '; 1024], meta.to_vec()].concat();
    assert_ne!(
        name(&late, None).1,
        EncodingSource::Meta,
        "only the first 1,024 bytes"
    );
    assert_eq!(charset_of("text/html; Charset=\"utf-8\"; x"), Some("utf-8"));
    assert_eq!(charset_of("text/html"), None);
}

#[test]
fn queries_are_in_the_encoding_of_the_page() {
    let page = read(
        b"<meta charset=windows-1252><a href='/\xE9?q=\xE9&x=&#x20AC;&#x3042;'>",
        &PageLimits::default(),
    );
    assert_eq!(
        page.links[0].url.as_str(),
        "https://site.example/%C3%A9?q=%E9&x=%80%26%2312354%3B"
    );
}

#[test]
fn h7_binary_under_a_text_label_gives_nothing() {
    for body in [
        b"%PDF-1.7\n<a href=x>".as_slice(),
        b"\xFF\xD8\xFF\xE0\0\x10JFIF<a href=x>",
        b"\0\x01\x02\x03<a href=x>\0\0\0",
    ] {
        let page = read(body, &PageLimits::default());
        assert!(page.binary && page.links.is_empty(), "{body:?}");
    }
    assert!(
        !read("<a href=x>\0", &PageLimits::default()).binary,
        "one NUL happens"
    );
}

#[test]
fn utf_16_without_a_mark_is_read_where_the_header_says_so() {
    let url = url::Url::parse("https://site.example/").unwrap();
    let text = "<title>Grüße</title><p>ein Wort<a href=/x>";
    let little = text.encode_utf16().flat_map(u16::to_le_bytes);
    let big = text.encode_utf16().flat_map(u16::to_be_bytes);
    let bodies: [(Vec<u8>, &str); 3] = [
        (little.clone().collect(), "utf-16le"),
        (little.collect(), "UTF-16"),
        (big.collect(), "utf-16be"),
    ];
    for (body, charset) in bodies {
        let content_type = format!("text/html; charset={charset}");
        let input = PageInput {
            url: &url,
            content_type: Some(&content_type),
            body: &body,
            agent: "turnstone",
        };
        let page = read_page(input, &PageLimits::default());
        assert_eq!(page.title.as_deref(), Some("Grüße"), "{charset}");
        assert_eq!((page.links.len(), page.fingerprint.words), (1, 2));
    }
}

#[test]
fn the_refresh_header_is_a_link() {
    let url = url::Url::parse("https://site.example/dir/page").unwrap();
    let read = |lines: &[&'static str]| {
        let mut headers = http::HeaderMap::new();
        for line in lines {
            headers.append("refresh", line.parse().unwrap());
        }
        let refresh = refresh_of(&headers, &url, &UrlLimits::default());
        refresh.map(|refresh| (refresh.seconds, refresh.url.to_string()))
    };
    let next = "https://site.example/dir/next".to_owned();
    assert_eq!(read(&["5; url=next#part"]), Some((5, next.clone())));
    assert_eq!(read(&["10", "mailto", "0;URL='next'"]), Some((0, next)));
    assert_eq!(read(&["10"]), None);
    assert_eq!(read(&["0; url=mailto:x@y.example"]), None);
    assert_eq!(read(&[]), None);
}

#[test]
fn h8_entities_of_a_doctype_are_not_expanded() {
    let body = "<?xml version='1.0'?><!DOCTYPE html [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><html><p>&b;</p><a href='&b;'>";
    let page = read(body, &PageLimits::default());
    assert!(!page.text.contains("haha"), "{}", page.text);
    assert_eq!(page.links[0].url.as_str(), "https://site.example/dir/&b;");
}

#[test]
fn title_text_and_fingerprint() {
    let page = read(
        "<title> A &amp;\n B </title><title>no</title><style>no</style><p>One <b>t</b>wo<p>three<script>no</script>&nbsp;four<svg><title>tip</title></svg>",
        &PageLimits::default(),
    );
    assert_eq!(page.title.as_deref(), Some("A & B"));
    assert_eq!(page.text, "One two three four tip");
    assert_eq!(
        page.fingerprint,
        Fingerprint::of("one TWO, three. four tip")
    );
    assert_eq!(page.fingerprint.words, 5);
    assert_ne!(
        page.fingerprint.text_hash,
        Fingerprint::of("two one three four tip").text_hash
    );
    assert_eq!(Fingerprint::of(" ").words, 0);
    assert_eq!(Fingerprint::of("ページ").words, 3);
}

/// Text goes past the tokenizer where it would only be copied, never where that would cut a
/// character reference in two or leave a line end as it was.
#[test]
fn plain_text_and_references_mix_in_any_cut() {
    for before in 32 * 1024 - 8..32 * 1024 + 8 {
        // What follows the cut is plain, is not, or stands behind a `<` that begins no tag.
        for (start, space) in [("", " "), ("", "\r"), ("< ", " ")] {
            let filler = "x".repeat(before - start.len());
            let body = format!("<p>{start}{filler}&amp;lt and{space}more<b>x</b>y");
            let page = read(body, &PageLimits::default());
            let text = page.text.trim_start_matches(['<', ' ', 'x']);
            assert_eq!(text, "&lt and morexy", "at {before}, {start:?}, {space:?}");
        }
    }
}

/// Whatever stands before it, a comment is a comment up to its end, and a tag that is left out
/// ends what was open before it.
#[test]
fn what_is_open_is_not_read_as_something_else() {
    for (body, text, links) in [
        ("<p>R&D<!-- a > b <a href=/no>no</a> -->c", "R&Dc", ""),
        ("<p><<!-- a > b <a href=/no>no</a> -->c", "<c", ""),
        (
            "<p>R&D<!doctype a \"b > c\">d<a href=/yes>",
            "R&D c\">d",
            "/yes",
        ),
        (
            "<svg><![CDATA[a > b]]></svg><a href=/yes>c",
            "a > b c",
            "/yes",
        ),
        (
            "<svg><![CDATA[a<a href=/no>]]></svg><a href=/yes>",
            "a<a href=/no>",
            "/yes",
        ),
        ("<p><![CDATA[a > b]]><a href=/yes>c", "b]]>c", "/yes"),
        ("<p><<b 1 2 3>a href=/no>c", "<a href=/no>c", ""),
        ("<p>&am<<b 1 2 3>a href=/no>c", "&am<a href=/no>c", ""),
        ("<p>&am<b 1 2 3>p;c", "&amp;c", ""),
    ] {
        let limits = PageLimits {
            tag_attributes_max: 2,
            ..PageLimits::default()
        };
        let page = read(body, &limits);
        let found: String = page.links.iter().map(|link| link.url.path()).collect();
        assert_eq!((page.text.trim(), found.as_str()), (text, links), "{body}");
    }
}

/// The example `compare` does a million of these, and whole trees of pages.
#[test]
fn soups_read_as_by_the_tokenizer_alone() {
    let url = url::Url::parse("https://site.example/dir/page.html?x=1").unwrap();
    let mut soups = soup::Soups::new(7);
    for nth in 0..2000 {
        let soup = soups.next_soup();
        let input = PageInput {
            url: &url,
            content_type: Some("text/html; charset=utf-8"),
            body: soup.as_bytes(),
            agent: "turnstone",
        };
        let limits = PageLimits::default();
        let truth = read_page_by_tokenizer(input, &limits);
        assert_eq!(read_page(input, &limits), truth, "soup {nth}: {soup:?}");
    }
}

#[test]
fn near_copies_have_near_simhashes() {
    let words = |from: u32| {
        (from..from + 200)
            .map(|i| format!("word{} ", i * 7919 % 1000))
            .collect::<String>()
    };
    let (page, edited, other) = (
        words(0),
        words(0).replacen("word", "changed", 2),
        words(5000) + "else",
    );
    let hash = |text: &str| Fingerprint::of(text).simhash;
    assert!(simhash_distance(hash(&page), hash(&edited)) <= 6);
    let unrelated = "the quick brown fox jumps over a lazy dog while seven wizards box";
    assert!(simhash_distance(hash(&page), hash(unrelated)) > 15);
    drop(other);
}

#[test]
fn canonical_refresh_and_wishes() {
    let page = read(
        "<link rel=canonical href=/real><meta http-equiv=refresh content='3; url=next'><meta name=Robots content='noindex'><meta name=turnstone content=nofollow><meta name=other content=noarchive>",
        &PageLimits::default(),
    );
    assert_eq!(page.canonical.unwrap().path(), "/real");
    let refresh = page.refresh.unwrap();
    assert_eq!((refresh.seconds, refresh.url.path()), (3, "/dir/next"));
    assert!(page.wishes.noindex && page.wishes.nofollow && !page.wishes.noarchive);
    assert!(LinkKind::Refresh.is_page() && !LinkKind::Image.is_page());
}

#[test]
fn refresh_grammar() {
    for (content, expected) in [
        ("0;url=/x", Some((0, Some("/x")))),
        ("5; URL = '/q'junk", Some((5, Some("/q")))),
        ("0;/nourl", Some((0, Some("/nourl")))),
        ("1", Some((1, None))),
        ("1;", Some((1, None))),
        (".5,url=a", Some((0, Some("a")))),
        ("x;url=/bad", None),
        ("", None),
        ("1; urlé", Some((1, Some("urlé")))),
    ] {
        assert_eq!(parse_refresh(content), expected, "{content}");
    }
}

#[test]
fn srcset_grammar() {
    let urls = |text: &'static str| parse_srcset(text).map(|c| c.url).collect::<Vec<_>>();
    assert_eq!(urls("a.png 1x, b.png 2x"), ["a.png", "b.png"]);
    assert_eq!(urls("a.png,b.png 2x"), ["a.png,b.png"]);
    assert_eq!(
        urls(",,a, b, c 3w 4h,, d (x, y), e 1e3x"),
        ["a", "b", "c", "e"]
    );
    assert_eq!(urls("a 0w, b 1.5w, c +1x, d 1x 2x, e"), ["e"]);
}

proptest! {
    #[test]
    fn any_bytes_are_read(body in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&body, &PageLimits::default());
    }

    /// Cutting the tokenizer's input into our pieces changes nothing: links are the same when
    /// text that cannot matter is put between.
    #[test]
    fn markup_soup_is_read(pieces in prop::collection::vec(prop::sample::select(vec![
        "<a href=x>", "<a href='y\">", "'", "\"", ">", "<", "</", "<!--", "-->", "--!>", "<script>", "</script>", "<!", "<?x",
        "<svg>", "</svg>", "<title>", "</title>", "<![CDATA[", "]]>", "&amp", "&", "é", "\0", "<plaintext", "=", "/", " ",
        "<base href=/b/>", "<textarea", "<math>", "<p>",
    ]), 0..40)) {
        let page = read(pieces.concat(), &PageLimits::default());
        prop_assert!(page.links.len() <= pieces.len());
    }
}
