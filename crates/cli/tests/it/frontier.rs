//! `turnstone serve --frontier` by the real binary: what is put is in a crawl directory that commands read, and what
//! cannot be is said.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use turnstone_urlfrontier::wire::urlfrontier::url_frontier_client::UrlFrontierClient;
use turnstone_urlfrontier::wire::urlfrontier::*;

use crate::run::{done, turnstone};

/// Starts a server; returns it and where it is.
fn serve(folder: &Path, arguments: &str) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args(["serve", "lent", "--frontier", "0"])
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let address = line
        .split_once("frontier: ")
        .unwrap_or_else(|| panic!("{line}"))
        .1;
    (child, address.to_owned())
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn item(url: &str, done: bool) -> UrlItem {
    let mut info = UrlInfo {
        url: url.to_owned(),
        ..UrlInfo::default()
    };
    let item = match done {
        false => url_item::Item::Discovered(DiscoveredUrlItem { info: Some(info) }),
        true => {
            let values = vec!["200".to_owned()];
            info.metadata
                .insert("turnstone.status".to_owned(), StringList { values });
            let info = Some(info);
            url_item::Item::Known(KnownUrlItem {
                info,
                refetchable_from_date: 0,
            })
        }
    };
    UrlItem {
        item: Some(item),
        ..UrlItem::default()
    }
}

fn put(address: &str, items: Vec<UrlItem>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let channel = tonic::transport::Channel::from_shared(format!("http://{address}")).unwrap();
        let mut client = UrlFrontierClient::new(channel.connect().await.unwrap());
        let count = items.len();
        let items = futures_util::stream::iter(items);
        let mut acks = client.put_ur_ls(items).await.unwrap().into_inner();
        let mut ok = 0;
        while let Some(ack) = acks.message().await.unwrap() {
            ok += usize::from(ack.status == 0);
        }
        assert_eq!(ok, count);
    });
}

#[test]
fn crawls_of_others_are_crawls() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (server, address) = serve(here, "");
    let urls = [
        "http://a.example/",
        "http://a.example/1",
        "http://b.example/",
    ];
    put(&address, urls.iter().map(|url| item(url, false)).collect());
    put(&address, vec![item(urls[0], true)]);
    let busy = turnstone(here, "serve lent --frontier 0");
    assert!(
        busy.code == 1 && busy.err.contains("process"),
        "{}",
        busy.err
    );
    let taken = turnstone(here, &format!("serve other --frontier {address}"));
    assert!(
        taken.code == 2 && taken.err.contains("another program listens there"),
        "{}",
        taken.err
    );

    // Others look at it while it runs, and after.
    let crawl = "lent/crawls/DEFAULT";
    for _ in 0..2 {
        let status = done(here, &format!("status {crawl} --json")).json();
        assert_eq!(status["states"]["fetched"], 1, "{status}");
        assert_eq!(status["states"]["waiting"], 2, "{status}");
    }
    end(server);
    for command in [
        "status CRAWL",
        "why CRAWL http://a.example/1",
        "why CRAWL http://a.example/",
        "events CRAWL",
        "info CRAWL",
        "report CRAWL -o r.html",
        "export pages CRAWL -o p.csv",
    ] {
        let ran = done(here, &command.replace("CRAWL", crawl));
        assert!(!ran.out.is_empty() || command.contains("-o"), "{command}");
    }
    let events = done(here, &format!("events {crawl} --json")).out;
    assert!(
        events.contains("\"new\"") && events.contains("http://a.example/"),
        "{events}"
    );

    // By importance at the next start: the past is told to the policy.
    let (server, address) = serve(here, "--policy opic --delay 2s");
    put(&address, vec![item("http://c.example/", false)]);
    end(server);

    for (arguments, said) in [
        ("serve lent other --frontier 0", "one directory"),
        ("serve lent --frontier 0 --policy rankmass", "importance"),
        ("serve lent --frontier 0 --policy nonsense", "nonsense"),
        ("serve lent --frontier 0 --delay x", "--delay"),
        ("serve lent --frontier nowhere", "--frontier: 'nowhere'"),
        ("serve lent --frontier 0.0.0.0:0", "--frontier"),
        ("serve lent --policy opic", "--frontier"),
        (
            "serve lent/crawls/DEFAULT --frontier 0",
            "another directory",
        ),
    ] {
        let ran = turnstone(here, arguments);
        assert!(
            ran.code > 0 && ran.err.contains(said),
            "{arguments}: {} {}",
            ran.code,
            ran.err
        );
    }
}
