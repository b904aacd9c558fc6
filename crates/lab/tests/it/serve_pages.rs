//! What is served is what was recorded: links, texts, sizes, addresses.

use std::collections::HashMap;
use std::path::Path;

use turnstone_frontier::PageId;
use turnstone_lab::generate::history::{HistoryPlan, write_site};
use turnstone_lab::history::{self, History};
use turnstone_lab::serve::{Answer, At, GraphPages, Naming, Options, Web, start};
use turnstone_lab::web::GraphWeb;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters};
use turnstone_linkgraph::{LinkGraph, UrlTable};

use crate::serve_client::{Connection, get, links, path_of, visible};

fn graph(pages: usize, links: &[(u32, u32)], urls: &[&str]) -> GraphWeb {
    let mut table = UrlTable::new();
    urls.iter().for_each(|url| {
        table.push(url);
    });
    GraphWeb {
        graph: LinkGraph::from_links(pages, links),
        urls: (!urls.is_empty()).then_some(table),
    }
}

pub(crate) fn made(folder: &Path, name: &str, seed: u64) -> History {
    let file = folder.join(format!("{name}.jsonl.zst"));
    let plan = HistoryPlan {
        pages: 60,
        snapshots: 12,
        redesigns: 0.1,
        seed,
        ..HistoryPlan::default()
    };
    write_site(&file, name, plan).unwrap();
    history::read(&file).unwrap()
}

#[test]
fn a_graph_without_urls_keeps_its_links_on_any_number_of_hosts() {
    let parameters = WebParameters {
        pages: 300,
        ..WebParameters::default()
    };
    let recorded = GeneratedWeb::new(&parameters).unwrap().graph();
    for hosts in [1, 7] {
        let web = GraphWeb {
            graph: recorded.clone(),
            urls: None,
        };
        let pages = GraphPages {
            hosts,
            page_bytes: 3000,
            seed: 1,
        };
        let handle = start(Web::graph(web, pages), Options::default()).unwrap();
        assert_eq!(handle.seeds().len(), hosts as usize);
        for page in recorded.pages() {
            let url = handle.url_of(page);
            let reply = get(&url);
            assert_eq!(reply.status, 200, "{url}");
            let found: Vec<PageId> = links(&url, &reply.text())
                .iter()
                .map(|link| handle.page_at(link).unwrap_or_else(|| panic!("{link}")))
                .collect();
            assert_eq!(found, recorded.links(page), "{url}");
            let fits = reply.body.len() >= 2900 && (reply.body.len() <= 3100 || found.len() > 50);
            assert!(fits, "{} bytes", reply.body.len());
        }
        assert_eq!(handle.summary().violations, 0);
    }
}

#[test]
fn urls_come_back_however_odd_they_are() {
    let urls = [
        "https://a.example",
        "http://a.example/x y?q=1&r=<2>",
        "http://B.example:8080//double",
        "http://a.example/ü/%41?x='\"",
        "http://c.example?only=query",
        "http://a.example/100%",
    ];
    let all: Vec<(u32, u32)> = (0..6)
        .flat_map(|from| (0..6).map(move |to| (from, to)))
        .collect();
    for naming in [Naming::ByAddress, Naming::ByName] {
        let web = Web::graph(graph(6, &all, &urls), GraphPages::default());
        assert_eq!((web.host_count(), web.shadowed()), (3, 0));
        let options = Options {
            naming,
            ..Options::default()
        };
        let handle = start(web, options).unwrap();
        let addresses: HashMap<String, String> = handle
            .hosts()
            .into_iter()
            .map(|(name, address)| {
                (
                    format!("http://{name}:{}", handle.port()),
                    address.to_string(),
                )
            })
            .collect();
        for page in (0..6).map(PageId) {
            let url = handle.url_of(page);
            let origin = url.strip_suffix(path_of(&url)).unwrap();
            let (connect, host) = match naming {
                Naming::ByAddress => (origin.to_owned(), ""),
                Naming::ByName => (format!("http://{}", addresses[origin]), origin),
            };
            let mut connection = Connection::to(&connect);
            // A target in absolute form is what a proxy is asked; it names the host.
            let reply = connection.ask("GET", &format!("{host}{}", path_of(&url)), "");
            assert_eq!(reply.status, 200, "{url}");
            let found = links(&url, &reply.text());
            let found: Vec<Option<PageId>> =
                found.iter().map(|link| handle.page_at(link)).collect();
            let wanted: Vec<Option<PageId>> = (0..6).map(|page| Some(PageId(page))).collect();
            assert_eq!(found, wanted, "{url}");
        }
    }
}

