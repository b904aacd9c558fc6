//! What a reading missed is counted: links without room, long addresses, bodies that fall short.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use turnstone_fetch::html::{
    Cuts, LINK_BYTES, LinksWanted, Page, PageInput, PageLimits, Unseen, read_page,
};
use turnstone_fetch::{Client, Request, Shortfall, ShortfallCause};

use crate::decoding::{brotli, gzip};
use crate::memory::peak_of;
use crate::server::{After, Server, config, limits};

fn read(body: &str, limits: &PageLimits) -> Page {
    let url = url::Url::parse("https://site.example/dir/page.html").unwrap();
    let input = PageInput {
        url: &url,
        content_type: Some("text/html; charset=utf-8"),
        body: body.as_bytes(),
        agent: "turnstone",
    };
    read_page(input, limits)
}

/// Links to numbered pages of an index.
fn index(links: usize) -> String {
    (0..links).fold(String::new(), |mut page, number| {
        write!(page, "<li><a href=\"entry/{number}.html\">{number}</a>").unwrap();
        page
    })
}

fn any_length() -> PageLimits {
    PageLimits {
        bytes_max: usize::MAX,
        ..PageLimits::default()
    }
}

/// Room for so many links of so many bytes each.
fn room_for(links: usize, url_bytes: usize) -> PageLimits {
    PageLimits {
        links_bytes_max: links * (LINK_BYTES + url_bytes),
        ..any_length()
    }
}

#[test]
fn half_a_million_links_are_all_kept_in_bounded_memory() {
    let body = index(500_000);
    let (page, peak) = peak_of(|| read(&body, &any_length()));
    assert_eq!(page.links.len(), 500_000);
    assert_eq!(page.links[499_999].url.path(), "/dir/entry/499999.html");
    assert_eq!(page.cuts.unseen_links(), Unseen::None);
    // Vectors and tables grow by doubling; the text of the page is kept up to its own limit.
    assert!(peak < 400 << 20, "{peak} bytes at the peak");
}

/// What this thread has spent, where Linux tells it: test machines are busy.
fn cpu_time(began: Instant) -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = stat.and_then(|stat| stat.split(' ').next()?.parse().ok());
    spent.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

#[test]
fn time_grows_as_links_do() {
    let began = Instant::now();
    let took = |links| {
        let body = index(links);
        let limits = PageLimits {
            text_bytes_max: 0,
            ..any_length()
        };
        let run = || {
            let start = cpu_time(began);
            assert_eq!(read(&body, &limits).links.len(), links);
            cpu_time(began) - start
        };
        (0..3).map(|_| run()).min().unwrap()
    };
    let (few, many) = (took(20_000), took(320_000));
    // Sixteen times the links; were it quadratic, it would be 256 times the time.
    assert!(
        many < 80 * few.max(Duration::from_millis(2)),
        "{few:?}, {many:?}"
    );
}

#[test]
fn repetitions_and_fragments_take_no_room() {
    let body = "<a href=x><a href=x#1><a href=./x><a href=/dir/x#2>".repeat(1000);
    let page = read(&body, &room_for(1, 30));
    assert_eq!((page.links.len(), page.cuts.links), (1, 0));
    assert_eq!(page.cuts.unseen_links(), Unseen::None);
    let kinds = "<a href=x><area href=x><a href=x rel=next>".repeat(1000);
    assert_eq!(read(&kinds, &any_length()).links.len(), 3);
}

#[test]
fn links_without_room_are_counted_each_once() {
    // Every URL is 27 bytes long: `https://site.example/dir/10`.
    let body = (10..90).map(|n| format!("<a href={n}><a href={n}#top><a href=./{n}>"));
    let body = body.collect::<String>().repeat(3);
    let page = read(&body, &room_for(50, 27));
    assert_eq!((page.links.len(), page.cuts.links), (50, 30));
    assert_eq!(page.links[49].url.path(), "/dir/59", "the first ones win");
    assert_eq!(page.cuts.unseen_links(), Unseen::AtMost(30));
    // No room even before they are resolved.
    let page = read(&body, &room_for(0, 0));
    assert_eq!((page.links.len(), page.cuts.links), (0, 160));
}

