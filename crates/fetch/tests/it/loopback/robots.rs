//! Rows R1 to R16: a robots.txt as a server sends it, and what we then ask for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use turnstone_fetch::robots::tags::PageWishes;
use turnstone_fetch::robots::{Access, AfterLongSilence, BYTES_MAX, Record, RefreshOptions};
use turnstone_fetch::{Answer, Client, Config, DnsError, Redirect, Resolve, Url};

use super::site::{Reply, Site, Visitor, client, gone, ok, redirect, reply};
use crate::server::{config, limits};

const NOW: u64 = 1_000_000;
const DAY: u64 = 24 * 3600;

/// Serves `file` as robots.txt and asks for pages; says for each whether it was asked for.
async fn check(file: impl Fn() -> Reply + Send + Sync + 'static, pages: &[(&str, &str)]) {
    let site = Site::start(move |path| {
        if path == "/robots.txt" {
            file()
        } else {
            ok("page")
        }
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    for (path, want) in pages {
        let got = visitor.word(site.url(path), NOW).await;
        assert_eq!(got, *want, "{path}");
    }
    let allowed = pages.iter().filter(|(_, want)| *want == "asked");
    let want: Vec<_> = std::iter::once("0/robots.txt".to_owned())
        .chain(allowed.map(|(path, _)| format!("0{path}")))
        .collect();
    assert_eq!(site.asked(), want.join(" "));
}

#[tokio::test]
async fn r1_a_file_of_600_kib() {
    let rule_at = |file: &mut String, at: usize, rule: &str| {
        let comment = at - file.len() - 2;
        *file += &format!("#{}\n{rule}\n", "x".repeat(comment));
    };
    let mut file = String::from("User-agent: *\n");
    rule_at(&mut file, 510_000, "Disallow: /before");
    rule_at(&mut file, BYTES_MAX - 12, "Disallow: /cut-in-the-middle");
    rule_at(&mut file, 600 << 10, "Disallow: /after");
    let site = Site::start(move |_| ok(&file)).await;
    let mut visitor = Visitor::new(client(), &site.origin());
    for (path, want) in [
        ("/before", false),
        ("/after", true),
        ("/cut-in-the-middle", true),
    ] {
        let got = visitor.visit(site.url(path), NOW).await.is_ok();
        assert_eq!(got, want, "{path}");
    }
    // No more of it was taken than counts.
    let response = client()
        .fetch(Record::new(&site.origin()).request(NOW).unwrap())
        .await
        .unwrap();
    assert_eq!(response.body.len(), BYTES_MAX + 1);
}

#[tokio::test]
async fn r2_a_missing_file_opens_the_site() {
    for status in [404, 403, 410, 401, 451] {
        let site = Site::start(move |path| match path {
            "/robots.txt" => reply(status, &[], "User-agent: *\nDisallow: /"),
            _ => ok("page"),
        })
        .await;
        let mut visitor = Visitor::new(client(), &site.origin());
        assert_eq!(visitor.word(site.url("/a"), NOW).await, "asked", "{status}");
        assert_eq!(visitor.word(site.url("/b"), NOW + DAY - 1).await, "asked");
        assert_eq!(site.asked(), "0/robots.txt 0/a 0/b");
        // After a day it is asked for again.
        visitor.word(site.url("/c"), NOW + DAY).await;
        assert_eq!(site.asked(), "0/robots.txt 0/c");
    }
}

#[tokio::test]
async fn r3_too_many_requests() {
    let site = Site::start(|_| reply(429, &["Retry-After: 1000"], "")).await;
    let mut visitor = Visitor::new(client(), &site.origin());
    let closed = "closed: robots.txt answered 429";
    for now in [NOW, NOW + 999] {
        assert_eq!(visitor.word(site.url("/"), now).await, closed);
    }
    assert_eq!(site.asked(), "0/robots.txt");
    assert_eq!(visitor.word(site.url("/"), NOW + 1000).await, closed);
    assert_eq!(site.asked(), "0/robots.txt");
}

/// Closed, asked for once, and once more after the back-off; no page asked for.
async fn check_unreachable(client: Client, site: &Site, scheme: &str, why: &str) {
    let origin = site.origin().replace("http:", scheme);
    let mut visitor = Visitor::new(client, &origin);
    let url = Url::parse(&format!("{origin}/page")).unwrap();
    for now in [NOW, NOW + 1, NOW + 299, NOW + 300, NOW + 899] {
        let got = visitor.word(url.clone(), now).await;
        assert!(got.starts_with("closed: ") && got.contains(why), "{got}");
    }
    assert_eq!(visitor.record.failures, 2, "{why}");
    assert!(!site.asked().contains("page"), "{why}");
}

#[tokio::test]
async fn r4_unreachable_in_every_way() {
    for status in [500, 503, 599] {
        let site = Site::start(move |_| reply(status, &[], "")).await;
        check_unreachable(client(), &site, "http:", &status.to_string()).await;
    }
    let site = Site::start(|_| Reply::Stall(Vec::new())).await;
    check_unreachable(client(), &site, "http:", "timeout-first-byte").await;
    let site = Site::start(|_| Reply::Bytes(Vec::new())).await;
    check_unreachable(client(), &site, "http:", "disconnect").await;
    let site = Site::start(|_| Reply::Bytes(b"ICY 200 OK\r\n\r\n".to_vec())).await;
    check_unreachable(client(), &site, "http:", "protocol").await;
    // No TLS is spoken there.
    check_unreachable(client(), &site, "https:", "tls").await;
}

struct NoDns;

impl Resolve for NoDns {
    fn resolve<'a>(&'a self, _: &'a str) -> Answer<'a> {
        Box::pin(async { Err(DnsError::Failed("SERVFAIL".into())) })
    }
}

#[tokio::test]
async fn r4_unreachable_for_want_of_an_address() {
    let config = Config {
        resolver: Some(Arc::new(NoDns)),
        ..config(limits())
    };
    let mut visitor = Visitor::new(Client::new(config).unwrap(), "http://named.example");
    let url = Url::parse("http://named.example/page").unwrap();
    let got = visitor.word(url, NOW).await;
    assert!(
        got.starts_with("closed: ") && got.contains("dns-failure"),
        "{got}"
    );
}

#[tokio::test]
async fn r4_a_file_that_broke_off_is_no_file() {
    let part = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser-agent: *\nAllow: /\n";
    let site = Site::start(|_| Reply::Bytes(part.to_vec())).await;
    check_unreachable(client(), &site, "http:", "broke off (disconnect)").await;
    let site = Site::start(|_| Reply::Stall(part.to_vec())).await;
    check_unreachable(client(), &site, "http:", "broke off (too-slow)").await;
    for (coding, body) in [
        ("gzip", &b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x0b"[..]),
        ("x", b"x"),
    ] {
        let line = format!("Content-Encoding: {coding}");
        let site = Site::start(move |_| reply(200, &[&line], body)).await;
        check_unreachable(client(), &site, "http:", "cannot be decoded").await;
    }
}

#[tokio::test]
async fn r4_an_old_copy_is_reused() {
    let down = Arc::new(AtomicBool::new(false));
    let is_down = down.clone();
    let site = Site::start(move |path| match path {
        "/robots.txt" if is_down.load(Ordering::SeqCst) => reply(503, &[], ""),
        "/robots.txt" => ok("User-agent: *\nDisallow: /no"),
        _ => ok("page"),
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    visitor.refresh(NOW).await;
    down.store(true, Ordering::SeqCst);
    let later = NOW + 2 * DAY;
    assert_eq!(visitor.word(site.url("/yes"), later).await, "asked");
    assert_eq!(visitor.word(site.url("/no"), later).await, "line 2");
    let access = visitor.record.access(later, &visitor.options);
    assert!(matches!(access, Access::Rules { stale: true, .. }));
}

#[tokio::test]
async fn r5_thirty_days_of_silence() {
    let site = Site::start(|path| match path {
        "/robots.txt" => reply(500, &[], ""),
        _ => ok("page"),
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    let closed = "closed: robots.txt answered 500";
    for day in 0..30 {
        let now = NOW + day * DAY;
        assert_eq!(visitor.word(site.url("/"), now).await, closed);
    }
    let later = NOW + 30 * DAY;
    assert_eq!(visitor.word(site.url("/"), later).await, "asked");
    assert!(visitor.record.long_silent(later, &visitor.options));
    visitor.options = RefreshOptions {
        after_silence: AfterLongSilence::StayClosed,
        ..RefreshOptions::default()
    };
    assert_eq!(visitor.word(site.url("/"), later).await, closed);
}

/// A chain of `length` redirects, each to the next host; the last host forbids `/x`.
async fn check_chain(length: usize, want: &str, asked: &str) {
    let site = Site::hosts(7, |origins| {
        move |host, path: &str| match path {
            "/robots.txt" if host < length => redirect(format!("{}/robots.txt", origins[host + 1])),
            "/robots.txt" => ok("User-agent: *\nDisallow: /x"),
            _ => ok("page"),
        }
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    assert_eq!(visitor.word(site.url("/x"), NOW).await, want, "{length}");
    assert_eq!(visitor.record.origin, site.origin());
    assert_eq!(site.asked(), asked, "{length}");
}

#[tokio::test]
async fn r6_redirects_across_hosts() {
    let hosts = |count: usize| -> Vec<_> {
        (0..count)
            .map(|host| format!("{host}/robots.txt"))
            .collect()
    };
    check_chain(1, "line 2", &hosts(2).join(" ")).await;
    check_chain(5, "line 2", &hosts(6).join(" ")).await;
    check_chain(6, "asked", &[hosts(6).join(" "), "0/x".into()].join(" ")).await;
    // Round in a circle: unavailable, which is open.
    let site = Site::hosts(2, |origins| {
        move |host, path: &str| match path {
            "/robots.txt" => redirect(format!("{}/robots.txt", origins[1 - host])),
            _ => ok("page"),
        }
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    assert_eq!(visitor.word(site.url("/x"), NOW).await, "asked");
    let access = visitor.record.access(NOW, &visitor.options);
    assert!(matches!(access, Access::Open { why } if why.contains("loop")));
    check(|| redirect("file:///etc/passwd"), &[("/x", "asked")]).await;
    check(|| redirect(""), &[("/x", "asked")]).await;
}

#[tokio::test]
async fn r8_html_instead_of_a_file() {
    let page = "<!DOCTYPE html><html><p>User-agent: *<br>\nDisallow: /x\n</html>";
    let site = Site::start(move |_| reply(200, &["Content-Type: text/html"], page)).await;
    let mut visitor = Visitor::new(client(), &site.origin());
    assert_eq!(visitor.word(site.url("/x"), NOW).await, "asked");
    assert!(visitor.record.copy.unwrap().is_html());
}

#[tokio::test]
async fn r9_byte_order_marks_line_ends_and_nul() {
    let file = "User-agent: *\nDisallow: /no\n";
    let rows = [("/no", "line 2"), ("/yes", "asked")];
    check(
        move || ok([b"\xef\xbb\xbf", file.as_bytes()].concat()),
        &rows,
    )
    .await;
    check(move || ok(file.replace('\n', "\r")), &rows).await;
    check(move || ok(file.replace('\n', "\r\n")), &rows).await;
    for little in [true, false] {
        let utf16: Vec<u8> = std::iter::once(0xfeff)
            .chain(file.encode_utf16())
            .flat_map(|unit| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect();
        check(move || ok(&utf16), &rows).await;
    }
    let nul = "User-agent: *\nDis\0allow: /yes\nDisallow: /no\n\0\0\0";
    check(move || ok(nul), &[("/no", "line 3"), ("/yes", "asked")]).await;
    check(|| ok([0xff, 0xfe, 0x00]), &[("/no", "asked")]).await;
}

#[tokio::test]
async fn r11_two_groups_for_us() {
    let file = "User-agent: turnstone\nDisallow: /1\n\nUser-agent: *\nDisallow: /2\n\n\
                User-agent: Turnstone/9\nDisallow: /3\n";
    let rows = [("/1", "line 2"), ("/2", "asked"), ("/3", "line 8")];
    check(move || ok(file), &rows).await;
}

#[tokio::test]
async fn r12_a_file_that_changes_under_way() {
    let closing = Arc::new(AtomicBool::new(false));
    let closed = closing.clone();
    let site = Site::start(move |path| match path {
        "/robots.txt" if closed.load(Ordering::SeqCst) => ok("User-agent: *\nDisallow: /"),
        "/robots.txt" => ok("User-agent: *\nAllow: /"),
        _ => ok("page"),
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    for number in 0..20 {
        closing.store(number >= 5, Ordering::SeqCst);
        let now = NOW + number * DAY / 10; // the copy lives a day: ten of them
        let got = visitor.word(site.url("/queued"), now).await;
        assert_eq!(
            got,
            if number < 10 { "asked" } else { "line 2" },
            "{number}"
        );
    }
    let asked = site.asked();
    assert_eq!(asked.matches("queued").count(), 10);
    assert!(asked.ends_with("0/queued 0/robots.txt"), "{asked}");
}

#[tokio::test]
async fn r13_crawl_delays() {
    let cap = Duration::from_secs(60);
    for (value, want) in [
        ("3600", Some(60)),
        ("0", Some(0)),
        ("7", Some(7)),
        ("1e9", Some(60)),
        ("-1", None),
        ("abc", None),
    ] {
        let file = format!("User-agent: *\nCrawl-delay: {value}\n");
        let site = Site::start(move |_| ok(&file)).await;
        let mut visitor = Visitor::new(client(), &site.origin());
        visitor.refresh(NOW).await;
        let delay = visitor.record.copy.unwrap().crawl_delay(cap);
        let granted = delay.map(|delay| delay.granted.as_secs());
        assert_eq!(granted, want, "{value}");
    }
}

#[tokio::test]
async fn r14_a_restart() {
    let site = Site::start(|path| match path {
        "/robots.txt" => ok("User-agent: *\nDisallow: /no"),
        _ => ok("page"),
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    let before = visitor.record.access(NOW, &visitor.options);
    assert_eq!(before, Access::Unknown);
    visitor.refresh(NOW).await;
    let saved = visitor.record.save();
    drop(visitor);
    let mut again = Visitor::new(client(), &site.origin());
    again.record = Record::restore(&saved).unwrap();
    assert_eq!(again.word(site.url("/no"), NOW + 100).await, "line 2");
    assert_eq!(again.word(site.url("/yes"), NOW + 100).await, "asked");
    assert_eq!(site.asked(), "0/robots.txt 0/yes");
}

#[tokio::test]
async fn r15_header_lines_for_us_and_for_others() {
    let lines = [
        "X-Robots-Tag: otherbot: noindex, nofollow",
        "X-Robots-Tag: turnstone: noindex",
        "X-Robots-Tag: noarchive",
    ];
    let site = Site::start(move |path| match path {
        "/robots.txt" => gone(),
        _ => reply(200, &lines, "page"),
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    let response = visitor.visit(site.url("/"), NOW).await.unwrap().unwrap();
    let mut wishes = PageWishes::default();
    for value in response.headers.get_all("x-robots-tag") {
        wishes.add_header(value.to_str().unwrap(), super::site::AGENT);
    }
    let PageWishes {
        noindex,
        nofollow,
        noarchive,
        ..
    } = wishes;
    assert_eq!((noindex, nofollow, noarchive), (true, false, true));
}

#[tokio::test]
async fn r16_a_redirect_to_where_we_may_not_go() {
    let site = Site::start(|path| match path {
        "/robots.txt" => ok("User-agent: *\nDisallow: /secret"),
        "/open" => redirect("/secret/page"),
        _ => ok("secret"),
    })
    .await;
    let mut visitor = Visitor::new(client(), &site.origin());
    let response = visitor
        .visit(site.url("/open"), NOW)
        .await
        .unwrap()
        .unwrap();
    let Redirect::To { url, .. } =
        Redirect::of(response.status, &response.headers, &site.url("/open"))
    else {
        panic!("{response:?}");
    };
    assert_eq!(visitor.word(url, NOW).await, "line 2");
    assert_eq!(site.asked(), "0/robots.txt 0/open");
}
