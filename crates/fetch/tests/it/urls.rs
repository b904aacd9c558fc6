//! URLs: limits, identity, archive keys, sites.

use expect_test::expect;
use proptest::prelude::*;
use turnstone_fetch::urls::{
    KeyOptions, UrlError, UrlLimits, UserinfoRule, canonical_key, host_of, origin_of, parse,
    resolve, shown, site_of, surt,
};

fn url(text: &str) -> url::Url {
    parse(text, &UrlLimits::default()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn key(text: &str) -> String {
    canonical_key(&url(text), &KeyOptions::default())
}

fn refusal(text: &str) -> String {
    parse(text, &UrlLimits::default()).unwrap_err().to_string()
}

#[test]
fn u3_long_urls_and_many_parameters_are_refused_with_their_class() {
    let long = format!("http://h.example/{}", "a".repeat(100 * 1024));
    assert_eq!(
        parse(&long, &UrlLimits::default()),
        Err(UrlError::TooLong {
            bytes: 102_417,
            max: 8192
        })
    );
    let many = format!("http://h.example/?{}", vec!["a"; 2000].join("&"));
    assert_eq!(
        parse(&many, &UrlLimits::default()),
        Err(UrlError::TooManyParams {
            count: 2000,
            max: 512
        })
    );
    // Short as written, too long once encoded.
    let grows = format!("http://h.example/{}", "\u{e9}".repeat(4000));
    assert!(matches!(
        parse(&grows, &UrlLimits::default()),
        Err(UrlError::TooLong { .. })
    ));
    let relative = format!("/{}", "a".repeat(9000));
    assert!(matches!(
        resolve(&url("http://h.example/"), &relative, &UrlLimits::default()),
        Err(UrlError::TooLong { .. })
    ));
}

#[test]
fn u4_hosts_that_dns_cannot_hold_are_refused() {
    expect!["not a URL: invalid international domain name"].assert_eq(&refusal("http://xn--/"));
    expect!["URL host is not a usable name: a part between dots is empty"]
        .assert_eq(&refusal("http://a..b/"));
    expect!["URL host is not a usable name: a part between dots is longer than 63 bytes"]
        .assert_eq(&refusal(&format!(
            "http://{}.example/",
            "a".repeat(300 - 60)
        )));
    expect!["URL host is not a usable name: it is longer than 253 bytes"]
        .assert_eq(&refusal(&format!("http://{}example/", "a.".repeat(200))));
    expect![[r#"URL scheme "ftp" is not fetched; only http and https are"#]]
        .assert_eq(&refusal("ftp://h.example/"));
}

#[test]
fn u5_user_names_and_passwords_are_stripped_or_refused_and_never_shown() {
    assert_eq!(
        url("https://bob:secret@h.example/p").as_str(),
        "https://h.example/p"
    );
    let strict = UrlLimits {
        userinfo: UserinfoRule::Refuse,
        ..UrlLimits::default()
    };
    assert_eq!(
        parse("https://bob@h.example/", &strict),
        Err(UrlError::Userinfo)
    );
    for text in [
        "https://bob:secret@h.example/p",
        "http:bob:secret@h.example",
        "https:\\\\bob:secret@h.example",
        "//bob:secret@h.example",
        "ht\ntps://bob:s\necret@h.example:99999/",
        "https://a@b:secret@h.example/?x@y",
        "bob:secret@h.example",
    ] {
        assert!(
            !shown(text).contains("secret"),
            "{text} shown as {}",
            shown(text)
        );
        if let Err(error) = parse(text, &UrlLimits::default()) {
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
    assert_eq!(shown("https://h.example/a@b?c"), "https://h.example/a@b?c");
    assert_eq!(shown("\x1b[31mhttp://h.example/"), "[31mhttp://h.example/");
}

#[test]
fn u6_one_key_for_twelve_spellings() {
    let spellings = [
        "http://h.example/~u/a?x=1",
        "HTTP://H.EXAMPLE/~u/a?x=1",
        "http://h.example:80/~u/a?x=1",
        "http://h.example./~u/a?x=1",
        "http://h.example/%7Eu/a?x=1",
        "http://h.example/%7eu/%61?x=1",
        "http://h.example/b/../~u/a?x=1",
        "http://h.example/./~u/a?x=1",
        "http://h.example/~u/a?x=1#frag",
        "http://h.example/~u/a?%78=1",
        "http://bob@h.example/~u/a?x=1",
        "http://h.example/~u/a;jsessionid=0A1B2C3D?x=1&PHPSESSID=0123456789abcdef",
    ];
    for spelling in spellings {
        assert_eq!(key(spelling), "http://h.example/~u/a?x=1", "{spelling}");
    }
    for other in [
        "https://h.example/~u/a?x=1",
        "http://h.example/~u/a/?x=1",
        "http://h.example/~u/a?x=1&",
        "http://h.example//~u/a?x=1",
        "http://h.example/~u%2Fa?x=1",
    ] {
        assert_ne!(key(other), key(spellings[0]), "{other}");
    }
}

#[test]
fn many_slashes_before_a_host_are_two() {
    let base = url("https://h.example/a/b");
    for (text, expected) in [
        ("///x.example/p", "https://x.example/p"),
        (" \\\\\n/\\x.example", "https://x.example/"),
        ("//x.example", "https://x.example/"),
        ("/p//q", "https://h.example/p//q"),
        ("c///d", "https://h.example/a/c///d"),
    ] {
        assert_eq!(
            resolve(&base, text, &UrlLimits::default())
                .unwrap()
                .as_str(),
            expected,
            "{text:?}"
        );
    }
    assert!(resolve(&base, "///", &UrlLimits::default()).is_err());
}

#[test]
fn sessions_go_and_tracking_goes_when_asked() {
    assert_eq!(
        key("http://h.example/(S(4hqa0555fwsecu455xqckv45))/a.aspx"),
        "http://h.example/a.aspx"
    );
    assert_eq!(
        key("http://h.example/a?sid=9f8e7d6c5b4a39281706f5e4d3c2b1a0"),
        "http://h.example/a"
    );
    assert_eq!(key("http://h.example/a?sid=3"), "http://h.example/a?sid=3");
    assert_eq!(
        key("http://h.example/a?utm_source=x"),
        "http://h.example/a?utm_source=x"
    );
    let all = KeyOptions {
        strip_tracking: true,
        sort_query: true,
        ..KeyOptions::default()
    };
    assert_eq!(
        canonical_key(
            &url("http://h.example/?utm_source=x&b=2&a=1&FBCLID=z"),
            &all
        ),
        "http://h.example/?a=1&b=2"
    );
    assert_eq!(
        key("http://h.example/.;jsessionid=1/x"),
        "http://h.example/x",
        "what stripping uncovers is cleaned too"
    );
}

#[test]
fn u7_sites_by_public_suffix_and_addresses_whole() {
    let site = |text: &str| site_of(&url(text)).to_owned();
    assert_eq!(site("http://a.b.example.co.uk/"), "example.co.uk");
    assert_eq!(site("http://co.uk/"), "co.uk");
    assert_eq!(site("http://someone.github.io/"), "someone.github.io");
    assert_eq!(site("http://github.io/"), "github.io");
    assert_eq!(site("http://www.example.com./"), "example.com");
    assert_eq!(site("http://192.0.2.1:8080/"), "192.0.2.1");
    assert_eq!(site("http://[2001:db8::1]/"), "[2001:db8::1]");
    assert_eq!(
        host_of(&url("http://WWW.Example.com./x")),
        "www.example.com"
    );
    assert_eq!(
        origin_of(&url("http://h.example:8080/x")),
        "http://h.example:8080"
    );
}

#[test]
fn surt_is_the_archives_form() {
    let of = |text: &str| surt(&url(text));
    assert_eq!(
        of("http://www2.Example.org:8080/A/B/?b=2&a=1#x"),
        "org,example:8080)/a/b?a=1&b=2"
    );
    assert_eq!(of("https://192.0.2.7/%2541"), "7,2,0,192)/a");
    assert_eq!(of("http://[2001:db8::1]:81/"), "2001:db8::1:81)/");
    assert_eq!(of("https://www.com/"), "com,www)/");
}

proptest! {
    #[test]
    fn key_is_idempotent(
        path in "[a-z%/.;()=?&#S25eE\\[\\]|'\\\\ ~é0-9]{0,40}",
        pieces in prop::collection::vec(prop::sample::select(vec![
            ";jsessionid=1", "(S(4hqa0555fwsecu455xqckv45))", "/", ".", "..", "%2e", "%", "25", "?", "&", "sid=0123456789abcdef",
            "utm_x=1", "=", "%3F", "%26", "a", "é", "#", "(", ")", ";", "PHPSESSID=1",
        ]), 0..14),
        sort_query in any::<bool>(), strip_tracking in any::<bool>(), strip_sessions in any::<bool>(),
    ) {
        let options = KeyOptions { strip_sessions, strip_tracking, sort_query };
        for tail in [path, pieces.concat()] {
            let Ok(url) = url::Url::parse(&format!("http://Host.example./{tail}")) else { continue };
            let once = canonical_key(&url, &options);
            let twice = canonical_key(&url::Url::parse(&once).unwrap(), &options);
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,60}") {
        let _ = shown(&text);
        if let Ok(url) = parse(&text, &UrlLimits::default()) {
            let _ = (surt(&url), site_of(&url).len());
        }
    }
}