#[test]
fn pictures_take_no_room_where_only_pages_are_wanted() {
    let pictures: String = (10..90).map(|n| format!("<img src={n}>")).collect();
    let limits = PageLimits {
        links: LinksWanted::Pages,
        ..room_for(2, 40)
    };
    let page = read(
        &format!("{pictures}<link href=c rel=canonical><a href=x>"),
        &limits,
    );
    assert_eq!((page.links.len(), page.cuts.links), (2, 0));
    assert!(page.canonical.is_some());
}

#[test]
fn long_addresses_are_cuts_and_other_schemes_are_not() {
    let long = "x".repeat(9000);
    let check = |href: &str, want: (u64, u64)| {
        let body = format!(
            "<a href='{href}'>{}",
            format!("<a href='{href}#2'>").repeat(2)
        );
        let cuts = read(&body, &any_length()).cuts;
        let shown: String = href.chars().take(40).collect();
        assert_eq!((cuts.urls_too_long, cuts.links_refused), want, "{shown}");
        let unseen = match want.0 {
            0 => Unseen::None,
            count => Unseen::AtMost(count),
        };
        assert_eq!(cuts.unseen_links(), unseen, "{shown}");
    };
    check(&format!("/{long}"), (1, 0));
    check(&format!("HTTPS://other.example/{long}"), (1, 0));
    check(&format!("?{}", "&a".repeat(600)), (1, 0));
    // Short as written, long once it is encoded.
    check(&"é".repeat(3000), (1, 0));
    check(&format!("data:text/plain,{long}"), (0, 1));
    check(&format!(" javascript:{long}"), (0, 1));
    check("mailto:somebody@site.example", (0, 1));
    check("http://[broken", (0, 1));
    check(&format!("x#{long}"), (0, 0));
}

#[test]
fn tags_and_bytes_left_out() {
    let limits = PageLimits {
        tag_attributes_max: 2,
        ..any_length()
    };
    let cuts = read("<a 1 2 href=x><p 1 2 3><a href=y><b 1 2 3", &limits).cuts;
    assert_eq!((cuts.tags, cuts.unseen_links()), (2, Unseen::AtMost(2)));
    let limits = PageLimits {
        bytes_max: 30,
        ..PageLimits::default()
    };
    let page = read(&"<a href=1>".repeat(6), &limits);
    assert_eq!((page.cuts.bytes, page.links.len()), (30, 1));
    assert_eq!(page.cuts.unseen_links(), Unseen::AtMost(3 + 2));
    let of_body = |bytes| Cuts {
        body: Some(Shortfall {
            cause: ShortfallCause::Time,
            bytes,
        }),
        ..Cuts::default()
    };
    assert_eq!(of_body(Some(0)).unseen_links(), Unseen::None);
    assert_eq!(of_body(Some(9)).unseen_links(), Unseen::AtMost(2));
    assert_eq!(of_body(None).unseen_links(), Unseen::Unbounded);
    assert_eq!(
        of_body(Some(u64::MAX)).unseen_links(),
        Unseen::AtMost(u64::MAX / 10 + 2)
    );
}

/// No cut hides more links than it owns up to: whatever is cut off a page.
#[test]
fn the_bound_holds_wherever_a_page_is_cut() {
    let mut page: String = ["<a href>", "<a href=x>", "<a/href=y>", "<p>t<a href='z w'>"].concat();
    page.extend(('a'..='z').map(|c| format!("<a href={c}>")));
    let whole = read(&page, &any_length()).links.len();
    for bytes_max in 0..page.len() {
        let limits = PageLimits {
            bytes_max,
            ..PageLimits::default()
        };
        let cut = read(&page, &limits);
        let missing = (whole - cut.links.len()) as u64;
        match cut.cuts.unseen_links() {
            Unseen::AtMost(most) => assert!(missing <= most, "at {bytes_max}"),
            other => panic!("at {bytes_max}: {other:?}"),
        }
    }
}

