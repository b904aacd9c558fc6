//! Sitemaps and feeds: every form, broken ones too, and none without an end.

use std::fmt::Write as _;
use std::io::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use turnstone_fetch::feed::{Feed, FeedInput, FeedKind, FeedLimits, read_feed};
use turnstone_fetch::html::Unseen;
use turnstone_fetch::sitemap::{
    Sitemap, SitemapInput, SitemapLimits, SitemapWalk, WalkLimits, read_sitemap,
};
use url::Url;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn sitemap(body: impl AsRef<[u8]>) -> Sitemap {
    let url = url("https://h.example/maps/sitemap.xml");
    let input = SitemapInput {
        url: &url,
        content_type: None,
        body: body.as_ref(),
        vouching_hosts: &["cdn.example"],
    };
    read_sitemap(input, &SitemapLimits::default())
}

fn feed(body: impl AsRef<[u8]>) -> Feed {
    let url = url("https://h.example/blog/feed.xml");
    read_feed(
        FeedInput {
            url: &url,
            content_type: None,
            body: body.as_ref(),
        },
        &FeedLimits::default(),
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Shows what was read.
fn check_sitemap(body: impl AsRef<[u8]>, expect: &Expect) {
    let map = sitemap(body);
    let mut shown = format!(
        "{:?} foreign {} refused {} cut {} {}\n",
        map.kind,
        map.foreign,
        map.refused,
        map.cut,
        map.broken.unwrap_or_default()
    );
    for entry in map.entries {
        writeln!(shown, "{} {:?}", entry.url, entry.lastmod_s).unwrap();
    }
    expect.assert_eq(&shown);
}

fn check_feed(body: impl AsRef<[u8]>, expect: &Expect) {
    let feed = feed(body);
    let home = feed.home.map(String::from).unwrap_or_default();
    let mut shown = format!(
        "{:?} \"{}\" {home} refused {} {}\n",
        feed.kind,
        feed.title,
        feed.refused,
        feed.broken.unwrap_or_default()
    );
    for entry in feed.entries {
        writeln!(
            shown,
            "{} \"{}\" {:?}",
            entry.url, entry.title, entry.date_s
        )
        .unwrap();
    }
    expect.assert_eq(&shown);
}

const PAGES: &str = "<urlset xmlns='http://wrong.example/'><url><loc> https://h.example/?a=1&amp;b=2#f\n</loc><lastmod>2005-01-01</lastmod>\
    <i:image><i:loc>https://h.example/no.png</i:loc></i:image></url><url><loc><![CDATA[/relative]]></loc><lastmod>soon</lastmod></url>\
    <url><loc>ftp://h.example/</loc></url><url><lastmod>2005-01-01</lastmod></url></urlset>";

#[test]
fn a_sitemap_in_every_packing() {
    let expected = expect![[r#"
        Pages foreign 0 refused 1 cut false 
        https://h.example/?a=1&b=2 Some(1104537600)
        https://h.example/relative None
    "#]];
    check_sitemap(PAGES, &expected);
    check_sitemap(format!("\u{feff}\n{PAGES}"), &expected);
    check_sitemap(gzip(PAGES.as_bytes()), &expected);
    check_sitemap(
        PAGES.replace("<url", "<s:url").replace("</url", "</s:url"),
        &expected,
    );
    let utf16: Vec<u8> = format!("\u{feff}{PAGES}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    check_sitemap(utf16, &expected);
    // Without its root, and with end tags that do not match.
    check_sitemap(
        PAGES
            .replace("</urlset>", "")
            .replace("<urlset xmlns='http://wrong.example/'>", ""),
        &expected,
    );
}

#[test]
fn text_feeds_and_indexes_as_sitemaps() {
    check_sitemap(
        "\u{feff}https://h.example/1\r\n\r\n  https://h.example/2 \njunk\n",
        &expect![[r#"
        Text foreign 0 refused 1 cut false 
        https://h.example/1 None
        https://h.example/2 None
    "#]],
    );
    check_sitemap(
        "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><sitemap>\n/b.xml?x&amp;y\n</sitemap></sitemapindex>",
        &expect![[r#"
        Index foreign 0 refused 0 cut false 
        https://h.example/a.xml None
        https://h.example/b.xml?x&y None
    "#]],
    );
    check_sitemap(
        "<rss><channel><link>/</link><item><link>/p</link><pubDate>Sat, 01 Jan 2005 00:00:00 GMT</pubDate></item></channel></rss>",
        &expect![[r#"
        Feed foreign 0 refused 0 cut false 
        https://h.example/p Some(1104537600)
    "#]],
    );
    check_sitemap(
        "<!DOCTYPE html><p>no</p>",
        &expect![[r#"
        Unknown foreign 0 refused 0 cut false 
    "#]],
    );
}

#[test]
fn m1_loops_depth_numbers_and_bombs_end() {
    let index = |url: &str| {
        sitemap(format!(
            "<sitemapindex><sitemap><loc>{url}</loc></sitemap></sitemapindex>"
        ))
    };
    // An index that names itself.
    let own = "https://h.example/maps/sitemap.xml";
    let mut walk = SitemapWalk::new([url(own)], WalkLimits::default());
    let (_, level) = walk.next_sitemap().unwrap();
    walk.found(level, &index(own));
    assert_eq!(walk.next_sitemap(), None);
    // Indexes without end.
    let mut walk = SitemapWalk::new([url(own)], WalkLimits::default());
    let mut asked = 0;
    while let Some((_, level)) = walk.next_sitemap() {
        asked += 1;
        walk.found(level, &index(&format!("https://h.example/{asked}.xml")));
    }
    assert_eq!((asked, walk.left_out()), (4, 1));

    let many = format!(
        "<urlset>{}</urlset>",
        "<url><loc>/x</loc></url>".repeat(50_001)
    );
    let map = sitemap(&many);
    assert_eq!((map.entries.len(), map.cut), (50_000, true));
    assert_eq!(map.unseen_links(), Unseen::Unbounded);
    let exactly = format!(
        "<urlset>{}</urlset>",
        "<url><loc>/x</loc></url>".repeat(50_000)
    );
    let map = sitemap(exactly);
    assert_eq!((map.cut, map.unseen_links()), (false, Unseen::None));

    let mut long = String::from("<urlset><url><loc>/kept</loc></url><!--");
    long.push_str(&" ".repeat(60 << 20));
    let map = sitemap(&long);
    assert_eq!((map.entries.len(), map.cut, map.broken), (1, true, None));
    // A thousandfold in gzip: cut at the same place.
    let map = sitemap(gzip(long.as_bytes()));
    assert_eq!((map.entries.len(), map.cut), (1, true));
}

#[test]
fn m2_other_hosts_only_when_they_vouch() {
    check_sitemap(
        "<urlset><url><loc>https://evil.example/x</loc></url><url><loc>https://cdn.example/y</loc></url></urlset>",
        &expect![[r#"
        Pages foreign 1 refused 0 cut false 
        https://cdn.example/y None
    "#]],
    );
}

#[test]
fn m3_entries_before_a_break_are_kept() {
    check_sitemap(
        "<urlset><url><loc>/1</loc></url><url><loc>/2</loc></url><url><lo",
        &expect![[r#"
        Pages foreign 0 refused 0 cut false at byte 61: syntax error: tag not closed: `>` not found before end of input
        https://h.example/1 None
        https://h.example/2 None
    "#]],
    );
    let packed = gzip(PAGES.repeat(1000).as_bytes());
    let map = sitemap(&packed[..packed.len() / 2]);
    assert!(!map.entries.is_empty() && map.broken.is_some_and(|b| b.starts_with("gzip")));
}

#[test]
fn entities_of_a_dtd_are_never_expanded() {
    let body = "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]>\
        <urlset><url><loc>/x&b;&f;y&#x2F;z</loc></url></urlset>";
    assert_eq!(
        sitemap(body).entries[0].url.as_str(),
        "https://h.example/xy/z"
    );
}

#[test]
fn m4_feeds_with_bases_relative_links_cdata_and_latin_1() {
    check_feed(
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/a/'><title>F\n x</title><link href='home'/><link rel=self href=self />\
         <entry xml:base='b/'><title>One</title><link rel=enclosure href=no /><link href='1#c'/><updated>2005-01-01T00:00:00Z</updated><published>2004-01-01</published></entry>\
         <entry><title>Two</title><link rel='alternate' href='2'/><source><title>no</title><link href=no /></source></entry><entry><id>urn:x</id></entry></feed>",
        &expect![[r#"
            Atom "F x" https://h.example/a/home refused 1 
            https://h.example/a/b/1 "One" Some(1104537600)
            https://h.example/a/2 "Two" None
        "#]],
    );
    check_feed(
        b"<?xml version=\"1.0\" encoding='ISO-8859-1'?><rss version='0.91'><channel><title>Caf\xE9</title><link>/</link>\
          <item><title><![CDATA[A & B]]></title><link> \n/caf\xE9?x=1&amp;y=2 </link><pubDate>Sat, 01 Jan 2005 00:00:00 GMT</pubDate></item>\
          <item><guid>https://h.example/g</guid></item><item><guid isPermaLink='false'>https://h.example/no</guid></item>\
          <image><title>no</title><link>/no</link></image></channel></rss>",
        &expect![[r#"
            Rss "Café" https://h.example/ refused 1 
            https://h.example/caf%C3%A9?x=1&y=2 "A & B" Some(1104537600)
            https://h.example/g "" None
        "#]],
    );
    check_feed(
        "<rdf:RDF><channel rdf:about='x'><title>R</title><link>/r</link></channel><item rdf:about='/about'><title>i</title><dc:date>2005-01-01</dc:date></item>\
         <item rdf:about='/no'><link>/yes</link></item></rdf:RDF>",
        &expect![[r#"
            Rdf "R" https://h.example/r refused 0 
            https://h.example/about "i" Some(1104537600)
            https://h.example/yes "" None
        "#]],
    );
    check_feed(
        r#"{"version":"https://jsonfeed.org/version/1.1","title":"J","home_page_url":"/","items":[{"id":"1","url":"p","title":"t","date_published":"2005-01-01T00:00:00Z"},{"id":"7"},{"id":"https://h.example/i"}]}"#,
        &expect![[r#"
            Json "J" https://h.example/ refused 1 
            https://h.example/blog/p "t" Some(1104537600)
            https://h.example/i "" None
        "#]],
    );
    assert_eq!(
        feed("<catalog><item><link>/x</link></item></catalog>").kind,
        FeedKind::Unknown
    );
    let broken = feed("<rss><channel><item><link>/1</link></item><item><link>/2</lin");
    assert_eq!((broken.entries.len(), broken.broken.is_some()), (1, true));
    assert!(feed("{\"items\":[").broken.unwrap().starts_with("JSON: "));
}

proptest! {
    #[test]
    fn any_bytes_are_read(body in prop::collection::vec(any::<u8>(), 0..200), tags in prop::collection::vec(prop::sample::select(vec![
        "<urlset>", "<url>", "<loc>", "</loc>", "</url>", "/x", "&amp;", "&", "&#0;", "&#x41;", "<![CDATA[", "]]>", "<!--", "-->", "<rss>",
        "<channel>", "<item>", "<link>", "</link>", "</item>", "<entry xml:base='x'>", "</entry>", "<feed>", "<", ">", "<a b=", "'", "{", "[",
        "</feed>", "<?xml encoding='utf-16'?>", "<!DOCTYPE x [", "]>",
    ]), 0..30)) {
        for bytes in [body.clone(), tags.concat().into_bytes(), [tags.concat().as_bytes(), &body].concat(), gzip(&body)] {
            sitemap(&bytes);
            feed(&bytes);
        }
    }
}

/// Only a list that breaks off may hide links.
#[test]
fn a_file_that_is_no_list_hides_no_links() {
    for (body, unseen) in [
        ("{\n  \"color\" = \"blue\"\n", Unseen::None),
        ("<rule <x> := more", Unseen::None),
        (
            r#"{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "/a""#,
            Unseen::Unbounded,
        ),
        (
            "<urlset><url><loc>/kept</loc></url><url <",
            Unseen::Unbounded,
        ),
    ] {
        assert_eq!(sitemap(body).unseen_links(), unseen, "{body}");
    }
}
