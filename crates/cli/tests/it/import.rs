//! `turnstone import`: old crawls of every kind, whole, damaged, in parts and killed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::{Expect, expect};
use turnstone_frontier::PageId;
use turnstone_pagestore::warc::warc_date;
use turnstone_pagestore::{Entry, Position, Settled, Store};

use crate::run::{Ran, done, turnstone};

/// A WARC record.
fn record(kind: &str, url: &str, date: &str, more: &str, block: &str) -> String {
    let length = block.len();
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n\
         WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n{more}\
         Content-Length: {length}\r\n\r\n{block}\r\n\r\n"
    )
}

const HTTP: &str = "Content-Type: application/http;msgtype=response\r\n";

/// The record of an answer.
fn answer(url: &str, date: &str, head: &str, body: &str) -> String {
    let block = format!("HTTP/1.1 {}\r\n\r\n{body}", head.replace('\n', "\r\n"));
    record("response", url, date, HTTP, &block)
}

/// The record of an HTML page.
fn html(url: &str, date: &str, body: &str) -> String {
    answer(url, date, "200 OK\nContent-Type: text/html", body)
}

/// One gzip member a record, as most tools write.
fn packed(records: &[String]) -> Vec<u8> {
    records
        .iter()
        .flat_map(|record| gzip(record.as_bytes()))
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    member.write_all(bytes).unwrap();
    member.finish().unwrap()
}

/// Everything a store holds: each page with its outcomes, oldest first.
fn dump(directory: &Path) -> String {
    let store = Store::look(directory).unwrap();
    let pages = store.index().page_count();
    let urls: Vec<String> = (0..pages)
        .map(|page| store.url(PageId::from_index(page)).unwrap())
        .collect();
    let mut lines: Vec<String> = vec![String::new(); pages];
    let birth = store.index().sessions()[0].wall_ms;
    let mut latest = 0;
    let mut scan = store.scan(Position::FIRST);
    while let Some((_, tick, entry)) = scan.next().unwrap() {
        assert!(tick.0 >= latest, "ticks never go back");
        latest = tick.0;
        let Entry::Outcome(outcome) = entry else {
            continue;
        };
        assert_eq!(tick.0, outcome.facts.wall_ms - birth, "ticks are dates");
        let mut links = Vec::new();
        outcome.links.read(&mut links);
        let links: Vec<&str> = links.iter().map(|link| &*urls[link.index()]).collect();
        let settled = match outcome.settled {
            Settled::Fetched(change) => format!("{change:?}"),
            Settled::Failed(fault) => format!("{fault:?}"),
            Settled::Moved(to) => format!("Moved to {}", urls[to.index()]),
        };
        let facts = &outcome.facts;
        lines[outcome.page.index()] += &format!(
            "  {} {settled} {} {} {:?} {} words [{}]\n",
            &warc_date(facts.wall_ms)[..16],
            facts.status,
            facts.class,
            facts.title,
            facts.words,
            links.join(" ")
        );
    }
    let mut out: Vec<String> = (0..pages)
        .map(|page| {
            let id = PageId::from_index(page);
            let state = store.index().state(id).name();
            let seed = if store.index().seeds().contains(&id) {
                " seed"
            } else {
                ""
            };
            format!("{} {state}{seed}\n{}", urls[page], lines[page])
        })
        .collect();
    out.sort();
    out.concat()
}

/// Imports files and expects what the store holds.
fn check(files: &[(&str, &[u8])], arguments: &str, expect: &Expect) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let ran = done(folder.path(), &format!("import {arguments} -o out --json"));
    expect.assert_eq(&dump(&folder.path().join("out")));
    ran
}