#[test]
fn hosts_by_name_are_known_by_the_host_field_and_strangers_are_turned_away() {
    let web = graph(2, &[(0, 1)], &["http://a.example/", "http://b.example/"]);
    let options = Options {
        naming: Naming::ByName,
        ..Options::default()
    };
    let handle = start(Web::graph(web, GraphPages::default()), options).unwrap();
    assert_eq!(
        handle.seeds()[1],
        format!("http://b.example:{}/", handle.port())
    );
    let hosts = handle.hosts();
    let ask = |name: &str| {
        let mut connection = Connection::to(&format!("http://{}", hosts[0].1));
        let head = format!("GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
        std::io::Write::write_all(connection.stream.get_mut(), head.as_bytes()).unwrap();
        connection.reply("GET").unwrap()
    };
    let [a, b] = ["a.example", "B.example:99"].map(ask);
    assert_eq!((a.status, b.status), (200, 200));
    assert_ne!(a.header("etag"), b.header("etag"));
    assert!(
        a.text()
            .contains(&format!("href=\"http://b.example:{}/\"", handle.port()))
    );
    assert_eq!(ask("c.example").status, 421);
}

/// Every page of every snapshot against the record.
#[test]
fn a_history_is_served_as_recorded_at_every_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let histories = [
        made(folder.path(), "one.example", 3),
        made(folder.path(), "two.example", 4),
    ];
    let handle = start(Web::histories(histories.clone()), Options::default()).unwrap();
    let mut text_of: HashMap<u64, String> = HashMap::new();
    let mut bytes_of: HashMap<(u64, Vec<PageId>), Vec<u8>> = HashMap::new();
    let mut absent = 0;
    for (site, history) in histories.iter().enumerate() {
        let mut connection = Connection::to(handle.origin(site));
        for snapshot in [0, 5, 11] {
            handle.set_snapshot(site, At::Number(snapshot));
            let walk = history.at(snapshot);
            for page in (0..history.page_count() as u32).map(PageId) {
                let url = handle.url_of(handle.page(site, page));
                let reply = connection.ask("GET", path_of(&url), "");
                let Some(version) = walk.version(page) else {
                    assert_eq!(reply.status, 404, "{url}");
                    absent += 1;
                    continue;
                };
                assert_eq!(reply.status, 200, "{url}");
                let body = reply.text();
                let found: Vec<PageId> = links(&url, &body)
                    .iter()
                    .map(|link| handle.page_at(link).unwrap())
                    .collect();
                let wanted: Vec<PageId> = history
                    .links_of(version)
                    .iter()
                    .map(|link| handle.page(site, *link))
                    .collect();
                assert_eq!(found, wanted, "{url}");
                let record = history.versions[version.index()];
                let xml = history.pages[page.index()].is_xml;
                assert_eq!(reply.header("content-type").unwrap().contains("xml"), xml);
                if !xml {
                    let text = visible(&body);
                    assert_eq!(
                        text.split(' ').count(),
                        (record.words as usize).max(1),
                        "{url}"
                    );
                    let known = text_of.entry(record.text).or_insert_with(|| text.clone());
                    assert_eq!(*known, text, "equal text hash, equal text");
                }
                let known = bytes_of
                    .entry((record.raw, wanted))
                    .or_insert_with(|| reply.body.clone());
                assert_eq!(*known, reply.body, "the same content is the same bytes");
            }
        }
    }
    assert!(
        absent > 0 && text_of.len() > 100,
        "{absent} {}",
        text_of.len()
    );
    let different: std::collections::HashSet<&String> = text_of.values().collect();
    assert_eq!(
        different.len(),
        text_of.len(),
        "different hash, different text"
    );
}

#[test]
fn many_hosts_have_many_addresses() {
    let urls: Vec<String> = (0..300)
        .map(|host| format!("http://h{host}.example/"))
        .collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let ring: Vec<(u32, u32)> = (0..300).map(|page| (page, (page + 1) % 300)).collect();
    let handle = start(
        Web::graph(graph(300, &ring, &urls), GraphPages::default()),
        Options::default(),
    );
    let handle = handle.unwrap();
    assert_eq!(
        handle.origin(0),
        format!("http://127.1.0.1:{}", handle.port())
    );
    assert_eq!(
        handle.origin(299),
        format!("http://127.1.1.44:{}", handle.port())
    );
    let mut url = handle.seeds()[0].clone();
    for _ in 0..300 {
        url = links(&url, &get(&url).text()).remove(0);
    }
    assert_eq!(url, handle.seeds()[0]);
    let hosts: std::collections::HashSet<u32> = handle.requests().iter().map(|r| r.host).collect();
    assert_eq!(hosts.len(), 300);
}

#[test]
fn a_function_can_answer() {
    let web = Web::custom(2, |request| match request.path {
        "/" => Answer::html(format!(
            "<a href=\"{}/x\">other host</a>",
            request.origins[1]
        )),
        "/x" => Answer::redirect(301, &format!("{}/", request.origins[0])),
        "/agent" => Answer::text(request.header("user-agent").unwrap_or("").to_owned()),
        "/again" => Answer::text(request.attempt.to_string()),
        "/raw" => Answer::raw(*b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\nok"),
        _ => Answer::not_found(),
    });
    let handle = start(web, Options::default()).unwrap();
    let url = handle.seeds()[0].clone();
    let other = links(&url, &get(&url).text()).remove(0);
    assert_eq!(get(&other).header("location"), Some(url.as_str()));
    let origin = handle.origin(0).to_owned();
    let mut connection = Connection::to(&origin);
    assert_eq!(
        connection.ask("GET", "/agent", "User-Agent: me\r\n").text(),
        "me"
    );
    assert_eq!(connection.ask("GET", "/again", "").text(), "0");
    assert_eq!(connection.ask("GET", "/again", "").text(), "1");
    assert_eq!(connection.ask("GET", "/robots.txt", "").status, 404);
    assert_eq!(connection.ask("POST", "/", "").status, 405);
    let raw = connection.ask("GET", "/raw", "");
    assert_eq!(
        (raw.header("x"), raw.body.as_slice()),
        (Some("y"), &b"ok"[..])
    );
}
