//! URL tables: ids to URLs and back, hosts.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use turnstone_frontier::PageId;
use turnstone_linkgraph::UrlTable;

fn table(urls: &[&str]) -> UrlTable {
    let mut table = UrlTable::new();
    for url in urls {
        table.push(url);
    }
    table
}

fn check_hosts(urls: &[&str], expect: Expect) {
    let table = table(urls);
    let hosts = table.hosts();
    let shown: Vec<String> = (0..table.len())
        .map(PageId::from_index)
        .map(|page| {
            format!(
                "{} {} <- {}",
                hosts.host(page),
                hosts.name(hosts.host(page)),
                table.url(page)
            )
        })
        .collect();
    expect.assert_eq(&shown.join("\n"));
}

#[test]
fn the_host_is_the_authority() {
    check_hosts(
        &[
            "http://b.example/x",
            "https://a.example",
            "https://B.example/",
            "http://a.example:8080/?q",
            "http://user:pass@a.example/",
            "b.example/no/scheme?to=http://c.example/",
            "//a.example#top",
            "",
        ],
        expect![[r#"
            0 b.example <- http://b.example/x
            1 a.example <- https://a.example
            0 b.example <- https://B.example/
            2 a.example:8080 <- http://a.example:8080/?q
            1 a.example <- http://user:pass@a.example/
            0 b.example <- b.example/no/scheme?to=http://c.example/
            1 a.example <- //a.example#top
            3  <- "#]],
    );
}

#[test]
fn of_equal_urls_the_first_is_found() {
    let table = table(&["u", "v", "u"]);
    assert_eq!(table.find("u"), Some(PageId(0)));
    assert_eq!(table.find("v"), Some(PageId(1)));
    assert_eq!(table.find("w"), None);
    assert_eq!(table.url(PageId(2)), "u");
}

#[test]
fn a_url_pushed_after_a_search_is_found() {
    let mut table = table(&["u"]);
    assert_eq!(table.find("v"), None);
    table.push("v");
    assert_eq!(table.find("v"), Some(PageId(1)));
}

proptest! {
    #[test]
    fn every_url_is_found_again(urls in proptest::collection::vec("[ -~é]{1,12}", 0..50)) {
        let refs: Vec<&str> = urls.iter().map(String::as_str).collect();
        let table = table(&refs);
        for (i, url) in urls.iter().enumerate() {
            prop_assert_eq!(table.url(PageId::from_index(i)), url);
            let first = urls.iter().position(|other| other == url).map(PageId::from_index);
            prop_assert_eq!(table.find(url), first);
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.urls", "a.urls.zst", "a.urls.gz"] {
            let path = folder.path().join(name);
            table.write(&path).unwrap();
            prop_assert_eq!(&UrlTable::read(&path).unwrap(), &table);
        }
    }
}