/// What `wget --recursive --warc-file` leaves: a request before each response, chunks as they
/// came, robots.txt, its own log.
fn wget() -> Vec<String> {
    let site = "http://site.example";
    let day = "2020-01-05T10:00:00Z";
    let home = "<title>Home</title><p>words of home</p><a href='/a'>a</a><a href='/old'>o</a>\
                <a href='http://other.example/'>x</a><a href='/gone'>g</a><a href='#top'>t</a>";
    let (one, two) = home.split_at(30);
    let chunked = format!(
        "{:x}\r\n{one}\r\n{:x};x=y\r\n{two}\r\n0\r\n\r\n",
        one.len(),
        two.len()
    );
    let chunks = "200 OK\nContent-Type: text/html\nTransfer-Encoding: chunked\nETag: \"e1\"";
    vec![
        record(
            "warcinfo",
            "",
            day,
            "Content-Type: application/warc-fields\r\n",
            "software: Wget\r\n",
        ),
        record(
            "request",
            &format!("<{site}/>"),
            day,
            "",
            "GET / HTTP/1.1\r\n\r\n",
        ),
        answer(&format!("<{site}/>"), day, chunks, &chunked),
        answer(&format!("{site}/robots.txt"), day, "404 Not Found", ""),
        html(
            &format!("{site}/a"),
            "2020-01-05T10:00:01Z",
            "<title>A</title>text of a<a href=/>h</a>",
        ),
        answer(
            &format!("{site}/old"),
            "2020-01-05T10:00:02Z",
            "301 Moved\nLocation: /a",
            "",
        ),
        answer(
            &format!("{site}/gone"),
            "2020-01-05T10:00:03Z",
            "404 Not Found\nContent-Type: text/html",
            "<a href=/x>x</a>",
        ),
        answer(
            &format!("{site}/busy"),
            "2020-01-05T10:00:04Z",
            "503 Busy",
            "",
        ),
        record(
            "response",
            "dns:site.example",
            day,
            "Content-Type: text/dns\r\n",
            "192.0.2.1",
        ),
        record(
            "resource",
            "metadata://gnu.org/software/wget/warc/wget.log",
            day,
            "",
            "log",
        ),
    ]
}

