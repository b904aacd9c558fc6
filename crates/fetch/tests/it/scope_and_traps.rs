//! Scope, traps and media: what a crawl leaves out, and by which rule.

use expect_test::expect;
use proptest::prelude::*;
use turnstone_fetch::media::{Media, MediaFilter, media_of};
use turnstone_fetch::scope::{Scope, ScopeRules};
use turnstone_fetch::traps::{
    BudgetOptions, PatternBudget, TrapClass, TrapOptions, judge, pattern_of,
};
use url::Url;

/// 2026-11-15.
const NOW: u64 = 1_794_700_800;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn found(text: &str) -> String {
    match judge(&url(text), NOW, &TrapOptions::default()) {
        Some(finding) => format!("{}: {}", finding.class.name(), finding.rule),
        None => "ok".into(),
    }
}

#[test]
fn p1_urls_that_lead_nowhere() {
    for (text, expected) in [
        (
            "http://h.example/a/b/a/b/a/b/",
            "trap: path segments repeat in a row",
        ),
        ("http://h.example/en/en/page", "ok"),
        ("http://h.example/2024/01/01/01/", "ok"),
        (
            "http://h.example/01/01/01/01",
            "trap: path segments repeat in a row",
        ),
        (
            "http://h.example/x/p.php/p.php/p.php",
            "trap: path segments repeat in a row",
        ),
        (
            "http://h.example/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h/i/j/k/l",
            "trap: too many path segments",
        ),
        (
            "http://h.example/?a=1&a=1&a=1",
            "trap: the same parameter again and again",
        ),
        ("http://h.example/?a=1&a=2&a=3", "ok"),
        (
            "http://h.example/?u=%2525252f",
            "trap: escaped again and again",
        ),
        ("http://h.example/?u=%252f", "ok"),
        // Names of files: `%ce`, `%25ce`, `%2525ce`.
        ("http://h.example/%25ce.html", "ok"),
        ("http://h.example/%2525ce.html", "ok"),
        ("http://h.example/%252525ce.html", "ok"),
        (
            "http://h.example/%25252525ce.html",
            "trap: escaped again and again",
        ),
        (
            "http://h.example/a%2Fa%2fa%2F",
            "trap: path segments repeat in a row",
        ),
        ("http://h.example/a%2Fb", "ok"),
        ("http://h.example/save/http://other.example//x", "ok"),
        (
            "http://h.example/a//////b",
            "trap: empty path segments again and again",
        ),
        (
            "http://h.example/w/index.php?title=A&diff=12&oldid=11",
            "facet: a version, a difference or a form of a wiki",
        ),
        (
            "http://h.example/w/index.php?title=A&action=edit",
            "facet: a version, a difference or a form of a wiki",
        ),
        ("http://h.example/w/index.php?title=A&action=view", "ok"),
        (
            "http://h.example/login?next=%2Flogin%3Fnext%3D%252Flogin",
            "trap: holds its own address again and again",
        ),
        (
            "http://h.example/list?page=99999",
            "trap: page number too high",
        ),
        ("http://h.example/?p=99999", "ok"),
        (
            "http://h.example/cal?month=2199-07",
            "trap: calendar too far from today",
        ),
        ("http://h.example/cal?month=2027-07", "ok"),
        (
            "http://h.example/events/1820/03",
            "trap: calendar too far from today",
        ),
        ("http://h.example/products/1820/03", "ok"),
        (
            "http://h.example/p;jsessionid=1",
            "session: session id in the path",
        ),
        (
            "http://h.example/?PHPSESSID=1",
            "session: session id in the query",
        ),
        (
            "http://h.example/?utm_source=1",
            "tracking: tracking parameter",
        ),
        (
            "http://h.example/?sort=a&color=b&size=c",
            "facet: filter parameters",
        ),
        ("http://h.example/?sort=a&id=b", "ok"),
        (
            "http://h.example/d/?C=M;O=D",
            "facet: sort order of a folder listing",
        ),
        ("http://h.example/?C=Model", "ok"),
        (
            "http://h.example/post?print=1",
            "facet: another view of a page",
        ),
        (
            "http://h.example/r/blame/0123456789abcdef0123456789abcdef01234567/f",
            "facet: one version in a repository browser",
        ),
        ("http://h.example/a/../a/../a/b", "ok"),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn patterns_fold_digits_and_hex() {
    assert_eq!(
        pattern_of(&url(
            "http://h.example/news/2024-05-01/0a1b2c3d4e5f.html?page=2&id=7&page=3"
        )),
        "/news/#-#-#/@.html?id&page"
    );
    assert_eq!(pattern_of(&url("http://h.example/decade/v2")), "/decade/v#");
}

#[test]
fn p1_a_pattern_stops_at_its_trust_unless_it_brings_new_text() {
    let options = BudgetOptions {
        trust: 10,
        facet_trust: 3,
        earned_per_new: 2,
        ..BudgetOptions::default()
    };
    let mut budget = PatternBudget::default();
    let admit = |budget: &mut PatternBudget, i: u32, class| {
        budget.admit(&url(&format!("http://h.example/cal/{i}")), class, &options)
    };
    for i in 0..10 {
        admit(&mut budget, i, None).unwrap();
    }
    expect!["pattern budget: 10 of /cal/# admitted, 0 new"]
        .assert_eq(&admit(&mut budget, 11, None).unwrap_err().to_string());
    // Other pages of the host are not touched.
    budget
        .admit(&url("http://h.example/about"), None, &options)
        .unwrap();
    budget.brought_new(&url("http://h.example/cal/1"), &options);
    admit(&mut budget, 11, None).unwrap();
    admit(&mut budget, 12, None).unwrap();
    admit(&mut budget, 13, None).unwrap_err();
    let again = PatternBudget::from_entries(budget.entries());
    assert_eq!(again, budget);

    let facet = url("http://h.example/shop?sort=1");
    let facets = (0..9)
        .filter(|_| {
            budget
                .admit(&facet, Some(TrapClass::Facet), &options)
                .is_ok()
        })
        .count();
    assert_eq!(facets, 3);
    assert!(
        budget
            .admit(
                &url("http://h.example/new"),
                Some(TrapClass::Trap),
                &options
            )
            .is_err()
    );

    let tiny = BudgetOptions {
        patterns_max: 2,
        trust: 5,
        ..BudgetOptions::default()
    };
    let mut budget = PatternBudget::default();
    let admitted = (0..100u8)
        .filter(|i| {
            let name: String = [i / 10, i % 10]
                .iter()
                .map(|d| char::from(b'a' + d))
                .collect();
            budget
                .admit(&url(&format!("http://h.example/{name}")), None, &tiny)
                .is_ok()
        })
        .count();
    assert_eq!(
        (admitted, budget.len()),
        (2 + 5, 3),
        "endless patterns share one budget"
    );
}

#[test]
fn scope_names_the_rule_that_refuses() {
    let rules = ScopeRules {
        hosts: vec!["WWW.example.org.".into()],
        sites: vec!["example.co.uk".into()],
        prefixes: vec!["https://docs.example.net:443/%7Eme/".into()],
        include: vec![r"\.pdf$".into()],
        exclude: vec!["private".into()],
        depth_max: 3,
        path_segments_max: 4,
        query_params_max: 2,
        path_bytes_max: 40,
        query_bytes_max: 10,
        ..ScopeRules::default()
    };
    let scope = Scope::new(rules).unwrap();
    let check = |text: &str, depth| {
        scope
            .check(&url(text), depth)
            .map_or_else(|e| e.to_string(), |()| "in".into())
    };
    for (text, depth, expected) in [
        ("http://www.example.org/", 0, "in"),
        (
            "http://example.org/",
            0,
            "scope: no host, site, prefix or include rule matches",
        ),
        ("http://a.b.example.co.uk/", 0, "in"),
        ("https://docs.example.net/~me/x", 0, "in"),
        (
            "https://docs.example.net/~you/x",
            0,
            "scope: no host, site, prefix or include rule matches",
        ),
        ("https://else.example/x.pdf", 0, "in"),
        (
            "http://www.example.org/private/x",
            0,
            "scope exclude: private",
        ),
        (
            "http://www.example.org/",
            4,
            "scope depth_max: 4 links from a seed",
        ),
        (
            "http://www.example.org/1/2/3/4/5",
            0,
            "scope path_segments_max: 5 segments",
        ),
        (
            "http://www.example.org/?a&b&c",
            0,
            "scope query_params_max: 3 parameters",
        ),
        (
            "http://www.example.org/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            0,
            "scope path_bytes_max: 43 bytes",
        ),
        (
            "http://www.example.org/?aaaaaaaaaaaa",
            0,
            "scope query_bytes_max: 12 bytes",
        ),
    ] {
        assert_eq!(check(text, depth), expected, "{text}");
    }
    assert!(
        Scope::new(ScopeRules::default())
            .unwrap()
            .check(&url("http://any.example/"), 99)
            .is_ok()
    );
    let bad = Scope::new(ScopeRules {
        exclude: vec!["(".into()],
        ..ScopeRules::default()
    })
    .unwrap_err()
    .to_string();
    assert!(bad.starts_with("scope option exclude: "), "{bad}");
    let bad = Scope::new(ScopeRules {
        prefixes: vec!["docs/".into()],
        ..ScopeRules::default()
    })
    .unwrap_err()
    .to_string();
    expect![[r#"scope option prefixes: "docs/" is not an http or https URL"#]].assert_eq(&bad);
}

#[test]
fn media_by_label_and_by_first_bytes() {
    for (label, body, expected) in [
        (
            Some("text/html; charset=x"),
            b"hello".as_slice(),
            Media::Html,
        ),
        (Some("text/html"), b"%PDF-1.4", Media::Pdf),
        (
            Some("text/html"),
            b"\xFF\xD8\xFF\xE0\0\x10JFIF\0",
            Media::Image,
        ),
        (
            Some("application/octet-stream"),
            b"<!DOCTYPE html><p>",
            Media::Html,
        ),
        (None, b"<?xml version='1.0'?><rss>", Media::Xml),
        (None, b"{\"version\":", Media::Json),
        (Some("application/rss+xml"), b" <rss>", Media::Xml),
        (None, b"\x1F\x8B\x08\0\0\0\0\0", Media::Gzip),
        (None, b"BMW makes cars", Media::Text),
        (Some("text/plain"), b"just words", Media::Text),
        (
            Some("text/plain"),
            b"<!doctype html><a href=x>",
            Media::Text,
        ),
        (Some("text/css"), b"<!-- p {} -->", Media::Text),
        (Some("text/plain"), b"<urlset><url>", Media::Xml),
        (
            Some("text/html; charset=utf-16le"),
            b"<\0p\0>\0h\0i\0",
            Media::Html,
        ),
        (
            Some("text/html; charset=utf-8"),
            b"<\0p\0>\0h\0i\0",
            Media::Binary,
        ),
        (Some("image/svg+xml"), b"<svg>", Media::Image),
        (Some("text/html"), b"RIFF\0\0\0\0WEBPVP8 ", Media::Image),
        (None, b"", Media::Text),
    ] {
        assert_eq!(media_of(label, body), expected, "{label:?} {body:?}");
    }
    let filter = MediaFilter::default();
    assert_eq!(filter.check(Some("text/html"), b"<p>"), Ok(Media::Html));
    expect!["media type: pdf by its first bytes"]
        .assert_eq(&filter.check(Some("text/html"), b"%PDF-1.4").unwrap_err());
    expect!["media type: image by its Content-Type"]
        .assert_eq(&filter.check(Some("image/svg+xml"), b"<svg>").unwrap_err());
}

proptest! {
    #[test]
    fn any_url_is_judged(path in "[a-z0-9%/;()=.-]{0,60}", query in "[a-z0-9%&=;C2-]{0,60}") {
        if let Ok(url) = Url::parse(&format!("http://h.example/{path}?{query}")) {
            let _ = (judge(&url, NOW, &TrapOptions::default()), pattern_of(&url));
        }
    }
}