/// Fetches a reply and says what is missing.
async fn shortfall(reply: impl Into<Vec<u8>>, after: After) -> Option<(&'static str, Option<u64>)> {
    let server = Server::reply(reply, after).await;
    let client = Client::new(config(limits())).unwrap();
    let response = client.fetch(Request::get(server.url())).await.unwrap();
    let decoded = response.decoded(&limits());
    let short = response.shortfall(&decoded);
    short.map(|short| (short.cause.name(), short.bytes))
}

fn reply(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body].concat()
}

#[tokio::test]
async fn whole_bodies_fall_short_of_nothing() {
    let packed = gzip(b"<a href=x>");
    for (head, body) in [
        ("200 OK\r\nContent-Length: 2", b"ok".as_slice()),
        ("200 OK", b"until it closes"),
        ("200 OK\r\nContent-Encoding: gzip", &packed),
        ("200 OK\r\nContent-Encoding: gzip", b"plain though"),
        ("206 Part\r\nContent-Range: bytes 0-1/2", b"ok"),
    ] {
        assert_eq!(
            shortfall(reply(head, body), After::Close).await,
            None,
            "{head}"
        );
    }
}

#[tokio::test]
async fn what_is_missing_of_a_body_is_told() {
    let declared = "200 OK\r\nContent-Length: 150000";
    let chunked = "200 OK\r\nTransfer-Encoding: chunked";
    let long = vec![b'x'; 150_000];
    let check = async |head: &str, body: &[u8], after, want| {
        let got = shortfall(reply(head, body), after).await;
        assert_eq!(got, Some(want), "{head}");
    };
    check(declared, &long, After::Close, ("length", Some(50_000))).await;
    check("200 OK", &long, After::Close, ("length", None)).await;
    check(
        declared,
        b"xyz",
        After::Close,
        ("disconnect", Some(149_997)),
    )
    .await;
    check(declared, b"xyz", After::Hold, ("time", Some(149_997))).await;
    check(chunked, b"3\r\nxyz\r\n", After::Close, ("disconnect", None)).await;
    check("206 Part", b"xyz", After::Close, ("part", None)).await;
    let part = "206 Part\r\nContent-Range: bytes 0-2/10";
    check(part, b"xyz", After::Close, ("part", Some(7))).await;
}

#[tokio::test]
async fn codings_that_hide_the_rest_are_told() {
    let page = "<a href=x>".repeat(30) + &index(100);
    let (packed, pressed) = (gzip(page.as_bytes()), brotli(page.as_bytes()));
    let coded = |coding: &str| format!("200 OK\r\nContent-Encoding: {coding}");
    let check = async |coding: &str, body: &[u8], want| {
        let got = shortfall(reply(&coded(coding), body), After::Close).await;
        assert_eq!(got, Some((want, None)), "{coding}");
    };
    check("gzip", &packed[..packed.len() / 2], "undecoded").await;
    check("br", &pressed[..pressed.len() / 2], "undecoded").await;
    check("unheard-of", b"whatever", "undecoded").await;
    check("gzip, gzip, gzip", &packed, "undecoded").await;
    check("gzip", &gzip(&vec![b' '; 1_000_000]), "length").await;
    let mut broken = packed.clone();
    broken[20] ^= 0xFF;
    check("gzip", &broken, "undecoded").await;
    // Cut on the way, and packed: how much is missing nobody knows.
    let head = coded("gzip") + &format!("\r\nContent-Length: {}", packed.len());
    let got = shortfall(reply(&head, &packed[..40]), After::Close).await;
    assert_eq!(got, Some(("disconnect", None)));
}