fn wget_expect() -> Expect {
    expect![[r#"
        http://site.example/ fetched seed
          2020-01-05T10:00 New 200 ok "Home" 4 words [http://site.example/a http://site.example/old http://site.example/gone http://site.example/]
        http://site.example/a fetched
          2020-01-05T10:00 New 200 ok "A" 3 words [http://site.example/]
        http://site.example/busy unknown
          2020-01-05T10:00 Unknown 503 http-503 "" 0 words []
        http://site.example/gone gone
          2020-01-05T10:00 Gone 404 http-404 "" 0 words []
        http://site.example/old moved
          2020-01-05T10:00 Moved to http://site.example/a 301 redirect "" 0 words []
    "#]]
}

#[test]
fn what_wget_leaves() {
    let records = wget();
    let ran = check(
        &[("w.warc.gz", &packed(&records))],
        "w.warc.gz",
        &wget_expect(),
    );
    let json = ran.json();
    assert_eq!(json["fetches"], 5);
    assert_eq!(json["left_out"]["no_page"], 5);
    assert_eq!(json["skipped"]["count"], 0);
    check(
        &[("plain", records.concat().as_bytes())],
        "plain",
        &wget_expect(),
    );
    let whole = gzip(records.concat().as_bytes());
    check(&[("w.warc.gz", &whole)], ".", &wget_expect());
}

/// With a frame a record, and with a dictionary before them, as archives pack them; and one that breaks off.
#[test]
fn warc_packed_with_zstd() {
    use std::io::Write as _;
    let plain = zstd::encode_all(wget().concat().as_bytes(), 3).unwrap();
    check(&[("w.warc.zst", &plain)], "w.warc.zst", &wget_expect());
    let dictionary = wget().concat().into_bytes();
    for dictionary_in_file in [
        dictionary.clone(),
        zstd::encode_all(&dictionary[..], 3).unwrap(),
    ] {
        let mut packed = vec![0x5d, 0x2a, 0x4d, 0x18];
        packed.extend((dictionary_in_file.len() as u32).to_le_bytes());
        packed.extend(&dictionary_in_file);
        for record in wget() {
            let mut frame = zstd::Encoder::with_dictionary(Vec::new(), 3, &dictionary).unwrap();
            frame.write_all(record.as_bytes()).unwrap();
            packed.extend(frame.finish().unwrap());
        }
        check(&[("w.warc.zst", &packed)], "w.warc.zst", &wget_expect());
    }
    let folder = tempfile::tempdir().unwrap();
    let frames = wget()
        .into_iter()
        .flat_map(|record| zstd::encode_all(record.as_bytes(), 3).unwrap());
    let frames: Vec<u8> = frames.collect();
    fs::write(
        folder.path().join("cut.warc.zst"),
        &frames[..frames.len() - 40],
    )
    .unwrap();
    let ran = done(folder.path(), "import cut.warc.zst -o out --json");
    assert_eq!(ran.json()["fetches"], 5, "{}", ran.out);
    assert!(
        ran.out.contains("the rest cannot be unpacked"),
        "{}",
        ran.out
    );
}

#[test]
fn links_to_other_hosts_are_kept_on_demand() {
    let records = wget();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.warc"), records.concat()).unwrap();
    done(folder.path(), "import w.warc -o out --everywhere");
    assert!(dump(&folder.path().join("out")).contains("http://other.example/ waiting\n"));
    let config = fs::read_to_string(folder.path().join("out/turnstone.toml")).unwrap();
    assert!(config.contains("everywhere = true"), "{config}");
}

/// Two crawls, of which the later one is named first.
fn two_crawls() -> [(&'static str, Vec<u8>); 2] {
    let (a, b) = ("https://a.example/", "https://a.example/b");
    let old = [
        html(
            a,
            "2019-05-01T00:00:00Z",
            "<title>A</title>one<a href=b>b</a>",
        ),
        html(b, "2019-05-01T00:00:01Z", "<title>B</title>same"),
        html("https://a.example/c", "2019-05-01T00:00:02Z", "going"),
    ];
    let revisit = "Content-Type: application/http\r\nWARC-Profile: http://netpreserve.org/warc/1.1/\
                   revisit/identical-payload-digest\r\nWARC-Refers-To-Target-URI: https://a.example/\r\n";
    let new = [
        html(
            a,
            "2020-05-01T00:00:00Z",
            "<title>A2</title>two<a href=d>d</a>",
        ),
        html(b, "2020-05-01T00:00:01Z", "<title>B</title><b>same</b>"),
        answer(
            "https://a.example/c",
            "2020-05-01T00:00:02Z",
            "410 Gone",
            "",
        ),
        record("revisit", a, "2020-05-02T00:00:00Z", revisit, ""),
        record(
            "revisit",
            "https://a.example/copy",
            "2020-05-02T00:00:01Z",
            revisit,
            "",
        ),
    ];
    [("new.warc.gz", packed(&new)), ("old.warc.gz", packed(&old))]
}

#[test]
fn two_crawls_are_one_history() {
    let files = two_crawls();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
    let expect = expect![[r#"
        https://a.example/ fetched seed
          2019-05-01T00:00 New 200 ok "A" 1 words [https://a.example/b]
          2020-05-01T00:00 Changed 200 ok "A2" 1 words [https://a.example/d]
          2020-05-02T00:00 Unchanged 200 ok "A2" 1 words [https://a.example/d]
        https://a.example/b fetched
          2019-05-01T00:00 New 200 ok "B" 1 words []
          2020-05-01T00:00 Unchanged 200 ok "B" 1 words []
        https://a.example/c gone
          2019-05-01T00:00 New 200 ok "" 1 words []
          2020-05-01T00:00 Gone 410 http-410 "" 0 words []
        https://a.example/copy fetched
          2020-05-02T00:00 New 200 ok "A2" 1 words [https://a.example/d]
        https://a.example/d waiting
    "#]];
    check(&files, "new.warc.gz old.warc.gz", &expect);
    check(&files, "new.warc.gz old.warc.gz --sort-bytes 1", &expect);
}

#[test]
fn crawls_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in two_crawls() {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    done(folder.path(), "import new.warc.gz old.warc.gz -o both");
    done(folder.path(), "import old.warc.gz -o out");
    let again = done(folder.path(), "import old.warc.gz -o out");
    assert!(again.out.contains("nothing new"), "{}", again.out);
    let json = done(
        folder.path(),
        "import old.warc.gz new.warc.gz -o out --json",
    )
    .json();
    assert_eq!(
        (&json["fetches"], &json["sources_known"]),
        (&5.into(), &1.into())
    );
    assert_eq!(
        dump(&folder.path().join("out")),
        dump(&folder.path().join("both"))
    );
    // The other way round, what is older than what is known is left out and told.
    done(folder.path(), "import new.warc.gz -o late");
    let json = done(folder.path(), "import old.warc.gz -o late --json").json();
    assert_eq!(json["left_out"]["older"], 3);
}

#[test]
fn dates_can_be_chosen() {
    let files = two_crawls();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, b)| (*n, b.as_slice())).collect();
    let expect = expect![[r#"
        https://a.example/ fetched seed
          2020-05-01T00:00 New 200 ok "A2" 1 words [https://a.example/d]
        https://a.example/b fetched
          2020-05-01T00:00 New 200 ok "B" 1 words []
        https://a.example/c gone
          2020-05-01T00:00 Gone 410 http-410 "" 0 words []
        https://a.example/d waiting
    "#]];
    let ran = check(&files, ". --since 2020-01-01 --until 2020-05-02", &expect);
    assert_eq!(ran.json()["left_out"]["undue"], 5);
}

#[test]
fn indexes_alone() {
    let cdxj = r#"com,example)/ 20190102030405 {"url":"http://example.com/","mime":"text/html","status":"200","digest":"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ","offset":"10","length":"5","filename":"x.warc.gz"}
com,example)/ 20200102030405 {"url":"http://example.com/","mime":"warc/revisit","digest":"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"}
com,example)/a 20190102030406 {"url":"http://example.com/a","mime":"text/html","status":"302","digest":"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"}
nonsense
com,example)/b 20180102030406 {"url":"http://example.com/b","mime":"text/html","status":"404"}
com,example)/ 20210102030405 {"url":"http://example.com/","mime":"text/html","status":"200","digest":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
com,example)/r 20210102030405 {"url":"http://example.com/robots.txt","mime":"text/html","status":"200"}
"#;
    let expect = expect![[r#"
        http://example.com/ waiting seed
          2019-01-02T03:04 New 200 ok "" 0 words []
          2020-01-02T03:04 Unchanged 200 ok "" 0 words []
          2021-01-02T03:04 Changed 200 ok "" 0 words []
        http://example.com/a unknown
          2019-01-02T03:04 Unknown 302 redirect "" 0 words []
        http://example.com/b gone
          2018-01-02T03:04 Gone 404 http-404 "" 0 words []
    "#]];
    let ran = check(
        &[("i.cdxj.gz", &gzip(cdxj.as_bytes()))],
        "i.cdxj.gz",
        &expect,
    );
    let skipped = &ran.json()["skipped"];
    assert_eq!(skipped["count"], 1);
    assert_eq!(skipped["first"][0]["line"], 4);
    let cdx = " CDX N b a m s k r M S V g\n\
        com,example)/ 20190102030405 http://example.com/ text/html 200 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 5 10 x.warc.gz\n";
    let expect = expect![[r#"
        http://example.com/ waiting seed
          2019-01-02T03:04 New 200 ok "" 0 words []
    "#]];
    check(&[("i.cdx", cdx.as_bytes())], "i.cdx", &expect);
}

#[test]
fn lists_of_urls() {
    let list = "# pages\nhttps://l.example/x\t2015-03-01\n\nnot a url\nhttps://l.example/y\n\
                https://l.example/x\t2016-03-01\nhttps://l.example/y#z\n";
    let expect = expect![[r#"
        https://l.example/x waiting seed
          2015-03-01T00:00 New 0 imported "" 0 words []
          2016-03-01T00:00 Unchanged 0 imported "" 0 words []
        https://l.example/y waiting
          2015-06-07T00:00 New 0 imported "" 0 words []
    "#]];
    let packed = zstd::encode_all(list.as_bytes(), 3).unwrap();
    for (name, bytes) in [
        ("l.txt", list.as_bytes()),
        ("l.zst", &packed),
        ("l.tsv", list.as_bytes()),
    ] {
        let ran = check(
            &[(name, bytes)],
            &format!("{name} --date 2015-06-07"),
            &expect,
        );
        let json = ran.json();
        assert_eq!(json["skipped"]["first"][0]["line"], 4);
        assert_eq!(json["left_out"]["known"], 1);
    }
}

#[test]
fn graphs() {
    let edges = "http://g.example/\thttp://g.example/a\nhttp://g.example/a\thttp://g.example/\n\
                 http://g.example/a\thttp://h.example/b\n";
    let expect = expect![[r#"
        http://g.example/ waiting seed
          2001-01-01T00:00 New 0 imported "" 0 words [http://g.example/a]
        http://g.example/a waiting
          2001-01-01T00:00 New 0 imported "" 0 words [http://g.example/ http://h.example/b]
        http://h.example/b waiting seed
          2001-01-01T00:00 New 0 imported "" 0 words []
    "#]];
    check(
        &[("g.tsv", edges.as_bytes())],
        "g.tsv --date 2001-01-01",
        &expect,
    );
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "generate graph --pages 50 -o w");
    let urls: String = (0..50)
        .map(|i| format!("http://h{}.example/{i}\n", i % 3))
        .collect();
    fs::write(folder.path().join("w.urls"), urls).unwrap();
    let json = done(folder.path(), "import w -o out --json").json();
    assert_eq!((&json["pages"], &json["hosts"]), (&50.into(), &3.into()));
    let links = done(folder.path(), "info w --json").json()["graph"]["links"].clone();
    assert_eq!(json["links"], links);
}

#[test]
fn a_history_comes_out_as_it_went_in() {
    let folder = tempfile::tempdir().unwrap();
    done(
        folder.path(),
        "generate history --sites 2 --pages 30 --snapshots 12 --seed 3 -o h",
    );
    let json = done(folder.path(), "import h -o out --json").json();
    let store = Store::look(&folder.path().join("out")).unwrap();
    let page_of: std::collections::HashMap<String, PageId> = (0..store.index().page_count())
        .map(PageId::from_index)
        .map(|page| (store.url(page).unwrap(), page))
        .collect();
    let mut events = 0;
    for file in fs::read_dir(folder.path().join("h")).unwrap() {
        let history = turnstone_lab::history::read(&file.unwrap().path()).unwrap();
        let snapshots = &history.snapshots;
        events += snapshots
            .iter()
            .map(|s| s.set.len() + s.gone.len())
            .sum::<usize>();
        let walk = history.at(snapshots.len() - 1);
        for page in (0..history.page_count()).map(PageId::from_index) {
            let id = page_of[&history.address(page)];
            let state = store.index().state(id).name();
            // Nobody here read it: it is known, and was there.
            let expected = if walk.version(page).is_some() {
                "waiting"
            } else {
                "gone"
            };
            assert_eq!(state, expected, "{}", history.address(page));
            if let Some(version) = walk.version(page) {
                let mut buffer = Vec::new();
                let links = turnstone_frontier::Links::links_of(&store, id, &mut buffer);
                let mut wanted: Vec<PageId> = Vec::new();
                for link in walk.links(page) {
                    let link = page_of[&history.address(*link)];
                    if !wanted.contains(&link) {
                        wanted.push(link);
                    }
                }
                assert_eq!(links, wanted);
                let copy = store.copy(id).unwrap().unwrap();
                assert_eq!(copy.text_hash, history.versions[version.index()].text);
            }
        }
    }
    assert_eq!(json["fetches"], events);
    dump(&folder.path().join("out"));
}

#[test]
fn damage_is_skipped_and_told() {
    let records = wget();
    let mut members: Vec<Vec<u8>> = records
        .iter()
        .map(|record| gzip(record.as_bytes()))
        .collect();
    let offset: usize = members[..4].iter().map(Vec::len).sum();
    let middle = members[4].len() / 2;
    members[4][middle] ^= 0xff;
    members[4][middle + 1] ^= 0xff;
    let broken_chunks = answer(
        "http://site.example/z",
        "2020-01-05T10:00:09Z",
        "200 OK\nTransfer-Encoding: chunked",
        "5\r\nhello\r\nworld",
    );
    let no_date = html("http://site.example/q", "yesterday", "q");
    members.push(gzip(broken_chunks.as_bytes()));
    members.push(gzip(no_date.as_bytes()));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("d.warc.gz"), members.concat()).unwrap();
    let json = done(folder.path(), "import d.warc.gz -o out --json").json();
    assert_eq!(json["fetches"], 4, "{json}");
    assert_eq!(json["skipped"]["count"], 3, "{json}");
    let first = json["skipped"]["first"].as_array().unwrap();
    let of = |at: usize| {
        first
            .iter()
            .any(|skip| skip["offset"] == at && skip["file"] == "d.warc.gz")
    };
    assert!(of(offset), "{json}");
    let again = done(folder.path(), "import d.warc.gz -o again");
    assert!(
        again.out.contains("d.warc.gz: record at byte"),
        "{}",
        again.out
    );
}

/// Many pages over several files and two years, with every kind of answer.
fn many(folder: &Path) {
    for file in 0..3 {
        let mut records = Vec::new();
        for i in 0..700 {
            let page = (i * 7919 + file * 31) % 500;
            let day = 1 + i % 28;
            let (year, month) = (2019 + i % 2, 1 + (i * file) % 12);
            let date = format!("{year}-{month:02}-{day:02}T00:00:{:02}Z", i % 60);
            let url = format!("https://h{}.example/{page}", page % 5);
            let links: String = (0..6)
                .map(|k| {
                    format!(
                        "<a href='https://h{k}.example/{}'>k</a>",
                        (page * 13 + k * i) % 600
                    )
                })
                .collect();
            records.push(match i % 11 {
                9 => answer(&url, &date, "404 Not Found", ""),
                10 => answer(&url, &date, "301 Moved\nLocation: /1", ""),
                _ => html(
                    &url,
                    &date,
                    &format!("<title>{page}</title>text {} {links}", i % 5),
                ),
            });
        }
        fs::write(folder.join(format!("{file}.warc.gz")), packed(&records)).unwrap();
    }
}

#[test]
fn cut_off_anywhere_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    many(folder.path());
    let import = "import 0.warc.gz 1.warc.gz 2.warc.gz --json --sort-bytes 60000 -o";
    let json = done(folder.path(), &format!("{import} whole")).json();
    let whole = dump(&folder.path().join("whole"));
    assert!(json["fetches"].as_u64().unwrap() > 1500, "{json}");
    for (round, limit) in [1, 700, 1234, 2000].into_iter().enumerate() {
        let out = format!("cut{round}");
        let ran = turnstone(folder.path(), &format!("{import} {out} --limit {limit}"));
        assert_eq!(ran.code, 3, "{}", ran.err);
        let store = folder.path().join(&out).join("store");
        // As if the process had been killed earlier: the end of the journal was never written.
        let journal = store.join("journal");
        let length = fs::metadata(&journal).unwrap().len();
        let file = fs::OpenOptions::new().write(true).open(&journal).unwrap();
        file.set_len(32 + (length - 32) * [0, 1, 2, 9][round] / 10)
            .unwrap();
        if round % 2 == 1 {
            let mut runs: Vec<_> = fs::read_dir(store.join("import"))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|end| end == "zst"))
                .collect();
            runs.sort();
            assert!(runs.len() > 5, "{}", runs.len());
            runs[runs.len() / 2..]
                .iter()
                .for_each(|run| fs::remove_file(run).unwrap());
        }
        let again = done(folder.path(), &format!("{import} {out}")).json();
        assert_eq!(dump(&folder.path().join(&out)), whole, "after {limit}");
        for key in [
            "fetches", "fetched", "moved", "gone", "links", "left_out", "skipped",
        ] {
            assert_eq!(again[key], json[key], "{key} after {limit}");
        }
        assert!(!store.join("import").exists());
    }
}

#[test]
fn killed_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    many(folder.path());
    let import = "import . --sort-bytes 60000 -o";
    done(folder.path(), &format!("{import} whole"));
    let whole = dump(&folder.path().join("whole"));
    let mut kills = 0;
    for pause in (1..).map(|round| Duration::from_millis(round * 20)) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_turnstone"))
            .args(import.split(' ').chain(["out"]))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(pause);
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
    }
    assert!(kills > 0, "it was never killed under way");
    assert_eq!(
        dump(&folder.path().join("out")),
        whole,
        "after {kills} kills"
    );
}

#[test]
fn wrong_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("empty"), "").unwrap();
    fs::write(path.join("words"), "these are\njust words\n").unwrap();
    fs::write(path.join("ids.tsv"), "0\t1\n").unwrap();
    fs::write(
        path.join("info.warc"),
        record("warcinfo", "", "2020-01-01T00:00:00Z", "", "x"),
    )
    .unwrap();
    fs::write(
        path.join("old.arc"),
        "filedesc://x 0.0.0.0 20000101000000 text/plain 1\n",
    )
    .unwrap();
    fs::write(path.join("u.txt"), "http://a.example/\n").unwrap();
    fs::create_dir(path.join("bare")).unwrap();
    for (arguments, code, words) in [
        ("nowhere", 1, "nowhere: there is no such file"),
        ("empty", 1, "empty: the file is empty"),
        (
            "words",
            1,
            "words: not recognised; what can be imported is WARC",
        ),
        ("ids.tsv", 1, "NAME.urls"),
        ("info.warc", 1, "no fetch of a page"),
        ("old.arc", 1, "warcio recompress"),
        ("bare", 1, "bare: the folder holds no .warc"),
        ("u.txt --since soon", 2, "--since: 'soon' is not a date"),
        (
            "u.txt --since 2020 --until 2019",
            2,
            "--until: must be after --since",
        ),
    ] {
        let ran = turnstone(path, &format!("import {arguments} -o out"));
        assert_eq!(ran.code, code, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(words), "{arguments}: {}", ran.err);
        assert!(!path.join("out").exists(), "{arguments}: nothing is left");
    }
    done(path, "import u.txt -o out");
    fs::create_dir(path.join("out/warc")).unwrap();
    fs::write(path.join("out/warc/x.warc"), wget().concat()).unwrap();
    let ran = turnstone(path, "import out/warc -o out");
    assert!(
        ran.err.contains("lies within the crawl directory"),
        "{}",
        ran.err
    );
    let ran = turnstone(path, "import out -o other");
    assert!(ran.err.contains("crawl directory already"), "{}", ran.err);
}

#[test]
fn one_process_at_a_time_and_one_import() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    many(path);
    let ran = turnstone(path, "import 0.warc.gz -o out --limit 5");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("--limit"), "{}", ran.err);
    let ran = turnstone(path, "import 1.warc.gz -o out");
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("is not finished") && ran.err.contains("0.warc.gz"),
        "{}",
        ran.err
    );
    let held = Store::open(&path.join("out"), "a test").unwrap();
    let ran = turnstone(path, "import 0.warc.gz -o out");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("in use by a test"), "{}", ran.err);
    drop(held);
    done(path, "import 0.warc.gz -o out");
}

/// Our own archive: what a crawl of ours stored comes back with the same facts.
#[test]
fn what_our_own_writer_leaves() {
    use turnstone_pagestore::warc::{
        Ends, Exchange, Keep, Original, Packer, Payload, RealFolder, Settings, Writer, capture,
    };
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive");
    let namespace = *b"a crawl of tests";
    let settings = Settings::new("crawl", namespace);
    let (mut writer, _) =
        Writer::open(&archive, settings, Ends::default(), Box::new(RealFolder)).unwrap();
    let body = b"<title>T</title><p>some text here</p><a href=/two>2</a>";
    let uris = ["https://w.example/", "https://w.example/two"];
    for (number, uri) in uris.into_iter().enumerate() {
        let exchange = Exchange {
            target_uri: uri,
            date_ms: 1_600_000_000_000 + number as u64,
            address: None,
            request: b"GET / HTTP/1.1\r\n\r\n",
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
            payload: Payload::new(body),
            truncated: None,
            fields: &[],
            namespace: &namespace,
            number: number as u64,
        };
        let original = Original {
            target_uri: uris[0],
            date_ms: 1_600_000_000_000,
        };
        let keep = if number == 0 {
            Keep::Response
        } else {
            Keep::SamePayload(original)
        };
        let capture = capture(&exchange, keep, &mut Packer::default()).unwrap();
        writer.append(&capture, "surt").unwrap();
    }
    writer.finish(1 << 20).unwrap();
    done(folder.path(), "import archive -o out");
    expect![[r#"
        https://w.example/ fetched seed
          2020-09-13T12:26 New 200 ok "T" 4 words [https://w.example/two]
        https://w.example/two fetched
          2020-09-13T12:26 New 200 ok "T" 4 words [https://w.example/two]
    "#]]
    .assert_eq(&dump(&folder.path().join("out")));
    let store = Store::look(&folder.path().join("out")).unwrap();
    let copy = store.copy(PageId(0)).unwrap().unwrap();
    assert_eq!(copy.digest, Some(Payload::new(body).digest().0));
    assert_eq!(copy.last_modified, b"Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!((copy.requests, copy.capture), (0, None));
    assert!(
        copy.detail.starts_with("crawl-00001.warc.gz at byte "),
        "{}",
        copy.detail
    );
}

/// An imported crawl goes on: what is known and was never fetched is asked for, nothing else.
#[test]
fn a_crawl_goes_on_from_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let (site, asked) = serve();
    let page = html(
        &format!("{site}/"),
        "2020-01-05T10:00:00Z",
        "<a href=/next>n</a>",
    );
    fs::write(folder.path().join("w.warc"), page).unwrap();
    done(folder.path(), "import w.warc -o out");
    let crawl = "crawl -o out --delay 0s --allow-private --no-warc --until requests=20 --json";
    let json = turnstone(folder.path(), crawl).json();
    assert_eq!(json["pages"], 3, "{json}");
    assert_eq!(
        asked.lock().unwrap().as_slice(),
        ["/robots.txt", "/next", "/last"]
    );
    let store = Store::look(&folder.path().join("out")).unwrap();
    let sessions = store.index().sessions();
    assert_eq!(sessions[0].policy, "import");
    let [first, .., last] = sessions else {
        panic!("{sessions:?}");
    };
    let dated = last.wall_ms - first.wall_ms;
    let apart = dated.abs_diff(last.tick.0);
    assert!(apart < 60_000, "ticks go on as dates: {apart} ms apart");
}

/// A site of which nothing links to its home page but the import. Says what was asked.
fn serve() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let (status, body) = match path.as_str() {
                "/next" => (
                    "200 OK",
                    "<title>N</title>next <a href=/last>l</a><a href=/>h</a>",
                ),
                "/last" => ("200 OK", "<title>L</title>last <a href=/>h</a>"),
                _ => ("404 Not Found", ""),
            };
            log.lock().unwrap().push(path);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n{body}"
            );
        }
    });
    (site, asked)
}
